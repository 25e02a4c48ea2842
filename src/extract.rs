//! What the server said, out of headers and the beginning of a body.
//!
//! Chosen by the response alone: what the body is counts for more than how it is labelled. Nothing
//! here fails: what cannot be read is a body without a message.

use http::{HeaderValue, StatusCode};

use crate::{
    charset, form,
    headers::Labels,
    html,
    json::{self, Answer},
    json_made::Made,
    json_phrase, scan, sse, xml,
};

/// What a response says of its failure. Raw: neither scrubbed nor on one line.
#[derive(Default)]
pub(crate) struct Extracted<'a> {
    pub(crate) answer: Answer<'a>,
    pub(crate) kind: Kind,
    /// The body itself, decoded, if it is of a kind that may be shown; else empty.
    pub(crate) text: &'a str,
}

/// What of a body may be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// There is nothing to show.
    #[default]
    None,
    /// It is of a kind that is not shown: `html`, `xml`, `binary`, `encoded`.
    Omitted(&'static str),
    /// JSON, but for some of its members.
    Json,
    Plain,
}

/// What the caller may choose.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    /// Take a body of plain text as the message.
    pub(crate) plain_text: bool,
}

/// The label of a body, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Json,
    Problem,
    AwsJson,
    Html,
    Form,
    Events,
    Text,
    Missing,
    Other,
}

const JSON: &str = "application/json";

impl<'a> Extracted<'a> {
    /// Fills in what a response says, where nothing is said yet: texts that are moved just after they were
    /// written keep the processor waiting. `prefix` is the beginning of its body, or all of it if `complete`.
    /// What has to be made for it is kept in `made`, which was empty before.
    pub(crate) fn read(
        &mut self,
        status: StatusCode,
        labels: Labels<'a>,
        prefix: &'a [u8],
        complete: bool,
        rules: &Rules,
        made: &'a Made,
    ) {
        let (label, charset) = match labels.content_type {
            // Most errors, told without a look at each letter.
            Some(value) if value == JSON => (Label::Json, None),
            value => {
                let content_type = text_of(value);
                (label(content_type), parameter(content_type, "charset"))
            }
        };
        let encoding = text_of(labels.content_encoding);
        if is_page(prefix) {
            // Most pages are told by their first bytes, before anything of them is decoded.
            self.kind = Kind::Omitted("html");
        } else if is_encoded(encoding, prefix, complete) {
            self.kind = Kind::Omitted("encoded");
        } else if !prefix.is_empty() {
            match decoded(prefix, charset, made) {
                None => self.kind = Kind::Omitted("binary"),
                Some(text) if text.starts_with('{') && label == Label::Json => {
                    self.read_json(status, label, text, made);
                }
                Some(text) => *self = document(status, label, text, rules, made),
            }
        }
        let aws_name = |value| json_phrase::aws_name(text_of(Some(value)));
        if let Some(name) = labels.error_type.and_then(aws_name) {
            self.prefix(name, made);
        } else if label == Label::AwsJson {
            // Some services have the type in a member `code` instead.
            if let Some(code) = self.answer.code.take() {
                self.prefix(code, made);
            }
        }
        // The texts are clean, and one that stands in the body is nothing else; what they are about, by the
        // names of members, may not be.
        if !made.is_empty() {
            self.clean_message(made);
        }
    }

    fn omitted(kind: &'static str) -> Self {
        Self {
            kind: Kind::Omitted(kind),
            ..Self::default()
        }
    }

    /// Returns whether the message may have lost its end to the limit.
    pub(crate) fn is_shortened(&self) -> bool {
        let message = self.answer.message;
        // The limit falls between characters.
        message.is_some_and(|text| text.len() >= json_phrase::LONGEST - 3)
    }

    #[inline(never)]
    fn clean_message(&mut self, made: &'a Made) {
        self.answer.message = self.answer.message.and_then(|message| {
            let stripped = html::strip(message).map(|text| made.keep(text));
            let message = json_phrase::shortened(stripped.unwrap_or(message));
            (!message.trim_ascii().is_empty() && !message.trim().is_empty()).then_some(message)
        });
    }

    /// Puts the type of an error before its message.
    fn prefix(&mut self, name: &'a str, made: &'a Made) {
        self.answer.message = Some(match self.answer.message {
            Some(message) if json_phrase::begins_with(message, name) => message,
            Some(message) => made.keep(format!("{name}: {message}")),
            None => name,
        });
        self.answer.code = Some(name);
    }

    /// Fills in what a JSON document says.
    #[inline(always)]
    fn read_json(&mut self, status: StatusCode, label: Label, text: &'a str, made: &'a Made) {
        json::read_into(
            &mut self.answer,
            text,
            label == Label::Problem,
            status,
            made,
        );
        self.kind = Kind::Json;
        self.text = text;
        if let Some(name) = self.answer.aws_type {
            self.prefix(name, made);
        }
    }
}

/// Returns the text of a body, if it is one.
#[inline]
fn decoded<'a>(prefix: &'a [u8], charset: Option<&str>, made: &'a Made) -> Option<&'a str> {
    // Most errors are ASCII on one line, in whatever charset but UTF-16.
    if charset.is_none() && scan::is_printable(prefix) {
        return std::str::from_utf8(prefix).ok();
    }
    charset::decode(prefix, charset).map(|text| made.text(text))
}

/// Reads a decoded body.
fn document<'a>(
    status: StatusCode,
    label: Label,
    text: &'a str,
    rules: &Rules,
    made: &'a Made,
) -> Extracted<'a> {
    let text = behind_guard(text);
    let mut extracted = trimmed(status, label, text, rules, made);
    if matches!(extracted.kind, Kind::Json | Kind::Plain) {
        extracted.text = text;
    }
    extracted
}

/// Returns where a document begins.
fn behind_guard(text: &str) -> &str {
    // Against script inclusion, some servers begin with this.
    let text = match text.trim_start().strip_prefix(")]}'") {
        Some(rest) => rest.trim_start_matches(','),
        None => text,
    };
    text.trim_start()
}

/// Reads a decoded body that begins without a space.
fn trimmed<'a>(
    status: StatusCode,
    label: Label,
    text: &'a str,
    rules: &Rules,
    made: &'a Made,
) -> Extracted<'a> {
    let is_json = matches!(label, Label::Json | Label::Problem | Label::AwsJson);
    match text.as_bytes().first() {
        None => Extracted::default(),
        Some(b'<') => {
            if label == Label::Html && !text.starts_with("<?xml") || html::is_html(text) {
                return Extracted::omitted("html");
            }
            let answer = xml::read(text, status);
            Extracted {
                answer: kept(answer.message, answer.code, made),
                ..Extracted::omitted("xml")
            }
        }
        Some(b'{' | b'[' | b'"') if is_json || json::is_json(text) => {
            from_json(status, label, text, made)
        }
        _ if label == Label::Events => from_events(status, text, made),
        _ if label == Label::Form || label != Label::Html && form::is_form(text) => {
            let (message, code) = form::read(text, status);
            Extracted {
                answer: kept(message, code, made),
                ..Extracted::default()
            }
        }
        _ if label == Label::Html => Extracted::omitted("html"),
        _ if label == Label::Other => Extracted::default(),
        _ => plain(status, text, rules, made),
    }
}

fn from_json<'a>(status: StatusCode, label: Label, text: &'a str, made: &'a Made) -> Extracted<'a> {
    let mut extracted = Extracted::default();
    extracted.read_json(status, label, text, made);
    extracted
}

/// An answer of texts that were made.
fn kept(message: Option<String>, code: Option<String>, made: &Made) -> Answer<'_> {
    Answer {
        code: code.map(|text| made.keep(text)),
        ..Answer::of(message.map(|text| made.keep(text)))
    }
}

fn from_events<'a>(status: StatusCode, text: &'a str, made: &'a Made) -> Extracted<'a> {
    for data in sse::events(text) {
        let data = made.text(data).trim_start();
        let found = match data.as_bytes().first() {
            Some(b'{' | b'[' | b'"') => from_json(status, Label::Json, data, made),
            _ => Extracted {
                answer: Answer::of(cleaned(status, data, made)),
                ..Extracted::default()
            },
        };
        if found.answer.message.is_some() {
            return Extracted {
                kind: Kind::None,
                text: "",
                ..found
            };
        }
    }
    Extracted::default()
}

fn cleaned<'a>(status: StatusCode, text: &'a str, made: &'a Made) -> Option<&'a str> {
    json_phrase::clean(text, status).map(|text| made.text(text))
}

fn plain<'a>(status: StatusCode, text: &'a str, rules: &Rules, made: &'a Made) -> Extracted<'a> {
    // A page may have something before it; one of these far behind is only quoted.
    let start = text.get(..text.len().min(1024)).unwrap_or(text);
    let lower = start.to_ascii_lowercase();
    if lower.contains("<html") || lower.contains("<!doctype html") {
        return Extracted::omitted("html");
    }
    let message = rules.plain_text.then(|| cleaned(status, text, made));
    Extracted {
        answer: Answer::of(message.flatten()),
        kind: Kind::Plain,
        ..Extracted::default()
    }
}

/// Returns whether the first bytes alone tell a page.
fn is_page(prefix: &[u8]) -> bool {
    let prefix = prefix.strip_prefix(b"\xef\xbb\xbf").unwrap_or(prefix);
    let start = prefix.trim_ascii_start();
    if start.first() != Some(&b'<') {
        return false;
    }
    if html::is_doctype(start) {
        return true;
    }
    let start = start.get(..start.len().min(512)).unwrap_or_default();
    let valid = start.utf8_chunks().next();
    let text = valid.map_or("", |chunk| chunk.valid());
    html::is_html(text)
}

/// Returns whether the bytes are compressed: the label may be wrong, or left behind by a layer that has
/// decoded the body.
fn is_encoded(label: &str, prefix: &[u8], complete: bool) -> bool {
    match prefix {
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => true,
        _ if label.is_empty() || label.eq_ignore_ascii_case("identity") => false,
        _ => !is_plain(prefix, complete),
    }
}

/// Returns whether bytes that are labelled as encoded are text all the same.
fn is_plain(prefix: &[u8], complete: bool) -> bool {
    let valid = match std::str::from_utf8(prefix) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && !complete,
    };
    let is_control = |byte: &u8| *byte < b' ' && !matches!(*byte, b'\t' | b'\n' | b'\r');
    valid && !prefix.iter().any(is_control)
}

fn label(content_type: &str) -> Label {
    let end = content_type
        .bytes()
        .position(|byte| matches!(byte, b';' | b','));
    let essence = content_type.get(..end.unwrap_or(content_type.len()));
    let essence = essence.unwrap_or_default().trim_ascii();
    let (kind, subtype) = essence.split_once('/').unwrap_or((essence, ""));
    let is = |name: &str| subtype.eq_ignore_ascii_case(name);
    let ends = |suffix: &str| {
        let at = subtype.len().checked_sub(suffix.len());
        at.and_then(|at| subtype.get(at..))
            .is_some_and(|end| end.eq_ignore_ascii_case(suffix))
    };
    let starts = |prefix: &str| {
        subtype
            .get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    if essence.is_empty() {
        Label::Missing
    } else if is("problem+json") {
        Label::Problem
    } else if starts("x-amz-json") {
        Label::AwsJson
    } else if ends("json") || is("x-json-stream") || is("jsonl") {
        // `json`, `x-ndjson` and every `+json`.
        Label::Json
    } else if is("html") || is("xhtml+xml") {
        Label::Html
    } else if is("x-www-form-urlencoded") {
        Label::Form
    } else if is("event-stream") {
        Label::Events
    } else if kind.eq_ignore_ascii_case("text") {
        Label::Text
    } else {
        Label::Other
    }
}

/// Returns the value of a parameter of a content type, without quotes.
fn parameter<'a>(content_type: &'a str, name: &str) -> Option<&'a str> {
    if !scan::has(content_type.as_bytes(), b';') {
        return None;
    }
    content_type.split(';').skip(1).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        key.trim().eq_ignore_ascii_case(name).then_some(value)
    })
}

fn text_of(value: Option<&HeaderValue>) -> &str {
    value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

#[cfg(test)]
#[path = "../tests/unit/extract.rs"]
mod tests;

#[cfg(test)]
#[path = "../tests/unit/extract_any.rs"]
mod any;

#[cfg(test)]
#[path = "../tests/unit/extract_seen.rs"]
mod seen;
