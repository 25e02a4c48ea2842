use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use http::Response;
use pin_project_lite::pin_project;

use super::attempt::Attempt;

pin_project! {
    /// The response of a [`Dispatch`](super::Dispatch) service.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, E> {
        #[pin]
        state: State<F, E>,
        // Below the state, so that the inner future is dropped before its end is noted.
        attempt: Attempt,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, E> {
        Calling { #[pin] inner: F },
        Refused { error: Option<E> },
    }
}

impl<F, E> ResponseFuture<F, E> {
    pub(super) fn calling(inner: F, attempt: Attempt) -> Self {
        Self {
            state: State::Calling { inner },
            attempt,
        }
    }

    pub(super) fn refused(error: E) -> Self {
        Self {
            state: State::Refused { error: Some(error) },
            attempt: Attempt::UNNOTED,
        }
    }
}

impl<F, B, E> Future for ResponseFuture<F, E>
where
    F: Future<Output = Result<Response<B>, E>>,
    E: 'static,
{
    type Output = Result<Response<B>, E>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.as_mut().project();
        match this.state.project() {
            // Straight through: a response is large, and moving it is what a layer costs.
            StateProj::Calling { inner } if !this.attempt.is_noted() => inner.poll(cx),
            _ => self.poll_noted(cx),
        }
    }
}

impl<F, B, E> ResponseFuture<F, E>
where
    F: Future<Output = Result<Response<B>, E>>,
    E: 'static,
{
    #[inline(never)]
    fn poll_noted(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Response<B>, E>> {
        let this = self.project();
        let polled = match this.state.project() {
            StateProj::Calling { inner } => inner.poll(cx),
            // Polled again after its end, it has nothing more to say.
            StateProj::Refused { error } => match error.take() {
                Some(error) => Poll::Ready(Err(error)),
                None => Poll::Pending,
            },
        };
        // Handed on arm by arm, the response is moved once.
        match polled {
            Poll::Ready(Ok(response)) => {
                this.attempt.answered(response.status());
                Poll::Ready(Ok(response))
            }
            Poll::Ready(Err(error)) => {
                this.attempt.failed(&error);
                Poll::Ready(Err(error))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<F, E> fmt::Debug for ResponseFuture<F, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
