//! Says what went wrong, in one line.
//!
//! [`DiagnoseLayer::new`] goes around a client. A failing answer gets a [`Diagnosis`] into its
//! extensions, and is otherwise handed on as it came, body included; an error becomes a
//! [`Diagnosed`], which displays as the line.
//! [`DiagnoseLayer::for_server`] goes around a service of one's own: it does the same for failing
//! answers, leaves errors as they are, and logs both.
//!
//! # Example
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::{BodyExt, Full};
//! use tower::{Layer, ServiceExt, service_fn};
//! use tower_diagnose::{DiagnoseLayer, ResponseExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let inner = service_fn(|_: Request<()>| async {
//!     let body = r#"{"message": "commentId must be a UUID"}"#;
//!     let response = Response::builder().status(400).body(Full::<Bytes>::from(body));
//!     Ok::<_, std::io::Error>(response.unwrap())
//! });
//! let client = DiagnoseLayer::new().layer(inner);
//!
//! let request = Request::post("http://api.example/comments/resolve").body(()).unwrap();
//! let response = client.oneshot(request).await.unwrap();
//! assert_eq!(
//!     response.diagnosis().unwrap().to_string(),
//!     "POST /comments/resolve failed (400 Bad Request): commentId must be a UUID",
//! );
//! // The body is all there.
//! let body = response.into_body().collect().await.unwrap().to_bytes();
//! assert_eq!(&body[..], br#"{"message": "commentId must be a UUID"}"#);
//! # }
//! ```
//!
//! # When to use it, and where
//!
//! Around every client whose failures somebody has to understand, and around every service that others
//! have to. Outside of the retries, so that one body is read and not that of every attempt; inside of the
//! record, which takes its outcome from here; outside of what decompresses, since a compressed message is
//! not read. The [guide](crate::guide#order) shows the whole order.
//!
//! # Defaults
//!
//! | what | default | changed by |
//! |---|---|---|
//! | fails | status 400 and above | [`failure_when`](DiagnoseLayer::failure_when) |
//! | read of a failing body | 16 KiB within 1 s | [`body_cap`](DiagnoseLayer::body_cap), [`peek_timeout`](DiagnoseLayer::peek_timeout) |
//! | the line | 300 characters | [`line_cap`](DiagnoseLayer::line_cap) |
//! | the excerpt of the body | 500 characters | [`excerpt_cap`](DiagnoseLayer::excerpt_cap) |
//! | plain text | not shown | [`plain_text`](DiagnoseLayer::plain_text) |
//! | failures with status 200 | not looked for | [`inspect`](DiagnoseLayer::inspect) |
//! | log | nothing for a client; for a server what [`LogPolicy::new`] says | [`log`](DiagnoseLayer::log) |
//! | a failing answer of a client | stays an answer | [`error_for_status`](DiagnoseLayer::error_for_status) |
//!
//! # What it reads
//!
//! At most [`body_cap`](DiagnoseLayer::body_cap) bytes of a failing body, for at most
//! [`peek_timeout`](DiagnoseLayer::peek_timeout), and less where less will do. Nothing of a good
//! answer, of the answer to `HEAD` or `CONNECT`, of 1xx, 204 and 304. A body that stalls, breaks or
//! never ends costs the diagnosis its message, never the call. The time limit needs a tokio runtime
//! with its time driver, but only once a failing body keeps the layer waiting.
//!
//! # What it never prints
//!
//! Header values, queries, userinfo; credentials of the request that the server echoes; segments of
//! the path that look like secrets. The original error stays in
//! [`source()`](std::error::Error::source) of a [`Diagnosed`]: its own text is not ours, and may
//! name hosts and URLs.
//!
//! # Cost
//!
//! A good answer costs no allocation, except the first clone of a long URI, and one block where the
//! request carries credentials that a server might echo. A failing body is boxed, and its beginning is
//! kept until the caller has read past it.
//!
//! [`Diagnosis`]: crate::Diagnosis
//! [`Diagnosed`]: crate::Diagnosed

mod answered;
mod body;
mod call;
mod config;
mod failed;
mod future;
mod layer;
mod log;
mod looking;
mod peeked;
mod service;
mod settled;
mod trailers;

pub(crate) use call::Kept;
pub(crate) use looking::Looking;

pub use body::ResponseBody;
pub use future::ResponseFuture;
pub use layer::{Client, DiagnoseLayer, Server};
pub use log::LogPolicy;
pub use service::Diagnose;
