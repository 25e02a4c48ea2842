//! How many repetitions all calls together may afford.

use std::{fmt, sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::sync::{AtomicU64, Ordering};

/// What a token is worth in savings. A call deposits a number of these: its percentage.
const SAVED_TOKEN: u64 = 100;

/// How much is saved at most.
const SAVED_CAP: u64 = 100 * SAVED_TOKEN;

/// A refill faster than this is taken as this fast.
const RATE_CAP: u32 = 10_000_000;

/// A limit on repetitions over all calls that share it, so that a server in trouble is not finished
/// off by those who try again.
///
/// A count of attempts bounds what one call does; it still lets a thousand clients of a failing server
/// treble their requests. A budget bounds the sum. Every call saves a fraction of a repetition, up to
/// 100 repetitions in all; beside that there is a reserve that time refills, for those who call so
/// rarely that they could never save up. Repetitions are paid for out of the savings first and out of
/// the reserve then.
///
/// A clone shares the budget. [`RetryBudget::default`] is 20 % of calls and a reserve of 10 that is
/// refilled at 1 a second.
///
/// ```
/// use tower_diagnose::RetryBudget;
///
/// // One repetition per ten calls; 5 more to start with, which come back at 2 a second.
/// let budget = RetryBudget::new(10, 5, 2);
/// assert_eq!(budget.balance(), 5);
/// ```
#[derive(Clone)]
pub struct RetryBudget {
    account: Arc<Account>,
}

impl RetryBudget {
    /// Creates a budget of `percent` repetitions per 100 calls, saved up to 100 repetitions, and a
    /// reserve of `reserve` repetitions that is full at first and refilled at `refill_per_second`.
    ///
    /// Any of them may be 0; with all at 0 nothing is ever repeated. A refill of more than ten million
    /// a second is taken as ten million.
    #[must_use]
    pub fn new(percent: u32, reserve: u32, refill_per_second: u32) -> Self {
        Self {
            account: Arc::new(Account {
                percent: u64::from(percent),
                savings: AtomicU64::new(0),
                reserve: Reserve::new(reserve, refill_per_second),
            }),
        }
    }

    /// Returns how many repetitions could be paid for right now.
    #[must_use]
    pub fn balance(&self) -> u32 {
        let saved = self.account.savings.load(Ordering::Relaxed) / SAVED_TOKEN;
        let total = self.account.reserve.balance().saturating_add(saved);
        u32::try_from(total).unwrap_or(u32::MAX)
    }

    /// Saves what one call is worth.
    pub(crate) fn deposit(&self) {
        self.account.save(self.account.percent);
    }

    /// Takes out one repetition, if there is one.
    pub(crate) fn withdraw(&self) -> Option<Withdrawal> {
        let source = if self.account.draw_savings() {
            Source::Savings
        } else if self.account.reserve.withdraw() {
            Source::Reserve
        } else {
            return None;
        };
        Some(Withdrawal {
            budget: Some(self.clone()),
            source,
        })
    }
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self::new(20, 10, 1)
    }
}

impl fmt::Debug for RetryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryBudget")
            .field("balance", &self.balance())
            .finish()
    }
}

/// A repetition that was taken out of a budget and goes back to where it came from, unless it is spent.
#[must_use = "a repetition that is not spent goes back at once"]
#[derive(Debug)]
pub(crate) struct Withdrawal {
    budget: Option<RetryBudget>,
    source: Source,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Savings,
    Reserve,
}

impl Withdrawal {
    /// The repetition is made: it does not go back.
    pub(crate) fn spend(mut self) {
        self.budget = None;
    }
}

impl Drop for Withdrawal {
    fn drop(&mut self) {
        if let Some(budget) = self.budget.take() {
            match self.source {
                Source::Savings => budget.account.save(SAVED_TOKEN),
                Source::Reserve => budget.account.reserve.refund(),
            }
        }
    }
}

struct Account {
    percent: u64,
    savings: AtomicU64,
    reserve: Reserve,
}

impl Account {
    #[inline]
    fn save(&self, amount: u64) {
        // Once the savings are full, which they are for most calls, this does not write.
        if self.savings.load(Ordering::Relaxed) == SAVED_CAP {
            return;
        }
        let _ = self
            .savings
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |saved| {
                let more = saved.saturating_add(amount).min(SAVED_CAP);
                (more != saved).then_some(more)
            });
    }

    fn draw_savings(&self) -> bool {
        self.savings
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |saved| {
                saved.checked_sub(SAVED_TOKEN)
            })
            .is_ok()
    }
}

/// A bucket that time refills, kept as one number: how much was ever taken out, on the scale of how
/// much time has ever put in. What was taken out beyond what was put in is missing from the bucket; if
/// more was put in, the bucket is full.
///
/// Both are counted in ticks, of which time puts in `rate` with every `unit` of the clock, so that
/// nothing is ever rounded but the instant at which a full bucket begins to be refilled, and that up,
/// by less than a unit.
struct Reserve {
    since: Instant,
    unit: Duration,
    rate: u64,
    /// The ticks of one repetition.
    token: u64,
    /// The ticks of a full bucket.
    capacity: u64,
    taken: AtomicU64,
}

impl Reserve {
    fn new(tokens: u32, per_second: u32) -> Self {
        // As finely as 64 bits allow for a process of 20 years: in nanoseconds for up to 29 a second.
        const TWENTY_YEARS: u64 = 20 * 366 * 24 * 60 * 60;
        let rate = u64::from(per_second.min(RATE_CAP));
        let units = [1_000_000_000, 1_000_000, 1_000];
        let token = units
            .into_iter()
            .find(|token| rate * token <= u64::MAX / TWENTY_YEARS)
            .unwrap_or(1_000);
        Self {
            since: Instant::now(),
            unit: Duration::from_nanos(1_000_000_000 / token),
            rate,
            token,
            capacity: u64::from(tokens) * token,
            taken: AtomicU64::new(0),
        }
    }

    /// Returns how much time has put in: at least, and at most.
    fn put_in(&self) -> (u64, u64) {
        let elapsed = Instant::now()
            .saturating_duration_since(self.since)
            .as_nanos();
        let unit = self.unit.as_nanos();
        let ticks = |units| {
            u64::try_from(units)
                .unwrap_or(u64::MAX)
                .saturating_mul(self.rate)
        };
        (ticks(elapsed / unit), ticks(elapsed.div_ceil(unit)))
    }

    fn level(&self, taken: u64, put_in: u64) -> u64 {
        self.capacity.saturating_sub(taken.saturating_sub(put_in))
    }

    fn balance(&self) -> u64 {
        self.level(self.taken.load(Ordering::Relaxed), self.put_in().0) / self.token
    }

    fn withdraw(&self) -> bool {
        if self.capacity == 0 {
            return false;
        }
        let (at_least, at_most) = self.put_in();
        self.taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                // A full bucket begins to be refilled now.
                let taken_now = taken.max(at_most).saturating_add(self.token);
                (self.level(taken, at_least) >= self.token).then_some(taken_now)
            })
            .is_ok()
    }

    fn refund(&self) {
        let _ = self
            .taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                Some(taken.saturating_sub(self.token))
            });
    }
}

#[cfg(test)]
#[path = "../tests/unit/budget.rs"]
mod tests;
