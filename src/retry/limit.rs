use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Instant, Sleep};

use super::timer::poll_timer;

/// The limit for a whole call: all its attempts, and the waits between them.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    pub(super) length: Duration,
    ends: Instant,
}

impl Limit {
    /// Returns `None` for what is no limit: [`Duration::MAX`], or longer than any clock runs.
    pub(super) fn starting_now(length: Duration) -> Option<Self> {
        if length == Duration::MAX {
            return None;
        }
        let ends = Instant::now().checked_add(length)?;
        Some(Self { length, ends })
    }

    /// Completes when the limit has run out; arms the timer when first asked.
    pub(super) fn poll(&self, timer: Pin<&mut Option<Sleep>>, cx: &mut Context<'_>) -> Poll<()> {
        // Had run out before it began: no need to ask a clock.
        if self.length.is_zero() {
            return Poll::Ready(());
        }
        poll_timer(timer, self.ends, cx)
    }

    pub(super) fn left(&self) -> Duration {
        self.ends.saturating_duration_since(Instant::now())
    }
}
