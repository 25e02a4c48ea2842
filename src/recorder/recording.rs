//! One call being recorded: from its beginning to exactly one record.

use std::{
    any::Any,
    fmt, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::SystemTime,
};

use http::{HeaderMap, Method, Request, Response, StatusCode};
use tokio::time::Instant;

use super::{
    bytes_out::bytes_out,
    layer::{Config, PathHook},
    told::{CANCELLED, INTERNAL},
};
use crate::{
    call::{CallRecorder, Notes, Told},
    classify::{as_error, classify},
    outcome::{Delivery, Facts, Outcome},
    record::{BodyEnd, CallRecord, PathTemplate},
    secrets::MCP_SESSION_ID,
};

/// The guard of one call: whatever becomes of it, there is one record.
///
/// Dropped, the caller let go: before the head that is a cancelled call, after it a dropped body.
pub(crate) struct Recording {
    /// Taken when the record is made.
    open: Option<Open>,
}

struct Open {
    config: Config,
    /// Keeps what the head of the response told, too: whatever is here makes the body larger.
    recorder: CallRecorder,
    bytes_in: u64,
}

impl Recording {
    /// Begins a recording, and puts the call's notes on the request.
    pub(super) fn begin<B: 'static>(config: &Config, request: &mut Request<B>) -> Self {
        let parent = match request.extensions().is_empty() {
            true => None,
            false => request.extensions_mut().remove(),
        };
        let headers = request.headers();
        let mcp_session = !headers.is_empty() && headers.contains_key(MCP_SESSION_ID);
        let recorder = CallRecorder::begin(parent, mcp_session, |start| {
            start.target.keep(request.method(), request.uri());
            start.template = template(request.extensions());
            start.started_at = wall_clock();
            start.bytes_out = bytes_out(headers, request.body());
        });
        call_sink(|| config.sink.started(request.method()));
        request.extensions_mut().insert(recorder.clone());
        Self {
            open: Some(Open {
                config: Arc::clone(config),
                recorder,
                bytes_in: 0,
            }),
        }
    }

    /// The head of the response came. Returns whether the recording goes on, since the body is still to
    /// be read.
    pub(super) fn answered<B>(&mut self, response: &Response<B>, has_ended: bool) -> bool {
        let Some(open) = &self.open else {
            return false;
        };
        let at = Instant::now();
        let mut notes = open.recorder.notes();
        // Whatever the attempts came to, this is the answer. A layer further in that watches the body
        // may still note a failure.
        notes.take_failure();
        let told = Told::by_answer(response, has_ended, &notes);
        notes.head = Some((at, told));
        drop(notes);
        let status = response.status();
        let method = open.recorder.start().target.method();
        let is_upgrade = status == StatusCode::SWITCHING_PROTOCOLS
            || (status.is_success() && *method == Method::CONNECT);
        // What a handler gives in answer to a HEAD is never sent.
        let is_over = is_upgrade || has_ended || *method == Method::HEAD;
        if is_over {
            let body_end = (!is_upgrade).then_some(BodyEnd::Complete);
            self.close_at(at, None, body_end);
        }
        !is_over
    }

    /// The inner service is not called at all: it could not be made ready.
    pub(super) fn refused(&self) {
        if let Some(open) = &self.open {
            open.recorder.attempt_refused(None);
        }
    }

    /// The call failed without an answer.
    pub(super) fn failed<E: 'static>(mut self, error: &E) {
        if let Some(open) = self.open.take() {
            let at = Instant::now();
            let told = Told::by_error(error, &open.recorder.notes());
            open.close(at, None, |_| (None, told));
        }
    }

    /// So much of the body was read.
    pub(super) fn read(&mut self, bytes: usize) {
        if let Some(open) = &mut self.open {
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
            open.bytes_in = open.bytes_in.saturating_add(bytes);
        }
    }

    /// The body was read to its end.
    pub(super) fn completed(mut self, trailers: Option<&HeaderMap>) {
        let failure = trailers.and_then(|trailers| {
            self.judge(|facts, told| {
                told.note_grpc(trailers, facts);
                facts.grpc_status.and_then(|_| classify(None, facts))
            })
        });
        self.close(failure, Some(BodyEnd::Complete));
    }

    /// The body failed midway.
    pub(super) fn body_failed<E: 'static>(mut self, error: &E) {
        let failure = match as_error(error) {
            Some(error) => self.judge(|facts, _| classify(Some(error), facts)),
            None => None,
        };
        self.close(failure.or(Some(INTERNAL)), Some(BodyEnd::Failed));
    }

    /// Judges what came after the head.
    fn judge(
        &mut self,
        judge: impl FnOnce(&mut Facts, &mut Told) -> Option<Outcome>,
    ) -> Option<Outcome> {
        let open = self.open.as_mut()?;
        let mut notes = open.recorder.notes();
        let mut facts = notes.facts;
        let (_, told) = notes.head.as_mut()?;
        facts.last_status = told.status;
        judge(&mut facts, told)
    }

    /// The code that we called panicked.
    fn panicked(mut self) {
        self.close(Some(INTERNAL), Some(BodyEnd::Failed));
    }

    /// Makes the record. `failure` is what came after the head; what the head says wins over it.
    fn close(&mut self, failure: Option<Outcome>, body_end: Option<BodyEnd>) {
        self.close_at(Instant::now(), failure, body_end);
    }

    fn close_at(&mut self, at: Instant, failure: Option<Outcome>, body_end: Option<BodyEnd>) {
        let Some(open) = self.open.take() else {
            return;
        };
        open.close(at, body_end, |notes| match notes.head.take() {
            Some((head, mut told)) => {
                told.outcome = told.outcome.or(notes.failure()).or(failure);
                (Some(head), told)
            }
            None => {
                let told = Told {
                    outcome: failure,
                    ..Told::default()
                };
                (None, told)
            }
        });
    }
}

impl Open {
    /// Makes the record of what `tell` says: when the head came, and what it or an error told.
    #[inline]
    fn close(
        self,
        ended: Instant,
        body_end: Option<BodyEnd>,
        tell: impl FnOnce(&mut Notes) -> (Option<Instant>, Told),
    ) {
        let has_template = self.recorder.start().template.is_some()
            || self
                .config
                .path
                .as_ref()
                .is_some_and(|hook| self.asked(hook));
        let mut notes = self.recorder.notes();
        let (head, told) = tell(&mut notes);
        notes.attempts.close(ended);
        let attempt_log = mem::take(&mut notes.attempts);
        let (requests, last_failure) = (notes.facts.requests, notes.last_failure);
        let (noted, retried) = (notes.delivery(), notes.retried.or(told.retried));
        drop(notes);
        let record = CallRecord {
            recorder: self.recorder,
            has_template,
            status: told.status,
            outcome: told.outcome,
            delivery: noted.or(told.delivery).unwrap_or(Delivery::Unknown),
            attempts: match (requests, retried) {
                (0, Some(retried)) => retried.attempts(),
                (0, None) if noted.is_none() => told.attempts,
                (requests, _) => requests,
            },
            attempt_log,
            stop: retried.map(|retried| retried.stop()),
            last_failure,
            head,
            ended,
            bytes_in: self.bytes_in,
            // Before the head there is no body.
            body_end: body_end.filter(|_| head.is_some()),
            request_id: told.request_id,
            remote_code: told.remote_code,
        };
        call_sink(|| self.config.sink.record(record));
    }

    /// Asks the user's hook for a template; returns whether there is one.
    fn asked(&self, hook: &PathHook) -> bool {
        let start = self.recorder.start();
        let endpoint = start.target.endpoint();
        let Some(template) = call_hook(|| hook(&endpoint)) else {
            return false;
        };
        let endpoint = Box::new(endpoint.with_path(&template));
        start.endpoint.set(endpoint).is_ok()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let Some(open) = &self.open else { return };
        if open.recorder.notes().head.is_some() {
            self.close(None, Some(BodyEnd::Dropped));
        } else {
            open.recorder.cancelled();
            self.close(Some(CANCELLED), None);
        }
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").finish_non_exhaustive()
    }
}

/// Runs somebody else's code, and records the call as broken if that panics. The panic goes on.
///
/// A guard, because a future that is merely dropped while something else unwinds did not panic.
#[inline]
pub(crate) fn watch<T>(recording: &mut Option<Recording>, run: impl FnOnce() -> T) -> T {
    struct Watch<'a>(&'a mut Option<Recording>);

    impl Drop for Watch<'_> {
        fn drop(&mut self) {
            if let Some(recording) = self.0.take() {
                recording.panicked();
            }
        }
    }

    let watch = Watch(recording);
    let result = run();
    mem::forget(watch);
    result
}

/// Calls a sink, whose panics are its own: the call that is being recorded does not see them.
///
/// Also while another panic unwinds: one that is caught before it leaves the drop is allowed there.
pub(super) fn call_sink(sink: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(sink)) {
        discard(payload);
    }
}

/// As [`call_sink`], for what has a result.
fn call_hook<T>(hook: impl FnOnce() -> Option<T>) -> Option<T> {
    let mut result = None;
    call_sink(|| result = hook());
    result
}

/// Drops what was thrown, which may throw in its turn; what that throws is leaked.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(payload);
    }
}

/// Returns the route template that came with the request.
fn template(extensions: &http::Extensions) -> Option<PathTemplate> {
    if extensions.is_empty() {
        return None;
    }
    if let Some(template) = extensions.get::<PathTemplate>() {
        return Some(template.clone());
    }
    #[cfg(feature = "axum")]
    if let Some(matched) = extensions.get::<axum::extract::MatchedPath>() {
        return Some(PathTemplate::new(matched.as_str().to_owned()));
    }
    None
}

#[expect(
    clippy::disallowed_methods,
    reason = "a record says when the call was made; durations come from tokio's clock"
)]
pub(super) fn wall_clock() -> SystemTime {
    SystemTime::now()
}
