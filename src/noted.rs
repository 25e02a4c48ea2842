//! What else than its credentials the headers of a request tell of it.

use http::HeaderValue;

/// Whether a request belongs to a session, and whether it may be repeated. In one byte: it is moved with
/// every call.
#[derive(Clone, Copy, Default)]
pub(crate) struct Noted(u8);

impl Noted {
    const SESSION: u8 = 1;
    /// There is an idempotency key, and the first is more than blank.
    const KEY: u8 = 2;
    const BLANK_KEY: u8 = 4;

    pub(crate) fn has_mcp_session(self) -> bool {
        self.0 & Self::SESSION != 0
    }

    pub(crate) fn has_idempotency_key(self) -> bool {
        self.0 & Self::KEY != 0
    }

    pub(crate) fn note_session(&mut self) {
        self.0 |= Self::SESSION;
    }

    /// Notes an idempotency key. The first counts.
    #[inline(always)]
    pub(crate) fn note_key(&mut self, key: &HeaderValue) {
        if self.0 & (Self::KEY | Self::BLANK_KEY) == 0 {
            self.0 |= match key.as_bytes().iter().all(u8::is_ascii_whitespace) {
                true => Self::BLANK_KEY,
                false => Self::KEY,
            };
        }
    }
}
