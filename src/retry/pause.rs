use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Buf;
use http::{Request, Response};
use http_body::Body;
use tokio::time::{Instant, Sleep};

use super::{replay::ReplayBody, timer::poll_timer};
use crate::{budget::Withdrawal, error::BoxError};

/// How much of a discarded response is read so that its connection can be used again.
const DRAIN_LIMIT: usize = 4096;

/// How long.
const DRAIN_TIME: Duration = Duration::from_millis(100);

/// A wait longer than this never ends in practice, and still fits into every clock.
const FOREVER: Duration = Duration::from_secs(30 * 365 * 86_400);

/// What there is between two attempts. Boxed: a call that needs none should not be larger for it.
pub(super) struct Pause<B, R> {
    last: Last<R>,
    /// The request of the next attempt. It is made before the wait: from then on the attempt before can
    /// read no more of the body, so what can be replayed now still can after the wait.
    request: Request<ReplayBody<B>>,
    /// When the discarded response is given up.
    drain_until: Instant,
    /// When the next attempt may begin; `None` if there is nothing (more) to wait for.
    wait_until: Option<Instant>,
    /// What the next attempt costs. Returned if it is dropped before it is spent.
    withdrawal: Option<Withdrawal>,
}

/// The result of the last attempt.
enum Last<R> {
    /// Whole, to be returned if there can be no other.
    Whole(Result<Response<R>, BoxError>),
    /// A response of which the rest is read and thrown away. The body may not be movable any more.
    Draining { body: Pin<Box<R>>, left: usize },
    /// Gone.
    Drained,
}

impl<B, R: Body> Pause<B, R> {
    pub(super) fn new(
        last: Result<Response<R>, BoxError>,
        request: Request<ReplayBody<B>>,
        after: Duration,
        time_left: Option<Duration>,
        withdrawal: Option<Withdrawal>,
    ) -> Self {
        let now = Instant::now();
        // Reading must not eat the time that the next attempt needs.
        let drain_time = time_left.map_or(DRAIN_TIME, |left| DRAIN_TIME.min(left / 2));
        let last = if has_body(&last) {
            discard(last)
        } else {
            Last::Whole(last)
        };
        Self {
            last,
            request,
            drain_until: now + drain_time,
            wait_until: (!after.is_zero()).then(|| now + after.min(FOREVER)),
            withdrawal,
        }
    }

    /// Completes when the discarded response is out of the way and the wait is over.
    pub(super) fn poll(
        &mut self,
        mut timer: Pin<&mut Option<Sleep>>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if let Last::Draining { body, left } = &mut self.last {
            if poll_drained(body.as_mut(), left, cx).is_pending() {
                ready!(poll_timer(timer.as_mut(), self.drain_until, cx));
            }
            self.last = Last::Drained;
        }
        if let Some(at) = self.wait_until {
            ready!(poll_timer(timer, at, cx));
            self.wait_until = None;
        }
        Poll::Ready(())
    }

    /// Takes the last result, if it is still there.
    pub(super) fn take_last(&mut self) -> Option<Result<Response<R>, BoxError>> {
        match std::mem::replace(&mut self.last, Last::Drained) {
            Last::Whole(last) => Some(last),
            Last::Draining { .. } | Last::Drained => None,
        }
    }

    /// Pays for the next attempt, which begins now, and returns its request.
    pub(super) fn end(self) -> Request<ReplayBody<B>> {
        if let Some(withdrawal) = self.withdrawal {
            withdrawal.spend();
        }
        self.request
    }
}

/// Returns whether there is a response with a body that must be read before its connection is free.
pub(super) fn has_body<R: Body>(last: &Result<Response<R>, BoxError>) -> bool {
    last.as_ref()
        .is_ok_and(|response| !response.body().is_end_stream())
}

fn discard<R: Body>(last: Result<Response<R>, BoxError>) -> Last<R> {
    match last {
        // What is known to be too long is not worth a read.
        Ok(response) if response.body().size_hint().lower() <= DRAIN_LIMIT as u64 => {
            Last::Draining {
                body: Box::pin(response.into_body()),
                left: DRAIN_LIMIT,
            }
        }
        Ok(_) => Last::Drained,
        Err(error) => Last::Whole(Err(error)),
    }
}

/// Completes when the body has ended, failed, or turned out to be too long.
fn poll_drained<R: Body>(
    mut body: Pin<&mut R>,
    left: &mut usize,
    cx: &mut Context<'_>,
) -> Poll<()> {
    while !body.is_end_stream() {
        let Some(Ok(frame)) = ready!(body.as_mut().poll_frame(cx)) else {
            break;
        };
        // Every frame counts for something, so that a stream of empty ones ends too.
        let length = frame.data_ref().map_or(0, Buf::remaining).max(1);
        match left.checked_sub(length) {
            Some(rest) => *left = rest,
            None => break,
        }
    }
    Poll::Ready(())
}
