//! Response headers that may be shown, and the ids among them.

use http::{HeaderMap, HeaderName};
use serde::Serialize;

/// The headers of an answer, as far as they may be shown.
#[derive(Clone, Debug, Default)]
pub struct RedactedHeaders(Vec<(String, String)>);

impl Serialize for RedactedHeaders {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

pub(crate) fn redacted(headers: &HeaderMap, _extra: &[HeaderName]) -> RedactedHeaders {
    RedactedHeaders(
        headers
            .keys()
            .map(|name| (name.to_string(), "[redacted]".to_owned()))
            .collect(),
    )
}

pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    Some(headers.get("x-request-id")?.to_str().ok()?.to_owned())
}
