//! Turns every error into a response, so that a stack of layers fits where none may fail: axum, hyper's
//! server.
//!
//! The response is a problem detail of [RFC 9457], `application/problem+json`. It says what happened in
//! one line and whose fault it was, and nothing that a stranger must not see: no host, and no word that
//! somebody else's server said.
//!
//! ```
//! use std::{future::pending, time::Duration};
//!
//! use axum::{Router, body::Body, routing::get};
//! use http::{Request, StatusCode};
//! use http_body_util::BodyExt;
//! use tower::{ServiceBuilder, ServiceExt};
//! use tower_diagnose::{RespondLayer, TimeoutLayer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let app: Router = Router::new().route("/reports", get(async || pending::<()>().await)).layer(
//!     ServiceBuilder::new()
//!         .layer(RespondLayer::new())
//!         .layer(TimeoutLayer::new(Duration::from_millis(5))),
//! );
//!
//! let request = Request::get("/reports?key=secret").body(Body::empty()).unwrap();
//! let response = app.oneshot(request).await.unwrap();
//! assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
//! let body = response.into_body().collect().await.unwrap().to_bytes();
//! assert_eq!(
//!     body,
//!     concat!(
//!         r#"{"type":"about:blank","title":"Service Unavailable","status":503,"#,
//!         r#""detail":"GET /reports failed: timed out after 5ms","instance":"/reports","#,
//!         r#""errorClass":"timeout","faultDomain":"proxy"}"#,
//!     ),
//! );
//! # }
//! ```
//!
//! # Which status
//!
//! | what failed | status |
//! |---|---|
//! | a limit of time, of a call to an upstream (the error comes out of a client stack) | 504 |
//! | a limit of time, of our own service | 503 |
//! | a limit of time, of the caller's own upload | 408 |
//! | load shed, a limit, a breaker ([`Refused`](crate::Refused)) | 503 with `Retry-After` |
//! | an argument ([`InvalidArgument`](crate::InvalidArgument)), the caller's request body | 400 |
//! | the network to an upstream | 502 |
//! | an upstream answered 429 or 503 | 503 with its `Retry-After` |
//! | an upstream answered 504 | 504 |
//! | an upstream answered otherwise, 401 and 403 included: they were about our credentials | 502 |
//! | anything else | 500 |
//!
//! [`RespondLayer::map_with`] changes it, and the rest of the [`Problem`], by the error.
//!
//! # What the caller accepts
//!
//! Who accepts `text/plain` and no JSON gets the `detail` as text. An answer to `HEAD` has the headers
//! of the answer to `GET`, its length included, and no body. A [`Diagnosis`](crate::Diagnosis) that the
//! error held is among the extensions of the response, for layers around this one.
//!
//! # Defaults
//!
//! The table above; `Retry-After` of 1 s where our own side had to turn somebody away
//! ([`RespondLayer::overload_wait`]); type `about:blank`, and the status's own words as title.
//!
//! # Order
//!
//! Outermost of our layers, since it is the one that cannot fail; the [guide](crate::guide#order) shows the
//! whole order. It does not catch panics; tower-http's
//! `CatchPanicLayer` does, and belongs around it, so that a panic passes the record on its way out.
//! Responses of the service pass unchanged, failing ones too.
//!
//! # Cost
//!
//! A request that succeeds costs a copy of method and path, which allocates only for a long one, and a look
//! for an `Accept` header.
//!
//! [RFC 9457]: https://www.rfc-editor.org/rfc/rfc9457

mod accept;
mod body;
mod future;
mod layer;
mod problem;
mod service;

pub use body::ResponseBody;
pub use future::ResponseFuture;
pub use layer::RespondLayer;
pub use problem::Problem;
pub use service::Respond;
