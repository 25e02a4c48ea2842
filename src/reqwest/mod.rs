//! A reqwest [`Client`] that layers go onto.
//!
//! reqwest's client takes requests of its own; every layer here takes those of the `http` crate.
//! [`ReqwestService`] stands between them. It adds no behaviour: the connection pool, TLS, proxies and
//! headers are the client's.
//!
//! What the client does by itself stays hidden from the layers, so switch off what they are to do:
//!
//! | reqwest, by itself | switch it off by | otherwise |
//! |---|---|---|
//! | follows up to 10 redirects | `redirect(Policy::none())` | the line shows the first path, the answer is the last one's, and all are one attempt |
//! | repeats a stream that the server refused | `retry(reqwest::retry::never())` | such a repetition is not counted |
//! | repeats a request whose idle connection closed before anything was sent | cannot be | harmless: nothing had been sent |
//! | `timeout`, off by default, runs to the end of the body | leave it off | the line says `timed out`, without the limit, which reqwest does not tell |
//!
//! The errors are reqwest's. What they hold of the network is found and classed like hyper's own:
//! refused connections, names that do not resolve, resets. Their own text would name the whole URL with
//! its query, so that is taken out of them: [`url()`](reqwest::Error::url) gives none.
//!
//! Beside that, calls differ from those over hyper-util's client in this:
//!
//! - A URI is sent as reqwest's URL spells it, so that the path that a server sees need not be the one in
//!   the line: `/a/../b/{c}` is sent as `/b/%7Bc%7D`. What has no scheme and no host is refused, and with
//!   it `CONNECT`.
//! - A user and a password in the URI do not become a header, as over hyper-util's client: it is reqwest's
//!   `RequestBuilder` that makes one of them.
//! - Of a request's extensions reqwest looks at its own `timeout` alone, which holds for every attempt.
//!   It says nothing of connections, so
//!   [`capture_connection`](crate::RetryLayer::capture_connection) lets nothing more be repeated.
//! - A body that is not empty is boxed on its way in, and every body on its way out, since that is what
//!   reqwest takes and gives; lengths and trailers stay. A boxed body cannot be sent again by reqwest
//!   itself, so a 307 or a 308 to a request with a body is the answer, even where it follows redirects.
//! - A response does not tell its URL. Made reqwest's again, as below, its `url` is a placeholder.
//!
//! A body that is a stream is sent as it comes. What was read of it is kept for the next attempt, up to
//! 64 KiB ([`replay_limit`](crate::RetryLayer::replay_limit)); once more than that has been read, the call
//! is not repeated.
//!
//! ```
//! use std::time::Duration;
//!
//! use bytes::Bytes;
//! use http::Request;
//! use http_body_util::Empty;
//! use tower::Layer;
//! use tower_diagnose::{ClientStack, ReqwestService};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let client = reqwest::Client::builder()
//!     .redirect(reqwest::redirect::Policy::none())
//!     .retry(reqwest::retry::never())
//!     .build()
//!     .unwrap();
//! let client = ClientStack::new(Duration::from_secs(30)).layer(ReqwestService::new(client));
//!
//! let request = Request::get("http://127.0.0.1:1/modules?key=secret")
//!     .body(Empty::<Bytes>::new())
//!     .unwrap();
//! let error = client.send(request).await.unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "GET /modules failed: ECONNREFUSED (no response from server) [3 attempts]",
//! );
//! # }
//! ```
//!
//! Whoever likes reqwest's own requests and responses keeps them:
//!
//! ```
//! # use std::time::Duration;
//! # use tower::Layer;
//! use tower_diagnose::{BoxError, ClientService, ClientStack, ReqwestService, ResponseExt};
//!
//! async fn modules(
//!     client: &reqwest::Client,
//!     stack: &ClientService<ReqwestService>,
//! ) -> Result<String, BoxError> {
//!     let request = client.get("http://127.0.0.1:1/modules").bearer_auth("…").build()?;
//!     let request = http::Request::<reqwest::Body>::try_from(request)?;
//!     let response = stack.send(request).await?;
//!     if let Some(diagnosis) = response.diagnosis() {
//!         return Err(diagnosis.to_string().into());
//!     }
//!     let response = reqwest::Response::from(response.map(reqwest::Body::wrap));
//!     Ok(response.text().await?)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let client = reqwest::Client::new();
//! let stack = ClientStack::new(Duration::from_secs(30)).layer(ReqwestService::new(client.clone()));
//! let error = modules(&client, &stack).await.unwrap_err();
//! # assert!(error.to_string().starts_with("GET /modules failed: ECONNREFUSED"));
//! # }
//! ```
//!
//! [`Client`]: https://docs.rs/reqwest/latest/reqwest/struct.Client.html

mod body;
mod future;
mod request;
mod service;

pub use self::{future::ResponseFuture, service::ReqwestService};
