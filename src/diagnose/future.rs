use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;

use super::{
    body::ResponseBody,
    call::{Brought, Call},
    config::Config,
    layer::{Client, Server},
    looking::{Looked, Reading, answered, diagnosed, refuse, resume},
};
use crate::{
    classify::as_error, diagnosis::Diagnosed, error::BoxError, secrets::Sighted, target::Target,
};

pin_project! {
    /// Waits for the response, and for the beginning of its body if it failed.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, B, E, Side = Client>
    where
        B: Body,
    {
        #[pin]
        state: State<F, E>,
        // The parts of a `Call`.
        config: Arc<Config>,
        target: Target,
        sighted: Sighted,
        brought: Brought,
        reading: Option<Reading<B>>,
        side: PhantomData<fn() -> Side>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, E> {
        Calling { #[pin] inner: F },
        Refused { error: Option<E> },
        Called,
    }
}

impl<F, B: Body, E, Side> ResponseFuture<F, B, E, Side> {
    /// Waits for what the inner service answers. What is kept of the call comes in parts: a whole of them
    /// would be put together in one place and then moved to another.
    #[inline(always)]
    pub(super) fn waiting(
        inner: F,
        config: Arc<Config>,
        target: Target,
        sighted: Sighted,
        brought: Brought,
    ) -> Self {
        Self {
            state: State::Calling { inner },
            config,
            target,
            sighted,
            brought,
            reading: None,
            side: PhantomData,
        }
    }

    /// Fails with what the inner service said instead of getting ready.
    #[cold]
    pub(super) fn refused<R>(config: &Arc<Config>, request: &Request<R>, error: E) -> Self {
        Self {
            state: State::Refused { error: Some(error) },
            config: Arc::clone(config),
            target: Target::whole(request),
            sighted: Sighted::of(request.headers(), &config.redacted),
            brought: Brought::by(request.extensions(), config.is_server),
            reading: None,
            side: PhantomData,
        }
    }

    /// Polls the inner service. A good answer is all there is to it, and becomes part of whatever polls
    /// this; `look` looks into everything else, or goes on looking.
    #[inline(always)]
    fn poll_inner<I, X>(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        look: impl FnOnce(
            Pin<&mut Self>,
            Option<Result<Response<B>, I>>,
            &mut Context<'_>,
        ) -> Looked<B, X>,
    ) -> Looked<B, X>
    where
        F: Future<Output = Result<Response<B>, I>>,
    {
        let this = self.as_mut().project();
        let ended = match this.state.project() {
            StateProj::Calling { inner } => match ready!(inner.poll(cx)) {
                Ok(response) if this.config.is_plainly(response.status()) => {
                    return Poll::Ready(Ok(response.map(ResponseBody::plain)));
                }
                result => Some(result),
            },
            StateProj::Refused { .. } | StateProj::Called => None,
        };
        look(self, ended, cx)
    }

    /// Ends the waiting. Returns the call, what is read of its answer, and the error of a service that did
    /// not get ready if there is one.
    fn end(self: Pin<&mut Self>) -> (Call<'_>, &mut Option<Reading<B>>, Option<E>) {
        let mut this = self.project();
        let refused = match this.state.as_mut().project() {
            StateProj::Refused { error } => error.take(),
            StateProj::Calling { .. } | StateProj::Called => None,
        };
        this.state.set(State::Called);
        let call = Call {
            config: this.config,
            target: this.target,
            sighted: this.sighted,
            brought: this.brought,
        };
        (call, this.reading, refused)
    }
}

impl<F, B, I> Future for ResponseFuture<F, B, BoxError, Client>
where
    F: Future<Output = Result<Response<B>, I>>,
    B: Body,
    I: Into<BoxError>,
{
    type Output = Result<Response<ResponseBody<B>>, Diagnosed>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_inner(cx, diagnose)
    }
}

impl<F, B, E> Future for ResponseFuture<F, B, E, Server>
where
    F: Future<Output = Result<Response<B>, E>>,
    B: Body,
    E: 'static,
{
    type Output = Result<Response<ResponseBody<B>>, E>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_inner(cx, observe)
    }
}

/// Looks into what a client has ended with.
#[cold]
#[inline(never)]
fn diagnose<F, B: Body, I: Into<BoxError>>(
    future: Pin<&mut ResponseFuture<F, B, BoxError, Client>>,
    ended: Option<Result<Response<B>, I>>,
    cx: &mut Context<'_>,
) -> Looked<B, Diagnosed> {
    let (call, reading, refused) = future.end();
    // The response as it is: to convert the whole of the result would be to move it once more.
    let error = match ended {
        Some(Ok(response)) => return answered(call, reading, response, cx, refuse),
        Some(Err(error)) => Some(error.into()),
        None => refused,
    };
    match error {
        Some(error) => Poll::Ready(Err(diagnosed(call, error))),
        None => resume(call, reading, cx, refuse),
    }
}

/// Looks into what a service of one's own has ended with; its error stays what it is.
#[cold]
#[inline(never)]
fn observe<F, B: Body, E: 'static>(
    future: Pin<&mut ResponseFuture<F, B, E, Server>>,
    ended: Option<Result<Response<B>, E>>,
    cx: &mut Context<'_>,
) -> Looked<B, E> {
    let (call, reading, refused) = future.end();
    let error = match ended {
        Some(Ok(response)) => return answered(call, reading, response, cx, Ok),
        Some(Err(error)) => Some(error),
        None => refused,
    };
    let Some(error) = error else {
        return resume(call, reading, cx, Ok);
    };
    if call.config.log.is_on() {
        call.log(&call.failed(as_error(&error)));
    }
    Poll::Ready(Err(error))
}

impl<F, B: Body, E, Side> fmt::Debug for ResponseFuture<F, B, E, Side> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}
