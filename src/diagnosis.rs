//! What went wrong, as data and as one line.

use std::{borrow::Cow, error::Error, fmt, time::Duration};

use http::{Response, StatusCode, response::Parts};

use crate::{
    class::{ErrorClass, FaultDomain},
    endpoint::Endpoint,
    error::BoxError,
    outcome::{Delivery, Outcome},
    retried::Retried,
    text::{self, write_cut},
};

/// The default limit of the line, in characters.
pub(crate) const LINE_CAP: usize = 300;

/// What went wrong with one call. Displays as the line.
///
/// Found in the extensions of a failing response, and inside a [`Diagnosed`].
#[derive(Clone, Debug)]
pub struct Diagnosis {
    pub(crate) endpoint: Endpoint,
    pub(crate) outcome: Outcome,
    /// The server's own words, scrubbed and on one line.
    pub(crate) message: Option<Box<str>>,
    pub(crate) code: Option<Box<str>>,
    pub(crate) excerpt: Option<Box<str>>,
    pub(crate) hint: Option<Cow<'static, str>>,
    /// Of a failure without an answer.
    pub(crate) cause: Option<Cow<'static, str>>,
    pub(crate) not_sent: bool,
    pub(crate) delivery: Delivery,
    pub(crate) attempts: u32,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) request_id: Option<Box<str>>,
    pub(crate) indeterminate: bool,
    pub(crate) line_cap: usize,
}

impl Diagnosis {
    /// Returns what was called.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the status of the answer, if there was one.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        self.outcome.status()
    }

    /// Returns the server's own words, scrubbed of secrets.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Returns the server's own error code.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// Returns the beginning of the body, scrubbed.
    #[must_use]
    pub fn excerpt(&self) -> Option<&str> {
        self.excerpt.as_deref()
    }

    /// Returns what to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns class, domain and status together.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Returns the kind of the failure.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.outcome.class()
    }

    /// Returns whose fault it was.
    #[must_use]
    pub fn domain(&self) -> FaultDomain {
        self.outcome.domain()
    }

    /// Returns whether the request reached the server: the least certain of all attempts.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Returns how many attempts were made.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns the limit of time that ran out, if one did and it is known.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Returns how long the server asked to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns the id under which the server knows the request.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// Returns whether a write may have been applied although no answer came.
    #[must_use]
    pub fn is_indeterminate(&self) -> bool {
        self.indeterminate
    }

    fn write_line(&self, out: &mut String) -> fmt::Result {
        use fmt::Write;

        write!(out, "{} failed", self.endpoint)?;
        let (message, tail) = match (self.outcome.status(), &self.cause) {
            (_, Some(cause)) => {
                out.push_str(": ");
                let tail = if self.not_sent {
                    " (not sent)"
                } else {
                    " (no response from server)"
                };
                (cause.as_ref(), tail)
            }
            (Some(status), None) => {
                let reason = status.canonical_reason();
                match reason {
                    Some(reason) => write!(out, " ({} {reason}): ", status.as_u16())?,
                    None => write!(out, " ({}): ", status.as_u16())?,
                }
                (self.message().or(reason).unwrap_or("no error message"), "")
            }
            (None, None) => {
                out.push_str(": ");
                (self.message().unwrap_or("no error message"), "")
            }
        };
        let attempts = match self.attempts {
            0 | 1 => String::new(),
            attempts => format!(" [{attempts} attempts]"),
        };
        let used = text::width(out) + tail.len() + attempts.len();
        write_cut(out, message, self.line_cap.saturating_sub(used).max(1))?;
        out.push_str(tail);
        out.push_str(&attempts);
        Ok(())
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = String::with_capacity(128);
        self.write_line(&mut line)?;
        f.write_str(&line)
    }
}

/// A failed call: the diagnosis, and the error that it was made from. Displays as the line.
pub struct Diagnosed {
    inner: Box<Inner>,
}

struct Inner {
    diagnosis: Diagnosis,
    source: Option<BoxError>,
    response: Option<Parts>,
}

impl Diagnosed {
    pub(crate) fn new(
        diagnosis: Diagnosis,
        source: Option<BoxError>,
        response: Option<Parts>,
    ) -> Self {
        Self {
            inner: Box::new(Inner {
                diagnosis,
                source,
                response,
            }),
        }
    }

    /// Returns the diagnosis.
    #[must_use]
    pub fn diagnosis(&self) -> &Diagnosis {
        &self.inner.diagnosis
    }

    /// Returns the head of the failing response, where `error_for_status` made an error of it.
    #[must_use]
    pub fn response(&self) -> Option<&Parts> {
        self.inner.response.as_ref()
    }

    /// Returns the original error, if there was one.
    #[must_use]
    pub fn into_source(self) -> Option<BoxError> {
        self.inner.source
    }
}

impl fmt::Display for Diagnosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.diagnosis.fmt(f)
    }
}

impl fmt::Debug for Diagnosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither the head nor the source: both may hold what must not be printed.
        f.debug_tuple("Diagnosed")
            .field(&self.inner.diagnosis)
            .finish()
    }
}

impl Error for Diagnosed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner
            .source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}

/// What our layers leave in the extensions of a response.
pub trait ResponseExt {
    /// Returns what went wrong, if something did.
    fn diagnosis(&self) -> Option<&Diagnosis>;

    /// Returns how often the call was attempted, if more than once or if it was given up.
    fn retried(&self) -> Option<Retried>;
}

impl<B> ResponseExt for Response<B> {
    fn diagnosis(&self) -> Option<&Diagnosis> {
        self.extensions().get()
    }

    fn retried(&self) -> Option<Retried> {
        self.extensions().get().copied()
    }
}
