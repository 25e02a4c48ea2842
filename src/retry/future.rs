use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tokio::time::Sleep;
use tower_service::Service;

use super::{
    operation::{Operation, Verdict},
    pause::Pause,
    replay::ReplayBody,
};
use crate::{error::BoxError, retried::StopReason};

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
        state: State<F, R>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, R> {
        /// Not called: the service was not ready.
        NotReady { error: Option<BoxError> },
        Calling { #[pin] attempt: F },
        Pausing { pause: Box<Pause<R>> },
        Done,
    }
}

impl<S, F, B, R> ResponseFuture<S, F, B, R> {
    pub(super) fn calling(operation: Operation<B>, service: Option<S>, attempt: F) -> Self {
        Self {
            operation,
            service,
            timer: None,
            state: State::Calling { attempt },
        }
    }

    pub(super) fn not_ready(operation: Operation<B>, error: BoxError) -> Self {
        Self {
            operation,
            service: None,
            timer: None,
            state: State::NotReady { error: Some(error) },
        }
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

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.state.as_mut().project() {
                StateProj::NotReady { error } => {
                    let Some(error) = error.take() else {
                        return Poll::Pending;
                    };
                    return Poll::Ready(Err(error));
                }
                StateProj::Calling { attempt } => {
                    let Poll::Ready(result) = attempt.poll(cx) else {
                        ready!(this.operation.poll_limit(this.timer, cx));
                        this.state.set(State::Done);
                        return Poll::Ready(this.operation.timed_out());
                    };
                    let result = result.map_err(Into::into);
                    let (after, withdrawal) = match this.operation.judge(&result) {
                        Verdict::Retry { after, withdrawal } => (after, withdrawal),
                        Verdict::Stop(reason) => {
                            return Poll::Ready(this.operation.finish(result, reason));
                        }
                    };
                    // The attempt goes first: it may hold what the next one needs, a permit say.
                    this.state.set(State::Done);
                    let time_left = this.operation.time_left();
                    let mut pause = Box::new(Pause::new(result, after, time_left, withdrawal));
                    // A service that will not be ready again says so, as a rule, at once. Then the
                    // response is still whole and can be returned.
                    let refusal = if pause.is_drainable() && has_failed(this.service, cx) {
                        Some(StopReason::NotReady)
                    } else if !this.operation.claim_body() {
                        Some(StopReason::BodyNotReplayable)
                    } else {
                        None
                    };
                    if let Some(reason) = refusal {
                        if let Some(last) = pause.take_last() {
                            return Poll::Ready(this.operation.finish(last, reason));
                        }
                    }
                    pause.discard();
                    this.state.set(State::Pausing { pause });
                }
                StateProj::Pausing { pause } => {
                    ready!(pause.poll(this.timer.as_mut(), cx));
                    // There is no pause without a service, since without one nothing is replayable.
                    let Some(service) = this.service.as_mut() else {
                        return Poll::Pending;
                    };
                    let ready = match service.poll_ready(cx) {
                        Poll::Ready(ready) => ready.map_err(Into::into),
                        Poll::Pending => {
                            ready!(this.operation.poll_limit(this.timer, cx));
                            let last = pause.take_last();
                            this.state.set(State::Done);
                            return Poll::Ready(match last {
                                Some(last) => this.operation.finish(last, StopReason::NotReady),
                                None => this.operation.out_of_time(),
                            });
                        }
                    };
                    if let Err(error) = ready {
                        let last = pause.take_last().unwrap_or(Err(error));
                        this.state.set(State::Done);
                        return Poll::Ready(this.operation.finish(last, StopReason::NotReady));
                    }
                    let Some(request) = this.operation.next_request() else {
                        return Poll::Pending;
                    };
                    pause.spend();
                    let attempt = service.call(request);
                    this.state.set(State::Calling { attempt });
                }
                StateProj::Done => return Poll::Pending,
            }
        }
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
