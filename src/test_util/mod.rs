//! For the tests of programs that use this crate: an upstream that fails as one likes, a place where
//! records can be asserted on, waits that can be foretold, and checks for a body of one's own.
//!
//! Behind the feature `test-util`, which belongs among the development dependencies:
//!
//! ```toml
//! [dev-dependencies]
//! tower-diagnose = { version = "0.1", features = ["test-util"] }
//! ```
//!
//! - [`Upstream`] is a service whose calls end as its [`Ending`]s say: refused, reset, never answered,
//!   answered 503. The errors are real ones: hyper raises them, over a connection in memory.
//! - [`Records`] is a sink that keeps every record, and waits for those to come.
//! - [`RetryLayer::seed`](crate::RetryLayer::seed) makes the waits between attempts the same every time.
//! - [`BodyConformance`] drives a body that wraps another over hundreds of scripts, and compares the two.
//!
//! Everything here works in memory and by tokio's clock, which may be paused. What does not hold is told by
//! a panic, as by `assert!`.
//!
//! ```
//! use std::time::Duration;
//!
//! use bytes::Bytes;
//! use http::Request;
//! use http_body_util::Empty;
//! use tower::{Layer, ServiceExt};
//! use tower_diagnose::{
//!     ClientStack,
//!     test_util::{Ending, Records, Upstream},
//! };
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! // The first connection is refused, and then all goes well.
//! let upstream = Upstream::new([Ending::ConnectionRefused, Ending::status(200)]);
//! let records = Records::new();
//! let client = ClientStack::new(Duration::from_secs(30)).record(records.clone());
//!
//! let request = Request::post("/orders").body(Empty::<Bytes>::new()).unwrap();
//! let response = client.layer(upstream.clone()).oneshot(request).await.unwrap();
//! drop(response);
//!
//! assert_eq!(upstream.calls(), 2);
//! assert_eq!(records.only().attempts(), 2);
//! # }
//! ```

mod answer;
mod conformance;
mod ending;
mod peer;
mod records;
mod script;
mod scripts;
mod sent;
mod upstream;
mod wire;

pub use self::{
    answer::Answer,
    conformance::BodyConformance,
    ending::Ending,
    records::Records,
    script::{ScriptError, ScriptedBody, Step},
    upstream::{Upstream, UpstreamFuture},
};
