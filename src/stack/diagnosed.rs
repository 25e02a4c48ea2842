//! A [`Retry`] whose failures are diagnosed.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::{
    diagnose::{self, Call, DiagnoseLayer, Looking},
    diagnosis::Diagnosed,
    error::BoxError,
    retry::{self, ReplayBody, Retry},
};

/// Diagnoses the failures of a [`Retry`], as [`Diagnose`](crate::Diagnose) does.
///
/// That one remembers the request itself, in case the call fails. A retry layer keeps it anyway, and so
/// this one asks there.
#[derive(Clone, Debug)]
pub struct DiagnosedRetry<S> {
    retry: Retry<S>,
    diagnose: DiagnoseLayer,
}

impl<S> DiagnosedRetry<S> {
    /// `retry` has to remember its requests.
    pub(super) fn new(retry: Retry<S>, diagnose: DiagnoseLayer) -> Self {
        Self { retry, diagnose }
    }
}

impl<S, B, R> Service<Request<B>> for DiagnosedRetry<S>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<R>> + Clone,
    S::Error: Into<BoxError>,
    B: Body + Unpin,
    R: Body,
{
    type Response = Response<diagnose::ResponseBody<R>>;
    type Error = Diagnosed;
    type Future = ResponseFuture<S, S::Future, B, R>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Diagnosed>> {
        // Its error it keeps for the next call.
        self.retry.poll_ready(cx).map(|_| Ok(()))
    }

    #[inline]
    fn call(&mut self, request: Request<B>) -> Self::Future {
        ResponseFuture {
            state: State::Calling {
                attempts: self.retry.call(request),
            },
            diagnose: self.diagnose.clone(),
        }
    }
}

pin_project! {
    /// The future of [`DiagnosedRetry`].
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, F, B, R>
    where
        R: Body,
    {
        #[pin]
        state: State<S, F, B, R>,
        diagnose: DiagnoseLayer,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, F, B, R>
    where
        R: Body,
    {
        Calling { #[pin] attempts: retry::ResponseFuture<S, F, B, R> },
        Looking { looking: Looking<R> },
        Done,
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
    type Output = Result<Response<diagnose::ResponseBody<R>>, Diagnosed>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.as_mut().project();
        let ended = match this.state.project() {
            StateProj::Calling { attempts } => match ready!(attempts.poll(cx)) {
                Ok(response) if this.diagnose.is_plain(response.status()) => {
                    return Poll::Ready(Ok(response.map(diagnose::ResponseBody::plain)));
                }
                result => Some(result),
            },
            StateProj::Looking { .. } | StateProj::Done => None,
        };
        self.look_into(ended, cx)
    }
}

impl<S, F, B, R: Body> ResponseFuture<S, F, B, R> {
    /// Looks into what the attempts have `ended` with, or else goes on where it was left.
    #[inline(never)]
    fn look_into(
        self: Pin<&mut Self>,
        ended: Option<Result<Response<R>, BoxError>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Response<diagnose::ResponseBody<R>>, Diagnosed>> {
        let mut this = self.project();
        if let StateProj::Calling { attempts } = this.state.as_mut().project() {
            let call = Call::recalled(this.diagnose, attempts.recall());
            let looking = Looking::new(call);
            this.state.set(State::Looking { looking });
        }
        let StateProj::Looking { looking } = this.state.as_mut().project() else {
            return Poll::Pending;
        };
        let result = ready!(looking.poll_client(ended, cx));
        this.state.set(State::Done);
        Poll::Ready(result)
    }
}

impl<S, F, B, R: Body> fmt::Debug for ResponseFuture<S, F, B, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
