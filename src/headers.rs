//! Response headers that may be shown, and the ids among them.

use std::{borrow::Cow, fmt};

use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde::{Serialize, Serializer};

use crate::{
    path::REDACTED,
    redact::scrub,
    scan,
    secrets::Secrets,
    text::{cut, one_line, write_cut},
};

/// How many headers are kept, how much of a name, and how much of a value, in characters.
const HEADERS_CAP: usize = 64;
const NAME_CAP: usize = 64;
const VALUE_CAP: usize = 200;

/// What a row takes, about.
const ROW_LEN: usize = 40;

/// No more room is made at first: allocators have blocks of up to a kilobyte at hand.
const ROOM_CAP: usize = 1024;

/// An id longer than this, in characters, is none.
const ID_CAP: usize = 128;

/// The headers of a response, as far as they may be shown.
///
/// `content-type`, `content-length`, `retry-after`, `server`, `via`, `date` and the ids of requests keep their
/// values, on one line and cut to 200 characters; every other value reads `[redacted]`, and so does
/// one that is marked sensitive. At most 64 headers are kept.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RedactedHeaders {
    /// One line for each header: `name: value`.
    lines: String,
    /// How many headers there were beyond the cap.
    omitted: usize,
}

impl RedactedHeaders {
    /// Returns the names and what may be shown of the values, in the order of the map.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.lines().filter_map(|line| line.split_once(": "))
    }

    /// Returns what may be shown of the first value of a header; the name in small letters.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter()
            .find_map(|(found, value)| (found == name).then_some(value))
    }

    /// Of the rows of a [`Head`], and of how many headers have none.
    pub(crate) fn of_rows(rows: &[u8], omitted: usize) -> Self {
        Self {
            // The ids are the server's to choose, and may be made of what is no id.
            lines: scrub(&readable(rows), &Secrets::default(), None).into_owned(),
            omitted,
        }
    }

    /// Returns whether there were no headers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

impl fmt::Display for RedactedHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.lines.trim_end())?;
        if self.omitted > 0 {
            write!(f, "\n… ({} more headers)", self.omitted)?;
        }
        Ok(())
    }
}

impl fmt::Debug for RedactedHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for RedactedHeaders {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A name that comes twice would be a key that comes twice.
        let mut before = "";
        serializer.collect_map(self.iter().filter(|(name, _)| {
            let is_new = *name != before;
            before = name;
            is_new
        }))
    }
}

/// What the headers of an answer say, found in one walk.
pub(crate) struct Head<'a> {
    /// A row for each of the first [`HEADERS_CAP`]: `name: value`, or `name:` where the value may not be shown.
    /// A short value is written as it came: [`readable`] is for those who want to see it.
    pub(crate) rows: Vec<u8>,
    /// How many headers have no row.
    pub(crate) omitted: usize,
    pub(crate) labels: Labels<'a>,
    pub(crate) request_id: Option<&'a str>,
    /// Whether a header may say how long to wait.
    pub(crate) has_wait: bool,
}

/// What the headers of an answer say of its body. Of a header that comes twice the first counts.
#[derive(Clone, Copy, Default)]
pub(crate) struct Labels<'a> {
    pub(crate) content_type: Option<&'a HeaderValue>,
    pub(crate) content_encoding: Option<&'a HeaderValue>,
    /// The type of an error of AWS.
    pub(crate) error_type: Option<&'a HeaderValue>,
}

impl<'a> Head<'a> {
    /// Reads `headers`. The values of those in `extra` are never shown. There is room for so many bytes
    /// `beside` the rows.
    pub(crate) fn read(headers: &'a HeaderMap, extra: &[HeaderName], beside: usize) -> Self {
        let count = headers.len().min(HEADERS_CAP);
        let mut head = Self {
            rows: Vec::with_capacity((count * ROW_LEN + beside).min(ROOM_CAP)),
            omitted: headers.len() - count,
            labels: Labels::default(),
            request_id: None,
            has_wait: false,
        };
        let mut best = usize::MAX;
        let mut left = count;
        for (name, value) in headers {
            let mut is_public = true;
            match *name {
                header::CONTENT_TYPE => _ = head.labels.content_type.get_or_insert(value),
                header::RETRY_AFTER => head.has_wait = true,
                header::CONTENT_LENGTH | header::SERVER | header::VIA | header::DATE => {}
                header::CONTENT_ENCODING => {
                    _ = head.labels.content_encoding.get_or_insert(value);
                    is_public = false;
                }
                _ => match name.as_str() {
                    "x-amzn-errortype" => {
                        _ = head.labels.error_type.get_or_insert(value);
                        is_public = false;
                    }
                    "retry-after-ms" => (head.has_wait, is_public) = (true, false),
                    other => {
                        let rank = rank(other);
                        is_public = rank.is_some();
                        if let Some(rank) = rank.filter(|rank| *rank < best) {
                            if let Some(id) = id(name, value) {
                                (best, head.request_id) = (rank, Some(id));
                            }
                        }
                    }
                },
            }
            if left > 0 {
                left -= 1;
                is_public &= !value.is_sensitive() && (extra.is_empty() || !extra.contains(name));
                write_row(&mut head.rows, name, value, is_public);
            }
        }
        head
    }
}

#[inline(always)]
fn write_row(rows: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue, is_public: bool) {
    let name = name.as_str();
    let name = match name.len() <= NAME_CAP {
        true => name,
        false => cut(name, NAME_CAP).0,
    };
    rows.extend_from_slice(name.as_bytes());
    if is_public {
        rows.extend_from_slice(b": ");
        match value.as_bytes() {
            value if value.len() <= VALUE_CAP => rows.extend_from_slice(value),
            value => write_long(rows, value),
        }
        rows.push(b'\n');
    } else {
        rows.extend_from_slice(b":\n");
    }
}

#[cold]
fn write_long(rows: &mut Vec<u8>, value: &[u8]) {
    let mut shown = String::new();
    // Writing to a string does not fail.
    let _ = write_cut(
        &mut shown,
        &one_line(&String::from_utf8_lossy(value)),
        VALUE_CAP,
    );
    rows.extend_from_slice(shown.as_bytes());
}

/// Makes text of the rows of a [`Head`]: every value on one line, and `[redacted]` for
/// those that may not be shown. Of such a text it makes the same again.
pub(crate) fn readable(rows: &[u8]) -> String {
    let rows = match std::str::from_utf8(rows) {
        Ok(rows) => Cow::Borrowed(rows),
        Err(_) => String::from_utf8_lossy(rows),
    };
    let mut text = String::with_capacity(rows.len() + rows.len() / 2);
    let mut rest = &*rows;
    while !rest.is_empty() {
        let (row, behind) = around(rest, b'\n').unwrap_or((rest, ""));
        rest = behind;
        match around(row, b':') {
            Some((name, "")) => text.extend([name, ": ", REDACTED]),
            Some((name, value)) => text.extend([name, ": ", &*one_line(value.trim_start())]),
            None => text.push_str(row),
        }
        text.push('\n');
    }
    text
}

/// Returns what is before and behind the first `byte`, which is of ASCII.
fn around(text: &str, byte: u8) -> Option<(&str, &str)> {
    let place = scan::find(text.as_bytes(), byte, byte)?;
    Some((text.get(..place)?, text.get(place + 1..)?))
}

/// The headers that carry the id of a request, the most telling first. The last three carry a trace
/// of which the id is a part.
const IDS: &[&str] = &[
    "x-request-id",
    "request-id",
    "x-correlation-id",
    "correlation-id",
    "x-amzn-requestid",
    "x-amz-request-id",
    "apigw-requestid",
    "x-ms-request-id",
    "x-github-request-id",
    "x-goog-request-id",
    "x-guploader-uploadid",
    "x-opc-request-id",
    "opc-request-id",
    "fly-request-id",
    "cf-ray",
    "x-amz-cf-id",
    "x-vercel-id",
    "x-nf-request-id",
    "x-trace-id",
    "x-b3-traceid",
    "x-datadog-trace-id",
    TRACEPARENT,
    "x-cloud-trace-context",
    "x-amzn-trace-id",
];

const TRACEPARENT: &str = "traceparent";

/// Returns the place of a header among [`IDS`].
fn rank(name: &str) -> Option<usize> {
    // Most names end otherwise, and need no search.
    if !["id", "ray", "parent", "context"]
        .iter()
        .any(|ending| name.ends_with(ending))
    {
        return None;
    }
    IDS.iter().position(|id| *id == name)
}

/// Returns the id under which the server knows the request: from the first of [`IDS`] whose value is
/// one.
///
/// An id is 1 to 128 characters of visible ASCII and not marked sensitive. Of `traceparent` it is the trace's id,
/// of the other traces what stands before `/` or `;`. What looks like a credential in it is left out: it is the
/// server's to choose, and may be an echo.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    let mut best: Option<(usize, &str)> = None;
    for (name, value) in headers {
        let Some(rank) = rank(name.as_str()) else {
            continue;
        };
        if best.is_none_or(|(best, _)| rank < best) {
            if let Some(id) = id(name, value) {
                best = Some((rank, id));
            }
        }
    }
    best.map(|(_, id)| scrub(id, &Secrets::default(), None).into_owned())
}

fn id<'a>(name: &HeaderName, value: &'a HeaderValue) -> Option<&'a str> {
    if value.is_sensitive() {
        return None;
    }
    let value = std::str::from_utf8(value.as_bytes()).ok()?.trim();
    let id = match name.as_str() {
        TRACEPARENT => trace_id(value)?,
        "x-cloud-trace-context" | "x-amzn-trace-id" => value.split(['/', ';']).next()?,
        _ => value,
    };
    let is_id = (1..=ID_CAP).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    is_id.then_some(id)
}

/// Returns the trace's id of a [`traceparent`]: 32 hexadecimal digits, not all of them 0.
///
/// [`traceparent`]: https://www.w3.org/TR/trace-context/#traceparent-header
fn trace_id(traceparent: &str) -> Option<&str> {
    let mut fields = traceparent.split('-');
    let version = fields.next()?;
    let id = fields.next()?;
    let is_id = version.len() == 2
        && id.len() == 32
        && id.bytes().all(|byte| byte.is_ascii_hexdigit())
        && id.bytes().any(|byte| byte != b'0');
    is_id.then_some(id)
}

#[cfg(test)]
#[path = "../tests/unit/headers.rs"]
mod tests;
