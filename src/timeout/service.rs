use std::task::{Context, Poll};

use http::{Request, Response};
use tower_service::Service;

use super::{body::ResponseBody, future::ResponseFuture, layer::TimeoutLayer};
use crate::{endpoint::Target, error::BoxError, kept_error::NotReady};

/// Limits how long the responses of a service may take. See the [module](super) for an example.
#[derive(Clone, Debug)]
pub struct Timeout<S> {
    inner: S,
    config: TimeoutLayer,
    /// All calls have the same limit, and none on the body.
    is_plain: bool,
    /// Why the service could not be made ready: the next call returns it.
    not_ready: NotReady,
}

impl<S> Timeout<S> {
    pub(super) fn new(inner: S, config: TimeoutLayer) -> Self {
        Self {
            inner,
            is_plain: config.is_plain(),
            config,
            not_ready: NotReady::default(),
        }
    }
}

impl<S, B, ResBody> Service<Request<B>> for Timeout<S>
where
    S: Service<Request<B>, Response = Response<ResBody>>,
    S::Error: Into<BoxError>,
{
    type Response = Response<ResponseBody<ResBody>>;
    type Error = BoxError;
    type Future = ResponseFuture<S::Future>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.not_ready.poll(|| self.inner.poll_ready(cx)).map(Ok)
    }

    /// Always in the caller's own code, and so is the poll: what is kept of the request and the response
    /// is moved less often then, which is 100 of what would be 450 instructions.
    #[inline(always)]
    fn call(&mut self, request: Request<B>) -> Self::Future {
        if let Some(error) = self.not_ready.take() {
            return ResponseFuture::not_ready(error);
        }
        let mut target = Target::nothing();
        let (limit, body) = if self.is_plain && request.extensions().is_empty() {
            target.keep(request.method(), request.uri());
            (self.config.limit, None)
        } else {
            self.config.limits_of(&request, &mut target)
        };
        ResponseFuture::running(self.inner.call(request), limit, target, body)
    }
}
