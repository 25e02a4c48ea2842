//! Bodies and services for tests that read the crate from outside.

use std::{
    collections::VecDeque,
    future::Future,
    marker::PhantomPinned,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{BoxError, DiagnoseLayer, Diagnosis, ResponseExt};

/// What a body does at one poll.
#[derive(Clone, Debug)]
pub enum Step {
    Data(&'static [u8]),
    Trailers(HeaderMap),
    Fail(&'static str),
    /// Pending once, awake at once.
    Yield,
    /// Pending for so long.
    Wait(Duration),
    /// Pending for good.
    Stall,
    /// This frame again and again, always ready.
    Forever(&'static [u8]),
}

/// A body that takes its steps, panics when polled after its end, and is not `Unpin`.
pub struct Steps {
    state: Mutex<State>,
    length: Option<u64>,
    pub polls: Arc<AtomicUsize>,
    _pinned: PhantomPinned,
}

struct State {
    left: VecDeque<Step>,
    sleep: Option<Pin<Box<tokio::time::Sleep>>>,
    ended: bool,
}

pub fn steps(steps: impl IntoIterator<Item = Step>) -> Steps {
    Steps {
        state: Mutex::new(State {
            left: steps.into_iter().collect(),
            sleep: None,
            ended: false,
        }),
        length: None,
        polls: Arc::default(),
        _pinned: PhantomPinned,
    }
}

impl Steps {
    #[must_use]
    pub fn hint(mut self, length: u64) -> Self {
        self.length = Some(length);
        self
    }
}

impl State {
    fn step(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        assert!(!self.ended, "a body was polled after its end");
        if let Some(sleep) = &mut self.sleep {
            std::task::ready!(sleep.as_mut().poll(cx));
            self.sleep = None;
        }
        let data = |bytes: &'static [u8]| Poll::Ready(Some(Ok(Frame::data(bytes.into()))));
        match self.left.pop_front() {
            Some(Step::Data(bytes)) => data(bytes),
            Some(Step::Trailers(trailers)) => Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
            Some(Step::Fail(text)) => {
                self.ended = true;
                Poll::Ready(Some(Err(text.into())))
            }
            Some(Step::Yield) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Wait(wait)) => {
                self.sleep = Some(Box::pin(tokio::time::sleep(wait)));
                self.step(cx)
            }
            Some(Step::Stall) => {
                self.left.push_front(Step::Stall);
                Poll::Pending
            }
            Some(Step::Forever(bytes)) => {
                self.left.push_front(Step::Forever(bytes));
                data(bytes)
            }
            None => {
                self.ended = true;
                Poll::Ready(None)
            }
        }
    }
}

impl Body for Steps {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.polls.fetch_add(1, SeqCst);
        self.as_ref().get_ref().state.lock().unwrap().step(cx)
    }
    fn size_hint(&self) -> SizeHint {
        self.length
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// A request of `POST /things` or the like, without a body.
pub fn request(method: Method, uri: &str) -> Request<()> {
    Request::builder().method(method).uri(uri).body(()).unwrap()
}

pub fn get(uri: &str) -> Request<()> {
    request(Method::GET, uri)
}

pub fn post(uri: &str) -> Request<()> {
    request(Method::POST, uri)
}

/// A response with these headers, one `name: value` a line.
pub fn response<B>(status: u16, headers: &str, body: B) -> Response<B> {
    let mut response = Response::builder().status(status);
    for line in headers.lines() {
        let (name, value) = line.split_once(": ").expect("a header is `name: value`");
        response = response.header(name, value.as_bytes());
    }
    response.body(body).unwrap()
}

/// Gives `layer` one answer to diagnose.
pub async fn diagnosed<R, B>(
    layer: &DiagnoseLayer,
    request: Request<R>,
    answer: Response<B>,
) -> Option<Diagnosis>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    let answer = Mutex::new(Some(answer));
    let service = layer.layer(service_fn(async |_: Request<R>| {
        Ok::<_, BoxError>(answer.lock().unwrap().take().expect("one call"))
    }));
    let response = service.oneshot(request).await.expect("the answer");
    response.diagnosis().cloned()
}

/// The line for a failing answer to `request`.
pub async fn line<R>(
    layer: &DiagnoseLayer,
    request: Request<R>,
    status: u16,
    headers: &str,
    body: &[u8],
) -> String {
    let body = Full::new(Bytes::copy_from_slice(body));
    diagnosed(layer, request, response(status, headers, body))
        .await
        .expect("a failing answer is diagnosed")
        .to_string()
}

/// Polls `future` by hand, on no runtime at all, a bounded number of times.
pub fn without_runtime<F: Future>(future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    (0..64).find_map(|_| match future.as_mut().poll(&mut cx) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    })
}

/// A waker that counts.
#[derive(Default)]
pub struct Woken(pub AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}
