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
    /// `None` if nobody wants to know, and when the end has been noted.
    recorder: Option<CallRecorder>,
    /// `None` if it began with the call.
    started: Option<Instant>,
}

impl Attempt {
    /// One that nobody wants to know of.
    pub(super) const UNNOTED: Self = Self {
        recorder: None,
        started: None,
    };

    /// Begins the attempt of a request, if somebody wants to know.
    #[inline]
    pub(super) fn start(extensions: &Extensions) -> Self {
        match CallRecorder::of(extensions) {
            None => Self::UNNOTED,
            Some(recorder) => Self {
                recorder: Some(recorder.clone()),
                started: recorder.attempt_started(),
            },
        }
    }

    #[inline]
    pub(super) fn is_noted(&self) -> bool {
        self.recorder.is_some()
    }

    #[inline(always)]
    pub(super) fn answered(&mut self, status: StatusCode) {
        let Some(recorder) = self.recorder.take() else {
            return;
        };
        let is_failing = status.is_client_error() || status.is_server_error();
        if is_failing || !recorder.attempt_went_well(status) {
            answered(&recorder, self.started, status, is_failing);
        }
    }

    #[cold]
    pub(super) fn failed<E: 'static>(&mut self, error: &E) {
        if let Some(recorder) = self.recorder.take() {
            let end = AttemptEnd {
                status: None,
                failure: why(&recorder, error),
                delivery: as_error(error).map_or(Delivery::Unknown, delivery),
            };
            recorder.attempt_ended(self.started, end);
        }
    }

    #[cold]
    fn dropped(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            let end = AttemptEnd {
                status: None,
                failure: None,
                delivery: Delivery::Unknown,
            };
            recorder.attempt_ended(self.started, end);
        }
    }
}

impl Drop for Attempt {
    #[inline]
    fn drop(&mut self) {
        if self.recorder.is_some() {
            self.dropped();
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
fn answered(
    recorder: &CallRecorder,
    started: Option<Instant>,
    status: StatusCode,
    is_failing: bool,
) {
    let end = AttemptEnd {
        failure: match is_failing {
            true => failure(recorder, status),
            false => None,
        },
        ..AttemptEnd::answered(status)
    };
    recorder.attempt_ended(started, end);
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
