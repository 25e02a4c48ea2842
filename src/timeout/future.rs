use std::{
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use http::{HeaderMap, Response};
use pin_project_lite::pin_project;

use super::{body::ResponseBody, countdown::Countdown, limits::BodyLimits, watch::Watch};
use crate::{
    endpoint::Target,
    error::{BoxError, TimeoutError, TimeoutScope},
};

pin_project! {
    /// The future of [`Timeout`](super::Timeout).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = StateProj]
    enum State<F> {
        Running {
            #[pin]
            inner: F,
            #[pin]
            countdown: Countdown,
            // Of nothing where there is no limit to run out of.
            target: Target,
            body: Option<Arc<BodyLimits>>,
        },
        // The service could not be made ready; it is not called.
        NotReady { error: Option<BoxError> },
    }
}

impl<F> ResponseFuture<F> {
    #[inline(always)]
    pub(super) fn running(
        inner: F,
        limit: Duration,
        target: Target,
        body: Option<Arc<BodyLimits>>,
    ) -> Self {
        Self {
            state: State::Running {
                inner,
                countdown: Countdown::new(limit),
                target,
                body,
            },
        }
    }

    #[cold]
    pub(super) fn not_ready(error: BoxError) -> Self {
        Self {
            state: State::NotReady { error: Some(error) },
        }
    }
}

impl<F, B, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
    E: Into<BoxError>,
{
    type Output = Result<Response<ResponseBody<B>>, BoxError>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.as_mut().project();
        if let StateProj::Running { inner, body, .. } = this.state.project() {
            // Inner first: an answer that is ready wins over a limit that has run out.
            match inner.poll(cx) {
                Poll::Ready(Ok(response)) => {
                    if body.is_none() {
                        return Poll::Ready(Ok(response.map(ResponseBody::unwatched)));
                    }
                    // Taken apart: what nobody looks into where it lies, the compiler moves for less.
                    let (head, body) = response.into_parts();
                    let body = ResponseBody::new(body, self.watch(&head.headers));
                    return Poll::Ready(Ok(Response::from_parts(head, body)));
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                Poll::Pending => {}
            }
        }
        self.poll_error(cx).map(Err)
    }
}

impl<F> ResponseFuture<F> {
    /// Completes with an error where there is no answer.
    #[inline(never)]
    fn poll_error(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<BoxError> {
        match self.project().state.project() {
            StateProj::Running {
                countdown, target, ..
            } => {
                let limit = countdown.limit();
                let elapsed = ready!(countdown.poll_expired(cx));
                let error = TimeoutError::new(target.endpoint(), limit, TimeoutScope::Head);
                Poll::Ready(error.with_elapsed(elapsed).into())
            }
            StateProj::NotReady { error } => match error.take() {
                Some(error) => Poll::Ready(error),
                // Polled again after its end.
                None => Poll::Pending,
            },
        }
    }

    /// Watches the body of a response with these headers.
    #[cold]
    fn watch(self: Pin<&mut Self>, headers: &HeaderMap) -> Option<Pin<Box<Watch>>> {
        match self.project().state.project() {
            StateProj::Running { target, body, .. } => {
                let limits = body.take()?;
                let total = limits.total_for(headers);
                let target = mem::replace(target, Target::nothing());
                Some(Box::pin(Watch::new(target, limits, total)))
            }
            StateProj::NotReady { .. } => None,
        }
    }
}
