use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::Body;
use tonic::transport::Channel;
use tower_service::Service;

use crate::error::BoxError;

/// A [`Channel`], or a service around one, that takes any body. See the [module](crate::tonic).
///
/// The body is boxed, which is what tonic does with every one.
///
/// [`Channel`]: https://docs.rs/tonic/latest/tonic/transport/struct.Channel.html
#[derive(Clone, Debug)]
pub struct TonicService<S = Channel> {
    inner: S,
}

impl<S> TonicService<S> {
    /// Wraps a channel, or one with an interceptor or a layer around it.
    #[must_use]
    pub fn new(channel: S) -> Self {
        Self { inner: channel }
    }
}

impl<S, B> Service<Request<B>> for TonicService<S>
where
    S: Service<Request<tonic::body::Body>>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.inner.call(request.map(tonic::body::Body::new))
    }
}
