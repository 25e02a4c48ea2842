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
    looking::{Reading, look, look_client},
};
use crate::{
    classify::as_error, diagnosis::Diagnosed, error::BoxError, rare::Rare, secrets::Sighted,
    target::Target,
};

pin_project! {
    /// Waits for the response, and for the beginning of its body if it failed.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, B, E, Side = Client>
    where
        B: Body,
    {
        #[pin]
        state: State<F, B, E>,
        // The parts of a `Call`.
        config: Arc<Config>,
        target: Target,
        sighted: Sighted,
        brought: Brought,
        side: PhantomData<fn() -> Side>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, B, E>
    where
        B: Body,
    {
        Calling { #[pin] inner: F },
        Refused { error: Rare<E> },
        Looking { reading: Rare<Reading<B>> },
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
            side: PhantomData,
        }
    }

    /// Fails with what the inner service said instead of getting ready.
    #[cold]
    pub(super) fn refused<R>(config: &Arc<Config>, request: &Request<R>, error: E) -> Self {
        Self {
            state: State::Refused {
                error: Rare::new(error),
            },
            config: Arc::clone(config),
            target: Target::whole(request),
            sighted: Sighted::of(request.headers(), &config.redacted),
            brought: Brought::by(request.extensions(), config.is_server),
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
        match this.state.project() {
            StateProj::Calling { inner } => match ready!(inner.poll(cx)) {
                Ok(response) if this.config.is_plainly(response.status()) => {
                    Poll::Ready(Ok(response.map(ResponseBody::plain)))
                }
                result => look(self, Some(result), cx),
            },
            StateProj::Refused { .. } | StateProj::Looking { .. } => look(self, None, cx),
        }
    }

    /// Looks into what the inner service has `ended` with, or did not get ready with, or goes on looking.
    fn poll_looking<I, X>(
        self: Pin<&mut Self>,
        ended: Option<Result<Response<B>, I>>,
        convert: impl FnOnce(I) -> E,
        look: impl FnOnce(
            Call<'_>,
            &mut Option<Reading<B>>,
            Option<Result<Response<B>, E>>,
        ) -> Looked<B, X>,
    ) -> Looked<B, X> {
        let mut this = self.project();
        let mut reading = match this.state.as_mut().project() {
            StateProj::Looking { reading } => reading.take(),
            StateProj::Calling { .. } | StateProj::Refused { .. } => None,
        };
        let ended = match this.state.as_mut().project() {
            StateProj::Refused { error } => error.take().map(Err),
            StateProj::Calling { .. } | StateProj::Looking { .. } => {
                ended.map(|result| result.map_err(convert))
            }
        };
        if ended.is_some() {
            // The inner future goes before the body is read.
            let reading = Rare::NONE;
            this.state.set(State::Looking { reading });
        }
        let call = Call {
            config: this.config,
            target: this.target,
            sighted: this.sighted,
            brought: this.brought,
        };
        let looked = look(call, &mut reading, ended);
        if let Some(reading) = reading {
            let reading = Rare::new(reading);
            this.state.set(State::Looking { reading });
        }
        looked
    }
}

/// What a poll gives.
type Looked<B, X> = Poll<Result<Response<ResponseBody<B>>, X>>;

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
    future.poll_looking(ended, Into::into, |call, reading, ended| {
        look_client(call, reading, ended, cx)
    })
}

/// Looks into what a service of one's own has ended with; its error stays what it is.
#[cold]
#[inline(never)]
fn observe<F, B: Body, E: 'static>(
    future: Pin<&mut ResponseFuture<F, B, E, Server>>,
    ended: Option<Result<Response<B>, E>>,
    cx: &mut Context<'_>,
) -> Looked<B, E> {
    let observed = |call: Call<'_>, error| {
        if call.config.log.is_on() {
            call.log(&call.failed(as_error(&error)));
        }
        error
    };
    future.poll_looking(
        ended,
        |error| error,
        |call, reading, ended| look(call, reading, ended, cx, observed, Ok),
    )
}

impl<F, B: Body, E, Side> fmt::Debug for ResponseFuture<F, B, E, Side> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}
