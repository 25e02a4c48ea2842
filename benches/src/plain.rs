//! The least that a named limit and a record can be: what somebody writes for one service, without anything
//! that makes them safe. No path is cleaned of secrets, no failure is told from another, nothing sees a panic,
//! a second attempt, or a clock that is set back.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::{Duration, SystemTime},
};

use bytes::Buf;
use http::{Method, Request, Response, StatusCode, Uri};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tower::{BoxError, Service};

/// Limits the time to a response, and says of which request it was. The timer is made at the first wait.
#[derive(Clone)]
pub struct NamedTimeout<S> {
    inner: S,
    limit: Duration,
}

impl<S> NamedTimeout<S> {
    #[must_use]
    pub fn new(inner: S, limit: Duration) -> Self {
        Self { inner, limit }
    }
}

impl<S, B, R> Service<Request<B>> for NamedTimeout<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<BoxError>,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = NamedTimeoutFuture<S::Future>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    #[inline]
    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        NamedTimeoutFuture {
            inner: self.inner.call(request),
            timer: None,
            limit: self.limit,
            method,
            uri,
        }
    }
}

pin_project! {
    pub struct NamedTimeoutFuture<F> {
        #[pin]
        inner: F,
        #[pin]
        timer: Option<Sleep>,
        limit: Duration,
        method: Method,
        uri: Uri,
    }
}

impl<F, R, E> Future for NamedTimeoutFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    E: Into<BoxError>,
{
    type Output = Result<Response<R>, BoxError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Poll::Ready(output) = this.inner.poll(cx) {
            return Poll::Ready(output.map_err(Into::into));
        }
        if this.timer.is_none() {
            let deadline = Instant::now() + *this.limit;
            this.timer.set(Some(sleep_until(deadline)));
        }
        if let Some(timer) = this.timer.as_pin_mut() {
            ready!(timer.poll(cx));
        }
        let (method, path, limit) = (this.method, this.uri.path(), this.limit);
        Poll::Ready(Err(
            format!("{method} {path} timed out after {limit:?}").into()
        ))
    }
}

/// What is known of a call in the end.
pub struct Record<'a> {
    pub method: &'a Method,
    pub uri: &'a Uri,
    pub started_at: SystemTime,
    pub status: Option<StatusCode>,
    pub to_head: Duration,
    pub attempt: Duration,
    pub total: Duration,
    pub bytes: u64,
}

/// Hears of every call, once.
pub type Sink = Arc<dyn Fn(&Record<'_>) + Send + Sync>;

/// What both services note of a call, under way in the request's extensions.
#[derive(Clone)]
struct Noted(Arc<Notes>);

struct Notes {
    started: Instant,
    started_at: SystemTime,
    method: Method,
    uri: Uri,
    /// When the attempt began and ended, in nanoseconds since the start.
    begun: AtomicU64,
    ended: AtomicU64,
    bytes: AtomicU64,
}

impl Notes {
    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn note_now(&self, place: &AtomicU64) {
        place.store(self.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }
}

/// Makes a record of every call and hands it to a sink when the response's body has ended.
#[derive(Clone)]
pub struct Recorded<S> {
    inner: S,
    sink: Sink,
}

impl<S> Recorded<S> {
    #[must_use]
    pub fn new(inner: S, sink: Sink) -> Self {
        Self { inner, sink }
    }
}

impl<S, B, R> Service<Request<B>> for Recorded<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body,
{
    type Response = Response<RecordedBody<R>>;
    type Error = S::Error;
    type Future = RecordedFuture<S::Future>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    #[expect(clippy::disallowed_methods, reason = "what `started_at` asks for")]
    #[inline]
    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let notes = Arc::new(Notes {
            started: Instant::now(),
            started_at: SystemTime::now(),
            method: request.method().clone(),
            uri: request.uri().clone(),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        });
        request.extensions_mut().insert(Noted(Arc::clone(&notes)));
        RecordedFuture {
            inner: self.inner.call(request),
            open: Some(Open {
                notes,
                sink: Arc::clone(&self.sink),
                status: None,
                to_head: Duration::ZERO,
            }),
        }
    }
}

/// A call that has not ended.
struct Open {
    notes: Arc<Notes>,
    sink: Sink,
    status: Option<StatusCode>,
    to_head: Duration,
}

impl Drop for Open {
    #[inline]
    fn drop(&mut self) {
        let notes = &*self.notes;
        let [begun, ended, bytes] =
            [&notes.begun, &notes.ended, &notes.bytes].map(|place| place.load(Ordering::Relaxed));
        (self.sink)(&Record {
            method: &notes.method,
            uri: &notes.uri,
            started_at: notes.started_at,
            status: self.status,
            to_head: self.to_head,
            attempt: Duration::from_nanos(ended.saturating_sub(begun)),
            total: notes.elapsed(),
            bytes,
        });
    }
}

pin_project! {
    pub struct RecordedFuture<F> {
        #[pin]
        inner: F,
        open: Option<Open>,
    }
}

impl<F, R: Body, E> Future for RecordedFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<RecordedBody<R>>, E>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let response = ready!(this.inner.poll(cx))?;
        let mut open = this.open.take();
        if let Some(open) = &mut open {
            open.status = Some(response.status());
            open.to_head = open.notes.elapsed();
        }
        Poll::Ready(Ok(response.map(|inner| RecordedBody { inner, open })))
    }
}

pin_project! {
    pub struct RecordedBody<B> {
        #[pin]
        inner: B,
        open: Option<Open>,
    }
}

impl<B: Body> Body for RecordedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        let polled = ready!(this.inner.poll_frame(cx));
        match (&polled, &this.open) {
            (Some(Ok(frame)), Some(open)) => {
                let bytes = frame.data_ref().map_or(0, Buf::remaining);
                open.notes.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
            }
            _ => *this.open = None,
        }
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Notes when the attempt began and ended.
#[derive(Clone)]
pub struct Dispatched<S>(pub S);

impl<S, B, R> Service<Request<B>> for Dispatched<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = DispatchedFuture<S::Future>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, request: Request<B>) -> Self::Future {
        let noted: Option<Noted> = request.extensions().get().cloned();
        if let Some(Noted(notes)) = &noted {
            notes.note_now(&notes.begun);
        }
        DispatchedFuture {
            inner: self.0.call(request),
            noted,
        }
    }
}

pin_project! {
    pub struct DispatchedFuture<F> {
        #[pin]
        inner: F,
        noted: Option<Noted>,
    }
}

impl<F: Future> Future for DispatchedFuture<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let output = ready!(this.inner.poll(cx));
        if let Some(Noted(notes)) = this.noted.take() {
            notes.note_now(&notes.ended);
        }
        Poll::Ready(output)
    }
}
