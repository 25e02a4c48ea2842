//! What a client has to be, said where the compiler can show it.

use std::future::{Future, poll_fn};

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::client::{ClientService, ResponseBody};
use crate::{diagnosis::Diagnosed, error::BoxError, retry::ReplayBody};

/// A client that a [`ClientStack`](super::ClientStack) can send a `Request<B>` with, as often as it
/// takes: a service that takes `Request<ReplayBody<B>>`.
///
/// It is implemented for every such service. It is the bound to write for code that is generic over
/// clients, and what the compiler names when a client is of another type.
///
/// # Examples
///
/// A client whose type is written down names the body that it is really given; `Api<Http>` would not do
/// with `Client<HttpConnector, Full<Bytes>>`.
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, StatusCode, Uri};
/// use http_body::Body;
/// use http_body_util::Full;
/// use hyper_util::client::legacy::{Client, connect::HttpConnector};
/// use tower_diagnose::{Attempts, ClientService, Diagnosed, ReplayBody};
///
/// type Http = Client<HttpConnector, ReplayBody<Full<Bytes>>>;
///
/// struct Api<C = Http> {
///     client: ClientService<C>,
/// }
///
/// impl<C> Api<C>
/// where
///     C: Attempts<Full<Bytes>, ResponseBody: Body<Error: 'static>> + Clone,
/// {
///     async fn status(&self, uri: Uri) -> Result<StatusCode, Diagnosed> {
///         let mut request = Request::new(Full::default());
///         *request.uri_mut() = uri;
///         Ok(self.client.send(request).await?.status())
///     }
/// }
/// # fn is_a_client<C: Attempts<Full<Bytes>> + Clone>() {}
/// # is_a_client::<Http>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a client that a request can be repeated with",
    label = "its requests need another body than `ReplayBody`, or its answers or errors do not fit",
    note = "a request may be sent more than once, so its body is wrapped: where the type of a client is \
            written down, write `Client<_, ReplayBody<Full<Bytes>>>` in place of `Client<_, Full<Bytes>>`, \
            or leave the body to be inferred",
    note = "otherwise it has to be a `Service<Request<ReplayBody<B>>, Response = http::Response<R>>` whose \
            error is `Into<BoxError> + Send + 'static`"
)]
pub trait Attempts<B>:
    Service<
        Request<ReplayBody<B>>,
        Response = Response<Self::ResponseBody>,
        Error: Into<BoxError> + Send + 'static,
    >
{
    /// The body of what it answers.
    type ResponseBody: Body<Error: 'static>;
}

#[diagnostic::do_not_recommend]
impl<S, B, R> Attempts<B> for S
where
    S: Service<Request<ReplayBody<B>>, Response = Response<R>>,
    S::Error: Into<BoxError> + Send + 'static,
    R: Body,
    R::Error: 'static,
{
    type ResponseBody = R;
}

impl<S> ClientService<S> {
    /// Sends a request: waits until the client is ready, and calls it.
    ///
    /// The same as `oneshot` of tower's `ServiceExt` on a clone. Until the client is ready the call has not
    /// begun, and no limit of the stack counts: see [waiting before the
    /// call](crate::timeout#waiting-before-the-call). A client of a type that does not fit is refused by
    /// the compiler here, in words; see [`Attempts`].
    ///
    /// # Errors
    ///
    /// As the service: whatever failed without an answer, diagnosed. A failing status is an answer.
    pub fn send<B, R>(
        &self,
        request: Request<B>,
    ) -> impl Future<Output = Result<Response<ResponseBody<R>>, Diagnosed>> + use<S, B, R>
    where
        S: Attempts<B, ResponseBody = R> + Clone,
        B: Body + Unpin + 'static,
        R: Body<Error: 'static>,
    {
        let mut service = self.clone();
        async move {
            poll_fn(|cx| Service::<Request<B>>::poll_ready(&mut service, cx)).await?;
            service.call(request).await
        }
    }
}
