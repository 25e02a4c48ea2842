//! Reading the server's message never changes the response, and never takes long.

use std::{
    pin::Pin,
    sync::{Arc, atomic::Ordering::SeqCst},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Version};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use tokio::{sync::mpsc, time::Instant};
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{BoxError, DiagnoseLayer, Protocol, ResponseExt};

use crate::support::outside::{
    Step::{self, Data, Fail, Forever, Stall, Trailers, Wait, Yield},
    get, request, response, steps, without_runtime,
};

const JSON: &str = "content-type: application/json";

#[derive(Clone, Debug, PartialEq)]
struct Marker(u32);

fn trailers() -> HeaderMap {
    HeaderMap::from_iter([(
        http::HeaderName::from_static("x-sum"),
        HeaderValue::from_static("1"),
    )])
}

/// Everything a caller can see of a body.
async fn seen<B>(body: B) -> Vec<String>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut body = std::pin::pin!(body);
    let mut seen = Vec::new();
    loop {
        seen.push(format!("{:?} {}", body.size_hint(), body.is_end_stream()));
        if body.is_end_stream() {
            return seen;
        }
        match body.frame().await {
            None => return seen,
            Some(Ok(frame)) => seen.push(format!("{frame:?}")),
            Some(Err(error)) => {
                seen.push(error.into().to_string());
                return seen;
            }
        }
    }
}

async fn through<R, B>(
    layer: DiagnoseLayer,
    request: Request<R>,
    answer: Response<B>,
) -> Response<impl Body<Data = B::Data, Error: Into<BoxError>>>
where
    B: Body<Error: Into<BoxError>>,
{
    let answer = std::sync::Mutex::new(Some(answer));
    let service = layer.layer(service_fn(async |_: Request<R>| {
        Ok::<_, BoxError>(answer.lock().unwrap().take().unwrap())
    }));
    service.oneshot(request).await.expect("an answer")
}

#[tokio::test(start_paused = true)]
async fn the_response_comes_as_it_came() {
    let shapes: Vec<Vec<Step>> = vec![
        vec![],
        vec![Data(b"{\"message\":"), Data(b"\"a\"}")],
        vec![Data(b""), Data(b"{"), Data(b""), Data(b"}"), Data(b"")],
        vec![
            Yield,
            Data(b"x"),
            Yield,
            Yield,
            Data(b"y"),
            Trailers(trailers()),
        ],
        vec![Trailers(trailers())],
        vec![Fail("broken")],
        vec![Data(b"{\"message\":\"a\""), Fail("broken")],
        vec![
            Data(&[b'a'; 10]),
            Data(&[b'b'; 7000]),
            Data(&[b'c'; 7000]),
            Data(&[b'd'; 7000]),
            Data(b"e"),
        ],
        vec![Data(&[b'a'; 100_000]), Trailers(trailers())],
        vec![
            Data(b"{"),
            Wait(Duration::from_millis(1500)),
            Data(b"}"),
            Trailers(trailers()),
        ],
        vec![
            Data(b"<html>"),
            Wait(Duration::from_secs(60)),
            Fail("broken"),
        ],
    ];
    for shape in shapes {
        for cap in [0, 1, 5, 16 * 1024, usize::MAX] {
            let answer = || {
                let mut answer = response(500, JSON, steps(shape.clone()).hint(42));
                *answer.version_mut() = Version::HTTP_2;
                answer
                    .headers_mut()
                    .append("x-a", HeaderValue::from_static("1"));
                answer
                    .headers_mut()
                    .append("x-a", HeaderValue::from_bytes(b"\xff").unwrap());
                answer.extensions_mut().insert(Marker(7));
                answer
            };
            let bare = answer();
            let layer = DiagnoseLayer::new().body_cap(cap);
            let response = through(layer, get("/a"), answer()).await;
            assert_eq!(response.status(), bare.status());
            assert_eq!(response.version(), bare.version());
            assert_eq!(response.headers(), bare.headers());
            assert_eq!(response.extensions().get::<Marker>(), Some(&Marker(7)));
            assert!(response.diagnosis().is_some());
            let hint = response.body().size_hint().exact();
            assert_eq!(hint, bare.body().size_hint().exact());
            let frames = |all: Vec<String>| -> Vec<String> {
                all.into_iter()
                    .filter(|one| !one.starts_with("SizeHint"))
                    .collect()
            };
            let (ours, theirs) = (
                seen(response.into_body()).await,
                seen(bare.into_body()).await,
            );
            assert_eq!(frames(ours), frames(theirs), "{shape:?} {cap}");
        }
    }
}

#[tokio::test]
async fn hints_and_ends_are_those_of_the_body_at_every_step() {
    for text in ["", "{\"message\":\"a\"}", &"x".repeat(40_000)] {
        let body = || Full::new(Bytes::copy_from_slice(text.as_bytes()));
        let ours = through(DiagnoseLayer::new(), get("/a"), response(500, JSON, body())).await;
        assert_eq!(seen(ours.into_body()).await, seen(body()).await);
    }
}

#[tokio::test]
async fn what_has_no_body_is_not_read() {
    let untouched = async |request: Request<()>, status: u16, headers: &str| {
        let body = steps([Data(b"{\"message\":\"read\"}")]);
        let polls = Arc::clone(&body.polls);
        let layer = DiagnoseLayer::new().failure_when(|_| true);
        let response = through(layer, request, response(status, headers, body)).await;
        let line = response.diagnosis().unwrap().to_string();
        assert!(!line.contains("read"), "{line}");
        assert_eq!(polls.load(SeqCst), 0, "{status}");
    };
    untouched(request(Method::HEAD, "/a"), 500, JSON).await;
    untouched(request(Method::CONNECT, "h.example:443"), 500, JSON).await;
    for status in [101, 204, 304] {
        untouched(get("/a"), status, JSON).await;
    }
}

#[tokio::test]
async fn good_answers_are_not_read_and_carry_nothing() {
    for status in [200, 201, 302, 304, 399] {
        let body = steps([Data(b"{\"ok\":false,\"error\":\"missing_scope\"}")]);
        let polls = Arc::clone(&body.polls);
        let response = through(
            DiagnoseLayer::new(),
            get("/a"),
            response(status, JSON, body),
        )
        .await;
        assert!(response.diagnosis().is_none());
        assert!(response.retried().is_none());
        assert_eq!(polls.load(SeqCst), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_body_is_waited_for_one_second() {
    for (limit, wanted) in [
        (None, Duration::from_secs(1)),
        (Some(Duration::from_millis(20)), Duration::from_millis(20)),
        (Some(Duration::ZERO), Duration::ZERO),
    ] {
        let layer = limit.map_or(DiagnoseLayer::new(), |limit| {
            DiagnoseLayer::new().peek_timeout(limit)
        });
        let begun = Instant::now();
        let body = steps([Data(b"{\"mess"), Stall]);
        let answer = through(layer, get("/a"), response(500, JSON, body)).await;
        let took = begun.elapsed();
        assert!(
            took >= wanted && took <= wanted + Duration::from_millis(2),
            "{took:?}"
        );
        let line = answer.diagnosis().unwrap().to_string();
        assert_eq!(
            line,
            "GET /a failed (500 Internal Server Error): Internal Server Error"
        );
        let mut body = std::pin::pin!(answer.into_body());
        let frame = body.frame().await.unwrap().ok().unwrap();
        assert_eq!(frame.into_data().unwrap(), "{\"mess");
    }
}

#[tokio::test(start_paused = true)]
async fn a_trickling_body_does_not_begin_the_second_anew() {
    let trickle = (0..100).flat_map(|_| [Wait(Duration::from_millis(300)), Data(b" ")]);
    let begun = Instant::now();
    let answer = response(500, JSON, steps(trickle));
    let answer = through(DiagnoseLayer::new(), get("/a"), answer).await;
    assert!(
        begun.elapsed() <= Duration::from_millis(1002),
        "{:?}",
        begun.elapsed()
    );
    let bytes = answer.into_body().collect().await.ok().unwrap().to_bytes();
    assert_eq!(bytes.len(), 100);
}

#[tokio::test]
async fn endless_bodies_are_read_up_to_the_cap() {
    let body = steps([Forever(&[b'x'; 1024])]);
    let polls = Arc::clone(&body.polls);
    let answer = response(500, JSON, body);
    let answer = through(DiagnoseLayer::new(), get("/a"), answer).await;
    assert!(answer.diagnosis().is_some());
    assert!(polls.load(SeqCst) <= 17, "{}", polls.load(SeqCst));
}

#[tokio::test]
async fn empty_frames_without_end_hold_nothing_up() {
    let answer = response(500, JSON, steps([Forever(b"")]));
    let layer = DiagnoseLayer::new().peek_timeout(Duration::from_millis(50));
    let answer = through(layer, get("/a"), answer).await;
    assert!(answer.diagnosis().is_some());
}

#[tokio::test]
async fn an_instant_failure_needs_no_runtime() {
    let answer = || response(500, JSON, steps([Data(b"{\"message\":\"a\"}")]));
    let answer = without_runtime(through(DiagnoseLayer::new(), get("/a"), answer()));
    let line = answer.unwrap().diagnosis().unwrap().to_string();
    assert_eq!(line, "GET /a failed (500 Internal Server Error): a");
}

#[test]
fn an_instant_failure_on_no_runtime_at_all() {
    let answer = response(500, JSON, Full::new(Bytes::from("{\"message\":\"a\"}")));
    let answer = without_runtime(through(DiagnoseLayer::new(), get("/a"), answer)).unwrap();
    assert!(answer.diagnosis().unwrap().to_string().ends_with(": a"));
}

async fn inspected(protocol: Protocol, headers: &str, body: &'static [u8]) -> Option<String> {
    let layer = DiagnoseLayer::new().inspect(protocol);
    let body = Full::new(Bytes::from_static(body));
    let headers = format!(
        "{headers}\ncontent-length: {}",
        body.size_hint().exact().unwrap()
    );
    let answer = through(layer, get("/a"), response(200, &headers, body)).await;
    let diagnosis = answer.diagnosis()?;
    Some(format!(
        "{} / {}",
        diagnosis.class(),
        diagnosis.message().unwrap_or_default()
    ))
}

#[tokio::test]
async fn failures_with_a_good_status_are_found_when_asked_for() {
    let rpc = br#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Unknown tool: nope"}}"#;
    assert_eq!(
        inspected(Protocol::JsonRpc, JSON, rpc).await.unwrap(),
        "jsonrpc / Unknown tool: nope"
    );
    assert_eq!(
        inspected(Protocol::Mcp, JSON, rpc).await.unwrap(),
        "jsonrpc / Unknown tool: nope"
    );
    let tool = br#"{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"Invalid date: must be in the future"}],"isError":true}}"#;
    assert_eq!(
        inspected(Protocol::Mcp, JSON, tool).await.unwrap(),
        "tool_error / Invalid date: must be in the future"
    );
    assert_eq!(inspected(Protocol::JsonRpc, JSON, tool).await, None);
    let graphql = br#"{"data":{"a":1},"errors":[{"message":"No such user"}]}"#;
    assert_eq!(
        inspected(Protocol::GraphQl, JSON, graphql).await.unwrap(),
        "jsonrpc / No such user"
    );
    let slack = br#"{"ok":false,"error":"missing_scope","needed":"chat:write"}"#;
    let found = inspected(Protocol::Slack, JSON, slack).await.unwrap();
    assert!(found.starts_with("jsonrpc / missing_scope"), "{found}");
    assert_eq!(
        inspected(Protocol::Slack, JSON, br#"{"ok":true}"#).await,
        None
    );
    assert_eq!(
        inspected(Protocol::Slack, "content-type: text/html", slack).await,
        None
    );
    for (code, class) in [
        (16, "auth"),
        (7, "auth"),
        (4, "timeout"),
        (14, "network"),
        (1, "cancelled"),
        (8, "jsonrpc"),
        (13, "jsonrpc"),
    ] {
        let headers = format!(
            "content-type: application/grpc\ngrpc-status: {code}\ngrpc-message: quota%20exceeded%20for%20%E2%82%AC"
        );
        let found = inspected(Protocol::Grpc, &headers, b"").await.unwrap();
        assert_eq!(found, format!("{class} / quota exceeded for \u{20ac}"));
    }
    assert_eq!(
        inspected(
            Protocol::Grpc,
            "content-type: application/grpc\ngrpc-status: 0",
            b""
        )
        .await,
        None
    );
    let frame = b"\x80\0\0\0\x2dgrpc-status:7\r\ngrpc-message:denied for user\r\n";
    let found = inspected(
        Protocol::Grpc,
        "content-type: application/grpc-web+proto",
        frame,
    )
    .await;
    assert_eq!(found.unwrap(), "auth / denied for user");
}

#[tokio::test]
async fn a_stream_is_never_held_back() {
    let (sender, receiver) = mpsc::unbounded_channel();
    let layer = DiagnoseLayer::new()
        .inspect(Protocol::JsonRpc)
        .inspect(Protocol::Mcp)
        .inspect(Protocol::GraphQl)
        .inspect(Protocol::Slack);
    sender.send(Ok(Frame::data(Bytes::from("{")))).unwrap();
    let answer = through(layer, get("/a"), response(200, JSON, Channel(receiver))).await;
    assert!(answer.diagnosis().is_none());
    let mut body = std::pin::pin!(answer.into_body());
    assert!(body.frame().await.is_some());
    drop(sender);
    assert!(body.frame().await.is_none());
}

/// A body that gives what somebody sends it.
struct Channel(mpsc::UnboundedReceiver<Result<Frame<Bytes>, BoxError>>);

impl Body for Channel {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.0.poll_recv(cx)
    }
}
