//! The guard of one attempt: whatever becomes of it, its end is noted.

use http::{Extensions, StatusCode};
use tokio::time::Instant;

use crate::{
    attempts::AttemptEnd,
    call::CallRecorder,
    classify::{as_error, classify, delivery},
    outcome::{Delivery, Facts, Outcome},
};

/// An attempt under way. Dropped, it was given up midway.
#[derive(Debug)]
pub(super) struct Attempt {
    /// Taken when the end has been noted.
    recorder: Option<CallRecorder>,
    started: Instant,
}

impl Attempt {
    /// Begins the attempt of a request, if somebody wants to know.
    #[inline]
    pub(super) fn start(extensions: &Extensions) -> Option<Self> {
        CallRecorder::of(extensions).map(Self::noted)
    }

    #[inline]
    fn noted(recorder: &CallRecorder) -> Self {
        Self {
            recorder: Some(recorder.clone()),
            started: recorder.attempt_started(),
        }
    }

    #[inline(always)]
    pub(super) fn answered(mut self, status: StatusCode) {
        let Some(recorder) = self.recorder.take() else {
            return;
        };
        let is_failing = status.is_client_error() || status.is_server_error();
        if is_failing || !recorder.attempt_went_well(status) {
            answered(&recorder, self.started, status, is_failing);
        }
    }

    pub(super) fn failed<E: 'static>(self, error: &E) {
        let failure = self.recorder.as_ref().and_then(|notes| why(notes, error));
        self.end(AttemptEnd {
            status: None,
            failure,
            delivery: as_error(error).map_or(Delivery::Unknown, delivery),
        });
    }

    fn end(mut self, end: AttemptEnd) {
        if let Some(recorder) = self.recorder.take() {
            recorder.attempt_ended(Some(self.started), end);
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            let end = AttemptEnd {
                status: None,
                failure: None,
                delivery: Delivery::Unknown,
            };
            recorder.attempt_ended(Some(self.started), end);
        }
    }
}

/// The client could not be made ready: nothing was sent.
#[cold]
pub(super) fn refused<E: 'static>(extensions: &Extensions, error: &E) {
    if let Some(recorder) = CallRecorder::of(extensions) {
        recorder.attempt_refused(why(recorder, error));
    }
}

/// Notes an answer that may be a failure, or of a call that did not take the common course.
#[inline(never)]
fn answered(recorder: &CallRecorder, started: Instant, status: StatusCode, is_failing: bool) {
    let end = AttemptEnd {
        failure: match is_failing {
            true => failure(recorder, status),
            false => None,
        },
        ..AttemptEnd::answered(status)
    };
    recorder.attempt_ended(Some(started), end);
}

/// Returns how an attempt failed that was answered like this.
#[cold]
fn failure(recorder: &CallRecorder, status: StatusCode) -> Option<Outcome> {
    let facts = Facts {
        last_status: Some(status),
        ..recorder.snapshot()
    };
    classify(None, &facts)
}

/// Returns how an attempt failed, if the error's type is known.
fn why<E: 'static>(recorder: &CallRecorder, error: &E) -> Option<Outcome> {
    let error = as_error(error)?;
    classify(Some(error), &recorder.snapshot())
}
