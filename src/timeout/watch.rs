use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};

use super::{
    countdown::{deadline, poll_timer},
    limits::BodyLimits,
};
use crate::{
    endpoint::Target,
    error::{TimeoutError, TimeoutScope},
};

pin_project! {
    /// Counts how long the reader of one body has to wait.
    #[derive(Debug)]
    pub(super) struct Watch {
        target: Target,
        limits: Arc<BodyLimits>,
        total: Duration,
        // Made when the reader has to wait for the first time. It fires at the deadline of the present
        // wait or before it, never after it: it is moved only when it fires early, not once per frame.
        #[pin]
        timer: Option<Sleep>,
        // When the present wait began.
        since: Option<Instant>,
        // The waits before the present one, together.
        waited: Duration,
    }
}

impl Watch {
    pub(super) fn new(target: Target, limits: Arc<BodyLimits>, total: Duration) -> Self {
        Self {
            target,
            limits,
            total,
            timer: None,
            since: None,
            waited: Duration::ZERO,
        }
    }

    /// The reader asked and something was there.
    pub(super) fn answered(self: Pin<&mut Self>) {
        let this = self.project();
        let Some(since) = this.since.take() else {
            return;
        };
        if *this.total != Duration::MAX {
            *this.waited = this.waited.saturating_add(since.elapsed());
        }
    }

    /// The reader asked and has to wait: resolves once it has waited too long.
    pub(super) fn poll_expired(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<TimeoutError> {
        let total_left = self.total.saturating_sub(self.waited);
        let left = total_left.min(self.limits.idle);
        let scope = if total_left < self.limits.idle {
            self.limits.scopes.total
        } else {
            self.limits.scopes.idle
        };
        // A timer rounds up to whole milliseconds, and zero means now.
        if left.is_zero() {
            return Poll::Ready(self.error(scope, self.waited));
        }
        let since = self.since.unwrap_or_else(Instant::now);
        let Some(deadline) = deadline(since, left) else {
            return Poll::Pending;
        };
        let this = self.as_mut().project();
        *this.since = Some(since);
        ready!(poll_until(this.timer, deadline, cx));
        let elapsed = match scope {
            TimeoutScope::BodyTotal | TimeoutScope::RequestBodyTotal => self.waited,
            _ => Duration::ZERO,
        };
        Poll::Ready(self.error(scope, elapsed.saturating_add(since.elapsed())))
    }

    fn error(&self, scope: TimeoutScope, elapsed: Duration) -> TimeoutError {
        let limit = if scope == self.limits.scopes.total {
            self.total
        } else {
            self.limits.idle
        };
        TimeoutError::new(self.target.endpoint(), limit, scope).with_elapsed(elapsed)
    }
}

fn poll_until(
    mut timer: Pin<&mut Option<Sleep>>,
    deadline: Instant,
    cx: &mut Context<'_>,
) -> Poll<()> {
    if timer.is_none() {
        timer.set(Some(sleep_until(deadline)));
    }
    let Some(mut timer) = timer.as_pin_mut() else {
        return Poll::Pending;
    };
    if timer.deadline() > deadline {
        timer.as_mut().reset(deadline);
    }
    loop {
        ready!(poll_timer(timer.as_mut(), cx));
        if timer.deadline() >= deadline {
            return Poll::Ready(());
        }
        timer.as_mut().reset(deadline);
    }
}
