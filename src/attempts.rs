//! What is remembered of each attempt of a call.

use std::time::Duration;

use http::StatusCode;
use tokio::time::Instant;

use crate::{
    class::ErrorClass,
    outcome::{Delivery, Outcome},
};

/// How many attempts of one call are remembered: the first fifteen and the last.
const CAPACITY: usize = 16;

/// One attempt: how it ended, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptRecord {
    started: Instant,
    ended: Option<Instant>,
    status: Option<StatusCode>,
    failure: Option<Outcome>,
    delivery: Delivery,
}

impl AttemptRecord {
    pub(crate) const fn begun(started: Instant) -> Self {
        Self {
            started,
            ended: None,
            status: None,
            failure: None,
            // What has begun may have arrived, until more is known.
            delivery: Delivery::Unknown,
        }
    }

    /// Without a time `at`, that is the time of the head of the response.
    pub(crate) fn end(&mut self, at: Option<Instant>, end: AttemptEnd) {
        self.ended = at;
        self.status = end.status;
        // Whoever repeats it may have explained it already, before it was dropped.
        self.failure = end.failure.or(self.failure);
        if end.delivery != Delivery::Unknown || self.delivery != Delivery::NotSent {
            self.delivery = end.delivery;
        }
    }

    /// Nothing is known of its end. One that was answered without a time is not under way.
    fn is_under_way(&self) -> bool {
        self.ended.is_none() && self.status.is_none()
    }

    /// Says, before it ends, that it cannot have arrived.
    pub(crate) fn unsent(&mut self) {
        self.delivery = Delivery::NotSent;
    }

    pub(crate) fn explain(&mut self, failure: Outcome) {
        self.failure.get_or_insert(failure);
    }

    /// Returns the status, if the attempt was answered.
    #[must_use]
    pub const fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// Returns the kind of the failure; `None` for a good answer, and for an attempt that was dropped
    /// midway with the whole call (`dropped` in a serialized record): the limit for the call ended it, as
    /// the record's own class then says, or the caller went away.
    #[must_use]
    pub fn class(&self) -> Option<ErrorClass> {
        self.failure.map(|failure| failure.class())
    }

    /// Returns whether this attempt reached the server.
    #[must_use]
    pub const fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Returns the time from the call of the client to the head of its answer, its error, or the
    /// moment when it was given up.
    #[must_use]
    pub fn duration(&self) -> Duration {
        let ended = self.ended.unwrap_or(self.started);
        ended.saturating_duration_since(self.started)
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttemptEnd {
    pub(crate) status: Option<StatusCode>,
    pub(crate) failure: Option<Outcome>,
    pub(crate) delivery: Delivery,
}

impl AttemptEnd {
    /// An answer that is no failure.
    pub(crate) const fn answered(status: StatusCode) -> Self {
        Self {
            status: Some(status),
            failure: None,
            delivery: Delivery::Answered,
        }
    }
}

/// The attempts of one call. The first costs no allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attempts {
    first: Option<AttemptRecord>,
    later: Vec<AttemptRecord>,
}

impl Attempts {
    /// Adds an attempt; past the capacity it takes the place of the last one.
    pub(crate) fn push(&mut self, attempt: AttemptRecord) {
        if self.first.is_none() {
            self.first = Some(attempt);
        } else if self.later.len() + 1 < CAPACITY {
            self.later.push(attempt);
        } else if let Some(last) = self.later.last_mut() {
            *last = attempt;
        }
    }

    /// Finds the latest attempt that is under way, of those begun at `started` if that is known.
    pub(crate) fn under_way(&mut self, started: Option<Instant>) -> Option<&mut AttemptRecord> {
        let is_it = |attempt: &&mut AttemptRecord| {
            attempt.is_under_way() && started.is_none_or(|started| started == attempt.started)
        };
        match self.later.iter_mut().rev().find(is_it) {
            None => self.first.as_mut().filter(is_it),
            later => later,
        }
    }

    pub(crate) fn last_mut(&mut self) -> Option<&mut AttemptRecord> {
        self.later.last_mut().or(self.first.as_mut())
    }

    /// The one attempt of a call that went well, which ended with the `head` of the response.
    pub(crate) fn only(started: Instant, head: Instant, status: StatusCode) -> Self {
        let attempt = AttemptRecord {
            started,
            ended: Some(head),
            status: Some(status),
            failure: None,
            delivery: Delivery::Answered,
        };
        Self {
            first: Some(attempt),
            later: Vec::new(),
        }
    }

    /// Gives those still under way the time that they have taken so far, and those that ended with the head
    /// of the response the time of that. None lasts longer than its call, whose end may have been read from
    /// the clock a moment before the attempt's.
    pub(crate) fn close(&mut self, head: Option<Instant>, now: Instant) {
        for attempt in self.first.iter_mut().chain(&mut self.later) {
            let ended = match attempt.is_under_way() {
                true => now,
                false => attempt.ended.or(head).unwrap_or(now),
            };
            attempt.ended = Some(ended.min(now));
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &AttemptRecord> {
        self.first.iter().chain(&self.later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_the_first_fifteen_and_the_last() {
        let start = Instant::now();
        let mut attempts = Attempts::default();
        for second in 0..100 {
            attempts.push(AttemptRecord::begun(start + Duration::from_secs(second)));
        }
        let kept: Vec<_> = attempts
            .iter()
            .map(|attempt| (attempt.started - start).as_secs())
            .collect();
        assert_eq!(kept, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 99]);
    }

    #[test]
    fn attempts_side_by_side_keep_their_own_ends() {
        let start = Instant::now();
        let later = start + Duration::from_secs(1);
        let mut attempts = Attempts::default();
        attempts.push(AttemptRecord::begun(start));
        attempts.push(AttemptRecord::begun(later));
        let end = AttemptEnd {
            status: Some(StatusCode::OK),
            failure: None,
            delivery: Delivery::Answered,
        };
        attempts
            .under_way(Some(start))
            .unwrap()
            .end(Some(start + Duration::from_secs(3)), end);
        attempts.close(None, start + Duration::from_secs(4));
        let seen: Vec<_> = attempts
            .iter()
            .map(|attempt| (attempt.status(), attempt.duration().as_secs()))
            .collect();
        assert_eq!(seen, [(Some(StatusCode::OK), 3), (None, 3)]);
    }

    #[test]
    fn no_attempt_lasts_longer_than_its_call() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        for (ended, head, lasted) in [
            (Some(3), None, 3),
            (Some(5), None, 4),
            (None, Some(2), 2),
            (None, Some(5), 4),
            (None, None, 4),
        ] {
            let mut attempts = Attempts::default();
            attempts.push(AttemptRecord::begun(start));
            let end = AttemptEnd::answered(StatusCode::OK);
            let attempt = attempts.under_way(None).unwrap();
            attempt.end(ended.map(after), end);
            attempts.close(head.map(after), after(4));
            let seen = attempts.iter().next().unwrap();
            assert_eq!(seen.duration(), Duration::from_secs(lasted));
        }
    }
}
