//! Failures inside good answers.

use http::{HeaderMap, StatusCode};

use crate::{outcome::Facts, protocol::Protocol};

/// A failure that a protocol reported in an answer with a good status.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) message: Option<String>,
    pub(super) code: Option<String>,
    pub(super) facts: Facts,
}

/// Returns whether a body with these headers may hold a failure of one of `protocols`.
pub(super) fn may_tell(protocols: &[Protocol], headers: &HeaderMap) -> bool {
    let _ = (protocols, headers);
    false
}

/// Looks into a whole body.
pub(super) fn in_body(protocols: &[Protocol], headers: &HeaderMap, body: &[u8]) -> Option<Found> {
    let _ = (protocols, headers, body);
    None
}

/// Returns whether the answer's status comes in its headers or trailers.
pub(super) fn is_grpc(protocols: &[Protocol], headers: &HeaderMap) -> bool {
    let _ = headers;
    protocols.contains(&Protocol::Grpc)
}

/// Looks at the status in headers or trailers.
pub(super) fn in_headers(headers: &HeaderMap) -> Option<Found> {
    let _ = (headers, StatusCode::OK);
    None
}
