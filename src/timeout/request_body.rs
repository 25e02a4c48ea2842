use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::Request;
use tower_layer::Layer;
use tower_service::Service;

use super::{
    body::RequestBody,
    limits::{BodyLimits, Scopes},
    watch::Watch,
};
use crate::endpoint::Target;

/// Limits how long a request's body may keep those waiting who send or read it.
///
/// On a client that is the caller's own producer; on a server it is the peer that uploads. What the
/// other side takes to accept the bytes does not count. The body's known length stays known, so a
/// `POST` keeps its `Content-Length`. See the [module](super) for an example.
#[derive(Clone, Debug)]
pub struct RequestBodyTimeoutLayer {
    limits: Arc<BodyLimits>,
}

impl RequestBodyTimeoutLayer {
    /// Limits each wait for the next frame of the request's body.
    ///
    /// Zero means "already expired": only what is there at once gets through. [`Duration::MAX`], and
    /// whatever else is longer than 30 years, means no limit.
    #[must_use]
    pub fn new(idle: Duration) -> Self {
        Self {
            limits: Arc::new(BodyLimits {
                idle,
                scopes: Scopes::REQUEST,
                ..BodyLimits::default()
            }),
        }
    }

    /// Limits all waits for frames of the request's body together. Off by default.
    #[must_use]
    pub fn total(mut self, limit: Duration) -> Self {
        Arc::make_mut(&mut self.limits).total = limit;
        self
    }
}

impl<S> Layer<S> for RequestBodyTimeoutLayer {
    type Service = RequestBodyTimeout<S>;

    fn layer(&self, inner: S) -> Self::Service {
        RequestBodyTimeout {
            inner,
            limits: self.limits.clone(),
        }
    }
}

/// Limits how long the request bodies of a service may keep it waiting. See the [module](super) for
/// an example.
///
/// It has no errors of its own: the body fails, and whoever reads it says so.
#[derive(Clone, Debug)]
pub struct RequestBodyTimeout<S> {
    inner: S,
    limits: Arc<BodyLimits>,
}

impl<S, B> Service<Request<B>> for RequestBodyTimeout<S>
where
    S: Service<Request<RequestBody<B>>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let limits = self.limits.clone();
        let watch = Watch::new(Target::templated(&request), limits, self.limits.total);
        self.inner
            .call(request.map(|body| RequestBody::watched(body, watch)))
    }
}
