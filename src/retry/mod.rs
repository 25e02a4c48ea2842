//! Repeats a call exactly when that is safe.
//!
//! A failed call is attempted once more only if all of this holds:
//!
//! - **It provably did not reach the server**, whatever its method; or it is **safe or idempotent**: by
//!   its method ([RFC 9110 §9.2]), by an `Idempotency-Key` header, or because an
//!   [`Idempotency`](crate::Idempotency) extension says so. A connection that closes before it answers
//!   proves nothing: the server may have applied the request. Nor does a `GOAWAY` of HTTP/2 of a
//!   request without a body, or whose body was not begun: hyper 1.12 may have sent its head.
//! - **The failure may pass**: the network failed, time ran out, or the answer was 408, 425, 429 or 5xx
//!   (501, 505 and 511 excepted). [`RetryLayer::retry_if`] changes this, and only this.
//! - **There is an attempt left**, the body is still there ([`RetryLayer::replay_limit`]), and the
//!   request is no `CONNECT` and has no `Expect` header.
//! - **There is time**: the server asks for no longer a wait than [`RetryLayer::retry_after_limit`],
//!   and the wait does not pass [`RetryLayer::total_limit`].
//! - **The budget pays for it**, so that an outage is not made worse: see
//!   [`RetryBudget`](crate::RetryBudget).
//! - **No retry layer below has given it up already.** Layers that are nested do not multiply.
//!
//! The head of the response decides. A body that fails after a good head reaches the caller as it is:
//! part of it may have been used by then.
//!
//! The wait is the longer of the [`Backoff`](crate::Backoff) and what `Retry-After` (or
//! `retry-after-ms`) asks for.
//!
//! # When to use it, and where
//!
//! Around a client, never around a service of one's own: who calls it decides about repeating. Inside of
//! what looks at the call as a whole (record, diagnosis, a limit for all attempts), outside of what each
//! attempt has to pass anew (a limit for one attempt, a breaker, a limiter, [`Dispatch`](crate::dispatch)).
//! The [guide](crate::guide#order) shows the whole order. Without limits of time a client that hangs is
//! never repeated: set [`RetryLayer::total_limit`], and a [`TimeoutLayer`](crate::TimeoutLayer) below.
//! Whatever is below takes a `Request<ReplayBody<B>>`; [`Attempts`](crate::Attempts) says how to write it.
//!
//! # Defaults
//!
//! | what | default | changed by |
//! |---|---|---|
//! | attempts, the first included | 3 | [`max_attempts`](RetryLayer::max_attempts), [`MaxAttempts`](crate::MaxAttempts) and [`NoRetry`](crate::NoRetry) on a request |
//! | wait | full jitter under 200 ms doubling to 2 s | [`backoff`](RetryLayer::backoff) |
//! | wait that a server asks for | honoured up to 30 s | [`retry_after_limit`](RetryLayer::retry_after_limit) |
//! | budget | 20 % of calls and a reserve of 10 | [`budget`](RetryLayer::budget) |
//! | body kept for the next attempt | 64 KiB | [`replay_limit`](RetryLayer::replay_limit) |
//! | limit for the whole call | none; in a [`ClientStack`](crate::ClientStack) the stack's | [`total_limit`](RetryLayer::total_limit) |
//! | writes that provably were not sent | repeated | [`repeat_unsent`](RetryLayer::repeat_unsent) |
//!
//! # What comes back
//!
//! The last response or the last error, unread and as it came. Where there was more than one attempt,
//! or a failure of a kind that is repeated was given up, a [`Retried`](crate::Retried) says how many
//! attempts there were and why there were no more: in the response's extensions, or in the
//! [`RetryError`](crate::RetryError) that the error is then inside of. A call that succeeds at once
//! carries nothing.
//!
//! # Between two attempts
//!
//! The rest of a discarded response is read, up to 4 KiB and 100 ms, so that its connection can be used
//! again; what is longer or slower is dropped with its connection. Then comes the wait, and then the
//! service is made ready anew.
//!
//! If it can *not* be made ready, the last result is returned. The service is asked once before the
//! response is read, since one that has failed for good says so at once, and then the response is still
//! whole. Should it fail only after the wait, and the response had a body, that body is gone: then its
//! own error is returned.
//!
//! Our other layers keep such an error for their next call, which then fails with it. With one of them
//! directly below, that is what is returned; within a [`ClientStack`](crate::ClientStack) it is not.
//!
//! Nothing is spawned: dropping the future stops everything, and returns to the budget what an attempt
//! that was not made would have cost.
//!
//! # Across processes
//!
//! Layers that are nested in one process know of each other. Between two services there is a network,
//! which carries nothing of that: in an outage three tiers with a budget of 20 % each come to 1.2³, or
//! 1.73 requests per call, at the lowest one. Let a tier say that it gave up, by a header that several
//! public services use, and let its callers read it; then it stays at 1.2 (`cargo run --example
//! retry_storm`).
//!
//! ```
//! use http::{HeaderValue, Response};
//! use tower::util::MapResponseLayer;
//! use tower_diagnose::{ResponseExt, RetryLayer};
//!
//! // The tier that gave up: `MapResponseLayer::new(tell)` around its `ServerStack`.
//! fn tell<B>(mut response: Response<B>) -> Response<B> {
//!     let has_failed = response.status().is_server_error();
//!     if has_failed && response.retried().is_some() {
//!         response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
//!     }
//!     response
//! }
//!
//! // The tier above.
//! let retry = RetryLayer::new().retry_if(|attempt| {
//!     let told = attempt.headers().and_then(|headers| headers.get("x-should-retry"));
//!     attempt.is_retryable() && told.is_none_or(|told| told != "false")
//! });
//! # let _ = (MapResponseLayer::new(tell::<()>), retry);
//! ```
//!
//! # What it costs
//!
//! A request that may come to be repeated is copied, flat, into one block; the body is remembered while it
//! is read. One with neither headers nor a body and with a short URI needs no block. One that can never be (a single attempt, `Expect`, `CONNECT`) is passed on as it is.
//!
//! # Examples
//!
//! ```
//! use std::{sync::atomic::{AtomicU32, Ordering}, time::Duration};
//!
//! use http::{Request, Response, StatusCode};
//! use http_body_util::Empty;
//! use bytes::Bytes;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//! use tower_diagnose::{Backoff, BoxError, ResponseExt, RetryLayer, retry::ReplayBody};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! static CALLS: AtomicU32 = AtomicU32::new(0);
//!
//! // Stands for a client; fails twice.
//! let client = service_fn(|_request: Request<ReplayBody<Empty<Bytes>>>| async {
//!     let status = match CALLS.fetch_add(1, Ordering::Relaxed) {
//!         0 | 1 => StatusCode::SERVICE_UNAVAILABLE,
//!         _ => StatusCode::OK,
//!     };
//!     Ok::<_, BoxError>(Response::builder().status(status).body(Empty::<Bytes>::new())?)
//! });
//! let backoff = Backoff::exponential(Duration::from_millis(1), Duration::from_millis(10));
//! let client = ServiceBuilder::new()
//!     .layer(RetryLayer::new().backoff(backoff))
//!     .service(client);
//!
//! let response = client.oneshot(Request::get("http://h/").body(Empty::new())?).await?;
//! assert_eq!(response.status(), StatusCode::OK);
//! assert_eq!(response.retried().map(|retried| retried.attempts()), Some(3));
//! # Ok(())
//! # }
//! ```
//!
//! [RFC 9110 §9.2]: https://www.rfc-editor.org/rfc/rfc9110#section-9.2

mod connection;
mod evidence;
mod future;
mod held;
mod kept;
mod layer;
mod limit;
mod operation;
mod pause;
mod replay;
mod rules;
mod service;
mod snapshot;
mod spare;
mod terms;
mod timer;

// What the models of `tests/loom` need beside the public API.
#[cfg(feature = "model")]
#[path = "../../tests/loom/src/replay.rs"]
pub mod model_replay;

pub(crate) use future::State;
pub(crate) use spare::Spare;

pub use future::ResponseFuture;
pub use layer::RetryLayer;
pub use replay::{ReplayBody, Superseded};
pub use service::Retry;
