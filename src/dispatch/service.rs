use std::task::{Context, Poll};

use http::{Request, Response};
use tower_service::Service;

use super::{
    attempt::{Attempt, refused},
    future::ResponseFuture,
};
use crate::kept_error::Kept;

/// Notes every attempt that it passes on. See the [module](crate::dispatch).
#[derive(Clone, Debug)]
pub struct Dispatch<S> {
    inner: S,
    kept: Kept,
    is_silent: bool,
    passes_unready: bool,
}

impl<S> Dispatch<S> {
    pub(super) fn new(inner: S, is_silent: bool, passes_unready: bool) -> Self {
        Self {
            inner,
            kept: Kept::default(),
            is_silent,
            passes_unready,
        }
    }
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for Dispatch<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    S::Error: Send + 'static,
{
    type Response = Response<ResBody>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, S::Error>;

    /// Waits for the inner service. Its error is kept and returned by the next call, which can note
    /// it.
    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        if self.passes_unready {
            return self.inner.poll_ready(cx);
        }
        self.kept.poll(|| self.inner.poll_ready(cx)).map(Ok)
    }

    #[inline]
    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        if let Some(error) = self.kept.take() {
            if !self.is_silent {
                refused(request.extensions(), &error);
            }
            return ResponseFuture::refused(error);
        }
        let attempt = match self.is_silent {
            true => Attempt::UNNOTED,
            false => Attempt::start(request.extensions()),
        };
        ResponseFuture::calling(self.inner.call(request), attempt)
    }
}
