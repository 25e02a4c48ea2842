//! One attempt that failed, as the hooks see it.

use std::{error::Error, fmt, time::Duration};

use http::{HeaderMap, StatusCode};

use crate::{
    endpoint::Endpoint,
    outcome::{Delivery, Idempotency},
};

/// A failed attempt, for the hooks of [`RetryLayer`](crate::RetryLayer).
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Attempt<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) number: u32,
    pub(crate) answer: Answer<'a>,
    pub(crate) delivery: Delivery,
    pub(crate) idempotency: Idempotency,
    pub(crate) retryable: bool,
    pub(crate) wait: Duration,
}

/// How the attempt ended.
#[derive(Clone, Copy)]
pub(crate) enum Answer<'a> {
    Response(StatusCode, &'a HeaderMap),
    Error(&'a (dyn Error + 'static)),
}

impl<'a> Attempt<'a> {
    /// Returns what was called.
    #[must_use]
    pub fn endpoint(&self) -> &'a Endpoint {
        self.endpoint
    }

    /// Returns which attempt it was; the first is 1.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the status of the answer, if there was one.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match self.answer {
            Answer::Response(status, _) => Some(status),
            Answer::Error(_) => None,
        }
    }

    /// Returns the headers of the answer, if there was one.
    #[must_use]
    pub fn headers(&self) -> Option<&'a HeaderMap> {
        match self.answer {
            Answer::Response(_, headers) => Some(headers),
            Answer::Error(_) => None,
        }
    }

    /// Returns the error, if no answer came.
    #[must_use]
    pub fn error(&self) -> Option<&'a (dyn Error + 'static)> {
        match self.answer {
            Answer::Response(..) => None,
            Answer::Error(error) => Some(error),
        }
    }

    /// Returns whether this attempt's request reached the server.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Returns whether repeating the request is safe even if it arrived.
    #[must_use]
    pub fn idempotency(&self) -> Idempotency {
        self.idempotency
    }

    /// Returns whether the failure is of a kind that is repeated by default.
    ///
    /// A hook that wants one more status says `attempt.is_retryable() || attempt.status() == …`.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// Returns the wait before the next attempt, if there is one: backoff, or what the server asked
    /// for if that is longer.
    #[must_use]
    pub fn wait(&self) -> Duration {
        self.wait
    }
}

impl fmt::Debug for Attempt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither headers nor the error: both may hold what must not be printed.
        f.debug_struct("Attempt")
            .field("endpoint", self.endpoint)
            .field("number", &self.number)
            .field("status", &self.status())
            .field("delivery", &self.delivery)
            .field("idempotency", &self.idempotency)
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}
