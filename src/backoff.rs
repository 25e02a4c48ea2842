//! How long to wait before the next attempt.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::names::names;

/// How a wait is spread, so that clients that failed together do not come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Jitter {
    /// Anything from nothing to the whole wait, all equally likely. The default.
    #[default]
    Full,
    /// The whole wait, every time.
    None,
}

names!(Jitter, "a jitter", {
    Full => "full",
    None => "none",
});

/// How long to wait before an attempt is repeated: a ceiling that doubles from attempt to attempt up
/// to a cap, under which the wait is drawn at random.
///
/// The default starts at 200 ms, is capped at 2 s and has full jitter.
///
/// ```
/// use std::time::Duration;
/// use tower_diagnose::{Backoff, Jitter};
///
/// // 100 ms, 200 ms, 400 ms and so on, never more than 5 s.
/// let backoff = Backoff::exponential(Duration::from_millis(100), Duration::from_secs(5))
///     .jitter(Jitter::None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    base: Duration,
    cap: Duration,
    jitter: Jitter,
}

impl Backoff {
    /// Creates a backoff of `base` before the second attempt, twice that before the third, and so on,
    /// never more than `cap`; with full jitter.
    ///
    /// A `base` over the `cap` counts as the `cap`; a `base` of zero means no wait at all.
    #[must_use]
    pub const fn exponential(base: Duration, cap: Duration) -> Self {
        Self {
            base,
            cap,
            jitter: Jitter::Full,
        }
    }

    /// Sets how the wait is spread.
    #[must_use]
    pub const fn jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }

    /// Returns the wait after attempt number `attempt`, which is 1 before the second one.
    ///
    /// Every `random` is as likely as any other; without jitter it does not matter.
    pub(crate) fn delay(&self, attempt: u32, random: u64) -> Duration {
        let ceiling = self.ceiling(attempt);
        match self.jitter {
            Jitter::Full => part_of(ceiling, random),
            Jitter::None => ceiling,
        }
    }

    fn ceiling(&self, attempt: u32) -> Duration {
        let base = self.base.as_nanos();
        let doublings = attempt.saturating_sub(1);
        if base > 0 && doublings >= base.leading_zeros() {
            return self.cap;
        }
        // Zero may be shifted however far.
        let nanos = base.checked_shl(doublings).unwrap_or(0);
        if nanos >= self.cap.as_nanos() {
            self.cap
        } else {
            from_nanos(nanos)
        }
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::exponential(Duration::from_millis(200), Duration::from_secs(2))
    }
}

/// Returns the nanosecond in `0..=whole` that lies as far along as `random` does in all of `u64`.
fn part_of(whole: Duration, random: u64) -> Duration {
    // (whole + 1) * random / 2^64, by halves, for the product has up to 158 bits.
    let choices = whole.as_nanos() + 1;
    let random = u128::from(random);
    let (high, low) = (choices >> 64, choices & u128::from(u64::MAX));
    from_nanos(high * random + ((low * random) >> 64))
}

/// For a number of nanoseconds that came from a [`Duration`] or is less than that.
fn from_nanos(nanos: u128) -> Duration {
    const SECOND: u128 = 1_000_000_000;
    let seconds = u64::try_from(nanos / SECOND).unwrap_or(u64::MAX);
    let rest = u32::try_from(nanos % SECOND).unwrap_or(0);
    Duration::new(seconds, rest)
}

/// A source of random numbers for jitter: any two draws differ, nothing locks, nothing is allocated.
///
/// It is not fit for secrets.
#[derive(Debug)]
pub(crate) struct Random {
    state: AtomicU64,
}

impl Random {
    /// Creates a source that no other one, in this process or another, is likely to repeat.
    pub(crate) fn new() -> Self {
        Self::seeded(RandomState::new().hash_one(0))
    }

    /// Creates a source whose numbers follow from `seed`.
    pub(crate) const fn seeded(seed: u64) -> Self {
        Self {
            state: AtomicU64::new(seed),
        }
    }

    /// Draws the next number.
    pub(crate) fn draw(&self) -> u64 {
        // SplitMix64: a counter that steps by the golden ratio, and two rounds of mixing.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut mixed = self
            .state
            .fetch_add(STEP, Ordering::Relaxed)
            .wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
#[path = "../tests/unit/backoff.rs"]
mod tests;
