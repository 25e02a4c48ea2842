//! Whether to attempt once more, and if not, why.
//!
//! Questions are asked in this order, and the first "no" is the [`StopReason`] that is reported:
//!
//! | question | if not |
//! |---|---|
//! | has no layer below given this call up already? | `GivenUpBelow` |
//! | is the failure of a kind that another attempt may mend? | `NotRetryable`, or `Forbidden` where a hook said so |
//! | may this request be sent again, for all that is known of its delivery? | `NotIdempotent`, or what its [`Permission`] says |
//! | is there an attempt left? | `AttemptsUsedUp` |
//! | is its body still there? | `BodyNotReplayable` |
//! | does the server ask for a wait that we accept? | `RetryAfterBeyondLimit` |
//! | is there time for the wait? | `WouldPassTotalLimit` |
//!
//! The budget comes last, since asking it takes something out of it: only the layer can do that.
//!
//! A failure that repeating cannot mend is reported as such even where the request could not be
//! repeated either: "not idempotent" under a 400 would send the reader looking in the wrong place.

use std::{error::Error, time::Duration};

use http::{Extensions, Method, StatusCode};

use crate::{
    class::ErrorClass,
    classify::classify,
    diagnosis::Diagnosed,
    error::{RetryError, find},
    extensions::extension,
    outcome::{Delivery, Facts, Idempotency},
    request_timeout::RequestTimeout,
    retried::{MaxAttempts, NoRetry, Retried, StopReason},
    retry_marks::Marks,
};

/// When a request may be sent again, by what it is and what it declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    /// Also if it may have arrived.
    Always,
    /// Only if it provably did not arrive.
    IfUnsent,
    /// Never, for this reason.
    Never(StopReason),
}

impl Permission {
    /// Returns the permission of a request of this method, whose headers have these `marks`.
    #[inline]
    pub(crate) fn of(
        method: &Method,
        marks: Marks,
        declared: Declared,
        idempotency: Idempotency,
        only_declared: bool,
        repeat_unsent: bool,
    ) -> Self {
        // A tunnel cannot be built twice, and whoever sent `Expect` waits for an interim answer
        // that a second attempt would have to negotiate anew.
        if *method == Method::CONNECT || marks.expects {
            return Self::Never(StopReason::NotRetryable);
        }
        if declared.no_retry {
            return Self::Never(StopReason::Forbidden);
        }
        if only_declared && declared.idempotency.is_none() {
            return Self::Never(StopReason::NotIdempotent);
        }
        if idempotency.is_repeatable() {
            Self::Always
        } else if repeat_unsent {
            Self::IfUnsent
        } else {
            Self::Never(StopReason::NotIdempotent)
        }
    }

    fn refusal(self, delivery: Delivery) -> Option<StopReason> {
        match self {
            Self::Always => None,
            Self::IfUnsent if delivery == Delivery::NotSent => None,
            Self::IfUnsent => Some(StopReason::NotIdempotent),
            Self::Never(reason) => Some(reason),
        }
    }
}

/// What a request declares by its extensions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Declared {
    idempotency: Option<Idempotency>,
    no_retry: bool,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) timeout: Option<Duration>,
}

impl Declared {
    /// Looks for each of them.
    #[inline(never)]
    pub(crate) fn in_extensions(extensions: &Extensions) -> Self {
        Self {
            idempotency: Idempotency::declared(extensions),
            no_retry: extension::<NoRetry>(extensions).is_some(),
            max_attempts: extension(extensions).map(|MaxAttempts(attempts)| *attempts),
            timeout: extension(extensions).map(|RequestTimeout(limit)| *limit),
        }
    }

    /// Returns whether the request may be repeated although it may have arrived: as it declares, or
    /// else by what it is.
    #[inline]
    pub(crate) fn idempotency(
        &self,
        method: &Method,
        has_key: impl FnOnce() -> bool,
    ) -> Idempotency {
        self.idempotency
            .unwrap_or_else(|| Idempotency::undeclared(method, has_key))
    }
}

/// What a failed attempt is worth, before anything is asked about the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Another attempt may mend it.
    Retryable,
    /// Another attempt would fail in the same way.
    NotRetryable,
    /// It would be retryable, but the user's hook says no.
    Vetoed,
    /// A layer below repeated it already.
    GivenUpBelow,
}

/// What is known when an attempt has failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) failure: Failure,
    pub(crate) permission: Permission,
    /// Of this attempt alone: those before it were repeated, so they were either not sent or safe.
    pub(crate) delivery: Delivery,
    /// The number of the attempt, from 1.
    pub(crate) number: u32,
    pub(crate) max_attempts: u32,
    pub(crate) body_is_replayable: bool,
    pub(crate) backoff: Duration,
    /// What the server asked for.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) retry_after_limit: Duration,
    /// What is left of the limit for the whole call, if it has one.
    pub(crate) time_left: Option<Duration>,
}

impl Case {
    /// Returns how long to wait if there is another attempt.
    pub(crate) fn wait(&self) -> Duration {
        self.retry_after
            .map_or(self.backoff, |asked| asked.max(self.backoff))
    }
}

/// The verdict on a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryDecision {
    /// Attempt once more, after this wait, if the budget allows.
    Retry { after: Duration },
    /// Return what there is.
    Stop(StopReason),
}

/// Decides on a failed attempt.
pub(crate) fn decide(case: &Case) -> RetryDecision {
    match refusal(case) {
        Some(reason) => RetryDecision::Stop(reason),
        None => RetryDecision::Retry { after: case.wait() },
    }
}

fn refusal(case: &Case) -> Option<StopReason> {
    match case.failure {
        Failure::Retryable => {}
        Failure::NotRetryable => return Some(StopReason::NotRetryable),
        Failure::Vetoed => return Some(StopReason::Forbidden),
        Failure::GivenUpBelow => return Some(StopReason::GivenUpBelow),
    }
    if let Some(reason) = case.permission.refusal(case.delivery) {
        return Some(reason);
    }
    if case.number >= case.max_attempts {
        return Some(StopReason::AttemptsUsedUp);
    }
    if !case.body_is_replayable {
        return Some(StopReason::BodyNotReplayable);
    }
    if case
        .retry_after
        // `Duration::MAX` stands for more than can be said, and is beyond any limit.
        .is_some_and(|asked| asked > case.retry_after_limit || asked == Duration::MAX)
    {
        return Some(StopReason::RetryAfterBeyondLimit);
    }
    // An attempt that begins when no time is left could only be dropped at once.
    if case.time_left.is_some_and(|left| case.wait() >= left) {
        return Some(StopReason::WouldPassTotalLimit);
    }
    None
}

/// Returns whether a response with this status is a failure at all.
pub(crate) fn is_failure(status: StatusCode) -> bool {
    status.as_u16() >= 400
}

/// Returns whether another attempt may be answered better than with this status.
///
/// 501, 505 and 511 say what will not change by asking again; so do all of 4xx but the three that
/// speak of time. 421 asks for another connection, which no layer can promise.
pub(crate) fn is_retryable_status(status: StatusCode) -> bool {
    match status.as_u16() {
        408 | 425 | 429 => true,
        501 | 505 | 511 => false,
        code => (500..600).contains(&code),
    }
}

/// Returns whether another attempt may not run into this error: the network failed, time ran out, or
/// a client below made an error of an answer that is retryable.
pub(crate) fn is_retryable_error(error: &(dyn Error + 'static)) -> bool {
    let facts = Facts {
        dispatched: true,
        ..Facts::default()
    };
    let Some(outcome) = classify(Some(error), &facts) else {
        return false;
    };
    match outcome.class() {
        ErrorClass::Network | ErrorClass::Timeout => true,
        ErrorClass::Http => outcome.status().is_some_and(is_retryable_status),
        _ => false,
    }
}

/// Returns what a layer below noted about its own attempts, if there is such a layer.
pub(crate) fn retried_below(error: &(dyn Error + 'static)) -> Option<Retried> {
    if let Some(error) = find::<RetryError>(error) {
        return Some(error.retried());
    }
    // An error made of a response keeps what the response carried.
    let head = find::<Diagnosed>(error)?.response()?;
    head.extensions.get().copied()
}

/// Returns whether the layer that noted this gave up a failure that could have been repeated.
pub(crate) fn is_given_up(below: Retried) -> bool {
    !matches!(
        below.stop(),
        StopReason::Succeeded | StopReason::NotRetryable
    )
}

#[cfg(test)]
#[path = "../tests/unit/decision.rs"]
mod tests;
