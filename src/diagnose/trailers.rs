use http::{HeaderMap, StatusCode, response::Parts};

use super::call::Call;

/// What is needed when the end of a body tells of a failure.
#[derive(Debug)]
pub(super) struct Trailers {
    call: Call,
    head: Parts,
}

impl Trailers {
    pub(super) fn new(call: Call, status: StatusCode) -> Self {
        let (mut head, ()) = http::Response::new(()).into_parts();
        head.status = status;
        Self { call, head }
    }

    /// Tells the log and the record of the failure, if there was one.
    pub(super) fn came(mut self, trailers: &HeaderMap) {
        self.head.headers = trailers.clone();
        if let Some(diagnosis) = self.call.in_headers(&self.head) {
            self.call.note_late(&diagnosis);
        }
    }
}
