//! A service in memory that does as it is told and remembers what it was sent.

use std::{
    collections::VecDeque,
    convert::Infallible,
    io,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode, request::Parts};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use tokio::time::Instant;
use tower::Service;
use tower_diagnose::{BoxError, Refused};

pub(crate) type ReplyBody = UnsyncBoxBody<Bytes, BoxError>;

/// What the service does with one request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Status(u16),
    With(u16, &'static [(&'static str, &'static str)], &'static [u8]),
    /// A first frame, and then nothing more, ever.
    Stalls(u16),
    Reset,
    TimedOut,
    Refuses,
    Never,
    Late(Duration, u16),
}

/// A request as it arrived.
pub(crate) struct Seen {
    pub(crate) at: Instant,
    pub(crate) head: Parts,
    pub(crate) body: Bytes,
}

/// Answers by the script; the last reply is repeated. An instance must be polled ready before each
/// call, and a clone is not ready: calling an unready one panics.
pub(crate) struct Scripted {
    shared: Arc<Shared>,
    ready: bool,
}

struct Shared {
    script: Mutex<VecDeque<Reply>>,
    seen: Mutex<Vec<Seen>>,
    broken: AtomicBool,
    breaks_at_call: bool,
}

impl Scripted {
    pub(crate) fn new(script: impl IntoIterator<Item = Reply>) -> Self {
        Self::make(script, false)
    }

    /// Once called, it is never ready again.
    pub(crate) fn breaking(script: impl IntoIterator<Item = Reply>) -> Self {
        Self::make(script, true)
    }

    fn make(script: impl IntoIterator<Item = Reply>, breaks_at_call: bool) -> Self {
        Self {
            shared: Arc::new(Shared {
                script: Mutex::new(script.into_iter().collect()),
                seen: Mutex::default(),
                broken: AtomicBool::new(false),
                breaks_at_call,
            }),
            ready: false,
        }
    }

    pub(crate) fn statuses(statuses: impl IntoIterator<Item = u16>) -> Self {
        Self::new(statuses.into_iter().map(Reply::Status))
    }

    /// From now on, no instance is ready any more.
    pub(crate) fn break_down(&self) {
        self.shared.broken.store(true, Ordering::SeqCst);
    }

    pub(crate) fn calls(&self) -> usize {
        self.shared.seen.lock().unwrap().len()
    }

    /// When the calls came, counted from the first.
    pub(crate) fn times(&self) -> Vec<Duration> {
        let seen = self.shared.seen.lock().unwrap();
        seen.iter().map(|one| one.at - seen[0].at).collect()
    }

    pub(crate) fn each<T>(&self, look: impl FnMut(&Seen) -> T) -> Vec<T> {
        self.shared.seen.lock().unwrap().iter().map(look).collect()
    }
}

impl Clone for Scripted {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            ready: false,
        }
    }
}

impl<B> Service<Request<B>> for Scripted
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<ReplyBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ReplyBody>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        if self.shared.broken.load(Ordering::SeqCst) {
            return Poll::Ready(Err(Refused::new("broken down").into()));
        }
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        assert!(
            std::mem::take(&mut self.ready),
            "an instance was called that was not polled ready"
        );
        if self.shared.breaks_at_call {
            self.break_down();
        }
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let at = Instant::now();
            let (head, body) = request.into_parts();
            let body = body.collect().await.map_err(Into::into)?.to_bytes();
            let reply = {
                let mut script = shared.script.lock().unwrap();
                let next = script.pop_front().expect("a script has at least one reply");
                if script.is_empty() {
                    script.push_back(next.clone());
                }
                next
            };
            shared.seen.lock().unwrap().push(Seen { at, head, body });
            reply.play().await
        })
    }
}

impl Reply {
    async fn play(self) -> Result<Response<ReplyBody>, BoxError> {
        match self {
            Self::Status(status) => Ok(respond(status, &[], full(b""))),
            Self::With(status, headers, body) => Ok(respond(status, headers, full(body))),
            Self::Stalls(status) => Ok(respond(status, &[], stalling())),
            Self::Reset => Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
            Self::TimedOut => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            Self::Refuses => Err(Refused::new("circuit open").into()),
            Self::Never => std::future::pending().await,
            Self::Late(after, status) => {
                tokio::time::sleep(after).await;
                Ok(respond(status, &[], full(b"")))
            }
        }
    }
}

fn respond(status: u16, headers: &[(&str, &str)], body: ReplyBody) -> Response<ReplyBody> {
    let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap());
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body).unwrap()
}

fn full(bytes: &'static [u8]) -> ReplyBody {
    Full::new(Bytes::from_static(bytes))
        .map_err(|never: Infallible| match never {})
        .boxed_unsync()
}

fn stalling() -> ReplyBody {
    Stalling(Some(Bytes::from_static(b"first"))).boxed_unsync()
}

/// One frame, and then silence.
struct Stalling(Option<Bytes>);

impl Body for Stalling {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.0.take().map_or(Poll::Pending, |data| {
            Poll::Ready(Some(Ok(Frame::data(data))))
        })
    }
}
