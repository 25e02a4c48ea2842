//! What the end of an attempt proves, with what is known beside its error.

use std::error::Error;

use super::{connection::ConnectionWatch, operation::Operation};
use crate::{
    attempt::Answer,
    classify::{classify, delivery},
    decision::Permission,
    error::{BoxError, is_timeout},
    outcome::{Delivery, Outcome},
    transport::{LeftBehind, is_goaway},
};

impl<B> Operation<B> {
    /// Says of an error that blames the request's body that it does so wrongly, where that is known: the
    /// failures of that body are marked by [`ReplayBody`](super::ReplayBody), and one that is kept says
    /// itself that it failed, whatever a layer below made of its error.
    pub(super) fn explain(&self, error: BoxError) -> BoxError {
        match self.spare().has_failed() {
            true => error,
            false => LeftBehind::explain(error),
        }
    }

    /// Returns whether the attempt that ended with `error` can have arrived.
    ///
    /// h2 raises a GOAWAY on the streams above the last one that it allows, and that proves that the server
    /// did not touch them. But hyper 1.12, when it has just opened a stream, asks whether the connection
    /// takes another one, and hands out a "no" as the failure of the stream that it opened: a GOAWAY that
    /// came in between fails a stream which it may allow, and whose head the server may have got. Only after
    /// that question hyper turns to the body. So a body that was read says that the error is the stream's
    /// own; without one nobody knows, and a write is not repeated.
    pub(super) fn delivery_of(&self, error: &(dyn Error + 'static)) -> Delivery {
        match delivery(error) {
            Delivery::Unknown if is_timeout(error) => self.delivery_of_dropped(),
            Delivery::NotSent
                if self.permission == Permission::IfUnsent
                    && self.spare().is_whole()
                    && is_goaway(error)
                    && !self.spare().is_read() =>
            {
                Delivery::Unknown
            }
            delivery => delivery,
        }
    }

    /// Returns whether the running attempt, which is about to be dropped, can have arrived. If it is known
    /// that it was never given a connection, the record is told.
    pub(super) fn delivery_of_dropped(&self) -> Delivery {
        if !self.connection().is_some_and(ConnectionWatch::saw_none) {
            return Delivery::Unknown;
        }
        if let Some(recorder) = self.recorder() {
            recorder.unsent();
        }
        Delivery::NotSent
    }

    /// Tells the record how an attempt failed: only here is it known that one which is about to be dropped
    /// midway had run out of time.
    pub(super) fn recorded_failure(&self, answer: Answer<'_>) -> Option<Outcome> {
        let (Some(recorder), Answer::Error(error)) = (self.recorder(), answer) else {
            return None;
        };
        let failure = classify(Some(error), &recorder.snapshot())?;
        recorder.attempt_explained(failure);
        Some(failure)
    }
}
