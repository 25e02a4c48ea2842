use http::{HeaderMap, StatusCode, response::Parts};

use super::call::Kept;

/// What is needed when the end of a body tells of a failure.
pub(super) struct Trailers {
    kept: Kept,
    head: Parts,
}

impl Trailers {
    pub(super) fn new(kept: Kept, status: StatusCode) -> Self {
        let (mut head, ()) = http::Response::new(()).into_parts();
        head.status = status;
        Self { kept, head }
    }

    /// Tells the log and the record of the failure, if there was one.
    pub(super) fn came(mut self, trailers: &HeaderMap) {
        self.head.headers = trailers.clone();
        let call = self.kept.call();
        if let Some(diagnosis) = call.in_headers(&self.head) {
            call.note_late(&diagnosis);
        }
    }
}
