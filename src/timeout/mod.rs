//! Limits of time that say which call ran out of which limit.
//!
//! For every client, and for a server whose handlers may hang. [`TimeoutLayer`] limits the time from
//! the call to the head of the response and, if asked, the waits for its body;
//! [`RequestBodyTimeoutLayer`] limits the waits for the body of a request. There is no default: a
//! limit is always somebody's decision.
//!
//! A limit for one attempt belongs below the retries, one for the whole call around them
//! ([`RetryLayer::total_limit`](crate::RetryLayer::total_limit) is better there, since it knows the
//! attempts), and both inside of the record, to which a limit further out looks like a caller who went
//! away. The [guide](crate::guide#order) shows the whole order.
//!
//! ```
//! use std::{convert::Infallible, future::pending, time::Duration};
//!
//! use http::{Request, Response};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//! use tower_diagnose::{RequestTimeout, TimeoutLayer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let service = ServiceBuilder::new()
//!     .layer(
//!         TimeoutLayer::new(Duration::from_secs(30))
//!             .body_idle(Duration::from_secs(10))
//!             .limit_for(|endpoint| {
//!                 endpoint
//!                     .path()
//!                     .starts_with("/reports")
//!                     .then_some(Duration::from_secs(120))
//!             }),
//!     )
//!     .service(service_fn(async |_: Request<String>| {
//!         pending::<Result<Response<String>, Infallible>>().await
//!     }));
//!
//! let mut request = Request::get("/api/modules?key=secret").body(String::new()).unwrap();
//! request.extensions_mut().insert(RequestTimeout(Duration::from_millis(5)));
//! let error = service.oneshot(request).await.unwrap_err();
//! assert_eq!(error.to_string(), "GET /api/modules timed out after 5ms");
//! # }
//! ```
//!
//! # Which limit holds
//!
//! For the head: a [`RequestTimeout`](crate::RequestTimeout) among the request's extensions, else what
//! [`TimeoutLayer::limit_for`] returns, else the layer's own. Zero means "already expired": the service
//! is still asked once, and only what it has at once gets through. [`Duration::MAX`] means no limit, as
//! does everything above 30 years. The error is a [`TimeoutError`](crate::TimeoutError) in a
//! [`BoxError`](crate::BoxError); errors of the service pass unchanged. It names the path, or the
//! [`PathTemplate`](crate::PathTemplate) among the request's extensions.
//!
//! An answer that is ready wins over a limit that has run out, and what was read of a body is handed
//! out however late it is. The clock starts when the future, or the body, is first polled and has to
//! wait; only then is a timer made. So an answer that is ready at once needs neither a timer nor a
//! runtime with one.
//!
//! # Bodies
//!
//! The limit on the head ends with the head. [`TimeoutLayer::body_idle`] limits each wait for a frame,
//! [`TimeoutLayer::body_total`] all of them together. Both count only while the reader waits: a slow
//! reader is not a slow server. A total leaves `text/event-stream` alone unless told otherwise. The
//! wrapped body keeps its size, its trailers and its end, so a length that was known stays known.
//!
//! # Waiting before the call
//!
//! The time that a service spends in `poll_ready` (a concurrency limit, a buffer, a rate limit) passes
//! before the call and is not covered, and an error from there would break some services for their
//! next caller. Bound it where the service is called, with [`ready`]; or put the waiting into the call,
//! below the layer, with [`oneshot`]; or refuse to wait, with tower's `LoadShed`.
//!
//! ```
//! use std::{convert::Infallible, time::Duration};
//!
//! use http::{Request, Response};
//! use tower::{Layer, Service, ServiceExt, limit::ConcurrencyLimitLayer, service_fn};
//! use tower_diagnose::{TimeoutLayer, timeout};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let mut limited = ConcurrencyLimitLayer::new(1).layer(service_fn(async |_: Request<String>| {
//!     Ok::<_, Infallible>(Response::new(String::new()))
//! }));
//! let request = || Request::get("/orders").body(String::new()).unwrap();
//! let busy = limited.ready().await.unwrap().call(request());
//!
//! // Where the service is called:
//! let limit = Duration::from_millis(5);
//! let error = timeout::ready(&mut limited, &request(), limit).await.unwrap_err();
//! assert_eq!(error.to_string(), "GET /orders timed out after 5ms (service not ready)");
//!
//! // Within the call:
//! let queue = service_fn(move |request| limited.clone().oneshot(request));
//! let error = TimeoutLayer::new(limit).layer(queue).oneshot(request()).await.unwrap_err();
//! assert_eq!(error.to_string(), "GET /orders timed out after 5ms");
//! # drop(busy);
//! # }
//! ```
//!
//! # Cost
//!
//! Nothing is allocated for a call that succeeds, unless its URI is longer than 90 bytes without the
//! query and was never cloned, or its method has no name in RFC 9110 or RFC 5789. A body that is watched
//! has one block, with its timer in it.
//!
//! The future is 220 bytes larger than the inner one: a timer of tokio's is 112 of them, and what is
//! kept of the request 96. The timer is tokio's own, made at the first wait: to make, register and drop it
//! is 480 of the 815 instructions that a call takes. A queue of deadlines shared by all calls would be
//! cheaper, but it would have to be right under several runtimes, their shutdown and a paused clock, and
//! would make calls meet at a lock.
//!
//! # Panics
//!
//! A runtime without a time driver panics when a limit has to be waited for.
//!
//! [`Duration::MAX`]: std::time::Duration::MAX
//! [`oneshot`]: https://docs.rs/tower/latest/tower/trait.ServiceExt.html#method.oneshot

mod body;
mod countdown;
mod future;
mod layer;
mod limits;
mod ready;
mod request_body;
mod service;
mod watch;

pub use body::{RequestBody, ResponseBody, TimeoutBody};
pub use future::ResponseFuture;
pub use layer::TimeoutLayer;
pub use ready::ready;
pub use request_body::{RequestBodyTimeout, RequestBodyTimeoutLayer};
pub use service::Timeout;
