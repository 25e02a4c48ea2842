//! One call, as it is kept: the record, and whoever receives it.

use std::{
    borrow::Cow,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use http::{Method, StatusCode};
use serde::{Serialize, Serializer, ser::SerializeMap};
use tokio::time::Instant;

use crate::{
    attempts::{AttemptRecord, Attempts},
    call::CallRecorder,
    class::{AuditClass, ErrorClass, FaultDomain},
    endpoint::Endpoint,
    names::names,
    outcome::{Delivery, Outcome},
    retried::StopReason,
    timestamp::timestamp,
};

/// How the body of a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BodyEnd {
    /// It was read to its end, or had none.
    Complete,
    /// It failed midway.
    Failed,
    /// Whoever read it let go of it before its end. No failure.
    Dropped,
}

names!(BodyEnd, "a body's end", {
    Complete => "complete",
    Failed => "failed",
    Dropped => "dropped",
});

/// A request extension: the route template that stands for the path, `/users/{id}` for `/users/42`.
///
/// The record's endpoint then shows the template, and a metric may carry it as a label. The caller
/// answers for it: a template made from data from outside is no template.
///
/// With the feature `axum`, axum's `MatchedPath` serves as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathTemplate(Cow<'static, str>);

impl PathTemplate {
    /// Creates a template.
    #[must_use]
    pub fn new(template: impl Into<Cow<'static, str>>) -> Self {
        Self(template.into())
    }

    /// Returns the template.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One call, from the moment it was made to the end of its response's body.
///
/// Serialized, it is one flat JSON object. Its names are stable, new ones may be added, and what is
/// absent is left out:
///
/// | name | is |
/// |---|---|
/// | `started_at` | when the call was made, [RFC 3339] in UTC |
/// | `endpoint`, `method` | what was called: `GET /users/{id}`, `GET` |
/// | `status` | the status that came; none where an error was answered further out |
/// | `error_class`, `fault_domain`, `audit_class` | how it failed, if it did |
/// | `upstream_http_status` | the status that the server gave when it failed |
/// | `error_code` | the server's own code for it |
/// | `delivery` | whether the request reached the server: the least certain of all attempts, so `unknown` even beside a 200 if an earlier attempt broke off |
/// | `attempts` | how many attempts are known to have been made; 0 for a call that never reached the client |
/// | `attempt_results`, `attempt_durations_ms` | of each attempt, if there were several: at most 16. A status, a class, or `dropped`: dropped midway with the whole call, by the limit for it or by a caller who went away |
/// | `retry_stop` | why there were no more |
/// | `last_failure_class`, `last_failure_status` | of the last attempt that failed, unless the call failed like that |
/// | `head_ms`, `duration_ms` | time to the head, and in all |
/// | `bytes_out`, `bytes_in` | length of the request's body where it was known; what was read of the response's. From the caller's view on a server too: there `bytes_out` came in, and `bytes_in` went out |
/// | `body_end` | how the response's body ended |
/// | `request_id` | the id that the server gave the request |
///
/// [RFC 3339]: https://www.rfc-editor.org/rfc/rfc3339
#[derive(Clone)]
pub struct CallRecord {
    /// For what was known at the start; the notes themselves may change when the call is over.
    pub(crate) recorder: CallRecorder,
    pub(crate) has_template: bool,
    /// The one attempt that was noted went well, and is made of the rest when somebody asks.
    pub(crate) is_smooth: bool,
    pub(crate) status: Option<StatusCode>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) delivery: Delivery,
    pub(crate) attempts: u32,
    pub(crate) stop: Option<StopReason>,
    pub(crate) last_failure: Option<Outcome>,
    pub(crate) head: Option<Instant>,
    pub(crate) ended: Instant,
    pub(crate) bytes_in: u64,
    pub(crate) body_end: Option<BodyEnd>,
    pub(crate) request_id: Option<Box<str>>,
    pub(crate) remote_code: Option<Box<str>>,
}

impl CallRecord {
    /// Returns what was called, under its route template if one is known.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        self.recorder.start().endpoint()
    }

    /// Returns the route template, if one is known: the only form of a path that may be a label.
    #[must_use]
    pub fn template(&self) -> Option<&str> {
        self.has_template.then(|| self.endpoint().path())
    }

    /// Returns the method.
    #[must_use]
    pub fn method(&self) -> &Method {
        self.recorder.start().target.method()
    }

    /// Returns the status of the answer that came, good or failing; `None` if none did.
    ///
    /// An error that a [`RespondLayer`](crate::RespondLayer) around the recorder turns into a response has
    /// none: the record is closed when the error passes, before there is an answer. What is known is how it
    /// failed: [`outcome`](Self::outcome) tells a limit of time from a refusal.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// Returns how the call failed, or `None` if it did not.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// Returns the kind of the failure.
    #[must_use]
    pub fn error_class(&self) -> Option<ErrorClass> {
        self.outcome.map(|outcome| outcome.class())
    }

    /// Returns whose fault the failure was.
    #[must_use]
    pub fn fault_domain(&self) -> Option<FaultDomain> {
        self.outcome.map(|outcome| outcome.domain())
    }

    /// Returns the failure's class for an audit log.
    #[must_use]
    pub fn audit_class(&self) -> Option<AuditClass> {
        self.outcome.map(|outcome| outcome.audit_class())
    }

    /// Returns whether the request reached the server: the least certain of all attempts.
    ///
    /// A good answer does not make an earlier attempt certain: where one broke off and its repetition got the
    /// 200, both may have been applied.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Returns how many attempts are known to have been made: how often the client was called, as a
    /// [`DispatchLayer`](crate::DispatchLayer) counts it. 0 if the call ended or was refused before the
    /// first one, or if it failed on our own side and no such layer was there.
    ///
    /// What was refused between a retry layer and the client is an attempt to the retries, and so to the
    /// line (`[2 attempts]`), but not here, where nothing was sent.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns the attempts that a [`DispatchLayer`](crate::DispatchLayer) saw: the first fifteen and
    /// the last.
    #[must_use]
    pub fn attempt_log(&self) -> impl DoubleEndedIterator<Item = &AttemptRecord> {
        let attempts = &self.recorder.start().attempts;
        attempts.get_or_init(|| self.only_attempt()).iter()
    }

    fn only_attempt(&self) -> Attempts {
        match (self.is_smooth, self.head, self.status) {
            (true, Some(head), Some(status)) => {
                Attempts::only(self.recorder.start().started, head, status)
            }
            _ => Attempts::default(),
        }
    }

    /// Returns why there were no more attempts, if a retry layer said so.
    #[must_use]
    pub fn stop(&self) -> Option<StopReason> {
        self.stop
    }

    /// Returns how the last of the failed attempts failed, also where a later one succeeded.
    #[must_use]
    pub fn last_failure(&self) -> Option<Outcome> {
        self.last_failure
    }

    /// Returns the time from the call to the head of the response; `None` if there was no response.
    #[must_use]
    pub fn time_to_head(&self) -> Option<Duration> {
        let started = self.recorder.start().started;
        self.head
            .map(|head| head.saturating_duration_since(started))
    }

    /// Returns the time from the call to the end of the response's body, to the error, or to the
    /// moment when the caller let go.
    #[must_use]
    pub fn duration(&self) -> Duration {
        let started = self.recorder.start().started;
        self.ended.saturating_duration_since(started)
    }

    /// Returns how long the request's body was, where its length was known at the start. On a server that is
    /// what came in.
    #[must_use]
    pub fn bytes_out(&self) -> Option<u64> {
        self.recorder.start().bytes_out
    }

    /// Returns how many bytes of the response's body were read. On a server that is what was handed out.
    #[must_use]
    pub fn bytes_in(&self) -> u64 {
        self.bytes_in
    }

    /// Returns how the response's body ended; `None` if there was no response, or if the connection
    /// went on as something else (101, a successful `CONNECT`).
    #[must_use]
    pub fn body_end(&self) -> Option<BodyEnd> {
        self.body_end
    }

    /// Returns the id that the server gave the request.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// Returns the server's own code for the failure.
    #[must_use]
    pub fn remote_code(&self) -> Option<&str> {
        self.remote_code.as_deref()
    }

    /// Returns when the call was made, by the wall clock. Durations are not measured by it.
    #[must_use]
    pub fn started_at(&self) -> SystemTime {
        self.recorder.start().started_at
    }
}

impl fmt::Debug for CallRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallRecord")
            .field("endpoint", self.endpoint())
            .field("status", &self.status)
            .field("outcome", &self.outcome)
            .field("delivery", &self.delivery)
            .field("attempts", &self.attempts)
            .field("duration", &self.duration())
            .field("body_end", &self.body_end)
            .finish_non_exhaustive()
    }
}

/// Writes entries of a map, absent ones not at all.
struct Entries<M>(M);

impl<M: SerializeMap> Entries<M> {
    fn put(&mut self, name: &str, value: Option<impl Serialize>) -> Result<(), M::Error> {
        match value {
            Some(value) => self.0.serialize_entry(name, &value),
            None => Ok(()),
        }
    }
}

impl Serialize for CallRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let status = |outcome: Outcome| outcome.status().map(|status| status.as_u16());
        let several = (self.attempts > 1 && self.attempt_log().next().is_some()).then_some(self);
        let mut map = Entries(serializer.serialize_map(None)?);
        map.put("started_at", Some(timestamp(self.started_at())))?;
        map.put("endpoint", Some(self.endpoint()))?;
        map.put("method", Some(self.method().as_str()))?;
        map.put("status", self.status.map(|status| status.as_u16()))?;
        map.put("error_class", self.error_class())?;
        map.put("fault_domain", self.fault_domain())?;
        map.put("audit_class", self.audit_class())?;
        map.put("upstream_http_status", self.outcome.and_then(status))?;
        map.put("error_code", self.remote_code())?;
        map.put("delivery", Some(self.delivery))?;
        map.put("attempts", Some(self.attempts))?;
        map.put("attempt_results", several.map(AttemptResults))?;
        map.put("attempt_durations_ms", several.map(AttemptDurations))?;
        map.put("retry_stop", self.stop)?;
        // Where the call itself failed like that, it has been said.
        let earlier = self
            .last_failure
            .filter(|failure| Some(*failure) != self.outcome);
        map.put("last_failure_class", earlier.map(|failure| failure.class()))?;
        map.put("last_failure_status", earlier.and_then(status))?;
        map.put("head_ms", self.time_to_head().map(millis))?;
        map.put("duration_ms", Some(millis(self.duration())))?;
        map.put("bytes_out", self.bytes_out())?;
        map.put("bytes_in", self.status.map(|_| self.bytes_in))?;
        map.put("body_end", self.body_end)?;
        map.put("request_id", self.request_id())?;
        map.0.end()
    }
}

/// Whole milliseconds; a value too large to write is the largest.
fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

struct AttemptResults<'a>(&'a CallRecord);

impl Serialize for AttemptResults<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.attempt_log().map(|attempt| {
            match (attempt.status(), attempt.class()) {
                (Some(status), _) => status.as_u16().to_string(),
                (None, Some(class)) => class.as_str().to_owned(),
                (None, None) => "dropped".to_owned(),
            }
        }))
    }
}

struct AttemptDurations<'a>(&'a CallRecord);

impl Serialize for AttemptDurations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            self.0
                .attempt_log()
                .map(|attempt| millis(attempt.duration())),
        )
    }
}

/// Whoever receives the records.
///
/// Every `Fn(CallRecord)` is one. It runs where the call ends: in the poll that ended it, or in the
/// drop of a future or a body. What it takes, the task that ended the call waits for; so it should
/// count, copy or queue, and leave writing to others. If it panics, the call goes on and only the
/// record is lost.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not receive call records",
    note = "a sink is any `Fn(CallRecord) + Send + Sync + 'static`, or a type with an `impl RecordSink`"
)]
pub trait RecordSink: Send + Sync + 'static {
    /// Receives the record of a call that has ended.
    fn record(&self, record: CallRecord);

    /// Learns that a call has begun. For each one, [`record`](Self::record) follows exactly once.
    fn started(&self, method: &Method) {
        let _ = method;
    }
}

impl<F: Fn(CallRecord) + Send + Sync + 'static> RecordSink for F {
    fn record(&self, record: CallRecord) {
        self(record);
    }
}

impl RecordSink for Arc<dyn RecordSink> {
    fn record(&self, record: CallRecord) {
        (**self).record(record);
    }

    fn started(&self, method: &Method) {
        (**self).started(method);
    }
}
