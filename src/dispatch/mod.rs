//! Notes every attempt of a call: when it was sent, what came back, whether it can have arrived.
//!
//! Put it innermost, right around the client. It writes to the [`CallRecorder`](crate::CallRecorder)
//! in the request's extensions, where one layer further out (a [`RecorderLayer`](crate::RecorderLayer))
//! or the caller has put it; without one it does nothing. The attempts of a retry layer between the
//! two are counted one by one. Without this layer nobody knows whether a call was dispatched, and a
//! timeout counts as our own.
//!
//! "Right around" decides what counts. What is further in (the retries of hyper-util's pool, a login that
//! sends a request again) is part of one attempt; what is further out and refuses (a breaker, a limiter) has
//! made none. A [`ClientStack`](crate::ClientStack) has this layer around whatever it is put onto, and
//! [can leave it to you](crate::ClientStack::without_dispatch). The [guide](crate::guide#order) shows the
//! whole order. There is nothing to configure.
//!
//! An attempt that is dropped midway may have arrived: its delivery is unknown. Of one call, the first
//! fifteen attempts and the last are kept.
//!
//! The error is the inner service's own. Its type is looked into at run time; of a type that we do
//! not know, only the fact of the failure is noted.
//!
//! ```
//! use http::{Request, Response};
//! use std::convert::Infallible;
//! use tower::{Layer, ServiceExt, service_fn};
//! use tower_diagnose::{CallRecorder, DispatchLayer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Infallible> {
//! let client = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(Response::new(())) });
//! let client = DispatchLayer::new().layer(client);
//!
//! let notes = CallRecorder::new();
//! let mut request = Request::new(());
//! request.extensions_mut().insert(notes.clone());
//! client.oneshot(request).await?;
//!
//! assert_eq!(notes.snapshot().requests, 1);
//! assert_eq!(notes.snapshot().responses, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Cost
//!
//! Nothing but a look into the extensions where nobody records. For a recorder, no reading of the clock
//! where an attempt begins as its call is made, and none where its good answer is the head of the call's
//! response; else one each. A block from the second attempt on.

mod attempt;
mod future;
mod layer;
mod service;

pub use self::{future::ResponseFuture, layer::DispatchLayer, service::Dispatch};
