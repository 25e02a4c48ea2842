//! Below the stack: what it really asks of the client, and what the client really gives.

use std::{
    future::Future,
    hash::{DefaultHasher, Hash, Hasher},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use tokio::time::Instant;
use tower::Service;

use crate::plan::CallPlan;

/// All there is to know of one call.
#[derive(Debug)]
pub struct CallLog {
    pub plan: CallPlan,
    attempts: Mutex<Vec<AttemptLog>>,
    faults: Mutex<Vec<String>>,
}

/// What happened to one attempt.
#[derive(Clone, Debug)]
pub struct AttemptLog {
    pub began: Instant,
    pub ended: Option<Instant>,
    pub result: Seen,
    /// What its body gave to whoever read it.
    pub body: Vec<Piece>,
    /// Its body said at some point that it had ended, which a reset can make it forget.
    pub said_end: bool,
}

/// How an attempt ended.
#[derive(Clone, Debug)]
pub enum Seen {
    /// Not yet, or its future was dropped.
    Nothing,
    Failed,
    Answered(Head),
}

/// The head of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    pub status: StatusCode,
    pub version: Version,
    pub headers: HeaderMap,
}

impl Head {
    /// Copies it from a response.
    pub fn of<B>(response: &Response<B>) -> Self {
        Self {
            status: response.status(),
            version: response.version(),
            headers: response.headers().clone(),
        }
    }
}

/// One step of a body, and what it said of itself just before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub is_end_stream: bool,
    pub lower: u64,
    pub upper: Option<u64>,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// So many bytes with this hash.
    Data(usize, u64),
    Trailers(u64),
    Error,
    End,
}

impl What {
    /// Reduces the result of a poll.
    pub fn of<E>(item: &Option<Result<Frame<Bytes>, E>>) -> Self {
        let hashed = |hash: &dyn Fn(&mut DefaultHasher)| {
            let mut hasher = DefaultHasher::new();
            hash(&mut hasher);
            hasher.finish()
        };
        match item {
            None => Self::End,
            Some(Err(_)) => Self::Error,
            Some(Ok(frame)) => match (frame.data_ref(), frame.trailers_ref()) {
                (Some(data), _) => Self::Data(data.len(), hashed(&|hasher| data.hash(hasher))),
                (None, trailers) => {
                    Self::Trailers(hashed(&|hasher| format!("{trailers:?}").hash(hasher)))
                }
            },
        }
    }
}

/// In the extensions of a response: which attempt it belongs to.
#[derive(Clone, Debug)]
pub struct Origin(pub usize);

impl CallLog {
    /// Creates the log of a call.
    #[must_use]
    pub fn new(plan: CallPlan) -> Self {
        Self {
            plan,
            attempts: Mutex::default(),
            faults: Mutex::default(),
        }
    }

    /// Returns the attempts so far.
    #[must_use]
    pub fn attempts(&self) -> Vec<AttemptLog> {
        self.lock().clone()
    }

    /// Notes what should not be.
    pub fn fault(&self, what: String) {
        let number = self.plan.number;
        let mut faults = self.faults.lock().expect("nobody panics here");
        faults.push(format!("call {number}: {what}"));
    }

    /// Returns what should not be.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        self.faults.lock().expect("nobody panics here").clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<AttemptLog>> {
        self.attempts.lock().expect("nobody panics here")
    }

    /// Compares a request with the caller's, and marks it with the number of the attempt.
    fn began<B>(&self, request: &mut Request<B>) -> usize {
        if request.method() != self.plan.method || *request.uri() != self.plan.uri {
            self.fault(format!("asked for {} {}", request.method(), request.uri()));
        }
        let headers = request.headers_mut();
        headers.remove("x-announced");
        let sensitive = |headers: &HeaderMap| headers.values().filter(|v| v.is_sensitive()).count();
        if *headers != self.plan.headers || sensitive(headers) != sensitive(&self.plan.headers) {
            self.fault(format!("sent other headers: {headers:?}"));
        }
        let mut attempts = self.lock();
        attempts.push(AttemptLog {
            began: Instant::now(),
            ended: None,
            result: Seen::Nothing,
            body: Vec::new(),
            said_end: false,
        });
        headers.insert("x-attempt", HeaderValue::from(attempts.len()));
        attempts.len() - 1
    }

    fn ended(&self, attempt: usize, result: Seen) {
        let attempt = &mut self.lock()[attempt];
        attempt.ended = Some(Instant::now());
        attempt.result = result;
    }
}

/// Stands right above hyper-util's client.
#[derive(Clone, Debug)]
pub struct Tap<S>(pub S);

impl<S, B> Service<Request<B>> for Tap<S>
where
    S: Service<Request<B>, Response = Response<Incoming>, Error = legacy::Error>,
    S::Future: Send + 'static,
{
    type Response = Response<TapBody>;
    type Error = legacy::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, legacy::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), legacy::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let log = request.extensions().get::<Arc<CallLog>>().cloned();
        let log = log.expect("the caller's extensions reach every attempt");
        let attempt = log.began(&mut request);
        let inner = self.0.call(request);
        Box::pin(async move {
            // Dropped with the future if that is dropped.
            let guard = EndsAt { log: &log, attempt };
            let result = inner.await;
            drop(guard);
            match result {
                Ok(mut response) => {
                    log.ended(attempt, Seen::Answered(Head::of(&response)));
                    response.extensions_mut().insert(Origin(attempt));
                    let tapped = Arc::clone(&log);
                    Ok(response.map(|inner| TapBody {
                        inner,
                        log: tapped,
                        attempt,
                        is_over: false,
                    }))
                }
                Err(error) => {
                    log.ended(attempt, Seen::Failed);
                    Err(error)
                }
            }
        })
    }
}

struct EndsAt<'a> {
    log: &'a CallLog,
    attempt: usize,
}

impl Drop for EndsAt<'_> {
    fn drop(&mut self) {
        self.log.ended(self.attempt, Seen::Nothing);
    }
}

/// Notes what a body gives.
#[derive(Debug)]
pub struct TapBody {
    inner: Incoming,
    log: Arc<CallLog>,
    attempt: usize,
    is_over: bool,
}

impl Body for TapBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.is_over {
            self.log
                .fault("a response's body was polled after its end".to_owned());
        }
        let hint = self.inner.size_hint();
        let is_end_stream = self.inner.is_end_stream();
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        if let Poll::Ready(item) = &polled {
            self.is_over = !matches!(item, Some(Ok(_)));
            let piece = Piece {
                is_end_stream,
                lower: hint.lower(),
                upper: hint.upper(),
                what: What::of(item),
            };
            self.log.lock()[self.attempt].body.push(piece);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        let is_end_stream = self.inner.is_end_stream();
        if is_end_stream {
            self.log.lock()[self.attempt].said_end = true;
        }
        is_end_stream
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
