use std::{
    any::Any,
    fmt,
    marker::PhantomData,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::{
    body::ResponseBody,
    config::Config,
    future::ResponseFuture,
    layer::{Client, Server},
};
use crate::{diagnosis::Diagnosed, error::BoxError};

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

    fn take_not_ready<E: 'static>(&mut self) -> Option<E> {
        let error = self.not_ready.take()?.downcast().ok()?;
        Some(*error)
    }
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

    fn call(&mut self, request: Request<R>) -> Self::Future {
        let mut future = ResponseFuture::before(&self.config, &request);
        future.take(&request);
        match self.take_not_ready() {
            Some(error) => future.refuse(error),
            None => future.wait(self.inner.call(request)),
        }
        future
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

    fn call(&mut self, request: Request<R>) -> Self::Future {
        let mut future = ResponseFuture::before(&self.config, &request);
        future.take(&request);
        match self.take_not_ready() {
            Some(error) => future.refuse(error),
            None => future.wait(self.inner.call(request)),
        }
        future
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
