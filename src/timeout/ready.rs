use std::{
    future::poll_fn,
    pin::pin,
    task::{Poll, ready},
    time::Duration,
};

use http::Request;
use tower_service::Service;

use super::countdown::Countdown;
use crate::{
    endpoint::Endpoint,
    error::{BoxError, TimeoutError, TimeoutScope},
};

/// Waits until `service` is ready for `request`, for `limit` at most.
///
/// For callers of a service that makes them queue before the call, where no layer can limit the wait
/// without breaking the service for the next caller. `limit` is read as [`TimeoutLayer::new`] reads
/// it.
///
/// # Errors
///
/// A [`TimeoutError`] of the scope [`TimeoutScope::Ready`] if the service was not ready in time:
/// nothing was sent, and the service may be asked again. Else the service's own error.
///
/// [`TimeoutLayer::new`]: super::TimeoutLayer::new
pub async fn ready<S, B>(
    service: &mut S,
    request: &Request<B>,
    limit: Duration,
) -> Result<(), BoxError>
where
    S: Service<Request<B>>,
    S::Error: Into<BoxError>,
{
    let mut countdown = pin!(Countdown::new(limit));
    poll_fn(|cx| {
        if let Poll::Ready(result) = service.poll_ready(cx) {
            return Poll::Ready(result.map_err(Into::into));
        }
        let elapsed = ready!(countdown.as_mut().poll_expired(cx));
        let error = TimeoutError::new(Endpoint::of(request), limit, TimeoutScope::Ready);
        Poll::Ready(Err(error.with_elapsed(elapsed).into()))
    })
    .await
}
