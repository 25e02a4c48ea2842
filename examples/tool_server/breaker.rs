//! A layer of the user's own: a circuit breaker.

use std::{
    future::{Future, ready},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use tokio::time::Instant;
use tower::{BoxError, Layer, Service};
use tower_diagnose::Refused;

/// Calls nobody for a while after so many failures in a row.
///
/// `Refused` tells the stack that nothing was sent: the line says so, and it is not repeated. A limit of the
/// stack ends a call that hangs by dropping it, so that a call that is dropped midway counts as a failure.
#[derive(Clone)]
pub(crate) struct BreakerLayer {
    allowed: u32,
    rest: Duration,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    failures: u32,
    closed_again: Option<Instant>,
}

impl BreakerLayer {
    pub(crate) fn new(allowed: u32, rest: Duration) -> Self {
        Self {
            allowed,
            rest,
            state: Arc::default(),
        }
    }

    fn is_open(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed_again.is_some_and(|at| Instant::now() < at)
    }

    fn note(&self, failed: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures = if failed { state.failures + 1 } else { 0 };
        state.closed_again = (state.failures >= self.allowed).then(|| Instant::now() + self.rest);
    }
}

impl<S> Layer<S> for BreakerLayer {
    type Service = Breaker<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Breaker {
            inner,
            layer: self.clone(),
        }
    }
}

#[derive(Clone)]
pub(crate) struct Breaker<S> {
    inner: S,
    layer: BreakerLayer,
}

impl<S, B, R> Service<Request<B>> for Breaker<S>
where
    S: Service<Request<B>, Response = Response<R>, Error = BoxError>,
    S::Future: Send + 'static,
    R: Send + 'static,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if self.layer.is_open() {
            return Box::pin(ready(Err(Refused::new("circuit open").into())));
        }
        let (call, answer) = (Call::of(&self.layer), self.inner.call(request));
        Box::pin(async move {
            let result = answer.await;
            call.ended(match &result {
                Ok(response) => response.status().is_server_error(),
                Err(_) => true,
            });
            result
        })
    }
}

/// A call under way. Until it has ended otherwise, it has failed.
struct Call {
    layer: BreakerLayer,
    failed: bool,
}

impl Call {
    fn of(layer: &BreakerLayer) -> Self {
        Self {
            layer: layer.clone(),
            failed: true,
        }
    }

    fn ended(mut self, failed: bool) {
        self.failed = failed;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.layer.note(self.failed);
    }
}
