use std::{
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use http::Response;
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
        if let StateProj::Running {
            inner, body: None, ..
        } = self.as_mut().project().state.project()
        {
            // Inner first: an answer that is ready wins over a limit that has run out.
            match inner.poll(cx) {
                Poll::Ready(Ok(response)) => {
                    return Poll::Ready(Ok(response.map(ResponseBody::unwatched)));
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                Poll::Pending => {}
            }
        }
        self.poll_rest(cx)
    }
}

impl<F, B, E> ResponseFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
    E: Into<BoxError>,
{
    /// What is seldom there, and what follows a wait. In a function of its own, and only one, so that the
    /// rest is small enough to be made part of the caller: the response is moved twice less then.
    #[inline(never)]
    fn poll_rest(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Response<ResponseBody<B>>, BoxError>> {
        match self.project().state.project() {
            StateProj::Running {
                inner,
                countdown,
                target,
                body,
            } => {
                if body.is_some() {
                    if let Poll::Ready(result) = inner.poll(cx) {
                        let response = result.map_err(Into::into)?;
                        return Poll::Ready(Ok(watched(response, body.take(), target)));
                    }
                }
                let limit = countdown.limit();
                let elapsed = ready!(countdown.poll_expired(cx));
                let error = TimeoutError::new(target.endpoint(), limit, TimeoutScope::Head);
                Poll::Ready(Err(error.with_elapsed(elapsed).into()))
            }
            StateProj::NotReady { error } => match error.take() {
                Some(error) => Poll::Ready(Err(error)),
                // Polled again after its end.
                None => Poll::Pending,
            },
        }
    }
}

/// Has the body of a response to `target` watched.
#[cold]
#[inline(never)]
fn watched<B>(
    response: Response<B>,
    limits: Option<Arc<BodyLimits>>,
    target: &mut Target,
) -> Response<ResponseBody<B>> {
    let watch = limits.map(|limits| {
        let target = mem::replace(target, Target::nothing());
        let total = limits.total_for(response.headers());
        Watch::new(target, limits, total)
    });
    response.map(|body| match watch {
        Some(watch) => ResponseBody::watched(body, watch),
        None => ResponseBody::unwatched(body),
    })
}
