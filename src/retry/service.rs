use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::{future::ResponseFuture, operation::Operation, replay::ReplayBody, rules::Rules};
use crate::error::BoxError;

/// The service of [`RetryLayer`](super::RetryLayer).
///
/// See the [module docs](crate::retry) for an example.
pub struct Retry<S> {
    inner: S,
    rules: Arc<Rules>,
    /// Why the inner service is not ready; the next call returns it.
    not_ready: Option<BoxError>,
}

impl<S> Retry<S> {
    pub(super) fn new(inner: S, rules: Arc<Rules>) -> Self {
        Self {
            inner,
            rules,
            not_ready: None,
        }
    }
}

impl<S, B, R> Service<Request<B>> for Retry<S>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<R>> + Clone,
    S::Error: Into<BoxError>,
    B: Body + Unpin,
    R: Body,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = ResponseFuture<S, S::Future, B, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        if self.not_ready.is_none() {
            if let Err(error) = ready!(self.inner.poll_ready(cx)) {
                self.not_ready = Some(error.into());
            }
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if let Some(error) = self.not_ready.take() {
            let (operation, _) = Operation::begin(&self.rules, request);
            return ResponseFuture::not_ready(operation, error);
        }
        self.rules.welcome(&request);
        let (mut operation, mut request) = Operation::begin(&self.rules, request);
        if operation.announces() {
            operation.announce(&mut request);
        }
        // The instance that was polled ready is the one that is called; what is kept for later is a
        // clone, which has its own readiness to wait for.
        let attempt = self.inner.call(request);
        let service = operation.may_repeat().then(|| self.inner.clone());
        ResponseFuture::calling(operation, service, attempt)
    }
}

impl<S: Clone> Clone for Retry<S> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            rules: Arc::clone(&self.rules),
            // The clone has its own readiness to wait for.
            not_ready: None,
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for Retry<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("inner", &self.inner)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
