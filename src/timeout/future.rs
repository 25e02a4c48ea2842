use std::{
    future::Future,
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
            // `None` where there is no limit to run out of.
            target: Option<Target>,
            body: Option<Arc<BodyLimits>>,
        },
        // The service could not be made ready; it is not called.
        NotReady { error: Option<BoxError> },
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn running(
        inner: F,
        limit: Duration,
        target: Option<Target>,
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

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Running {
                inner,
                countdown,
                target,
                body,
            } => {
                // Inner first: an answer that is ready wins over a limit that has run out.
                if let Poll::Ready(result) = inner.poll(cx) {
                    return Poll::Ready(match result {
                        Ok(response) if body.is_none() => {
                            Ok(response.map(|body| ResponseBody::new(body, None)))
                        }
                        Ok(response) => Ok(watched(response, target.take(), body.take())),
                        Err(error) => Err(error.into()),
                    });
                }
                let Some(target) = target else {
                    return Poll::Pending;
                };
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

fn watched<B>(
    response: Response<B>,
    target: Option<Target>,
    limits: Option<Arc<BodyLimits>>,
) -> Response<ResponseBody<B>> {
    let watch = target.zip(limits).map(|(target, limits)| {
        let total = limits.total_for(response.headers());
        Watch::new(target, limits, total)
    });
    response.map(|body| ResponseBody::new(body, watch))
}
