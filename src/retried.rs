//! How often a call was attempted, why no more, and what a request may say about it.

use crate::{names::names, outcome::Delivery};

/// Why a call was not attempted once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StopReason {
    /// The last attempt did not fail.
    Succeeded,
    /// The failure is not of a kind that repeating could mend.
    NotRetryable,
    /// The request may have been applied, and repeating it is not declared safe.
    NotIdempotent,
    /// The request's body was too long to keep, or failed.
    BodyNotReplayable,
    /// All attempts that were allowed were made.
    AttemptsUsedUp,
    /// The budget for repetitions was empty.
    BudgetExhausted,
    /// The server asked for a longer wait than allowed.
    RetryAfterBeyondLimit,
    /// The wait before the next attempt would have passed the limit for the whole call.
    WouldPassTotalLimit,
    /// The limit for the whole call ran out during an attempt.
    TotalLimitReached,
    /// The caller's hook or request extension forbade it.
    Forbidden,
    /// The service could not be made ready for the next attempt.
    NotReady,
    /// A layer below had repeated the call already and given up.
    GivenUpBelow,
}

names!(StopReason, "a stop reason", {
    Succeeded => "succeeded",
    NotRetryable => "not retryable",
    NotIdempotent => "not idempotent",
    BodyNotReplayable => "body not replayable",
    AttemptsUsedUp => "attempts used up",
    BudgetExhausted => "budget exhausted",
    RetryAfterBeyondLimit => "retry-after beyond the limit",
    WouldPassTotalLimit => "would pass the total limit",
    TotalLimitReached => "total limit reached",
    Forbidden => "forbidden",
    NotReady => "not ready",
    GivenUpBelow => "given up below",
});

/// What repeating a call came to: in the extensions of a response, or inside a
/// [`RetryError`](crate::RetryError).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retried {
    attempts: u32,
    stop: StopReason,
    delivery: Delivery,
}

impl Retried {
    pub(crate) const fn new(attempts: u32, stop: StopReason, delivery: Delivery) -> Self {
        Self {
            attempts,
            stop,
            delivery,
        }
    }

    /// Returns how many attempts were made, the first included.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns why there were no more.
    #[must_use]
    pub const fn stop(&self) -> StopReason {
        self.stop
    }

    /// Returns whether the request reached the server: the least certain of all attempts.
    #[must_use]
    pub const fn delivery(&self) -> Delivery {
        self.delivery
    }
}

/// A request extension: attempt this call once only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRetry;

/// A request extension: attempt this call so many times at most, the first included. 0 means 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxAttempts(pub u32);
