use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use reqwest::Client;
use tower_service::Service;

use super::{body::boxed, future::ResponseFuture, request::convert};
use crate::error::BoxError;

/// A reqwest [`Client`] as a service of `http` requests. See the [module](crate::reqwest).
///
/// It is always ready: reqwest makes as many connections as there are requests.
///
/// [`Client`]: https://docs.rs/reqwest/latest/reqwest/struct.Client.html
#[derive(Clone, Debug)]
pub struct ReqwestService {
    client: Client,
}

impl ReqwestService {
    /// Wraps a client. A clone shares its connections, as a clone of the client does.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client }
    }
}

impl From<Client> for ReqwestService {
    fn from(client: Client) -> Self {
        Self::new(client)
    }
}

impl<B> Service<Request<B>> for ReqwestService
where
    B: Body + Send + Sync + 'static,
    B::Data: Into<Bytes>,
    B::Error: Into<BoxError>,
{
    type Response = Response<reqwest::Body>;
    type Error = reqwest::Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match convert(request.map(boxed)) {
            Ok(request) => ResponseFuture::sent(Service::call(&mut self.client, request)),
            Err(error) => ResponseFuture::refused(error),
        }
    }
}
