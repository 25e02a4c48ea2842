use std::{
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};

use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};

/// A limit this long is none. It is what tokio itself takes for "never", and it keeps every
/// calculation with instants far from their end.
const FOREVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// Returns whether a limit can run out at all.
pub(super) fn is_limit(limit: Duration) -> bool {
    limit < FOREVER
}

/// Returns `since + limit`, or `None` if that never comes.
pub(super) fn deadline(since: Instant, limit: Duration) -> Option<Instant> {
    is_limit(limit).then_some(())?;
    since.checked_add(limit)
}

/// Polls a timer outside the task's cooperative budget. Whatever was polled before may have used the
/// budget up; a timer that answered to it would then never be seen to fire.
pub(super) fn poll_timer(timer: Pin<&mut Sleep>, cx: &mut Context<'_>) -> Poll<()> {
    pin!(tokio::task::coop::unconstrained(timer)).poll(cx)
}

pin_project! {
    /// A limit of time that begins to run when it is first polled. Until then it costs nothing.
    #[derive(Debug)]
    pub(super) struct Countdown {
        limit: Duration,
        #[pin]
        timer: Option<Sleep>,
    }
}

impl Countdown {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, timer: None }
    }

    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// Resolves to the time that has passed once the limit has run out.
    pub(super) fn poll_expired(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Duration> {
        let mut this = self.project();
        if this.timer.is_none() {
            // A timer rounds up to whole milliseconds, and zero means now.
            if this.limit.is_zero() {
                return Poll::Ready(Duration::ZERO);
            }
            let Some(deadline) = deadline(Instant::now(), *this.limit) else {
                return Poll::Pending;
            };
            this.timer.set(Some(sleep_until(deadline)));
        }
        let Some(mut timer) = this.timer.as_pin_mut() else {
            return Poll::Pending;
        };
        ready!(poll_timer(timer.as_mut(), cx));
        let late = Instant::now().saturating_duration_since(timer.deadline());
        Poll::Ready(this.limit.saturating_add(late))
    }
}
