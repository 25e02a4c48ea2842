//! What the targets share: an answer made of fuzzed bytes, a body that follows a script, and one call through
//! a `DiagnoseLayer`.

use std::{
    collections::VecDeque,
    convert::Infallible,
    error::Error,
    fmt,
    future::{Future, Ready, poll_fn, ready},
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use tower_diagnose::DiagnoseLayer;
use tower_layer::Layer;
use tower_service::Service;

/// The content types that the second byte of an input chooses from.
const CONTENT_TYPES: &[&[u8]] = &[
    b"",
    b"application/json",
    b"application/problem+json",
    b"text/plain",
    b"text/html; charset=utf-8",
    b"application/xml",
    b"text/xml; charset=utf-8",
    b"application/soap+xml",
    b"application/x-www-form-urlencoded",
    b"text/event-stream",
    b"application/x-ndjson",
    b"application/x-amz-json-1.1",
    b"application/json; charset=utf-16",
    b"text/plain; charset=iso-8859-1",
    b"APPLICATION/VND.ACME.V2+JSON",
    b"application/graphql-response+json",
    b"application/grpc",
    b"application/octet-stream",
    b"image/png",
    b"\xff\xfe",
];

/// One answer: a byte for the status, one for the content type, one of flags, and the body.
pub struct Input<'a> {
    pub status: StatusCode,
    pub content_type: &'static [u8],
    pub flags: Flags,
    pub body: &'a [u8],
}

#[derive(Clone, Copy)]
pub struct Flags(u8);

impl Flags {
    pub fn plain_text(self) -> bool {
        self.0 & 1 != 0
    }
    /// The body is labelled as gzip.
    pub fn gzip(self) -> bool {
        self.0 & 2 != 0
    }
    /// The body comes in frames of seven bytes.
    pub fn split(self) -> bool {
        self.0 & 4 != 0
    }
    /// The body ends with an error.
    pub fn broken(self) -> bool {
        self.0 & 8 != 0
    }
    /// Only 64 bytes of the body are read.
    pub fn small_cap(self) -> bool {
        self.0 & 16 != 0
    }
    /// The body's length is not known beforehand.
    pub fn chunked(self) -> bool {
        self.0 & 32 != 0
    }
}

impl<'a> Input<'a> {
    pub fn of(data: &'a [u8]) -> Option<Self> {
        let [status, content_type, flags, body @ ..] = data else {
            return None;
        };
        // Statuses that fail, and now and then one that does not.
        let status = match status {
            0..=9 => 200 + u16::from(*status),
            _ => 400 + u16::from(*status) % 200,
        };
        Some(Self {
            status: StatusCode::from_u16(status).ok()?,
            content_type: CONTENT_TYPES[usize::from(*content_type) % CONTENT_TYPES.len()],
            flags: Flags(*flags),
            body,
        })
    }

    /// Returns the answer, with `body` in place of its own.
    pub fn response(&self, body: &[u8]) -> Response<Scripted> {
        let size = if self.flags.split() { 7 } else { body.len().max(1) };
        let mut steps: VecDeque<Step> = body
            .chunks(size)
            .map(|chunk| Step::Data(Bytes::copy_from_slice(chunk)))
            .collect();
        if self.flags.broken() {
            steps.push_back(Step::Fail);
        }
        let body = Scripted::new(steps, !self.flags.chunked() && !self.flags.broken());
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        if let Ok(content_type) = HeaderValue::from_bytes(self.content_type) {
            response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        }
        if self.flags.gzip() {
            let gzip = HeaderValue::from_static("gzip");
            response.headers_mut().insert(header::CONTENT_ENCODING, gzip);
        }
        response
    }

    pub fn layer(&self) -> DiagnoseLayer {
        let layer = DiagnoseLayer::new().plain_text(self.flags.plain_text());
        if self.flags.small_cap() {
            layer.body_cap(64)
        } else {
            layer
        }
    }
}

/// What a scripted body does when it is polled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Data(Bytes),
    Trailers(u8),
    Pending,
    Fail,
}

/// A body that follows a script.
#[derive(Clone, Debug)]
pub struct Scripted {
    steps: VecDeque<Step>,
    is_sized: bool,
    is_over: bool,
}

#[derive(Debug)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the script fails here")
    }
}

impl Error for Broken {}

impl Scripted {
    pub fn new(steps: VecDeque<Step>, is_sized: bool) -> Self {
        Self {
            steps,
            is_sized,
            is_over: false,
        }
    }
}

impl Body for Scripted {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        assert!(!self.is_over, "polled after its end");
        match self.steps.pop_front() {
            Some(Step::Data(data)) => Poll::Ready(Some(Ok(Frame::data(data)))),
            Some(Step::Trailers(number)) => {
                let mut trailers = HeaderMap::new();
                trailers.insert("x-trailer", HeaderValue::from(u16::from(number)));
                Poll::Ready(Some(Ok(Frame::trailers(trailers))))
            }
            Some(Step::Pending) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Fail) => {
                self.is_over = true;
                Poll::Ready(Some(Err(Broken)))
            }
            None => {
                self.is_over = true;
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if !self.is_sized {
            return SizeHint::default();
        }
        let len = |step: &Step| match step {
            Step::Data(data) => data.len() as u64,
            _ => 0,
        };
        SizeHint::with_exact(self.steps.iter().map(len).sum())
    }
}

/// Runs one call in a runtime of its own, whose clock stands still unless everybody waits.
pub fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O can be built")
        .block_on(work)
}

/// A service that gives one answer.
#[derive(Clone)]
pub struct Answer(pub Response<Scripted>);

impl Service<Request<()>> for Answer {
    type Response = Response<Scripted>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Scripted>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        ready(Ok(self.0.clone()))
    }
}

/// Sends `request` through `layer` to a service that gives `response`.
pub async fn call(
    layer: &DiagnoseLayer,
    request: Request<()>,
    response: Response<Scripted>,
) -> Response<impl Body<Data = Bytes, Error: fmt::Debug> + Unpin + use<>> {
    let mut service = layer.layer(Answer(response));
    poll_fn(|cx| service.poll_ready(cx)).await.expect("always ready");
    service.call(request).await.expect("the service does not fail")
}

/// Returns every frame of a body as a step, up to its end or its error, and what it said of itself
/// before each.
pub async fn frames<B>(mut body: B) -> Vec<(Option<u64>, bool, Option<Step>)>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut seen = Vec::new();
    loop {
        let exact = body.size_hint().exact();
        let is_end = body.is_end_stream();
        let step = match poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            None => None,
            Some(Err(_)) => Some(Step::Fail),
            Some(Ok(frame)) => Some(match frame.into_data() {
                Ok(data) => Step::Data(data),
                Err(frame) => {
                    let trailers = frame.into_trailers().unwrap_or_default();
                    let number = trailers.get("x-trailer").and_then(|value| value.to_str().ok());
                    Step::Trailers(number.and_then(|number| number.parse().ok()).unwrap_or(0))
                }
            }),
        };
        let is_over = matches!(step, None | Some(Step::Fail));
        seen.push((exact, is_end, step));
        if is_over {
            return seen;
        }
    }
}

/// Fails if `line` could break a log.
pub fn assert_is_line(line: &str) {
    assert!(line.chars().count() <= 300, "too long: {line:?}");
    assert!(!line.chars().any(char::is_control), "a control: {line:?}");
    assert!(
        !line.contains(['\u{2028}', '\u{2029}', '\u{202e}', '\u{2066}']),
        "breaks or reorders: {line:?}"
    );
    assert!(line.starts_with("POST /path/"), "the head is gone: {line:?}");
}
