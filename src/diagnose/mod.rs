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

pub(crate) use call::Call;
pub(crate) use looking::Looking;

pub use body::ResponseBody;
pub use future::ResponseFuture;
pub use layer::{Client, DiagnoseLayer, Server};
pub use log::LogPolicy;
pub use service::Diagnose;
