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
    call::Call,
    config::Config,
    layer::{Client, Server},
    looking::Looking,
};
use crate::{classify::as_error, diagnosis::Diagnosed, error::BoxError};

pin_project! {
    /// Waits for the response, and for the beginning of its body if it failed.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, B, E, Side = Client>
    where
        B: Body,
    {
        #[pin]
        state: State<F, E>,
        looking: Looking<B>,
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
    /// Of a call that is not made yet. The other half of what must be known of its request is
    /// [taken](Self::take) when this is in its place.
    #[inline(always)]
    pub(super) fn before<R>(config: &Arc<Config>, request: &Request<R>) -> Self {
        Self {
            state: State::Called,
            looking: Looking::new(Call::before(config, request)),
            side: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn take<R>(&mut self, request: &Request<R>) {
        if let Some(call) = &mut self.looking.call {
            call.take(request);
        }
    }

    /// Waits for what the inner service answers.
    #[inline(always)]
    pub(super) fn wait(&mut self, inner: F) {
        self.state = State::Calling { inner };
    }

    /// Fails with what the inner service said instead of getting ready.
    #[inline(always)]
    pub(super) fn refuse(&mut self, error: E) {
        self.state = State::Refused { error: Some(error) };
    }

    /// Polls the inner service. A good answer is all there is to it, and becomes part of whatever polls
    /// this; `look` looks into everything else, or goes on looking.
    #[inline]
    fn poll_inner<I, X>(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        convert: impl FnOnce(I) -> E,
        look: impl FnOnce(
            &mut Looking<B>,
            Option<Result<Response<B>, E>>,
            &mut Context<'_>,
        ) -> Looked<B, X>,
    ) -> Looked<B, X>
    where
        F: Future<Output = Result<Response<B>, I>>,
    {
        let mut this = self.project();
        let ended = match (this.state.as_mut().project(), &this.looking.call) {
            (StateProj::Calling { inner }, Some(call)) => match ready!(inner.poll(cx)) {
                Ok(response) if call.config.is_plain(response.status()) => {
                    return Poll::Ready(Ok(response.map(ResponseBody::plain)));
                }
                result => Some(result.map_err(convert)),
            },
            (StateProj::Refused { error }, _) => error.take().map(Err),
            _ => None,
        };
        this.state.set(State::Called);
        look(this.looking, ended, cx)
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
        self.poll_inner(cx, Into::into, Looking::poll_client)
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
        self.poll_inner(cx, |error| error, observe)
    }
}

/// Looks into what a service of one's own has ended with; its error stays what it is.
#[inline(never)]
fn observe<B: Body, E: 'static>(
    looking: &mut Looking<B>,
    ended: Option<Result<Response<B>, E>>,
    cx: &mut Context<'_>,
) -> Poll<Result<Response<ResponseBody<B>>, E>> {
    let observed = |call: &Call, error| {
        if call.config.log.is_on() {
            call.log(&call.failed(as_error(&error)));
        }
        error
    };
    looking.poll(ended, cx, observed, Ok)
}

impl<F, B: Body, E, Side> fmt::Debug for ResponseFuture<F, B, E, Side> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("call", &self.looking.call)
            .finish_non_exhaustive()
    }
}
