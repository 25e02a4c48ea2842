//! One call being recorded: from its beginning to exactly one record.

use std::{fmt, sync::Arc, time::SystemTime};

use http::{Extensions, HeaderMap, HeaderName, Method, Request, Response, StatusCode};
use tokio::time::Instant;

use super::{
    bytes_out::bytes_out,
    closing::note_head,
    guards::call_sink,
    layer::Config,
    told::{CANCELLED, INTERNAL},
};
use crate::{
    call::CallRecorder,
    classify::{as_error, classify},
    headers::request_id,
    notes::Told,
    outcome::{Facts, Outcome},
    record::{BodyEnd, PathTemplate},
    secrets::MCP_SESSION_ID,
};

/// The guard of one call: whatever becomes of it, there is one record.
///
/// Dropped, the caller let go: before the head that is a cancelled call, after it a dropped body.
pub(crate) struct Recording {
    /// Taken when the record is made.
    recorder: Option<CallRecorder>,
    pub(super) config: Config,
    pub(super) bytes_in: u64,
    /// The head of a response of which there is nothing more to say. What another one tells is in the
    /// recorder's notes: whatever is here makes the body larger.
    head: Option<Head>,
}

#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) at: Instant,
    pub(super) status: StatusCode,
}

impl Recording {
    /// Begins a recording, and puts the call's notes on the request.
    #[inline(always)]
    pub(super) fn begin<B: 'static>(config: &Config, request: &mut Request<B>) -> Self {
        let (parent, template) = match request.extensions().is_empty() {
            true => (None, None),
            false => brought(request.extensions_mut()),
        };
        let headers = request.headers();
        let recorder = CallRecorder::begin(parent, has_mcp_session(headers), |start| {
            start.target.keep(request.method(), request.uri());
            start.template = template;
            start.started_at = wall_clock();
            start.bytes_out = bytes_out(headers, request.body());
            start.is_connect = *request.method() == Method::CONNECT;
            start.is_head = *request.method() == Method::HEAD;
        });
        call_sink(|| config.sink.started(request.method()));
        request.extensions_mut().insert(recorder.clone());
        Self {
            recorder: Some(recorder),
            config: Arc::clone(config),
            bytes_in: 0,
            head: None,
        }
    }

    /// The call has been made.
    #[inline]
    pub(super) fn called(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.called();
        }
    }

    /// The call is about to be polled.
    #[inline]
    pub(super) fn poll_began(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.poll_began();
        }
    }

    /// The poll gave nothing yet.
    #[inline]
    pub(super) fn poll_ended(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.poll_ended();
        }
    }

    /// The head of the response came. Returns whether the recording goes on, since the body is still to
    /// be read.
    #[inline(always)]
    pub(super) fn answered<B>(&mut self, response: &Response<B>, has_ended: bool) -> bool {
        let Some(recorder) = &self.recorder else {
            return false;
        };
        let at = Instant::now();
        recorder.head_came();
        let status = response.status();
        let request_id = match response.headers().is_empty() {
            true => None,
            false => request_id(response.headers()),
        };
        if request_id.is_none() && Told::is_plain(response, has_ended) && recorder.is_smooth(status)
        {
            self.head = Some(Head { at, status });
        } else {
            told(recorder, response, has_ended, request_id, at);
        }
        // What an upgraded connection goes on as is no body.
        if status == StatusCode::SWITCHING_PROTOCOLS
            || (recorder.start().is_connect && status.is_success())
        {
            self.close_at(at, None, None);
            return false;
        }
        if has_ended {
            self.close_at(at, None, Some(BodyEnd::Complete));
        }
        !has_ended
    }

    /// The inner service is not called at all: it could not be made ready.
    pub(super) fn refused(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.attempt_refused(None);
        }
    }

    /// The call failed without an answer.
    pub(super) fn failed<E: 'static>(&mut self, error: &E) {
        let at = Instant::now();
        let told = match &self.recorder {
            Some(recorder) => Told::by_error(error, &recorder.notes()),
            None => return,
        };
        // Not before: whoever wrote the error may have it panic when it is asked for its cause.
        if let Some(recorder) = self.recorder.take() {
            self.record(recorder, at, None, |_| (None, told));
        }
    }

    /// So much of the body was read.
    #[inline]
    pub(super) fn read(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.bytes_in = self.bytes_in.saturating_add(bytes);
    }

    /// The body was read to its end.
    #[inline]
    pub(super) fn completed(&mut self, trailers: Option<&HeaderMap>) {
        let failure = trailers.and_then(|trailers| self.failed_in(trailers));
        self.close(failure, Some(BodyEnd::Complete));
    }

    #[inline(never)]
    fn failed_in(&mut self, trailers: &HeaderMap) -> Option<Outcome> {
        self.judge(|facts, told| {
            told.note_grpc(trailers, facts);
            facts.grpc_status.and_then(|_| classify(None, facts))
        })
    }

    /// The body failed midway.
    #[inline(never)]
    pub(super) fn body_failed<E: 'static>(&mut self, error: &E) {
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
        let recorder = self.recorder.as_ref()?;
        let mut notes = recorder.notes();
        note_head(&mut notes, self.head.take());
        let mut facts = notes.facts;
        let (_, told) = notes.head.as_mut()?;
        facts.last_status = told.status;
        judge(&mut facts, told)
    }

    /// The code that we called panicked.
    #[cold]
    pub(super) fn panicked(&mut self) {
        self.close(Some(INTERNAL), Some(BodyEnd::Failed));
    }

    /// The caller let go of the future or of the body.
    #[inline(never)]
    fn let_go(&mut self) {
        let Some(recorder) = &self.recorder else {
            return;
        };
        if self.head.is_some() || recorder.notes().head.is_some() {
            // What a handler gives in answer to a HEAD is never sent: a server drops it.
            let end = match recorder.start().is_head {
                true => BodyEnd::Complete,
                false => BodyEnd::Dropped,
            };
            self.close(None, Some(end));
        } else {
            recorder.cancelled();
            self.close(Some(CANCELLED), None);
        }
    }

    /// Makes the record. `failure` is what came after the head; what the head says wins over it.
    #[inline]
    fn close(&mut self, failure: Option<Outcome>, body_end: Option<BodyEnd>) {
        self.close_at(Instant::now(), failure, body_end);
    }

    #[inline(never)]
    fn close_at(&mut self, at: Instant, failure: Option<Outcome>, body_end: Option<BodyEnd>) {
        let Some(recorder) = self.recorder.take() else {
            return;
        };
        if let (Some(head), None) = (self.head, failure) {
            // Asked once: whoever else has the notes may look into them at any moment, and with that take
            // the call off its course.
            let was_answered = recorder.was_answered(head.status);
            if was_answered || recorder.is_smooth(head.status) {
                return self.record_smooth(recorder, was_answered, head, at, body_end);
            }
        }
        self.record_noted(recorder, self.head, at, failure, body_end);
    }
}

impl Drop for Recording {
    #[inline]
    fn drop(&mut self) {
        if self.recorder.is_some() {
            self.let_go();
        }
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").finish_non_exhaustive()
    }
}

/// Puts what the head of a response says into the notes.
#[inline(never)]
fn told<B>(
    recorder: &CallRecorder,
    response: &Response<B>,
    has_ended: bool,
    request_id: Option<String>,
    at: Instant,
) {
    let mut notes = recorder.notes();
    // Whatever the attempts came to, this is the answer. A layer further in that watches the body
    // may still note a failure.
    notes.take_failure();
    let told = Told::by_answer(response, has_ended, request_id, &notes);
    notes.head = Some((at, told));
}

/// Returns what came with the request: a caller's notes, or those of a recorder further out, and the route
/// template.
#[inline(never)]
fn brought(extensions: &mut Extensions) -> (Option<CallRecorder>, Option<PathTemplate>) {
    (extensions.remove(), template(extensions))
}

fn template(extensions: &Extensions) -> Option<PathTemplate> {
    if let Some(template) = extensions.get::<PathTemplate>() {
        return Some(template.clone());
    }
    #[cfg(feature = "axum")]
    if let Some(matched) = extensions.get::<axum::extract::MatchedPath>() {
        return Some(PathTemplate::new(matched.as_str().to_owned()));
    }
    None
}

/// Looks at the name of each header: up to some 15 headers that is cheaper than to hash this one's.
#[inline]
fn has_mcp_session(headers: &HeaderMap) -> bool {
    !headers.is_empty() && headers.keys().any(|name| *name == MCP_SESSION)
}

static MCP_SESSION: HeaderName = HeaderName::from_static(MCP_SESSION_ID);

#[expect(
    clippy::disallowed_methods,
    reason = "a record says when the call was made; durations come from tokio's clock"
)]
pub(super) fn wall_clock() -> SystemTime {
    SystemTime::now()
}
