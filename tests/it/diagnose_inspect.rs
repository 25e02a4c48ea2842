//! Failures that come with status 200.

use std::{
    convert::Infallible,
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full};
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{
    CallRecorder, DiagnoseLayer, Diagnosis, ErrorClass, LogPolicy, Protocol, ResponseExt,
    diagnose::ResponseBody,
};

use crate::diagnose_log::Captured;

async fn through<B: Body>(
    layer: DiagnoseLayer,
    response: Response<B>,
) -> Response<ResponseBody<B>> {
    let mut response = Some(response);
    let service = service_fn(move |_: Request<()>| {
        std::future::ready(Ok::<_, Infallible>(response.take().unwrap()))
    });
    layer
        .layer(service)
        .oneshot(Request::post("/rpc").body(()).unwrap())
        .await
        .unwrap()
}

fn good<B>(content_type: &str, body: B) -> Response<B> {
    Response::builder()
        .header("content-type", content_type)
        .body(body)
        .unwrap()
}

async fn found(protocol: Protocol, content_type: &str, body: &'static str) -> Option<Diagnosis> {
    let layer = DiagnoseLayer::new().inspect(protocol);
    let response = through(layer, good(content_type, Full::<Bytes>::from(body))).await;
    let diagnosis = response.diagnosis().cloned();
    assert_eq!(
        response.into_body().collect().await.unwrap().to_bytes(),
        body
    );
    diagnosis
}

#[tokio::test]
async fn each_protocol_tells_its_failures_and_no_others() {
    const RPC: &str =
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
    const TOOL: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"disk is full"}]}}"#;
    for (protocol, content_type, body, expected) in [
        (
            Protocol::JsonRpc,
            "application/json",
            RPC,
            Some((ErrorClass::Jsonrpc, "Method not found")),
        ),
        (
            Protocol::Mcp,
            "application/json",
            TOOL,
            Some((ErrorClass::ToolError, "disk is full")),
        ),
        (
            Protocol::GraphQl,
            "application/graphql-response+json",
            r#"{"data":null,"errors":[{"message":"no such field"}]}"#,
            Some((ErrorClass::Jsonrpc, "no such field")),
        ),
        (
            Protocol::Slack,
            "application/json; charset=utf-8",
            r#"{"ok":false,"error":"channel_not_found"}"#,
            Some((ErrorClass::Jsonrpc, "channel_not_found")),
        ),
        (
            Protocol::JsonRpc,
            "application/json",
            r#"{"jsonrpc":"2.0","id":1,"result":7}"#,
            None,
        ),
        (Protocol::Slack, "application/json", RPC, None),
        (Protocol::JsonRpc, "text/plain", RPC, None),
    ] {
        let diagnosis = found(protocol, content_type, body).await;
        let seen = diagnosis
            .as_ref()
            .map(|it| (it.class(), it.message().unwrap()));
        assert_eq!(seen, expected, "{protocol:?} {body}");
        if let Some(diagnosis) = diagnosis {
            let line = diagnosis.to_string();
            assert!(line.starts_with("POST /rpc failed (200 OK): "), "{line}");
        }
    }
}

#[tokio::test]
async fn an_event_of_known_length_is_read() {
    let body = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"no\"}}\n\n";
    let diagnosis = found(Protocol::Mcp, "text/event-stream", body)
        .await
        .unwrap();
    assert_eq!(diagnosis.message(), Some("no"));
}

/// Is polled only by its consumer: panics in the hands of anybody else.
struct Untouched {
    len: Option<u64>,
}

impl Body for Untouched {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        panic!("a good stream was read ahead")
    }

    fn size_hint(&self) -> SizeHint {
        self.len
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[tokio::test]
async fn what_is_not_labelled_small_and_of_known_length_is_not_touched() {
    let layer = DiagnoseLayer::new()
        .inspect(Protocol::JsonRpc)
        .inspect(Protocol::Mcp)
        .inspect(Protocol::GraphQl)
        .inspect(Protocol::Slack)
        .inspect(Protocol::Grpc);
    for (content_type, len) in [
        ("application/json", None),
        ("application/json", Some(1 << 20)),
        ("text/event-stream", None),
        ("application/grpc", None),
        ("application/octet-stream", Some(10)),
    ] {
        let response = through(layer.clone(), good(content_type, Untouched { len })).await;
        assert!(response.diagnosis().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_says_its_length_and_stalls_is_handed_on() {
    struct Stalled;
    impl Body for Stalled {
        type Data = Bytes;
        type Error = Infallible;
        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Pending
        }
        fn size_hint(&self) -> SizeHint {
            SizeHint::with_exact(10)
        }
    }
    let start = tokio::time::Instant::now();
    let layer = DiagnoseLayer::new().inspect(Protocol::JsonRpc);
    let response = through(layer, good("application/json", Stalled)).await;
    assert!(response.diagnosis().is_none());
    assert_eq!(start.elapsed(), std::time::Duration::from_secs(1));
}

fn status(code: &'static str, message: &'static str) -> HeaderMap {
    [("grpc-status", code), ("grpc-message", message)]
        .into_iter()
        .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
        .collect()
}

#[tokio::test]
async fn a_grpc_status_in_the_headers_is_told_at_once() {
    let layer = DiagnoseLayer::new().inspect(Protocol::Grpc);
    let mut response = good("application/grpc", Full::<Bytes>::default());
    response.headers_mut().extend(status("13", "disk%20full"));
    let response = through(layer.clone(), response).await;
    let diagnosis = response.diagnosis().unwrap();
    assert_eq!(
        diagnosis.to_string(),
        "POST /rpc failed (200 OK): disk full"
    );
    assert_eq!(diagnosis.class(), ErrorClass::Jsonrpc);

    let mut fine = good("application/grpc", Full::<Bytes>::default());
    fine.headers_mut().extend(status("0", ""));
    assert!(through(layer, fine).await.diagnosis().is_none());
}

#[tokio::test]
async fn a_grpc_status_in_the_trailers_is_told_to_the_log_when_it_comes() {
    let captured = Captured::default();
    let _guard = tracing::subscriber::set_default(captured.subscriber());
    let layer = DiagnoseLayer::new()
        .inspect(Protocol::Grpc)
        .log(LogPolicy::new());
    for (code, is_failure) in [("16", true), ("0", false)] {
        let body = Full::new(Bytes::from("message")).with_trailers(std::future::ready(Some(Ok(
            status(code, "who%20are%20you"),
        ))));
        let response = through(layer.clone(), good("application/grpc+proto", body)).await;
        assert!(response.diagnosis().is_none());
        let mut body = pin!(response.into_body());
        poll_fn(|cx| body.as_mut().poll_frame(cx))
            .await
            .unwrap()
            .unwrap();
        assert!(captured.take().is_empty());
        let trailers = poll_fn(|cx| body.as_mut().poll_frame(cx))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(trailers.trailers_ref().unwrap()["grpc-status"], code);
        let events = captured.take();
        assert_eq!(events.len(), usize::from(is_failure));
        if is_failure {
            assert!(events[0].contains("who are you"), "{events:?}");
            assert!(events[0].contains("error.type=\"auth\""), "{events:?}");
        }
    }
}

#[tokio::test]
async fn an_ended_session_is_known_by_the_request() {
    let service = service_fn(|_: Request<()>| async {
        Ok::<_, Infallible>(
            Response::builder()
                .status(404)
                .body(Full::<Bytes>::default())
                .unwrap(),
        )
    });
    let mut request = Request::post("/mcp").body(()).unwrap();
    request
        .headers_mut()
        .insert("mcp-session-id", HeaderValue::from_static("s-1"));
    request.extensions_mut().insert(CallRecorder::new());
    let response = DiagnoseLayer::new()
        .layer(service)
        .oneshot(request)
        .await
        .unwrap();
    assert_eq!(
        response.diagnosis().unwrap().class(),
        ErrorClass::SessionTerminated
    );
}
