use std::{
    any::Any,
    fmt,
    marker::PhantomData,
    mem::ManuallyDrop,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::{
    body::ResponseBody,
    call::Brought,
    config::Config,
    future::ResponseFuture,
    layer::{Client, Server},
};
use crate::{diagnosis::Diagnosed, error::BoxError, secrets::Sighted, target::Target};

/// Says what went wrong with a call. See the [module docs](crate::diagnose) for an example.
pub struct Diagnose<S, Side = Client> {
    inner: S,
    config: Arc<Config>,
    /// The error of a `poll_ready`, kept for the next call, which knows what was called.
    not_ready: Option<Box<dyn Any + Send + Sync>>,
    side: PhantomData<fn() -> Side>,
}

impl<S, Side> Diagnose<S, Side> {
    pub(super) fn new(inner: S, config: Arc<Config>) -> Self {
        Self {
            inner,
            config,
            not_ready: None,
            side: PhantomData,
        }
    }

    /// Calls the inner service, or fails with what it said instead of getting ready.
    #[inline(always)]
    fn send<R, B, E>(&mut self, request: Request<R>) -> ResponseFuture<S::Future, B, E, Side>
    where
        S: Service<Request<R>>,
        B: Body,
        E: 'static,
    {
        if self.not_ready.is_some() {
            return self.refuse(request);
        }
        let config = &self.config;
        // Whoever drops it may keep where it lies, for all that the compiler knows, and what may be kept is
        // moved before it is called with: 40 instructions. A panic of the allocator's leaks it.
        let request = ManuallyDrop::new(request);
        let mut target = Target::nothing();
        if !target.keep_in_place(request.method(), request.uri()) {
            return self.send_far(ManuallyDrop::into_inner(request));
        }
        let mut sighted = Sighted::default();
        if !request.headers().is_empty() {
            sighted.look(request.headers(), &config.redacted);
        }
        let mut brought = Brought::default();
        if !request.extensions().is_empty() {
            brought.look(request.extensions(), config.is_server);
        }
        let inner = self.inner.call(ManuallyDrop::into_inner(request));
        ResponseFuture::waiting(inner, Arc::clone(&self.config), target, sighted, brought)
    }

    /// As [`Diagnose::send`], for a URI that takes a clone.
    #[cold]
    #[inline(never)]
    fn send_far<R, B, E>(&mut self, request: Request<R>) -> ResponseFuture<S::Future, B, E, Side>
    where
        S: Service<Request<R>>,
        B: Body,
        E: 'static,
    {
        let config = &self.config;
        let target = Target::whole(&request);
        let sighted = Sighted::of(request.headers(), &config.redacted);
        let brought = Brought::by(request.extensions(), config.is_server);
        let inner = self.inner.call(request);
        ResponseFuture::waiting(inner, Arc::clone(&self.config), target, sighted, brought)
    }

    /// Fails with what the inner service said instead of getting ready.
    #[cold]
    #[inline(never)]
    fn refuse<R, B, E>(&mut self, request: Request<R>) -> ResponseFuture<S::Future, B, E, Side>
    where
        S: Service<Request<R>>,
        B: Body,
        E: 'static,
    {
        match self.not_ready.take().and_then(named) {
            Some(error) => ResponseFuture::refused(&self.config, &request, error),
            None => self.send_far(request),
        }
    }
}

#[cold]
fn named<E: 'static>(kept: Box<dyn Any + Send + Sync>) -> Option<E> {
    kept.downcast().ok().map(|error| *error)
}

impl<S, R, B> Service<Request<R>> for Diagnose<S, Client>
where
    S: Service<Request<R>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    B: Body,
{
    type Response = Response<ResponseBody<B>>;
    type Error = Diagnosed;
    type Future = ResponseFuture<S::Future, B, BoxError, Client>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Diagnosed>> {
        if self.not_ready.is_none() {
            if let Err(error) = ready!(self.inner.poll_ready(cx)) {
                self.not_ready = Some(Box::new(error.into()));
            }
        }
        Poll::Ready(Ok(()))
    }

    // Part of whoever calls a client: a request that is looked at before it is handed on is moved on the way,
    // and there that is the move that the caller makes anyway. Saves 20 instructions.
    #[inline(always)]
    fn call(&mut self, request: Request<R>) -> Self::Future {
        self.send(request)
    }
}

impl<S, R, B> Service<Request<R>> for Diagnose<S, Server>
where
    S: Service<Request<R>, Response = Response<B>>,
    S::Error: Send + Sync + 'static,
    B: Body,
{
    type Response = Response<ResponseBody<B>>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, B, S::Error, Server>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        if self.not_ready.is_none() {
            if let Err(error) = ready!(self.inner.poll_ready(cx)) {
                self.not_ready = Some(Box::new(error));
            }
        }
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, request: Request<R>) -> Self::Future {
        self.send(request)
    }
}

/// A clone has a readiness of its own.
impl<S: Clone, Side> Clone for Diagnose<S, Side> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), Arc::clone(&self.config))
    }
}

impl<S: fmt::Debug, Side> fmt::Debug for Diagnose<S, Side> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Diagnose")
            .field("inner", &self.inner)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
