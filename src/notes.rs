//! What is in the notes of a call, once there is something to note.

use http::StatusCode;
use tokio::time::Instant;

use crate::{
    attempts::{AttemptEnd, AttemptRecord, Attempts},
    outcome::{Delivery, Facts, Outcome},
    retried::Retried,
};

/// What an answer or an error says of its call.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) status: Option<StatusCode>,
    pub(crate) outcome: Option<Outcome>,
    /// Holds where no attempt was noted.
    pub(crate) delivery: Option<Delivery>,
    pub(crate) attempts: u32,
    pub(crate) retried: Option<Retried>,
    pub(crate) request_id: Option<Box<str>>,
    pub(crate) remote_code: Option<Box<str>>,
}

#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) facts: Facts,
    /// Of the attempts that ended.
    pub(crate) delivery: Option<Delivery>,
    pub(crate) under_way: u32,
    /// Of the attempt that ended last.
    pub(crate) failure: Option<Outcome>,
    /// Of any attempt, a later success notwithstanding.
    pub(crate) last_failure: Option<Outcome>,
    pub(crate) retried: Option<Retried>,
    pub(crate) is_accepted: bool,
    /// When the head of the response came, and what it told. Here, as the start is, because the body of
    /// the response would be larger for it.
    pub(crate) head: Option<(Instant, Told)>,
    pub(crate) attempts: Attempts,
}

impl Notes {
    /// Returns the least certain delivery of all attempts, if there were any.
    pub(crate) fn delivery(&self) -> Option<Delivery> {
        match self.delivery {
            _ if self.under_way > 0 => Some(Delivery::Unknown),
            ended => ended,
        }
    }

    pub(crate) fn failure(&self) -> Option<Outcome> {
        self.failure
    }

    /// Returns the failure of the last attempt and forgets it: what is noted from here on came later.
    pub(crate) fn take_failure(&mut self) -> Option<Outcome> {
        self.failure.take()
    }

    pub(crate) fn begin_attempt(&mut self, now: Instant) {
        self.facts.dispatched = true;
        self.facts.requests = self.facts.requests.saturating_add(1);
        self.facts.last_status = None;
        self.failure = None;
        self.under_way = self.under_way.saturating_add(1);
        self.attempts.push(AttemptRecord::begun(now));
    }

    /// Without a time `at`, it is that of the head of the response.
    pub(crate) fn end_attempt(
        &mut self,
        started: Option<Instant>,
        at: Option<Instant>,
        end: AttemptEnd,
    ) {
        if let Some(status) = end.status {
            self.facts.responses = self.facts.responses.saturating_add(1);
            self.facts.last_status = Some(status);
        }
        self.under_way = self.under_way.saturating_sub(1);
        let delivery = match self.attempts.under_way(started) {
            Some(attempt) => {
                attempt.end(at, end);
                attempt.delivery()
            }
            None => end.delivery,
        };
        self.delivery = Some(match self.delivery {
            Some(so_far) => so_far.and(delivery),
            None => delivery,
        });
        self.fail(end.failure);
    }

    pub(crate) fn fail(&mut self, failure: Option<Outcome>) {
        self.failure = failure;
        self.last_failure = failure.or(self.last_failure);
    }
}
