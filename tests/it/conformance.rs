//! Every body of ours must be indistinguishable from the body inside it: driven over generated frame
//! sequences, and compared with the bare body.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use proptest::prelude::*;
use tokio::time::{Sleep, sleep};
use tower::{Layer, Service, ServiceExt};
use tower_diagnose::{
    DiagnoseLayer, DispatchLayer, LogPolicy, Protocol, RecentCalls, RecorderLayer, TimeoutLayer,
};

/// What a scripted body does next.
#[derive(Clone, Debug)]
enum Step {
    Data(Bytes),
    Trailers,
    Fail,
    /// Pending once, and woken at once.
    Pending,
    /// Pending for so many milliseconds.
    Wait(u64),
}

#[derive(Debug, PartialEq, Eq)]
struct ScriptError;

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the script says so")
    }
}

impl std::error::Error for ScriptError {}

/// A body that follows a script, and panics when it is polled after its end.
struct Scripted {
    steps: std::collections::VecDeque<Step>,
    knows_length: bool,
    knows_end: bool,
    waiting: Option<Pin<Box<Sleep>>>,
    is_over: bool,
}

impl Scripted {
    fn new(script: &Script) -> Self {
        Self {
            steps: script.steps.clone().into(),
            knows_length: script.knows_length,
            knows_end: script.knows_end,
            waiting: None,
            is_over: false,
        }
    }
}

impl Body for Scripted {
    type Data = Bytes;
    type Error = ScriptError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ScriptError>>> {
        assert!(!self.is_over, "polled after its end");
        if let Some(waiting) = &mut self.waiting {
            ready!(waiting.as_mut().poll(cx));
            self.waiting = None;
        }
        Poll::Ready(match self.steps.pop_front() {
            Some(Step::Pending) => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Some(Step::Wait(millis)) => {
                self.waiting = Some(Box::pin(sleep(Duration::from_millis(millis))));
                return self.poll_frame(cx);
            }
            Some(Step::Data(data)) => Some(Ok(Frame::data(data))),
            Some(Step::Trailers) => Some(Ok(Frame::trailers(trailers()))),
            Some(Step::Fail) => {
                self.is_over = true;
                Some(Err(ScriptError))
            }
            None => {
                self.is_over = true;
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.knows_end
            && self
                .steps
                .iter()
                .all(|step| matches!(step, Step::Pending | Step::Wait(_)))
    }

    fn size_hint(&self) -> SizeHint {
        if !self.knows_length {
            return SizeHint::default();
        }
        let data = self.steps.iter().filter_map(|step| match step {
            Step::Data(data) => Some(data.len() as u64),
            _ => None,
        });
        SizeHint::with_exact(data.sum())
    }
}

fn trailers() -> HeaderMap {
    HeaderMap::from_iter([(
        http::header::HeaderName::from_static("grpc-status"),
        HeaderValue::from_static("13"),
    )])
}

#[derive(Clone, Debug)]
struct Script {
    steps: Vec<Step>,
    knows_length: bool,
    knows_end: bool,
}

fn script() -> impl Strategy<Value = Script> {
    let piece = prop_oneof![
        Just(Bytes::new()),
        Just(Bytes::from_static(b"{\"message\":")),
        Just(Bytes::from_static(b" \"no\"}")),
        Just(Bytes::from_static(b"<!doctype html>")),
        Just(Bytes::from_static(&[0xff, 0, 0x1f])),
        (1..40_000usize).prop_map(|len| Bytes::from(vec![b'x'; len])),
    ];
    let step = prop_oneof![
        6 => piece.prop_map(Step::Data),
        2 => Just(Step::Pending),
        1 => (0..3000u64).prop_map(Step::Wait),
    ];
    let end = prop_oneof![
        3 => Just(vec![]),
        1 => Just(vec![Step::Trailers]),
        1 => Just(vec![Step::Pending, Step::Trailers]),
        1 => Just(vec![Step::Fail]),
    ];
    (
        prop::collection::vec(step, 0..12),
        end,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(mut steps, end, knows_length, knows_end)| {
            steps.extend(end);
            Script {
                steps,
                knows_length,
                knows_end,
            }
        })
}

/// What a consumer sees of a body: the hints before each frame, and the frame.
#[derive(Debug, PartialEq)]
enum Seen {
    Hints(u64, Option<u64>, bool),
    Data(Bytes),
    Trailers(HeaderMap),
    Failed(String),
    End,
}

async fn seen<B>(body: B) -> Vec<Seen>
where
    B: Body<Data = Bytes>,
    B::Error: fmt::Display,
{
    let mut body = Box::pin(body);
    let mut all = Vec::new();
    loop {
        let hint = body.size_hint();
        all.push(Seen::Hints(
            hint.lower(),
            hint.upper(),
            body.is_end_stream(),
        ));
        let item = poll_fn(|cx| body.as_mut().poll_frame(cx)).await;
        let is_last = !matches!(item, Some(Ok(_)));
        all.push(match item {
            None => Seen::End,
            Some(Err(error)) => Seen::Failed(error.to_string()),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => Seen::Data(data),
                Err(frame) => Seen::Trailers(frame.into_trailers().unwrap()),
            },
        });
        // What a body says of itself once it is over is its own affair.
        if is_last {
            return all;
        }
    }
}

type Observed = Pin<Box<dyn Future<Output = Vec<Seen>>>>;
/// Sends a scripted response through one of our layers and tells what came out.
type Wrapping = Box<dyn Fn(Response<Scripted>) -> Observed>;

/// Answers once.
struct Answers(Option<Response<Scripted>>);

impl Service<Request<()>> for Answers {
    type Response = Response<Scripted>;
    type Error = std::io::Error;
    type Future = std::future::Ready<Result<Self::Response, std::io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), std::io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        std::future::ready(self.0.take().ok_or(std::io::ErrorKind::Other.into()))
    }
}

/// What the consumer of a body does with it.
#[derive(Clone, Copy)]
enum Consumer {
    Looks,
    /// Polls once more after the end. The scripted body would panic if that reached it.
    PollsOn,
}

fn through<L, B>(layer: L, consumer: Consumer) -> Wrapping
where
    L: Layer<Answers> + Clone + 'static,
    L::Service: Service<Request<()>, Response = Response<B>>,
    <L::Service as Service<Request<()>>>::Error: fmt::Debug,
    B: Body<Data = Bytes> + 'static,
    B::Error: fmt::Display,
{
    Box::new(move |response| {
        let service = layer.layer(Answers(Some(response)));
        Box::pin(async move {
            let response = service.oneshot(Request::new(())).await.unwrap();
            let mut body = Box::pin(response.into_body());
            match consumer {
                Consumer::Looks => seen(body).await,
                Consumer::PollsOn => {
                    while let Some(Ok(_)) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {}
                    assert!(poll_fn(|cx| body.as_mut().poll_frame(cx)).await.is_none());
                    Vec::new()
                }
            }
        })
    })
}

fn wrappings(consumer: Consumer) -> Vec<(&'static str, StatusCode, &'static str, Wrapping)> {
    let layer = DiagnoseLayer::new;
    let (good, bad) = (StatusCode::OK, StatusCode::NOT_FOUND);
    let long = Duration::from_secs(1 << 20);
    vec![
        ("good", good, "text/plain", through(layer(), consumer)),
        (
            "failing",
            bad,
            "application/json",
            through(layer(), consumer),
        ),
        (
            "failing, with a small cap",
            bad,
            "text/html",
            through(layer().body_cap(20), consumer),
        ),
        (
            "failing, with no time",
            bad,
            "text/plain",
            through(layer().peek_timeout(Duration::ZERO), consumer),
        ),
        (
            "inspected",
            good,
            "application/json",
            through(layer().inspect(Protocol::JsonRpc), consumer),
        ),
        (
            "watched for trailers",
            good,
            "application/grpc",
            through(
                layer().inspect(Protocol::Grpc).log(LogPolicy::new()),
                consumer,
            ),
        ),
        (
            "server",
            bad,
            "application/json",
            through(DiagnoseLayer::for_server(), consumer),
        ),
        (
            "timed",
            good,
            "text/plain",
            through(
                TimeoutLayer::new(long).body_idle(long).body_total(long),
                consumer,
            ),
        ),
        (
            "recorded",
            good,
            "text/plain",
            through(RecorderLayer::new(RecentCalls::new(4)), consumer),
        ),
        (
            "dispatched",
            good,
            "text/plain",
            through(DispatchLayer::new(), consumer),
        ),
    ]
}

fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

fn respond(script: &Script, status: StatusCode, content_type: &str) -> Response<Scripted> {
    Response::builder()
        .status(status)
        .header("content-type", content_type)
        .body(Scripted::new(script))
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_wrapped_body_is_the_bare_body(script in script()) {
        paused().block_on(async {
            let bare = seen(Scripted::new(&script)).await;
            for (name, status, content_type, wrapping) in wrappings(Consumer::Looks) {
                let wrapped = wrapping(respond(&script, status, content_type)).await;
                prop_assert_eq!(&wrapped, &bare, "{}", name);
            }
            Ok(())
        })?;
    }

    #[test]
    fn nothing_is_polled_after_its_end(script in script()) {
        paused().block_on(async {
            for (name, status, content_type, wrapping) in wrappings(Consumer::PollsOn) {
                // A transparent layer has no body of its own to protect the inner one.
                if name != "dispatched" {
                    wrapping(respond(&script, status, content_type)).await;
                }
            }
        });
    }
}
