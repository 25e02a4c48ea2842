//! The order of the layers, spelled once.
//!
//! A [`ClientStack`] goes onto a client, a [`ServerStack`] onto a service; both are layers themselves.
//!
//! ```text
//! client, outside in:  Recorder, Diagnose, Retry (with the limits for the call and one attempt), Dispatch, client
//! server, outside in:  Respond, Recorder, Diagnose, Timeout, service
//! ```
//!
//! The record stands outside, so that there is one per call however often it was attempted. The
//! diagnosis stands outside the retries, so that only the failure that remains is explained. The retries
//! keep both limits, for the whole call and for one attempt, since one timer can serve both: an attempt
//! that hangs is dropped, and repeated where it may be. The [guide](crate::guide#order) draws it.
//!
//! # Beside tower-http
//!
//! *Outside* is around the stack, *inside* between the stack and the client or the service. The body of
//! every layer here is `Default` if the one inside is, which some of these ask for.
//!
//! | layer | around a client | around a service |
//! |---|---|---|
//! | `Decompression` | inside: the message of a compressed failure is then read | either |
//! | `Compression` | | outside: inside, the message is compressed before it is read |
//! | `FollowRedirect` | outside: each hop is a call with a record of its own. Inside, all are one call under the first path | |
//! | `SetSensitiveRequestHeaders` | outside: a value that is marked is removed from whatever the server says | outside |
//! | `SetRequestId` | outside | outside |
//! | `PropagateRequestId` | | inside, so that diagnosis and record have the id; outside as well, so that problems carry it |
//! | `Trace` | either; it logs the URI with its query, and spans around events of ours repeat that | the same |
//! | `CatchPanic` | | outside: the record says `proxy_internal`, and what it answers is its own. Inside, a panic is an answer with status 500, diagnosed as one |
//! | `Cors` | | outside: a browser can then read the problems, and preflights are no calls |
//! | `Timeout` | not inside: its 408 passes for an answer of the server's, and a write that may have been applied for one that was not. Use [`attempt_timeout`](ClientStack::attempt_timeout) | leave it out: inside, it hides which limit ran out; outside, its end of a call looks like a caller who went away |
//!
//! # Layers of your own
//!
//! A circuit breaker, a limiter or a login goes inside: `stack.layer(Breaker::new(client))`. What fails with
//! [`Refused`](crate::Refused) is shown as not sent and is not repeated; a login that mends the call leaves
//! no trace. The example `tool_server` has one of each.
//!
//! The limits of the stack, [`attempt_timeout`](ClientStack::attempt_timeout) too, are further out: they
//! drop the future of what is inside, and a breaker that only looks at results never learns of a call that
//! hung. Let it count a call that is dropped midway as a failure, as the breaker of `tool_server` does, or
//! put a [`TimeoutLayer`] below it, whose limit gives way to a
//! [`RequestTimeout`](crate::RequestTimeout). `load_shed` and limits stand outside of the breaker, as below:
//! inside, it would count their `Overloaded` as a failure of the server.
//!
//! To the record, what is inside of the stack is the client: a login and what it repeats are one attempt, a
//! refusal is an attempt that was not sent, and time spent in the queue of a limiter is the server's. Where
//! that is not good enough, put a [`DispatchLayer`] right around the client, and take the stack's own
//! out by [`without_dispatch`](ClientStack::without_dispatch):
//!
//! ```
//! use std::{convert::Infallible, time::Duration};
//!
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, service_fn};
//! use tower_diagnose::{ClientStack, DispatchLayer, RecentCalls, ReplayBody};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let client = service_fn(async |_: Request<ReplayBody<Full<Bytes>>>| {
//!     Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
//! });
//! let calls = RecentCalls::new(100);
//! let client = ServiceBuilder::new()
//!     .layer(ClientStack::new(Duration::from_secs(30)).record(calls.clone()).without_dispatch())
//!     .load_shed()
//!     .concurrency_limit(0) // Sheds every call, for once.
//!     // A breaker would stand here.
//!     .layer(DispatchLayer::new())
//!     .service(client);
//!
//! let request = Request::post("/orders").body(Full::default()).unwrap();
//! let error = client.send(request).await.unwrap_err();
//! assert_eq!(error.to_string(), "POST /orders failed: service overloaded (not sent)");
//! assert_eq!(calls.snapshot()[0].attempts(), 0);
//! # }
//! ```
//!
//! # Types, written down
//!
//! A [`ClientStack`] makes a [`ClientService<C>`](ClientService), and that answers with a
//! [`ResponseBody<R>`](ResponseBody). `R` is the body of the client's own answers: `hyper::body::Incoming`,
//! of the crate `hyper`, for hyper-util; `reqwest::Body`; `tonic::body::Body`.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::Full;
//! use hyper::body::Incoming;
//! use hyper_util::client::legacy::{Client, connect::HttpConnector};
//! use tower::{ServiceExt, util::BoxCloneSyncService};
//! use tower_diagnose::{ClientService, Diagnosed, ReplayBody, stack::ResponseBody};
//!
//! type Answer = Result<Response<ResponseBody<Incoming>>, Diagnosed>;
//!
//! struct Api {
//!     client: ClientService<Client<HttpConnector, ReplayBody<Full<Bytes>>>>,
//! }
//!
//! impl Api {
//!     async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
//!         self.client.send(request).await
//!     }
//! }
//!
//! // Or without the client and its `ReplayBody`, for one box per call:
//! struct Boxed {
//!     client: BoxCloneSyncService<Request<Full<Bytes>>, Response<ResponseBody<Incoming>>, Diagnosed>,
//! }
//!
//! impl Boxed {
//!     async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
//!         self.client.clone().oneshot(request).await
//!     }
//! }
//!
//! impl From<Api> for Boxed {
//!     fn from(api: Api) -> Self {
//!         Self { client: BoxCloneSyncService::new(api.client) }
//!     }
//! }
//! ```

mod attempts;
mod client;

pub use attempts::Attempts;
pub use client::{ClientService, ResponseBody, ResponseFuture};

use std::time::Duration;

use tower_layer::Layer;

use crate::{
    diagnose::{Diagnose, DiagnoseLayer, Server},
    dispatch::DispatchLayer,
    record::RecordSink,
    recorder::{Recorder, RecorderLayer},
    respond::{Respond, RespondLayer},
    retry::RetryLayer,
    timeout::{Timeout, TimeoutLayer},
};

/// The service that [`ServerStack`] makes of a service.
pub type ServerService<S> = Respond<Recorder<Diagnose<Timeout<S>, Server>>>;

/// All layers for a client, in order. Its error is [`Diagnosed`](crate::Diagnosed).
///
/// The inner service takes a `Request<ReplayBody<B>>`: a client whose body type is inferred, as
/// hyper-util's is, needs no change; one whose type is written down names it, as [`Attempts`] shows. The
/// stack is called as a tower service, or by [`send`](ClientService::send).
///
/// ```
/// use std::{convert::Infallible, time::Duration};
///
/// use http::{Request, Response, StatusCode};
/// use http_body_util::Empty;
/// use tower::{Layer, service_fn};
/// use tower_diagnose::{ClientStack, ReplayBody, ResponseExt};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let client = service_fn(async |_: Request<ReplayBody<Empty<&'static [u8]>>>| {
///     let body = String::from(r#"{"message":"commentId must be a UUID"}"#);
///     let response = Response::builder().status(StatusCode::BAD_REQUEST).body(body).unwrap();
///     Ok::<_, Infallible>(response)
/// });
/// let client = ClientStack::new(Duration::from_secs(30)).layer(client);
///
/// let request = Request::post("/comments/resolve").body(Empty::new()).unwrap();
/// let response = client.send(request).await.unwrap();
/// assert_eq!(
///     response.diagnosis().unwrap().to_string(),
///     "POST /comments/resolve failed (400 Bad Request): commentId must be a UUID",
/// );
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ClientStack {
    total: Duration,
    attempt: Duration,
    retry: RetryLayer,
    diagnose: DiagnoseLayer,
    recorder: RecorderLayer,
    dispatch: DispatchLayer,
}

impl ClientStack {
    /// Creates a stack whose calls may take `total_timeout` each, from the call to the head of the
    /// response, all attempts and the waits between them included.
    ///
    /// [`Duration::MAX`] means no limit. A [`RequestTimeout`](crate::RequestTimeout) extension replaces
    /// it for one request.
    #[must_use]
    pub fn new(total_timeout: Duration) -> Self {
        Self {
            total: total_timeout,
            attempt: Duration::MAX,
            retry: RetryLayer::new(),
            diagnose: DiagnoseLayer::new(),
            recorder: RecorderLayer::disabled(),
            dispatch: DispatchLayer::new(),
        }
    }

    /// Limits each attempt, so that one that hangs can be repeated. Default: no limit.
    ///
    /// It is the same for all requests: a [`RequestTimeout`](crate::RequestTimeout) replaces the total only.
    /// An endpoint that is slow gets a stack of its own, or all get the limit that it needs, or a
    /// [`TimeoutLayer`] with [`limit_for`](TimeoutLayer::limit_for) stands inside of the stack instead.
    #[must_use]
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.attempt = limit;
        self
    }

    /// Replaces the retries. The total limit of the stack is theirs too, unless `retry` has its own.
    #[must_use]
    pub fn retry(mut self, retry: RetryLayer) -> Self {
        self.retry = retry;
        self
    }

    /// Makes one attempt only, also for a request with a [`MaxAttempts`](crate::MaxAttempts): there are no
    /// retries then that it could speak to. A retry layer of your own may stand outside.
    #[must_use]
    pub fn without_retry(self) -> Self {
        self.retry(RetryLayer::off())
    }

    /// Replaces the diagnosis.
    #[must_use]
    pub fn diagnose(mut self, diagnose: DiagnoseLayer) -> Self {
        self.diagnose = diagnose;
        self
    }

    /// Hands a record of every call to `sink`, in place of any given before; to several by
    /// [`fan_out`](crate::fan_out). Default: nothing is recorded.
    #[must_use]
    pub fn record(mut self, sink: impl RecordSink) -> Self {
        self.recorder = RecorderLayer::new(sink);
        self
    }

    /// Leaves it to a [`DispatchLayer`] further in, which the client has to have then, to note what is
    /// sent. Default: the stack has one, around whatever it is put onto.
    ///
    /// For layers of your own between the stack and the client, so that what they refuse is no attempt,
    /// what they send again is one more, and the time that they take is not the server's. See the
    /// [module docs](crate::stack#layers-of-your-own) for an example.
    #[must_use]
    pub fn without_dispatch(mut self) -> Self {
        self.dispatch = DispatchLayer::silent();
        self
    }
}

impl<S> Layer<S> for ClientStack {
    type Service = ClientService<S>;

    fn layer(&self, client: S) -> Self::Service {
        let retry = self
            .retry
            .clone()
            .with_total_limit_if_unset(self.total)
            .attempt_limit(self.attempt)
            .request_timeout_is_total(true)
            .remembers(self.diagnose.credentials());
        let dispatch = self.dispatch.clone().passing_unready();
        let attempts = retry.layer(dispatch.layer(client));
        ClientService::new(self.recorder.clone(), self.diagnose.clone(), attempts)
    }
}

/// All layers for a service, in order. Its error is [`Infallible`](std::convert::Infallible), so that
/// it fits an axum router, a single route, a handler, and hyper's own server.
///
/// With the feature `axum`, the endpoint of log and record is the matched route, `GET /users/{id}`, where
/// the stack stands inside the router: `Router::layer`, `MethodRouter::layer`, `Handler::layer`. All clones
/// of the service share its sink, and axum clones it for every request.
///
/// A caller who goes away leaves a record of class `cancelled` before the head, and one whose body was
/// `dropped` after it. A handler that panics leaves one of class `proxy_internal`; the panic goes on. A
/// slow one shows by the record's duration, and as `timeout` with fault `proxy` if it ran out of the limit.
///
/// Failures are logged in one line each, through `tracing`: a 5xx at ERROR, a limit that ran out at WARN, a
/// 4xx at DEBUG, unless [`LogPolicy`](crate::LogPolicy) is told otherwise. A panic has a record and no line.
/// A [`TracingSink`](crate::TracingSink) beside it tells most failures twice. What handlers answer as plain
/// text, as axum's own extractors do, is in the line if the diagnosis is told to show it:
/// `.diagnose(DiagnoseLayer::for_server().plain_text(true))`.
///
/// ```
/// use std::time::Duration;
///
/// use axum::{Router, body::Body, extract::Request, http::StatusCode, routing::get};
/// use tower::ServiceExt;
/// use tower_diagnose::{RecentCalls, ServerStack};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let calls = RecentCalls::new(1000);
/// let app: Router = Router::new()
///     .route("/reports", get(|| async { std::future::pending::<()>().await }))
///     .layer(ServerStack::new(Duration::from_millis(20)).record(calls.clone()));
///
/// let request = Request::get("/reports").body(Body::empty()).unwrap();
/// let response = app.oneshot(request).await.unwrap();
/// assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
/// assert_eq!(response.headers()["content-type"], "application/problem+json");
/// assert_eq!(calls.snapshot()[0].endpoint().to_string(), "GET /reports");
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ServerStack {
    timeout: TimeoutLayer,
    diagnose: DiagnoseLayer<Server>,
    recorder: RecorderLayer,
}

impl ServerStack {
    /// Creates a stack whose service has `timeout` for the head of its response.
    ///
    /// [`Duration::MAX`] means no limit. A [`RequestTimeout`](crate::RequestTimeout) extension replaces
    /// it for one request.
    #[must_use]
    pub fn new(timeout: Duration) -> Self {
        Self {
            timeout: TimeoutLayer::new(timeout),
            diagnose: DiagnoseLayer::for_server(),
            recorder: RecorderLayer::disabled(),
        }
    }

    /// Replaces the diagnosis.
    #[must_use]
    pub fn diagnose(mut self, diagnose: DiagnoseLayer<Server>) -> Self {
        self.diagnose = diagnose;
        self
    }

    /// Hands a record of every call to `sink`, in place of any given before; to several by
    /// [`fan_out`](crate::fan_out). Default: nothing is recorded.
    #[must_use]
    pub fn record(mut self, sink: impl RecordSink) -> Self {
        self.recorder = RecorderLayer::new(sink);
        self
    }
}

impl<S> Layer<S> for ServerStack {
    type Service = ServerService<S>;

    fn layer(&self, service: S) -> Self::Service {
        let service = self.diagnose.layer(self.timeout.layer(service));
        RespondLayer::new().layer(self.recorder.layer(service))
    }
}
