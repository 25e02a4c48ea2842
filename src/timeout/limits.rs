use std::time::Duration;

use http::{HeaderMap, header::CONTENT_TYPE};

use crate::error::TimeoutScope;

/// How long a body may let its reader wait. [`Duration::MAX`] is no limit.
#[derive(Clone, Debug)]
pub(super) struct BodyLimits {
    pub(super) idle: Duration,
    pub(super) total: Duration,
    pub(super) total_cuts_event_streams: bool,
    /// Whose body it is, as the scopes of the errors.
    pub(super) scopes: Scopes,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Scopes {
    pub(super) idle: TimeoutScope,
    pub(super) total: TimeoutScope,
}

impl Scopes {
    pub(super) const RESPONSE: Self = Self {
        idle: TimeoutScope::BodyIdle,
        total: TimeoutScope::BodyTotal,
    };
    pub(super) const REQUEST: Self = Self {
        idle: TimeoutScope::RequestBodyIdle,
        total: TimeoutScope::RequestBodyTotal,
    };
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self {
            idle: Duration::MAX,
            total: Duration::MAX,
            total_cuts_event_streams: false,
            scopes: Scopes::RESPONSE,
        }
    }
}

impl BodyLimits {
    /// Returns the limit on all waits together for a body with these headers.
    pub(super) fn total_for(&self, headers: &HeaderMap) -> Duration {
        if self.total != Duration::MAX && !self.total_cuts_event_streams && is_event_stream(headers)
        {
            return Duration::MAX;
        }
        self.total
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.as_bytes().split(|byte| *byte == b';').next())
        .is_some_and(|essence| {
            essence
                .trim_ascii()
                .eq_ignore_ascii_case(b"text/event-stream")
        })
}
