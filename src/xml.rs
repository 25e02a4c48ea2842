//! The message inside an XML document, without entity expansion.
//!
//! A scanner, not a parser: it walks over the tags once, knows in which element it is, and keeps the
//! texts of a few. A document that is cut or badly nested says what was complete before.

use http::StatusCode;

use crate::json_phrase::{begins_with, clean, is_code};

/// Deeper elements are not told apart.
const DEPTH_LIMIT: usize = 32;

/// What a document says.
#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) message: Option<String>,
    pub(crate) code: Option<String>,
}

#[derive(Default)]
struct Words {
    code: Option<String>,
    message: Option<String>,
    /// What SOAP says, which needs no code before it.
    fault: Option<String>,
    fault_code: Option<String>,
    detail: Option<String>,
    title: Option<String>,
    other: Option<String>,
}

/// Reads the texts of `text`: `Code` and `Message`, the reason of a SOAP fault, a problem's detail.
pub(crate) fn read(text: &str, status: StatusCode) -> Answer {
    let words = walk(text, status);
    let code = words.code.or(words.fault_code);
    let plain = words.detail.or(words.title).or(words.other);
    let message = match (&code, words.message) {
        _ if words.fault.is_some() => words.fault,
        (Some(code), Some(message)) if begins_with(&message, code) => Some(message),
        (Some(code), Some(message)) => Some(format!("{code}: {message}")),
        (None, Some(message)) => Some(message),
        (code, None) => plain.or_else(|| code.clone()),
    };
    Answer { code, message }
}

fn walk(text: &str, status: StatusCode) -> Words {
    let mut words = Words::default();
    let mut open: Vec<&str> = Vec::new();
    let mut content = String::new();
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        if wanted(&open, depth) {
            decode(before, &mut content);
        }
        if let Some(comment) = after.strip_prefix("!--") {
            rest = behind(comment, "-->");
        } else if let Some(data) = after.strip_prefix("![CDATA[") {
            if wanted(&open, depth) {
                content.push_str(data.split_once("]]>").map_or("", |(data, _)| data));
            }
            rest = behind(data, "]]>");
        } else if after.starts_with('?') {
            rest = behind(after, "?>");
        } else if after.starts_with('!') {
            rest = behind_doctype(after);
        } else {
            let Some((tag, behind)) = split_tag(after) else {
                break;
            };
            rest = behind;
            if tag.starts_with('/') {
                if depth == open.len() {
                    keep(&mut words, &open, &content, status);
                    open.pop();
                }
                depth = depth.saturating_sub(1);
            } else if !tag.ends_with('/') {
                if depth == open.len() && depth < DEPTH_LIMIT {
                    open.push(local_name(tag));
                }
                depth += 1;
            }
            content.clear();
        }
    }
    words
}

/// Splits behind the `>` that ends a tag, which may stand in the value of an attribute as well.
fn split_tag(text: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    let end = text.bytes().position(|byte| match quote {
        Some(open) => {
            if byte == open {
                quote = None;
            }
            false
        }
        None => {
            if matches!(byte, b'"' | b'\'') {
                quote = Some(byte);
            }
            byte == b'>'
        }
    })?;
    let (tag, behind) = text.split_at_checked(end)?;
    Some((tag, behind.strip_prefix('>')?))
}

fn behind<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or("", |(_, rest)| rest)
}

/// Passes over a document type with all that it declares: none of it is ever used.
fn behind_doctype(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' | b'<' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            b'>' if depth == 0 => return text.get(at + 1..).unwrap_or_default(),
            b'>' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    ""
}

/// Returns the name of a tag without its prefix.
fn local_name(tag: &str) -> &str {
    let name = tag
        .split(|c: char| c.is_whitespace() || c == '/')
        .next()
        .unwrap_or_default();
    name.rsplit_once(':').map_or(name, |(_, name)| name)
}

fn wanted(open: &[&str], depth: usize) -> bool {
    depth == open.len() && kind(open).is_some()
}

#[derive(Clone, Copy)]
enum Kind {
    Code,
    Message,
    Fault,
    FaultCode,
    Detail,
    Title,
    Other,
}

/// Returns what the innermost element is for.
fn kind(open: &[&str]) -> Option<Kind> {
    let name = open.last()?;
    let around = open
        .len()
        .checked_sub(2)
        .and_then(|at| open.get(at))
        .copied()
        .unwrap_or_default();
    Some(match name.to_ascii_lowercase().as_str() {
        "code" | "errorcode" => Kind::Code,
        "message" | "errormessage" | "error_message" => Kind::Message,
        "faultstring" => Kind::Fault,
        "reason" => Kind::Fault,
        "text" if around.eq_ignore_ascii_case("reason") => Kind::Fault,
        "faultcode" => Kind::FaultCode,
        "value" if around == "Code" => Kind::FaultCode,
        "detail" => Kind::Detail,
        "title" => Kind::Title,
        "error" | "error_description" | "description" | "msg" | "errordescription" => Kind::Other,
        _ => return None,
    })
}

/// Keeps the content of the innermost element, if it is the first of its kind and says something.
fn keep(words: &mut Words, open: &[&str], content: &str, status: StatusCode) {
    let Some(kind) = kind(open) else { return };
    let place = match kind {
        Kind::Code => &mut words.code,
        Kind::Message => &mut words.message,
        Kind::Fault => &mut words.fault,
        Kind::FaultCode => &mut words.fault_code,
        Kind::Detail => &mut words.detail,
        Kind::Title => &mut words.title,
        Kind::Other => &mut words.other,
    };
    if place.is_some() {
        return;
    }
    let Some(text) = clean(content, status) else {
        return;
    };
    match kind {
        Kind::Code | Kind::FaultCode => {
            // A code of SOAP is a qualified name.
            let code = text.rsplit_once(':').map_or(&*text, |(_, code)| code);
            *place = is_code(code).then(|| code.to_owned());
        }
        _ => *place = Some(text.into_owned()),
    }
}

/// Appends `text` with the five entities and the numeric ones decoded; any other stays as it is.
fn decode(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        // The longest that we decode is `&#x10FFFF;`, give or take a few zeros.
        let end = after.bytes().take(12).position(|byte| byte == b';');
        let decoded = end.and_then(|end| {
            let c = entity(after.get(..end)?)?;
            Some((c, after.get(end + 1..)?))
        });
        match decoded {
            Some((c, behind)) => {
                out.push(c);
                rest = behind;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
}

fn entity(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
#[path = "../tests/unit/xml.rs"]
mod tests;
