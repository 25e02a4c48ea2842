use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::{Request, Response, StatusCode};
use http_body::Body;
use pin_project_lite::pin_project;
use tokio::time::Sleep;
use tower_service::Service;

use super::{
    limit::RanOut,
    operation::{Operation, Verdict},
    pause::{Pause, has_body},
    replay::ReplayBody,
};
use crate::{
    call::CallRecorder, error::BoxError, outcome::Idempotency, rare::Rare, remembered::Remembered,
    retried::StopReason,
};

pin_project! {
    /// The future of [`Retry`](super::Retry): all attempts, and the waits between them.
    ///
    /// `S` is the inner service, `F` its future, `B` the request's body, `R` the response's. Dropping
    /// it stops everything and returns what it took out of the budget for an attempt not yet made.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, F, B, R> {
        operation: Operation<B>,
        // For later attempts; `None` where there can be none.
        service: Option<S>,
        // One timer for whatever is waited for: the limit, the drain, the next attempt.
        #[pin]
        timer: Option<Sleep>,
        #[pin]
        state: State<F, B, R>,
    }
}

pin_project! {
    #[project = StateProj]
    pub(crate) enum State<F, B, R> {
        /// Not called: the service was not ready.
        NotReady { error: Rare<BoxError> },
        Calling { #[pin] attempt: F },
        // Always there, but for the moment in which it ends.
        Pausing { pause: Rare<Box<Pause<B, R>>> },
        Done,
    }
}

impl<S, F, B, R> ResponseFuture<S, F, B, R> {
    #[inline(always)]
    pub(super) fn new(operation: Operation<B>, service: Option<S>, state: State<F, B, R>) -> Self {
        Self {
            operation,
            service,
            timer: None,
            state,
        }
    }

    /// Returns what a diagnosis of the call's failure needs to know, if the layer was told to
    /// [remember](super::RetryLayer::remembers) it.
    pub(crate) fn recall(&self) -> (Remembered, Idempotency, Option<CallRecorder>) {
        self.operation.recall()
    }
}

impl<S, F, B, R> Future for ResponseFuture<S, F, B, R>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<R>, Future = F> + Clone,
    S::Error: Into<BoxError>,
    F: Future<Output = Result<Response<R>, S::Error>>,
    B: Body + Unpin,
    R: Body,
{
    type Output = Result<Response<R>, BoxError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_then(
            cx,
            |_| true,
            |response| Poll::Ready(Ok(response)),
            |_, result, _| Poll::Ready(result),
        )
    }
}

impl<S, F, B, R> ResponseFuture<S, F, B, R>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<R>, Future = F> + Clone,
    S::Error: Into<BoxError>,
    F: Future<Output = Result<Response<R>, S::Error>>,
    B: Body + Unpin,
    R: Body,
{
    /// Polls, and goes on with what the call comes to: by `good` with a first answer whose status is no
    /// failure and `is_good`, by `other` with everything else.
    ///
    /// Nearly every call takes the way of `good`, and a response is large: in this manner it is moved once,
    /// from where the service below puts it to where the caller wants it.
    #[inline(always)]
    pub(crate) fn poll_then<T>(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        is_good: impl Fn(StatusCode) -> bool,
        good: impl FnOnce(Response<R>) -> Poll<T>,
        other: impl FnOnce(Pin<&mut Self>, Result<Response<R>, BoxError>, &mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let this = self.as_mut().project();
        let ended = match this.state.project() {
            StateProj::Calling { attempt } => match attempt.poll(cx) {
                Poll::Ready(Ok(response))
                    if this.operation.is_plain(response.status()) && is_good(response.status()) =>
                {
                    return good(response);
                }
                Poll::Ready(result) => Ended::Attempt(result.map_err(Into::into)),
                Poll::Pending => {
                    Ended::Time(ready!(this.operation.poll_attempt_limit(this.timer, cx)))
                }
            },
            _ => Ended::Nothing,
        };
        let result = ready!(self.as_mut().poll_on(ended, cx));
        other(self, result, cx)
    }

    /// Goes on with a call that does not end with its first attempt, or not well.
    #[inline(never)]
    fn poll_on(
        mut self: Pin<&mut Self>,
        mut ended: Ended<R>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Response<R>, BoxError>> {
        loop {
            let over = match ended {
                Ended::Attempt(result) => self.as_mut().ended(result, cx),
                Ended::Time(RanOut::Attempt(limit)) => {
                    let late = self.operation.attempt_timed_out(limit);
                    self.as_mut().ended(Err(late), cx)
                }
                Ended::Time(RanOut::Total) => Some(self.as_mut().timed_out()),
                Ended::Nothing => ready!(self.as_mut().poll_between(cx)),
            };
            if let Some(result) = over {
                return Poll::Ready(result);
            }
            let this = self.as_mut().project();
            ended = match this.state.project() {
                StateProj::Calling { attempt } => match attempt.poll(cx) {
                    Poll::Ready(result) => Ended::Attempt(result.map_err(Into::into)),
                    Poll::Pending => {
                        Ended::Time(ready!(this.operation.poll_attempt_limit(this.timer, cx)))
                    }
                },
                _ => Ended::Nothing,
            };
        }
    }
}

/// What has ended.
enum Ended<R> {
    Attempt(Result<Response<R>, BoxError>),
    Time(RanOut),
    /// No attempt was running.
    Nothing,
}

impl<S, F, B, R> ResponseFuture<S, F, B, R>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<R>, Future = F> + Clone,
    S::Error: Into<BoxError>,
    B: Body + Unpin,
    R: Body,
{
    /// Judges the result of an attempt. `None`: another one is to follow.
    #[inline(never)]
    fn ended(
        self: Pin<&mut Self>,
        result: Result<Response<R>, BoxError>,
        cx: &mut Context<'_>,
    ) -> Option<Result<Response<R>, BoxError>> {
        let mut this = self.project();
        let result = result.map_err(|error| this.operation.explain(error));
        let verdict = this.operation.judge(&result);
        // The attempt goes first: it may hold what the next one needs, a permit say.
        this.state.set(State::Done);
        let (after, withdrawal) = match verdict {
            Verdict::Retry { after, withdrawal } => (after, withdrawal),
            Verdict::Stop(reason) => return Some(this.operation.finish(result, reason)),
        };
        // A service that will not be ready again says so, as a rule, at once. Then the response is
        // still whole and can be returned.
        if has_body(&result) && has_failed(this.service, cx) {
            return Some(this.operation.finish(result, StopReason::NotReady));
        }
        let Some(request) = this.operation.next_request() else {
            let reason = StopReason::BodyNotReplayable;
            return Some(this.operation.finish(result, reason));
        };
        let time_left = this.operation.limits.time_left();
        let pause = Pause::new(result, request, after, time_left, withdrawal);
        let pause = Rare::new(Box::new(pause));
        this.state.set(State::Pausing { pause });
        None
    }

    /// Goes on where no attempt is running. `None`: one has begun.
    #[inline(never)]
    fn poll_between(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Response<R>, BoxError>>> {
        let mut this = self.project();
        let paused = match this.state.as_mut().project() {
            StateProj::NotReady { error } => {
                return match error.take() {
                    Some(error) => Poll::Ready(Some(Err(error))),
                    None => Poll::Pending,
                };
            }
            StateProj::Pausing { pause } => pause,
            StateProj::Calling { .. } | StateProj::Done => return Poll::Pending,
        };
        let (Some(pause), Some(service)) = (paused.as_mut(), this.service.as_mut()) else {
            return Poll::Pending;
        };
        ready!(pause.poll(this.timer.as_mut(), cx));
        let ready = match service.poll_ready(cx) {
            Poll::Ready(ready) => ready.map_err(Into::into),
            Poll::Pending => {
                ready!(this.operation.limits.poll_total(this.timer, cx));
                let last = pause.take_last();
                this.state.set(State::Done);
                return Poll::Ready(Some(match last {
                    Some(last) => this.operation.finish(last, StopReason::NotReady),
                    None => this.operation.out_of_time(),
                }));
            }
        };
        if let Err(error) = ready {
            let last = pause.take_last().unwrap_or(Err(error));
            this.state.set(State::Done);
            return Poll::Ready(Some(this.operation.finish(last, StopReason::NotReady)));
        }
        let Some(pause) = paused.take() else {
            return Poll::Pending;
        };
        let request = this.operation.start(pause.end());
        let attempt = service.call(request);
        this.state.set(State::Calling { attempt });
        Poll::Ready(None)
    }

    /// Ends the call, whose running attempt is dropped.
    #[cold]
    fn timed_out(self: Pin<&mut Self>) -> Result<Response<R>, BoxError> {
        let mut this = self.project();
        let delivery = this.operation.delivery_of_dropped();
        this.state.set(State::Done);
        this.operation.timed_out(delivery)
    }
}

/// Returns whether the service says at once that it will not be ready. What it reserves for that
/// answer, it gets back.
fn has_failed<S: Service<T> + Clone, T>(service: &Option<S>, cx: &mut Context<'_>) -> bool {
    service
        .as_ref()
        .is_some_and(|service| matches!(service.clone().poll_ready(cx), Poll::Ready(Err(_))))
}

impl<S, F, B, R> fmt::Debug for ResponseFuture<S, F, B, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
