//! Records every call once, whatever becomes of it.
//!
//! For everybody who counts calls, draws their durations or wants to see what happened last. Put it
//! outermost: it then sees the whole call with all its attempts and waits; only a
//! [`RespondLayer`](crate::RespondLayer) belongs around it. The [guide](crate::guide#order) shows the whole
//! order. The record is made when the call is over:
//!
//! | what happens | outcome | when |
//! |---|---|---|
//! | the body of the response is read to its end | none, or the failing status | at the end |
//! | the response has no body | none, or the failing status | at the head |
//! | the body is dropped | as the head says: no failure by itself | at the drop |
//! | the body fails | as the head says, or else as the error says | at the error |
//! | the connection is upgraded (101, `CONNECT`) | none | at the head |
//! | an error, a timeout further in | as the error says | at the error |
//! | the future is dropped, a timeout further out | cancelled, the caller's doing | at the drop |
//! | the inner service panics | proxy_internal; the panic goes on | at the panic |
//!
//! A call begins with `call`, not with the first poll: a future that is never polled is a call that
//! was cancelled. An error of `poll_ready` is returned by the next `call`, and recorded as that.
//!
//! The outcome comes from the [`Diagnosis`](crate::Diagnosis) in the response, from the
//! [`Diagnosed`](crate::Diagnosed) in the error, or else from [`classify`](crate::classify). Of an
//! error whose type we do not know, it is what a [`DispatchLayer`](crate::DispatchLayer) further in
//! noted, or else proxy_internal.
//!
//! A sink runs where the call ends, and what it takes, the call takes:
//!
//! | sink | does | under pressure |
//! |---|---|---|
//! | a closure | what you wrote | if it blocks, so does the task that ended the call |
//! | [`RecentCalls`] | keeps the last records in memory | the oldest record makes room |
//! | [`JsonLines`] | writes a line per record from a thread of its own: `JsonLines::new(writer, capacity)` is an `io::Result`, and `capacity` the length of its queue | past its queue, records are dropped, counted, and the count is written |
//! | [`TracingSink`] | one `tracing` event per record | as your subscriber does |
//! | `MetricsSink` (feature `metrics`) | a histogram, a counter, a gauge | past their limit, endpoints are labelled `other` |
//! | [`FanOut`] | passes a copy to several | as the slowest of them does |
//!
//! Outside a retry layer there is one record for all attempts; inside there is one for each.
//! Durations come from tokio's clock. Waiting in `poll_ready` is not part of the call.
//!
//! ```
//! use http::{Request, Response};
//! use std::convert::Infallible;
//! use tower::{Layer, ServiceExt, service_fn};
//! use tower_diagnose::{RecentCalls, RecorderLayer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Infallible> {
//! let calls = RecentCalls::new(100);
//! let service = service_fn(|_: Request<()>| async {
//!     Ok::<_, Infallible>(Response::new(String::from("hello")))
//! });
//! let service = RecorderLayer::new(calls.clone()).layer(service);
//!
//! let response = service.oneshot(Request::new(())).await?;
//! drop(response);
//!
//! let calls = calls.snapshot();
//! assert_eq!(calls.len(), 1);
//! assert_eq!(calls[0].endpoint().to_string(), "GET /");
//! assert_eq!(calls[0].outcome(), None);
//! # Ok(())
//! # }
//! ```
//!
//! # Limits
//!
//! No sink is there by default, and none grows: a ring and a queue have a length, a metric has so many
//! endpoints. Where a [`RespondLayer`](crate::RespondLayer) around it answers for an error, the record has
//! the error but no status, since the answer is made when the record is closed.
//!
//! # Cost
//!
//! Four blocks per call, three of which are the first extension of a request, and four readings of the
//! clock: two when the call is made, one at the head and one at the end of the response. A call of one good
//! attempt, as nearly every call is, is followed in a single word. Whatever else happens is noted behind a
//! lock that no other call knows of; a sink that keeps something has one of its own.

mod body;
mod bytes_out;
#[cfg(feature = "axum")]
mod calls_page;
#[cfg(feature = "axum")]
mod calls_query;
mod closing;
mod fan_out;
mod filter;
mod future;
mod guards;
mod json_lines;
mod layer;
#[cfg(feature = "metrics")]
mod metrics;
mod recent;
mod recording;
mod service;
mod told;
mod tracing_sink;

pub(crate) use self::{future::recorded, guards::Watch, recording::Recording};

#[cfg(feature = "metrics")]
pub use self::metrics::MetricsSink;
pub use self::{
    body::ResponseBody,
    fan_out::{FanOut, fan_out},
    filter::CallFilter,
    future::ResponseFuture,
    json_lines::JsonLines,
    layer::RecorderLayer,
    recent::RecentCalls,
    service::Recorder,
    tracing_sink::TracingSink,
};
