use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Request, Response, response::Parts};
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
    /// this; `answer` looks into any other, and `rest` goes on looking, or ends with an error.
    #[inline(always)]
    fn poll_inner<I, X>(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        answer: impl FnOnce(Pin<&mut Self>, Parts, B, &mut Context<'_>) -> Looked<B, X>,
        rest: impl FnOnce(Pin<&mut Self>, Option<I>, &mut Context<'_>) -> Looked<B, X>,
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
                // By itself: out of a whole result it would be moved once more, which waits some 10 ns for
                // what has just been written.
                Ok(response) => {
                    let (head, body) = response.into_parts();
                    answer(self, head, body, cx)
                }
                Err(error) => rest(self, Some(error), cx),
            },
            StateProj::Refused { .. } | StateProj::Looking { .. } => rest(self, None, cx),
        }
    }

    /// Looks into the answer of the inner service. `refuse` makes an error of a failing one if that is
    /// asked for.
    #[inline(always)]
    fn look_into<X>(
        self: Pin<&mut Self>,
        head: Parts,
        body: B,
        cx: &mut Context<'_>,
        refuse: impl FnOnce(Response<ResponseBody<B>>) -> Result<Response<ResponseBody<B>>, X>,
    ) -> Looked<B, X> {
        let mut this = self.project();
        // The inner future goes before the body is read.
        this.state.as_mut().set(State::Looking {
            reading: Rare::NONE,
        });
        let call = Call {
            config: this.config,
            target: this.target,
            sighted: this.sighted,
            brought: this.brought,
        };
        let keep = |reading| {
            let reading = Rare::new(reading);
            this.state.set(State::Looking { reading });
        };
        answered(call, keep, head, body, cx, refuse)
    }

    /// Ends with the error of the inner service, or with what it said instead of getting ready, or goes on
    /// looking. `fail` makes an error of the inner service's.
    #[inline(always)]
    fn go_on<I, X>(
        self: Pin<&mut Self>,
        error: Option<I>,
        cx: &mut Context<'_>,
        convert: impl FnOnce(I) -> E,
        fail: impl FnOnce(Call<'_>, E) -> X,
        refuse: impl FnOnce(Response<ResponseBody<B>>) -> Result<Response<ResponseBody<B>>, X>,
    ) -> Looked<B, X> {
        let mut this = self.project();
        let (mut reading, refused) = match this.state.as_mut().project() {
            StateProj::Looking { reading } => (reading.take(), None),
            StateProj::Refused { error } => (None, error.take()),
            StateProj::Calling { .. } => (None, None),
        };
        let call = Call {
            config: this.config,
            target: this.target,
            sighted: this.sighted,
            brought: this.brought,
        };
        let looked = match error.map(convert).or(refused) {
            Some(error) => Poll::Ready(Err(fail(call, error))),
            None => resume(call, &mut reading, cx, refuse),
        };
        let reading = reading.map_or(Rare::NONE, Rare::new);
        this.state.set(State::Looking { reading });
        looked
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
        self.poll_inner(cx, diagnose, diagnose_rest)
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
        self.poll_inner(cx, observe, observe_rest)
    }
}

/// Looks into what a client got for an answer.
#[cold]
#[inline(never)]
fn diagnose<F, B: Body>(
    future: Pin<&mut ResponseFuture<F, B, BoxError, Client>>,
    head: Parts,
    body: B,
    cx: &mut Context<'_>,
) -> Looked<B, Diagnosed> {
    future.look_into(head, body, cx, refuse)
}

/// Goes on looking, or makes an error of a client's.
#[cold]
#[inline(never)]
fn diagnose_rest<F, B: Body, I: Into<BoxError>>(
    future: Pin<&mut ResponseFuture<F, B, BoxError, Client>>,
    error: Option<I>,
    cx: &mut Context<'_>,
) -> Looked<B, Diagnosed> {
    future.go_on(error, cx, Into::into, diagnosed, refuse)
}

/// Looks into what a service of one's own has answered.
#[cold]
#[inline(never)]
fn observe<F, B: Body, E: 'static>(
    future: Pin<&mut ResponseFuture<F, B, E, Server>>,
    head: Parts,
    body: B,
    cx: &mut Context<'_>,
) -> Looked<B, E> {
    future.look_into(head, body, cx, Ok)
}

/// Goes on looking, or observes the error of a service of one's own, which stays what it is.
#[cold]
#[inline(never)]
fn observe_rest<F, B: Body, E: 'static>(
    future: Pin<&mut ResponseFuture<F, B, E, Server>>,
    error: Option<E>,
    cx: &mut Context<'_>,
) -> Looked<B, E> {
    let observed = |call: Call<'_>, error| {
        if call.config.log.is_on() {
            call.log(&call.failed(as_error(&error)));
        }
        error
    };
    future.go_on(error, cx, |error| error, observed, Ok)
}

impl<F, B: Body, E, Side> fmt::Debug for ResponseFuture<F, B, E, Side> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}
