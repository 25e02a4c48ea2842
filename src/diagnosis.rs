//! What went wrong, as data and as one line.

use std::{borrow::Cow, error::Error, fmt, sync::OnceLock, time::Duration};

use http::{Response, StatusCode, response::Parts};
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    class::{ErrorClass, FaultDomain},
    endpoint::Endpoint,
    error::BoxError,
    excerpt::Excerpt,
    headers::RedactedHeaders,
    line::{self, PrintedPath},
    outcome::{Delivery, Outcome},
    payload::Payload,
    retried::{Retried, StopReason},
    texts::{Text, Texts},
};

/// The default limit of the line, in characters.
pub(crate) const LINE_CAP: usize = 300;

/// What went wrong with one call. Displays as the line.
///
/// Found in the extensions of a failing response, and inside a [`Diagnosed`].
#[derive(Clone)]
pub struct Diagnosis {
    pub(crate) endpoint: Endpoint,
    pub(crate) outcome: Outcome,
    pub(crate) texts: Texts,
    pub(crate) excerpt: Excerpt,
    /// Why there is no excerpt of a body that was there: what kind of body it is.
    pub(crate) omitted: Option<&'static str>,
    pub(crate) hint: Option<Cow<'static, str>>,
    /// Of a failure without an answer.
    pub(crate) cause: Option<Cow<'static, str>>,
    pub(crate) not_sent: bool,
    pub(crate) delivery: Delivery,
    pub(crate) attempts: u32,
    pub(crate) stop: Option<StopReason>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) indeterminate: bool,
    /// Made of [`Text::Headers`] when somebody asks.
    pub(crate) headers: OnceLock<Box<RedactedHeaders>>,
    pub(crate) omitted_headers: usize,
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

    /// Returns the line that `{}` prints: one line, without secrets, 300 characters at most unless
    /// [`line_cap`](crate::DiagnoseLayer::line_cap) says otherwise.
    ///
    /// That of an answer to the only attempt is borrowed, unless something of it had to be cut.
    #[must_use]
    pub fn line(&self) -> Cow<'_, str> {
        match line::standing(self) {
            Some(line) => Cow::Borrowed(line),
            None => Cow::Owned(self.to_string()),
        }
    }

    /// Returns the server's own words, scrubbed of secrets.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.texts.get(Text::Message)
    }

    /// Returns the server's own error code. If the server said nothing else, it is the message too.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.texts.get(Text::Code)
    }

    /// Returns the beginning of a JSON or plain-text body, scrubbed. Other bodies have none.
    #[must_use]
    pub fn excerpt(&self) -> Option<&str> {
        self.excerpt.get(self.texts.get(Text::Body))
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

    /// Returns why there were no more, if a failure of a kind that is repeated was given up.
    #[must_use]
    pub fn stop(&self) -> Option<StopReason> {
        self.stop
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
        self.texts.get(Text::RequestId)
    }

    /// Returns whether a write may have been applied although no answer came.
    #[must_use]
    pub fn is_indeterminate(&self) -> bool {
        self.indeterminate
    }

    /// Returns the headers of the answer that may be shown; the others read `[redacted]`.
    #[must_use]
    pub fn headers(&self) -> &RedactedHeaders {
        self.headers.get_or_init(|| {
            let rows = self.texts.bytes(Text::Headers);
            Box::new(RedactedHeaders::of_rows(rows, self.omitted_headers))
        })
    }

    /// Returns the diagnosis as tools and agents read it; `tool` is the name of the operation that
    /// made the call.
    #[must_use]
    pub fn payload(&self, tool: &str) -> Payload {
        Payload::new(self, tool)
    }
}

/// `{}` is the line; `{:#}` is a report of several lines. Neither names the host.
impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            line::write_report(f, self)
        } else {
            line::write_line(f, self)
        }
    }
}

impl fmt::Debug for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The excerpt is a piece of a raw body: it has no place in a log.
        f.debug_struct("Diagnosis")
            .field("line", &format_args!("{self}"))
            .field("class", &self.class())
            .field("domain", &self.domain())
            .field("code", &self.code())
            .field("delivery", &self.delivery)
            .field("attempts", &self.attempts)
            .field("timeout", &self.timeout)
            .field("retry_after", &self.retry_after)
            .field("request_id", &self.request_id())
            .field("indeterminate", &self.indeterminate)
            .field("headers", self.headers())
            .finish_non_exhaustive()
    }
}

/// A map with what is known; what is absent is left out. The excerpt is only in the
/// [payload](Diagnosis::payload).
impl Serialize for Diagnosis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("line", &format_args!("{self}"))?;
        map.serialize_entry("method", self.endpoint.method().as_str())?;
        map.serialize_entry("path", &format_args!("{}", PrintedPath(&self.endpoint)))?;
        entry(
            &mut map,
            "status",
            self.status().map(|status| status.as_u16()),
        )?;
        entry(&mut map, "message", self.message())?;
        entry(&mut map, "code", self.code())?;
        map.serialize_entry("error_class", &self.class())?;
        map.serialize_entry("fault_domain", &self.domain())?;
        map.serialize_entry("delivery", &self.delivery)?;
        map.serialize_entry("attempts", &self.attempts)?;
        entry(&mut map, "timeout_ms", self.timeout.map(millis))?;
        entry(&mut map, "retry_after_ms", self.retry_after.map(millis))?;
        entry(&mut map, "request_id", self.request_id())?;
        map.serialize_entry("indeterminate", &self.indeterminate)?;
        entry(&mut map, "hint", self.hint())?;
        if self.status().is_some() {
            map.serialize_entry("headers", self.headers())?;
        }
        map.end()
    }
}

/// Writes an entry that may be absent.
pub(crate) fn entry<M: SerializeMap>(
    map: &mut M,
    key: &'static str,
    value: Option<impl Serialize>,
) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(key, &value),
        None => Ok(()),
    }
}

/// Returns whole milliseconds; what does not fit becomes the largest that does.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
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
