use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Instant, Sleep};

use super::timer::poll_timer;

/// The limits of a call: on the whole of it, with the waits between its attempts, and on the attempt
/// that is running. One timer serves both.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    total: Option<Total>,
    /// Known once the running attempt has kept us waiting.
    attempt_ends: Option<Instant>,
}

#[derive(Clone, Copy)]
struct Total {
    length: Duration,
    ends: Instant,
}

/// Which limit has run out.
pub(super) enum RanOut {
    Attempt(Duration),
    Total,
}

impl Limits {
    /// Begins to count against the limit for the whole call. [`Duration::MAX`], or what is longer than
    /// any clock runs, is none.
    #[inline]
    pub(super) fn start(total: Option<Duration>) -> Self {
        let total = match total {
            None | Some(Duration::MAX) => None,
            Some(length) => Instant::now()
                .checked_add(length)
                .map(|ends| Total { length, ends }),
        };
        Self {
            total,
            attempt_ends: None,
        }
    }

    pub(super) fn total(&self) -> Option<Duration> {
        self.total.map(|total| total.length)
    }

    pub(super) fn time_left(&self) -> Option<Duration> {
        let total = self.total?;
        Some(total.ends.saturating_duration_since(Instant::now()))
    }

    /// An attempt begins.
    pub(super) fn attempt_started(&mut self) {
        self.attempt_ends = None;
    }

    /// Completes when the running attempt has to end, which has a limit of its own. That counts from when
    /// the attempt first keeps us waiting.
    #[inline(never)]
    pub(super) fn poll_attempt(
        &mut self,
        length: Duration,
        timer: Pin<&mut Option<Sleep>>,
        cx: &mut Context<'_>,
    ) -> Poll<RanOut> {
        if length.is_zero() {
            return Poll::Ready(RanOut::Attempt(length));
        }
        if self.attempt_ends.is_none() {
            self.attempt_ends = Instant::now().checked_add(length);
        }
        match self.attempt_ends {
            Some(ends) if self.total.is_none_or(|total| ends <= total.ends) => {
                poll_timer(timer, ends, cx).map(|()| RanOut::Attempt(length))
            }
            _ => self.poll_total(timer, cx).map(|()| RanOut::Total),
        }
    }

    /// Completes when the limit for the whole call has run out.
    #[inline]
    pub(super) fn poll_total(
        &self,
        timer: Pin<&mut Option<Sleep>>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        match self.total {
            None => Poll::Pending,
            // Had run out before it began: no need to ask a clock.
            Some(total) if total.length.is_zero() => Poll::Ready(()),
            Some(total) => poll_timer(timer, total.ends, cx),
        }
    }
}
