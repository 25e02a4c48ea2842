//! Response headers that may be shown, and the ids among them.

use std::{borrow::Cow, fmt};

use http::{HeaderMap, HeaderName, HeaderValue};
use serde::{Serialize, Serializer};

use crate::{
    path::REDACTED,
    redact::Scrubber,
    text::{cut, one_line, write_cut},
};

/// How many headers are kept, how much of a name, and how much of a value, in characters.
const HEADERS_CAP: usize = 64;
const NAME_CAP: usize = 64;
const VALUE_CAP: usize = 200;

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

    /// Removes what the server echoes of the request's secrets in a value that is shown.
    pub(crate) fn scrubbed(mut self, scrubber: &Scrubber<'_>) -> Self {
        if scrubber.is_needed() {
            if let Cow::Owned(lines) = scrubber.scrub(&self.lines) {
                self.lines = lines;
            }
        }
        self
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

/// Returns what may be shown of `headers`. The values of those in `extra` never are.
pub(crate) fn redacted(headers: &HeaderMap, extra: &[HeaderName]) -> RedactedHeaders {
    let mut lines = String::with_capacity(headers.len().min(HEADERS_CAP) * 40);
    for (name, value) in headers.iter().take(HEADERS_CAP) {
        lines.push_str(cut(name.as_str(), NAME_CAP).0);
        lines.push_str(": ");
        let is_shown = !value.is_sensitive() && !extra.contains(name) && is_public(name);
        if is_shown {
            let value = String::from_utf8_lossy(value.as_bytes());
            // Writing to a string does not fail.
            let _ = write_cut(&mut lines, &one_line(&value), VALUE_CAP);
        } else {
            lines.push_str(REDACTED);
        }
        lines.push('\n');
    }
    RedactedHeaders {
        lines,
        omitted: headers.len().saturating_sub(HEADERS_CAP),
    }
}

fn is_public(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "content-type" | "content-length" | "retry-after" | "server" | "via" | "date"
    ) || rank(name).is_some()
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
fn rank(name: &HeaderName) -> Option<usize> {
    let name = name.as_str();
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
/// of the other traces what stands before `/` or `;`.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    let mut best: Option<(usize, &str)> = None;
    for (name, value) in headers {
        let Some(rank) = rank(name) else {
            continue;
        };
        if best.is_none_or(|(best, _)| rank < best) {
            if let Some(id) = id(name, value) {
                best = Some((rank, id));
            }
        }
    }
    best.map(|(_, id)| id.to_owned())
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
