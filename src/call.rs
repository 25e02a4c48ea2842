//! What is noted of one call while it runs, by whichever layers it passes through.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use http::{Extensions, StatusCode};

use crate::{
    outcome::{Delivery, Facts, Outcome},
    retried::Retried,
};

/// The notes of one call, as a request extension that every layer of the stack can find.
///
/// A clone is another handle on the same notes. The lock inside belongs to one call and is held for a
/// few instructions; calls never share one.
#[derive(Clone, Default)]
pub struct CallRecorder {
    notes: Arc<Mutex<Notes>>,
}

#[derive(Debug, Default)]
struct Notes {
    facts: Facts,
    delivery: Option<Delivery>,
    failure: Option<Outcome>,
    retried: Option<Retried>,
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

    /// Finds the notes of the call that a request belongs to.
    pub(crate) fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get()
    }

    /// An attempt is about to be handed to the client.
    pub(crate) fn attempt_started(&self) {
        let mut notes = self.notes();
        notes.facts.dispatched = true;
        notes.facts.requests = notes.facts.requests.saturating_add(1);
        notes.facts.last_status = None;
    }

    /// The attempt was answered.
    pub(crate) fn attempt_answered(&self, status: StatusCode) {
        let mut notes = self.notes();
        notes.facts.responses = notes.facts.responses.saturating_add(1);
        notes.facts.last_status = Some(status);
        notes.note_delivery(Delivery::Answered);
    }

    /// The attempt failed without an answer. `outcome` is `None` where the error's type is unknown.
    pub(crate) fn attempt_failed(&self, outcome: Option<Outcome>, delivery: Delivery) {
        let mut notes = self.notes();
        notes.failure = outcome;
        notes.note_delivery(delivery);
    }

    /// The retries are over.
    pub(crate) fn retried(&self, retried: Retried) {
        self.notes().retried = Some(retried);
    }

    /// Returns how the last attempt failed, if it did and its error's type was known.
    pub(crate) fn failure(&self) -> Option<Outcome> {
        self.notes().failure
    }

    /// Returns the least certain delivery of all attempts; `NotSent` before the first one ended.
    pub(crate) fn delivery(&self) -> Delivery {
        self.notes().delivery.unwrap_or(Delivery::NotSent)
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        // A panic while the lock is held leaves nothing half-written that matters.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    fn note_delivery(&mut self, delivery: Delivery) {
        self.delivery = Some(
            self.delivery
                .map_or(delivery, |so_far| so_far.and(delivery)),
        );
    }
}

impl fmt::Debug for CallRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallRecorder")
            .field(&self.snapshot())
            .finish()
    }
}
