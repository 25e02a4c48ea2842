//! What is noted of one call while it runs, by whichever layers it passes through.

use std::{
    fmt,
    sync::{OnceLock, PoisonError},
    time::SystemTime,
};

use http::{Extensions, StatusCode};
use tokio::time::Instant;

use crate::{
    attempts::{AttemptEnd, Attempts},
    course::{Course, Step},
    endpoint::{Endpoint, Target},
    extensions::extension,
    notes::Notes,
    outcome::{Delivery, Facts, Outcome},
    record::PathTemplate,
    retried::Retried,
    sync::{Arc, AtomicBool, Mutex, MutexGuard, Ordering},
};

/// The notes of one call, as a request extension that every layer of the stack can find.
///
/// A clone is another handle on the same notes. The lock inside belongs to one call and is held for a
/// few instructions; calls never share one.
///
/// Put one on a request to see what became of it. A [`RecorderLayer`](crate::RecorderLayer) puts notes
/// of its own in its place and passes everything on, so one handle may serve several calls: the handle
/// counts them all, each record counts its own call.
///
/// ```
/// use tower_diagnose::CallRecorder;
///
/// let notes = CallRecorder::new();
/// let mut request = http::Request::new(());
/// request.extensions_mut().insert(notes.clone());
/// assert_eq!(notes.snapshot().requests, 0);
/// ```
#[derive(Clone, Default)]
pub struct CallRecorder {
    shared: Arc<Shared>,
}

struct Shared {
    /// Where a call that a layer records, and nobody else hears of, stands while all goes well.
    course: Course,
    /// Whether a poll of whoever records the call is on the stack: an answer that comes now is the head of
    /// the call's response or, if that is still to come, has ended when the poll has. Set and read without
    /// order, for that is a question within one thread; an answer that comes in another one, just as the
    /// poll ends, may pass for having come with the head.
    is_polled: AtomicBool,
    notes: Mutex<Notes>,
    /// Whoever else hears of everything: the caller's handle, or the recorder further out.
    parent: Option<CallRecorder>,
    /// Here because the block is allocated anyway, and the recorder's future and body stay small.
    start: Start,
    /// A layer records this call: it is no plain handle of the caller's.
    is_recorded: bool,
}

/// What is known of a call when it begins.
pub(crate) struct Start {
    pub(crate) target: Target,
    pub(crate) template: Option<PathTemplate>,
    pub(crate) started: Instant,
    pub(crate) started_at: SystemTime,
    pub(crate) bytes_out: Option<u64>,
    pub(crate) is_connect: bool,
    pub(crate) is_head: bool,
    /// Made when somebody asks: most records are counted and forgotten.
    pub(crate) endpoint: OnceLock<Box<Endpoint>>,
    /// Those of the record, which are not told any more when it is made. Of a call that took the common
    /// course they are made when somebody asks.
    pub(crate) attempts: OnceLock<Attempts>,
}

impl Default for Shared {
    /// A call that begins now, and of which nothing else is known.
    ///
    /// The clock first: all else is constant, and written where the block is allocated.
    #[inline]
    fn default() -> Self {
        let started = Instant::now();
        Self {
            course: Course::default(),
            is_polled: AtomicBool::new(false),
            notes: Mutex::default(),
            parent: None,
            start: Start {
                target: Target::nothing(),
                template: None,
                started,
                started_at: SystemTime::UNIX_EPOCH,
                bytes_out: None,
                is_connect: false,
                is_head: false,
                endpoint: OnceLock::new(),
                attempts: OnceLock::new(),
            },
            is_recorded: false,
        }
    }
}

impl Start {
    pub(crate) fn endpoint(&self) -> &Endpoint {
        self.endpoint.get_or_init(|| {
            let endpoint = self.target.endpoint();
            Box::new(match &self.template {
                Some(template) => endpoint.with_path(template.as_str()),
                None => endpoint,
            })
        })
    }
}

impl CallRecorder {
    /// Creates empty notes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns what is known so far.
    #[must_use]
    pub fn snapshot(&self) -> Facts {
        self.notes().facts
    }

    /// Begins the notes of one recorded call; `parent` hears of everything too.
    ///
    /// `fill` writes where the notes lie: to move the 490 bytes there afterwards would cost as much as the
    /// allocation does.
    #[inline]
    pub(crate) fn begin(
        parent: Option<Self>,
        mcp_session: bool,
        fill: impl FnOnce(&mut Start),
    ) -> Self {
        let mut recorder = Self::default();
        // Nobody else has it yet.
        if let Some(shared) = Arc::get_mut(&mut recorder.shared) {
            if mcp_session {
                let notes = shared.notes.get_mut();
                let notes = notes.unwrap_or_else(PoisonError::into_inner);
                notes.facts.mcp_session = true;
            }
            if parent.is_none() {
                shared.course = Course::at(Step::Beginning);
            }
            shared.parent = parent;
            shared.is_recorded = true;
            fill(&mut shared.start);
        }
        recorder
    }

    pub(crate) fn start(&self) -> &Start {
        &self.shared.start
    }

    /// Finds the notes of the call that a request belongs to.
    #[inline]
    pub(crate) fn of(extensions: &Extensions) -> Option<&Self> {
        extension(extensions)
    }

    /// The call has been made, and may have begun its first attempt.
    #[inline]
    pub(crate) fn called(&self) {
        let course = &self.shared.course;
        if course.is_at(Step::Beginning) {
            course.go(Step::Beginning, Step::Begun);
        }
    }

    /// Whoever records the call begins to poll it.
    #[inline]
    pub(crate) fn poll_began(&self) {
        self.shared.is_polled.store(true, Ordering::Relaxed);
    }

    /// The poll gave nothing yet. What ended during it has ended by now.
    #[inline]
    pub(crate) fn poll_ended(&self) {
        let shared = &*self.shared;
        if shared.course.is_answered() {
            drop(self.notes());
        }
        shared.is_polled.store(false, Ordering::Relaxed);
    }

    /// The head of the response is there.
    #[inline]
    pub(crate) fn head_came(&self) {
        self.shared.is_polled.store(false, Ordering::Relaxed);
    }

    /// Returns whether there is nothing to be said of a call that was answered with this status: nothing
    /// is in the notes, and if an attempt was seen, it was the only one and got this answer.
    #[inline]
    pub(crate) fn is_smooth(&self, status: StatusCode) -> bool {
        self.was_answered(status) || self.shared.course.is_at(Step::Begun)
    }

    /// Returns whether an attempt was seen, only one, and this answer is all there is to be said of it.
    #[inline]
    pub(crate) fn was_answered(&self, status: StatusCode) -> bool {
        self.shared.course.is_at(Step::Answered(status))
    }

    /// An attempt is about to be handed to the client. Returns when, by which its end finds it: `None` if
    /// the call is being made, and the attempt begins with it.
    #[inline]
    pub(crate) fn attempt_started(&self) -> Option<Instant> {
        match self.shared.course.go(Step::Beginning, Step::UnderWay) {
            true => None,
            false => Some(self.attempt_begun()),
        }
    }

    #[inline(never)]
    fn attempt_begun(&self) -> Instant {
        let now = Instant::now();
        self.note(|notes| {
            notes.begin_attempt(now);
        });
        now
    }

    /// The one attempt of a call on the common course got an answer that is no failure. Returns whether
    /// that says it all.
    ///
    /// No clock is read: the head of the response is there, or else the poll ends that brought it, and
    /// both have a time.
    #[inline]
    pub(crate) fn attempt_went_well(&self, status: StatusCode) -> bool {
        let shared = &*self.shared;
        shared.is_polled.load(Ordering::Relaxed)
            && shared.course.go(Step::UnderWay, Step::Answered(status))
    }

    /// The attempt was answered.
    #[cfg(test)]
    pub(crate) fn attempt_answered(&self, status: StatusCode) {
        self.end_attempt(None, AttemptEnd::answered(status));
    }

    /// The attempt failed without an answer. `outcome` is `None` where the error's type is unknown.
    pub(crate) fn attempt_failed(&self, outcome: Option<Outcome>, delivery: Delivery) {
        self.end_attempt(
            None,
            AttemptEnd {
                status: None,
                failure: outcome,
                delivery,
            },
        );
    }

    /// The attempt has ended that [began](Self::attempt_started) at `started`.
    pub(crate) fn attempt_ended(&self, started: Option<Instant>, end: AttemptEnd) {
        let started = started.unwrap_or(self.start().started);
        self.end_attempt(Some(started), end);
    }

    /// The attempt that began at `started`, or else the latest, has ended.
    fn end_attempt(&self, started: Option<Instant>, end: AttemptEnd) {
        let now = Instant::now();
        self.note(|notes| notes.end_attempt(started, Some(now), end));
    }

    /// The client was never called, because it could not be made ready.
    pub(crate) fn attempt_refused(&self, outcome: Option<Outcome>) {
        self.note(|notes| {
            notes.facts.last_status = None;
            notes.delivery.get_or_insert(Delivery::NotSent);
            notes.fail(outcome);
        });
    }

    /// The attempt failed like this in the eyes of whoever may repeat it. Says what a layer below cannot
    /// know: that an attempt dropped midway had run out of time.
    pub(crate) fn attempt_explained(&self, failure: Outcome) {
        self.note(|notes| {
            if let Some(attempt) = notes.attempts.last_mut() {
                attempt.explain(failure);
            }
        });
    }

    /// The attempt that failed like this is about to be repeated.
    pub(crate) fn repeating(&self, failure: Outcome) {
        self.note(|notes| notes.last_failure = Some(failure));
    }

    /// The attempt under way is about to be dropped, and was never given a connection.
    pub(crate) fn unsent(&self) {
        // It may have stopped short of where attempts are noted.
        if self.notes().under_way == 0 {
            return;
        }
        self.note(|notes| {
            // Of several nobody knows which is meant.
            if notes.under_way == 1 {
                if let Some(attempt) = notes.attempts.under_way(None) {
                    attempt.unsent();
                }
            }
        });
    }

    /// The answer is no failure, whatever its status says.
    pub(crate) fn accepted(&self) {
        self.note(|notes| {
            notes.is_accepted = true;
            notes.failure = None;
        });
    }

    /// The retries are over.
    pub(crate) fn retried(&self, retried: Retried) {
        self.note(|notes| notes.retried = Some(retried));
    }

    /// The caller dropped the call. Whoever records further out learns that by itself, or else the
    /// call goes on: so only a plain handle of the caller's is told.
    pub(crate) fn cancelled(&self) {
        self.notes().facts.caller_cancelled = true;
        if let Some(parent) = &self.shared.parent {
            if !parent.shared.is_recorded {
                parent.notes().facts.caller_cancelled = true;
            }
        }
    }

    /// Returns how the last attempt failed, if it did and its error's type was known.
    pub(crate) fn failure(&self) -> Option<Outcome> {
        self.notes().failure
    }

    /// Returns the least certain delivery of all attempts; `NotSent` before the first one began,
    /// `Unknown` while one is under way.
    pub(crate) fn delivery(&self) -> Delivery {
        self.notes().delivery().unwrap_or(Delivery::NotSent)
    }

    pub(crate) fn notes(&self) -> MutexGuard<'_, Notes> {
        let shared = &*self.shared;
        // A panic while the lock is held leaves nothing half-written that matters.
        let mut notes = shared.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if !shared.course.is_at(Step::Noted) {
            self.leave_course(&mut notes);
        }
        notes
    }

    /// Notes what the call came to so far.
    #[inline(never)]
    fn leave_course(&self, notes: &mut Notes) {
        let started = self.start().started;
        match self.shared.course.take() {
            Step::Noted | Step::Beginning | Step::Begun => {}
            Step::UnderWay => notes.begin_attempt(started),
            Step::Answered(status) => {
                // After the poll that brought it, it has ended with the head of the response.
                let is_polled = self.shared.is_polled.load(Ordering::Relaxed);
                let end = AttemptEnd::answered(status);
                notes.begin_attempt(started);
                notes.end_attempt(Some(started), is_polled.then(Instant::now), end);
            }
        }
    }

    /// Writes to these notes and to everybody's who hears of them.
    fn note(&self, write: impl Fn(&mut Notes)) {
        let mut next = Some(self);
        while let Some(recorder) = next {
            write(&mut recorder.notes());
            next = recorder.shared.parent.as_ref();
        }
    }
}

impl fmt::Debug for CallRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallRecorder")
            .field(&self.snapshot())
            .finish()
    }
}

#[cfg(test)]
#[path = "../tests/unit/call.rs"]
mod tests;
