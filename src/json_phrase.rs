//! What a single text is: a sentence, a code, a place, or nothing at all.

use std::borrow::Cow;

use http::StatusCode;

use crate::{html, scan, text::one_line};

/// How long a message may become, in bytes; what reads it cuts it further.
pub(crate) const LONGEST: usize = 4 * 1024;

/// No reason phrase and none of the [`PLACEHOLDERS`] has more bytes than this.
const LONGEST_NOTHING: usize = 31;

/// Texts that stand for the absence of one.
const PLACEHOLDERS: &[&str] = &["null", "none", "undefined", "nil", "[object object]"];

/// Returns `text` trimmed, without HTML; `None` if it says nothing beyond `status`.
pub(crate) fn clean(text: &str, status: StatusCode) -> Option<Cow<'_, str>> {
    let text = shortened(text);
    let text = match html::strip(text) {
        Some(stripped) => Cow::Owned(stripped),
        None => Cow::Borrowed(text),
    };
    // Of a terminal's sequence no more than its beginning would be trimmed.
    let text = match text.contains(|c| matches!(c, '\u{1b}' | '\u{80}'..='\u{9f}')) {
        true => Cow::Owned(one_line(&text).into_owned()),
        false => text,
    };
    let trimmed = trim(&text);
    if is_blank(trimmed) || adds_nothing(trimmed, status) || is_placeholder(trimmed) {
        return None;
    }
    if trimmed.len() == text.len() {
        return Some(text);
    }
    Some(match text {
        Cow::Borrowed(text) => Cow::Borrowed(trim(text)),
        Cow::Owned(text) => Cow::Owned(trim(&text).to_owned()),
    })
}

/// Returns whether `text` starts with a letter and [`clean`] would leave it as it is, as is seen of most
/// by their ends and their length.
#[inline]
pub(crate) fn says_more(text: &str, status: StatusCode) -> bool {
    let bytes = text.as_bytes();
    let [first, .., last] = bytes else {
        return false;
    };
    first.is_ascii_alphabetic()
        && last.is_ascii_graphic()
        && !is_around(*last)
        && bytes.len() <= LONGEST
        && !scan::has(bytes, b'<')
        && (bytes.len() > LONGEST_NOTHING || !(is_reason(text, status) || is_placeholder(text)))
}

/// Returns as much of `text` as may be kept.
pub(crate) fn shortened(text: &str) -> &str {
    if text.len() <= LONGEST {
        return text;
    }
    let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

fn is_placeholder(text: &str) -> bool {
    let mut placeholders = PLACEHOLDERS.iter();
    placeholders.any(|nothing| nothing.eq_ignore_ascii_case(text))
}

fn trim(text: &str) -> &str {
    if let [first, .., last] = text.as_bytes() {
        if first.is_ascii_graphic() && last.is_ascii_graphic() {
            return text;
        }
    }
    // Other controls may begin or end a terminal's sequence, which only `one_line` knows.
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\0' | '\u{feff}'))
}

/// Returns whether nothing of `text` would be seen.
fn is_blank(text: &str) -> bool {
    let begins_in_sight = text.as_bytes().first().is_some_and(u8::is_ascii_graphic);
    !begins_in_sight && one_line(text).is_empty()
}

/// Returns whether `text` is the status again, in numbers or in words.
fn adds_nothing(text: &str, status: StatusCode) -> bool {
    let rest = text.strip_prefix(status.as_str()).unwrap_or(text);
    let behind = rest.bytes().take_while(|byte| is_around(*byte)).count();
    let rest = rest.get(behind..).unwrap_or_default();
    let before = rest.bytes().rev().take_while(|byte| is_around(*byte));
    let rest = rest.get(..rest.len() - before.count()).unwrap_or_default();
    rest.is_empty() || is_reason(rest, status)
}

/// What people put around a status.
const fn is_around(byte: u8) -> bool {
    matches!(byte, b' ' | b'.' | b':' | b'-' | b'!')
}

/// Returns whether `text` is the reason phrase of `status`.
pub(crate) fn is_reason(text: &str, status: StatusCode) -> bool {
    let reason = status.canonical_reason().unwrap_or_default();
    // Told by the first few letters.
    let mut letters = reason.bytes().zip(text.bytes());
    reason.len() == text.len() && letters.all(|(one, other)| one.eq_ignore_ascii_case(&other))
}

/// Returns whether `text` is a name for machines rather than a sentence: `invalid_grant`.
pub(crate) fn is_code(text: &str) -> bool {
    text.len() <= 80
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
        && text.bytes().all(is_of_code)
}

/// Returns whether a name for machines may hold this.
fn is_of_code(byte: u8) -> bool {
    const OF_CODE: [bool; 256] = {
        let mut bytes = [false; 256];
        let mut byte: u8 = 0;
        while byte < 0x80 {
            let is_sign = matches!(byte, b'_' | b'-' | b'.' | b':' | b'/' | b'#');
            bytes[byte as usize] = byte.is_ascii_alphanumeric() || is_sign;
            byte += 1;
        }
        bytes
    };
    OF_CODE[usize::from(byte)]
}

/// Returns whether `code`, and no longer word, stands at the beginning of `text`.
pub(crate) fn begins_with(text: &str, code: &str) -> bool {
    let behind = text.strip_prefix(code).map(str::as_bytes);
    behind.is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric))
}

/// Returns whether `part` stands in `text` as a whole word or several: `id` is not in `invalid`.
pub(crate) fn holds(text: &str, part: &str) -> bool {
    let is_end = |byte: Option<&u8>| !byte.is_some_and(u8::is_ascii_alphanumeric);
    part.is_empty()
        || text.match_indices(part).any(|(at, _)| {
            let (before, behind) = (
                text.as_bytes().get(..at),
                text.as_bytes().get(at + part.len()..),
            );
            is_end(before.and_then(<[u8]>::last)) && is_end(behind.and_then(<[u8]>::first))
        })
}

/// Returns whether `text` is a code that cannot be taken for a word: `RESOURCE_EXHAUSTED`.
pub(crate) fn is_screaming(text: &str) -> bool {
    let screams = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    text.len() > 2 && is_code(text) && text.bytes().all(screams)
}

/// Returns whether a number is a code of the server's own and no HTTP status.
pub(crate) fn is_own_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let status = text.len() == 3 && matches!(text.as_bytes().first(), Some(b'1'..=b'5'));
    !status
        && digits.len() <= 20
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && digits.bytes().any(|byte| byte != b'0')
}

/// Returns a code, of a URI only the name at its end; `None` if it is none or says only "error".
pub(crate) fn shorten(text: &str) -> Option<&str> {
    let uri = text.contains("://") || text.starts_with("urn:");
    let text = if uri {
        let path = text.split(['?', '#']).next().unwrap_or_default();
        let (_, path) = path.split_once("://").unwrap_or(("", path));
        let (rest, name) = path.rsplit_once(['/', ':'])?;
        // The documents that define HTTP name no problem.
        if rest.contains("rfc") || name.contains("rfc") {
            return None;
        }
        name
    } else {
        text
    };
    let code = text.len() <= 80
        && !text.is_empty()
        && !text.eq_ignore_ascii_case("error")
        && text.bytes().all(is_of_code)
        && !text.starts_with("about:");
    code.then_some(text)
}

/// Returns the name in a type of an error of AWS, without its namespace and the URL behind it.
pub(crate) fn aws_name(text: &str) -> Option<&str> {
    let name = text.rsplit_once('#').map_or(text, |(_, name)| name);
    let name = name.split([':', ',']).next().unwrap_or_default().trim();
    let good = is_code(name) && !name.contains('/');
    good.then_some(name)
}

/// Returns a pointer into a document as a path with dots.
pub(crate) fn dotted(text: &str) -> Cow<'_, str> {
    let path = text.trim_start_matches(['#', '$', '/', '.']);
    if text.starts_with(['#', '/', '$']) {
        Cow::Owned(path.replace('/', "."))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns `key` behind `path`, with a dot between them.
pub(crate) fn join(path: &str, key: &str) -> String {
    let mut joined = String::with_capacity(path.len() + key.len() + 1);
    joined.push_str(path);
    if !path.is_empty() && !key.is_empty() {
        joined.push('.');
    }
    // A name longer than this is not one.
    let end = match key.len() {
        0..=64 => None,
        _ => key.char_indices().nth(64),
    };
    joined.push_str(end.and_then(|(end, _)| key.get(..end)).unwrap_or(key));
    joined
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_says_more_at_first_sight_is_clean(
            text in "(NOT|not) found|null|[a-zN<(. ]{0,6}( [a-z0-9<>b/]{0,4}){0,6}[.!:a ]?",
            status in 400..600_u16,
        ) {
            let status = StatusCode::from_u16(status).unwrap();
            if says_more(&text, status) {
                prop_assert_eq!(clean(&text, status), Some(Cow::Borrowed(&*text)));
            }
        }
    }
}
