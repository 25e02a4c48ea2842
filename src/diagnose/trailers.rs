use http::{HeaderMap, StatusCode};

use super::call::Kept;

/// What is needed when the end of a body tells of a failure.
pub(super) struct Trailers {
    kept: Kept,
    status: StatusCode,
}

impl Trailers {
    pub(super) fn new(kept: Kept, status: StatusCode) -> Self {
        Self { kept, status }
    }

    /// Tells the log and the record of the failure, if there was one.
    pub(super) fn came(&self, trailers: &HeaderMap) {
        let (mut head, ()) = http::Response::new(()).into_parts();
        head.status = self.status;
        head.headers = trailers.clone();
        let call = self.kept.call();
        if let Some(diagnosis) = call.in_headers(&head) {
            call.note_late(&diagnosis);
        }
    }
}
