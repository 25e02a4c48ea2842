use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

use super::{
    countdown::{deadline, poll_timer},
    limits::BodyLimits,
};
use crate::{
    endpoint::Target,
    error::{TimeoutError, TimeoutScope},
};

/// Counts how long the reader of one body has to wait.
#[derive(Debug)]
pub(super) struct Watch {
    target: Target,
    limits: Arc<BodyLimits>,
    total: Duration,
    /// Made when the reader has to wait for the first time; most bodies never make it wait.
    clock: Option<Box<Clock>>,
}

#[derive(Debug)]
struct Clock {
    /// Fires at the deadline of the present wait or before it, never after it: it is moved only
    /// when it fires early, not once per frame.
    timer: Pin<Box<Sleep>>,
    /// When the present wait began.
    since: Option<Instant>,
    /// The waits before the present one, together.
    waited: Duration,
}

impl Watch {
    pub(super) fn new(target: Target, limits: Arc<BodyLimits>, total: Duration) -> Self {
        Self {
            target,
            limits,
            total,
            clock: None,
        }
    }

    /// The reader asked and something was there.
    pub(super) fn answered(&mut self) {
        let Some(clock) = &mut self.clock else { return };
        let Some(since) = clock.since.take() else {
            return;
        };
        if self.total != Duration::MAX {
            clock.waited = clock.waited.saturating_add(since.elapsed());
        }
    }

    /// The reader asked and has to wait: resolves once it has waited too long.
    pub(super) fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<TimeoutError> {
        let waited = self.clock.as_ref().map_or(Duration::ZERO, |c| c.waited);
        let total_left = self.total.saturating_sub(waited);
        let left = total_left.min(self.limits.idle);
        let scope = if total_left < self.limits.idle {
            self.limits.scopes.total
        } else {
            self.limits.scopes.idle
        };
        // A timer rounds up to whole milliseconds, and zero means now.
        if left.is_zero() {
            return Poll::Ready(self.error(scope, waited));
        }
        let since = self.clock.as_ref().and_then(|clock| clock.since);
        let since = since.unwrap_or_else(Instant::now);
        let Some(deadline) = deadline(since, left) else {
            return Poll::Pending;
        };
        let clock = self.clock.get_or_insert_with(|| {
            Box::new(Clock {
                timer: Box::pin(sleep_until(deadline)),
                since: None,
                waited,
            })
        });
        clock.since = Some(since);
        ready!(clock.poll_until(deadline, cx));
        let elapsed = match scope {
            TimeoutScope::BodyTotal | TimeoutScope::RequestBodyTotal => waited,
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

impl Clock {
    fn poll_until(&mut self, deadline: Instant, cx: &mut Context<'_>) -> Poll<()> {
        if self.timer.deadline() > deadline {
            self.timer.as_mut().reset(deadline);
        }
        loop {
            ready!(poll_timer(self.timer.as_mut(), cx));
            if self.timer.deadline() >= deadline {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(deadline);
        }
    }
}
