use std::{
    convert::Infallible,
    task::{Context, Poll},
};

use http::{Request, Response};
use tower_service::Service;

use super::{accept::Format, body::ResponseBody, future::ResponseFuture, layer::RespondLayer};
use crate::{endpoint::Target, error::BoxError, kept_error::NotReady};

/// Answers where the inner service fails. See the [module](super) for an example.
#[derive(Clone, Debug)]
pub struct Respond<S> {
    inner: S,
    config: RespondLayer,
    /// Why the service could not be made ready: the next call answers with it.
    not_ready: NotReady,
}

impl<S> Respond<S> {
    pub(super) fn new(inner: S, config: RespondLayer) -> Self {
        Self {
            inner,
            config,
            not_ready: NotReady::default(),
        }
    }
}

impl<S, B, ResBody> Service<Request<B>> for Respond<S>
where
    S: Service<Request<B>, Response = Response<ResBody>>,
    S::Error: Into<BoxError>,
{
    type Response = Response<ResponseBody<ResBody>>;
    type Error = Infallible;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.not_ready.poll(|| self.inner.poll_ready(cx)).map(Ok)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let target = Target::of(&request);
        let format = Format::of(request.headers());
        let config = self.config.clone();
        match self.not_ready.take() {
            Some(error) => ResponseFuture::not_ready(error, target, format, config),
            None => ResponseFuture::running(self.inner.call(request), target, format, config),
        }
    }
}
