use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    io, mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use http::{
    Request, Response, Uri,
    request::Parts,
    uri::{Authority, Scheme},
};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tower_service::Service;

use super::{
    ending::Ending,
    peer::{Connector, Fate, Http2, Reply},
    sent::SentBody,
};
use crate::{
    argument::require_full_uuid,
    error::{BoxError, Refused},
};

/// The response, or the error, of one call to an [`Upstream`].
pub type UpstreamFuture =
    Pin<Box<dyn Future<Output = Result<Response<Incoming>, BoxError>> + Send>>;

/// A service in the place of hyper's client, whose calls end as they are told: each as the next of its
/// [`Ending`]s says, and all further ones as the last.
///
/// Errors and responses are hyper's and hyper-util's own, as they come from a connection in memory, one
/// for each call; neither sockets nor the network are used. A request needs no host. A clone goes on with the
/// same endings.
///
/// As with many services, and unlike with hyper's client, an instance must be polled ready before each call,
/// and being cloned does not count: so that a layer which calls another instance than the one it
/// polled is found out.
///
/// # Panics
///
/// When it is called without having been ready.
///
/// ```
/// use std::time::Duration;
///
/// use bytes::Bytes;
/// use http::Request;
/// use http_body_util::Empty;
/// use tower::{Layer, ServiceExt};
/// use tower_diagnose::{
///     ClientStack,
///     test_util::{Ending, Upstream},
/// };
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let upstream = Upstream::new([Ending::Closed]);
/// let client = ClientStack::new(Duration::from_secs(30)).layer(upstream.clone());
///
/// let request = Request::post("/payments").body(Empty::<Bytes>::new()).unwrap();
/// let error = client.oneshot(request).await.unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "POST /payments failed: connection closed before a response (no response from server)",
/// );
/// // The server may have done what it was asked for.
/// assert!(error.diagnosis().is_indeterminate());
/// assert_eq!(upstream.calls(), 1);
/// # }
/// ```
///
/// A program of one's own can be held against every shape there is:
///
/// ```
/// # use std::time::Duration;
/// # use bytes::Bytes;
/// # use http::Request;
/// # use http_body_util::Empty;
/// # use tower::{Layer, ServiceExt};
/// # use tower_diagnose::{ClientStack, test_util::{Ending, Upstream}};
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// for ending in Ending::failures() {
///     let client = ClientStack::new(Duration::from_secs(30)).layer(Upstream::new([ending]));
///     let request = Request::get("/users/7").body(Empty::<Bytes>::new()).unwrap();
///     if let Err(error) = client.oneshot(request).await {
///         assert!(error.to_string().starts_with("GET /users/7 failed"));
///     }
/// }
/// # }
/// ```
pub struct Upstream {
    shared: Arc<Mutex<State>>,
    is_ready: bool,
}

struct State {
    endings: VecDeque<Ending>,
    requests: Vec<Parts>,
}

impl Upstream {
    /// Creates a service whose calls end like this, one after the other. Without any, calls are answered
    /// 200.
    #[must_use]
    pub fn new<E: Into<Ending>>(endings: impl IntoIterator<Item = E>) -> Self {
        let state = State {
            endings: endings.into_iter().map(Into::into).collect(),
            requests: Vec::new(),
        };
        Self {
            shared: Arc::new(Mutex::new(state)),
            is_ready: false,
        }
    }

    /// Returns how many calls there were.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.lock().requests.len()
    }

    /// Returns the heads of all requests, as they came, in their order.
    #[must_use]
    pub fn requests(&self) -> Vec<Parts> {
        self.lock().requests.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&mut self) -> Ending {
        let next = if self.endings.len() > 1 {
            self.endings.pop_front()
        } else {
            self.endings.front().cloned()
        };
        next.unwrap_or_else(|| Ending::status(200))
    }
}

impl Clone for Upstream {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            is_ready: false,
        }
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("endings", &self.lock().endings)
            .field("calls", &self.calls())
            .finish_non_exhaustive()
    }
}

impl<B> Service<Request<B>> for Upstream
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = UpstreamFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> UpstreamFuture {
        assert!(
            mem::take(&mut self.is_ready),
            "an instance was called that had not been polled ready"
        );
        let (head, body) = request.into_parts();
        let ending = {
            let mut state = self.lock();
            state.requests.push(head.clone());
            state.next()
        };
        Box::pin(ending.of(Request::from_parts(head, body)))
    }
}

impl Ending {
    async fn of<B>(self, request: Request<B>) -> Result<Response<Incoming>, BoxError>
    where
        B: Body + Send + Unpin + 'static,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let is_unsendable = matches!(self, Self::InvalidRequest);
        let body_fails = matches!(self, Self::RequestBody);
        let fate = match self {
            Self::Answer(answer) => Fate::Http1(Reply::Answer(answer)),
            Self::ConnectionRefused => Fate::Fails(io::ErrorKind::ConnectionRefused),
            Self::ConnectTimedOut => Fate::Fails(io::ErrorKind::TimedOut),
            // The resolver's errors are of a kind that has no name.
            Self::NameNotFound => Fate::Fails(io::Error::from_raw_os_error(i32::MAX).kind()),
            Self::TlsHandshake => Fate::NoTls,
            Self::StreamRefused => Fate::Http2(Http2::RefuseStream),
            Self::GoneAway => Fate::Http2(Http2::GoAway),
            Self::Http2Closed => Fate::Http2(Http2::Close),
            Self::Closed => Fate::Http1(Reply::Close),
            Self::Reset => Fate::Http1(Reply::Reset),
            Self::InvalidResponse => Fate::Http1(Reply::Garbage),
            Self::Hangs | Self::InvalidRequest | Self::RequestBody => Fate::Http1(Reply::Nothing),
            Self::Overloaded => return Err(tower::load_shed::error::Overloaded::new().into()),
            Self::Refused => return Err(Refused::new("circuit open").into()),
            Self::InvalidArgument => {
                require_full_uuid("test_util", "id", "7")?;
                Fate::Http1(Reply::Nothing)
            }
            Self::Elapsed => return Err(tower::timeout::error::Elapsed::new().into()),
            Self::Error(make) => return Err(make()),
            Self::Panics => panic!("the upstream was told to panic"),
        };
        let is_http2 = matches!(fate, Fate::Http2(_));
        let client = Client::builder(TokioExecutor::new())
            .http2_only(is_http2)
            .retry_canceled_requests(false)
            .build(Connector {
                fate,
                method: request.method().clone(),
            });
        let (mut head, body) = request.into_parts();
        head.uri = if is_unsendable {
            without_host(head.uri)
        } else {
            with_host(head.uri)
        };
        let request = Request::from_parts(head, SentBody::new(body, body_fails));
        Ok(client.request(request).await?)
    }
}

/// The client asks for a host, which a test need not name.
fn with_host(uri: Uri) -> Uri {
    let mut parts = uri.clone().into_parts();
    if parts.authority.is_some() {
        return uri;
    }
    parts.scheme = Some(Scheme::HTTP);
    parts.authority = Some(Authority::from_static("upstream.test"));
    Uri::from_parts(parts).unwrap_or(uri)
}

fn without_host(uri: Uri) -> Uri {
    let mut parts = uri.into_parts();
    parts.scheme = None;
    parts.authority = None;
    Uri::from_parts(parts).unwrap_or_default()
}
