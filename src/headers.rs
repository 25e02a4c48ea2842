//! Response headers that may be shown, and the ids among them.

use http::HeaderMap;

/// Returns the id under which the server knows the request.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    headers
        .get("x-request-id")?
        .to_str()
        .ok()
        .map(str::to_owned)
}
