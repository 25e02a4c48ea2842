//! Values that must not be shown because of what they are called.

use std::ops::Range;

use crate::path::REDACTED;

/// The name of no secret is longer than this, in bytes, even with a path or a namespace before it.
const LONGEST_NAME: usize = 100;

/// Returns the value of the JSON member whose colon stands at `at`, and whose name not before `from`, if
/// it must not be shown.
///
/// A number is a value too; an object or an array only where it echoes the request. Inside a JSON string the quotes are
/// escaped ones.
pub(crate) fn member(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let before = text.get(from..at)?.trim_ascii_end().strip_suffix('"')?;
    let (before, quote) = match before.strip_suffix('\\') {
        Some(before) => (before, "\\\""),
        None => (before, "\""),
    };
    let last = backwards(before).next()?;
    if secret_endings(last).is_empty() && echoes(last).is_empty() {
        return None;
    }
    let named = named(name_before(before, quote)?);
    if named == Named::Other {
        return None;
    }
    let value = skip_blanks(text.get(at + 1..)?);
    let start = text.len() - value.len();
    if let Some(string) = value.strip_prefix(quote) {
        let start = start + quote.len();
        return Some(start..start + string_len(string, quote.len() > 1));
    }
    match value.bytes().next()? {
        b'{' | b'[' if named == Named::Echo => Some(start..start + nested_len(value)),
        b'0'..=b'9' | b'-' => {
            let end = value.find([',', '}', ']', ' ', '\t', '\r', '\n']);
            Some(start..start + end.unwrap_or(value.len()))
        }
        _ => None,
    }
}

/// Returns the name at the end of `text`, if a quote of the same kind as its closing one opens it.
fn name_before<'a>(text: &'a str, quote: &str) -> Option<&'a str> {
    let is_name = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'/')
    };
    let len = text
        .bytes()
        .rev()
        .take(LONGEST_NAME)
        .take_while(is_name)
        .count();
    let (before, name) = text.split_at_checked(text.len() - len)?;
    let before = before.strip_suffix('"')?;
    (before.ends_with('\\') == (quote.len() > 1)).then_some(name)
}

/// Returns the value behind the equals sign at `at`, if the word before it, which began at `word`, is
/// the name of a secret.
pub(crate) fn parameter(text: &str, word: Option<usize>, at: usize) -> Option<Range<usize>> {
    if named(text.get(word?..at)?) != Named::Secret {
        return None;
    }
    let behind = text.get(at + 1..)?;
    let quotes = behind
        .bytes()
        .take(2)
        .take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\'))
        .count();
    let value = behind.get(quotes..)?;
    let len = value
        .find(|c| {
            is_reference_end(c)
                || matches!(c, '&' | ',' | ';' | '\'' | ')' | ']' | '}' | '\\' | '=')
        })
        .unwrap_or(value.len());
    // What follows a scheme is found by the scheme.
    let is_scheme = ["bearer", "basic", "token"]
        .iter()
        .any(|scheme| value[..len].eq_ignore_ascii_case(scheme));
    let is_mark = value.starts_with(REDACTED);
    let start = at + 1 + quotes;
    (len > 0 && !is_scheme && !is_mark).then_some(start..start + len)
}

fn skip_blanks(text: &str) -> &str {
    let blanks = text
        .bytes()
        .take(8)
        .take_while(u8::is_ascii_whitespace)
        .count();
    &text[blanks..]
}

/// Returns the length of a JSON string, without its quotes.
fn string_len(string: &str, is_escaped: bool) -> usize {
    let mut bytes = string.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        match (byte, bytes.peek()) {
            (b'"', _) => return at,
            (b'\\', Some((_, b'"'))) if is_escaped => return at,
            // What stands behind a backslash is a part of the string, whatever it is.
            (b'\\', Some(_)) => {
                bytes.next();
            }
            _ => {}
        }
    }
    string.len()
}

/// Returns the length of the JSON object or array at the start of `value`.
fn nested_len(value: &str) -> usize {
    let mut depth: usize = 0;
    let mut at = 0;
    while let Some(&byte) = value.as_bytes().get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return at,
            b'}' | b']' => depth -= 1,
            b'"' => at += string_len(value.get(at..).unwrap_or_default(), false) + 1,
            _ => {}
        }
    }
    value.len()
}

/// Returns whether no URL and no bare value goes on with `c`.
pub(crate) fn is_reference_end(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '"' | '<' | '>' | '`' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff65}')
}

/// What a member or a parameter is called when its value is nobody's business, without `-`, `_` and
/// case, by the last letter. An ending is enough: `clientSecret`, `access_token`.
const fn secret_endings(last: u8) -> &'static [&'static str] {
    match last {
        b'd' => &["password", "passwd", "pwd", "sessionid", "sessid"],
        b'e' => &["cookie", "passphrase", "signature"],
        b'g' => &["sig"],
        b'l' => &["credential"],
        b'n' => &["token", "authorization"],
        b's' => &["credentials"],
        b't' => &["secret", "jwt"],
        b'y' => &["secretkey", "apikey", "accesskey", "authkey", "privatekey"],
        _ => &[],
    }
}

/// What servers call the request when they send it back in their answer, by the last letter.
const fn echoes(last: u8) -> &'static [&'static str] {
    match last {
        b'e' => &["rejectedvalue"],
        b'g' => &["config"],
        b's' => &["headers"],
        b't' => &["input", "request", "paymentintent"],
        b'y' => &["body"],
        _ => &[],
    }
}

/// How a named value is to be treated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// A secret by its name.
    Secret,
    /// A piece of the request.
    Echo,
    /// Neither.
    Other,
}

/// Returns what the name of a member or of a parameter says of its value.
fn named(name: &str) -> Named {
    let Some(last) = backwards(name).next() else {
        return Named::Other;
    };
    let ends = |ending: &&str| ending.bytes().rev().eq(backwards(name).take(ending.len()));
    if secret_endings(last).iter().any(ends) {
        Named::Secret
    } else if echoes(last)
        .iter()
        .any(|echo| echo.bytes().rev().eq(backwards(name)))
    {
        Named::Echo
    } else {
        Named::Other
    }
}

/// Returns the letters of a name, without `-`, `_` and case, from the last to the first.
fn backwards(name: &str) -> impl Iterator<Item = u8> {
    let letters = name.bytes().rev();
    letters
        .filter(|byte| !matches!(byte, b'-' | b'_'))
        .map(|byte| byte.to_ascii_lowercase())
}

#[cfg(test)]
#[path = "../tests/unit/redact_named.rs"]
mod tests;
