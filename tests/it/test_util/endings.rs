//! Calls end as they were told to.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use tokio::time::{Instant, timeout};
use tower::{Layer, Service, ServiceExt};
use tower_diagnose::{
    Backoff, BoxError, ClientStack, Delivery, DiagnoseLayer, Diagnosis, ErrorClass, FaultDomain,
    Protocol, ResponseExt, RetryLayer,
    test_util::{Answer, Ending, Upstream},
};

const LIMIT: Duration = Duration::from_secs(30);

fn post() -> Request<Full<Bytes>> {
    Request::post("/orders?page=2")
        .header("mcp-session-id", "7")
        .body(Full::from("{}"))
        .unwrap()
}

/// The diagnosis of one attempt that ends like this.
async fn diagnosis(ending: Ending) -> Option<Diagnosis> {
    let mut diagnose = DiagnoseLayer::new();
    for protocol in [
        Protocol::JsonRpc,
        Protocol::Mcp,
        Protocol::GraphQl,
        Protocol::Slack,
        Protocol::Grpc,
    ] {
        diagnose = diagnose.inspect(protocol);
    }
    let stack = ClientStack::new(LIMIT).without_retry().diagnose(diagnose);
    match stack.layer(Upstream::new([ending])).oneshot(post()).await {
        Ok(response) => response.diagnosis().cloned(),
        Err(error) => Some(error.diagnosis().clone()),
    }
}

#[tokio::test(start_paused = true)]
async fn every_shape_is_classed_as_what_it_stands_for() {
    use {Delivery::*, ErrorClass::*, FaultDomain::*};

    let mut wrong = Vec::new();
    for (ending, class, domain, delivery, text) in [
        (
            Ending::ConnectionRefused,
            Network,
            Upstream,
            NotSent,
            "ECONNREFUSED",
        ),
        (
            Ending::NameNotFound,
            Network,
            Upstream,
            NotSent,
            "ENOTFOUND",
        ),
        (
            Ending::ConnectTimedOut,
            Timeout,
            Proxy,
            NotSent,
            "ETIMEDOUT",
        ),
        (
            Ending::TlsHandshake,
            Network,
            Upstream,
            NotSent,
            "TLS handshake failed",
        ),
        (
            Ending::StreamRefused,
            Network,
            Upstream,
            NotSent,
            "stream refused",
        ),
        (
            Ending::GoneAway,
            Network,
            Upstream,
            NotSent,
            "stream refused",
        ),
        (
            Ending::Closed,
            Network,
            Upstream,
            Unknown,
            "connection closed before a response",
        ),
        (Ending::Reset, Network, Upstream, Unknown, "ECONNRESET"),
        (
            Ending::Http2Closed,
            Network,
            Upstream,
            Unknown,
            "(no response from server)",
        ),
        (
            Ending::InvalidResponse,
            Network,
            Upstream,
            Unknown,
            "invalid response",
        ),
        (
            Ending::Hangs,
            Timeout,
            Upstream,
            Unknown,
            "timed out after 30s",
        ),
        (
            Ending::Overloaded,
            ProxyPolicy,
            Proxy,
            NotSent,
            "service overloaded (not sent)",
        ),
        (
            Ending::Refused,
            ProxyPolicy,
            Proxy,
            NotSent,
            "circuit open (not sent)",
        ),
        (
            Ending::InvalidArgument,
            ProxyPolicy,
            Client,
            NotSent,
            "(not sent)",
        ),
        (
            Ending::InvalidRequest,
            ProxyInternal,
            Proxy,
            NotSent,
            "invalid request",
        ),
        (
            Ending::RequestBody,
            Cancelled,
            Client,
            Unknown,
            "request body failed",
        ),
        (Ending::Elapsed, Timeout, Upstream, Unknown, "timed out"),
        (
            Ending::Error(|| "own".into()),
            ProxyInternal,
            Proxy,
            Unknown,
            "internal error",
        ),
        (
            Ending::status(401),
            Auth,
            Upstream,
            Answered,
            "(401 Unauthorized)",
        ),
        (
            Ending::status(404),
            SessionTerminated,
            Upstream,
            Answered,
            "(404 Not Found)",
        ),
        (
            Ending::json(503, r#"{"message":"queue full"}"#),
            Http,
            Upstream,
            Answered,
            "queue full",
        ),
        (
            Answer::new(StatusCode::BAD_GATEWAY)
                .body("half")
                .cut()
                .into(),
            Http,
            Upstream,
            Answered,
            "(502 ",
        ),
    ] {
        let shown = format!("{ending:?}");
        let diagnosis = diagnosis(ending).await.expect(&shown);
        let found = (diagnosis.class(), diagnosis.domain(), diagnosis.delivery());
        if found != (class, domain, delivery) || !diagnosis.to_string().contains(text) {
            wrong.push(format!("{shown}: {found:?}: {diagnosis}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(start_paused = true)]
async fn the_shapes_come_to_every_class() {
    let mut seen = Vec::new();
    for ending in Ending::failures() {
        let shown = format!("{ending:?}");
        let is_half = shown.contains("half of what");
        match diagnosis(ending).await {
            Some(diagnosis) => seen.push(diagnosis.class()),
            None => assert!(is_half, "no failure: {shown}"),
        }
    }
    for class in [
        ErrorClass::Network,
        ErrorClass::Timeout,
        ErrorClass::Http,
        ErrorClass::Jsonrpc,
        ErrorClass::ToolError,
        ErrorClass::SessionTerminated,
        ErrorClass::Auth,
        ErrorClass::ProxyPolicy,
        ErrorClass::ProxyInternal,
        ErrorClass::Cancelled,
    ] {
        assert!(seen.contains(&class), "{class}");
    }
}

#[tokio::test]
async fn a_body_that_fails_does_so_below_any_method() {
    for method in [Method::GET, Method::PUT, Method::POST] {
        let stack = ClientStack::new(LIMIT).layer(Upstream::new([Ending::RequestBody]));
        let mut request = post();
        *request.method_mut() = method;
        let error = stack.oneshot(request).await.unwrap_err().to_string();
        assert!(error.contains("failed: request body failed ("), "{error}");
    }
}

async fn call(upstream: &Upstream, request: Request<Full<Bytes>>) -> Result<Vec<u8>, BoxError> {
    let response = upstream.clone().oneshot(request).await?;
    Ok(response.into_body().collect().await?.to_bytes().into())
}

#[tokio::test(start_paused = true)]
async fn the_last_ending_is_repeated_and_requests_are_kept() {
    let upstream = Upstream::new([
        Ending::Reset,
        Answer::new(StatusCode::OK).body("hello").into(),
    ]);
    assert!(call(&upstream, post()).await.is_err());
    for _ in 0..3 {
        assert_eq!(call(&upstream, post()).await.unwrap(), b"hello");
    }
    assert_eq!(upstream.calls(), 4);
    let head = &upstream.requests()[3];
    assert_eq!((&head.method, head.uri.path()), (&Method::POST, "/orders"));
    assert_eq!(head.headers["mcp-session-id"], "7");
    assert_eq!(head.uri.authority(), None);
}

#[tokio::test(start_paused = true)]
async fn without_endings_all_is_well() {
    let upstream = Upstream::new(Vec::<Ending>::new());
    assert!(call(&upstream, post()).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn bodies_fail_and_hang_half_way() {
    let half = Answer::new(StatusCode::OK).body("half");
    for method in [Method::GET, Method::HEAD] {
        let request = || {
            let request = Request::builder().method(method.clone()).uri("/");
            request.body(Full::default()).unwrap()
        };
        let cut = Upstream::new([half.clone().cut()]);
        let hanging = Upstream::new([half.clone().hanging()]);
        let has_body = method == Method::GET;
        assert_eq!(call(&cut, request()).await.is_err(), has_body);
        let hangs = timeout(LIMIT, call(&hanging, request())).await.is_err();
        assert_eq!(hangs, has_body);
    }
}

#[tokio::test(start_paused = true)]
async fn request_bodies_of_any_kind_are_read() {
    let upstream = Upstream::new([Ending::status(200)]);
    // More than lies in the connection at a time; of known length, and chunked.
    let large = Full::new(Bytes::from(vec![b'x'; 300_000]));
    let chunked = BodyExt::map_frame(large.clone(), |frame| frame).boxed_unsync();
    for body in [large.boxed_unsync(), chunked] {
        let request = Request::put("/files/7").body(body).unwrap();
        let response = upstream.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
    }
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "not been polled ready")]
async fn an_instance_that_is_not_ready_must_not_be_called() {
    let mut upstream = Upstream::new([Ending::status(200)]);
    ServiceExt::<Request<Full<Bytes>>>::ready(&mut upstream)
        .await
        .unwrap();
    let _ = upstream.clone().call(post()).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "told to panic")]
async fn it_panics_when_told_to() {
    let _ = call(&Upstream::new([Ending::Panics]), post()).await;
}

#[tokio::test(start_paused = true)]
async fn a_seed_makes_the_waits_the_same_every_time() {
    async fn waits(retry: RetryLayer) -> Vec<Duration> {
        let backoff = Backoff::exponential(Duration::from_secs(1), Duration::from_secs(60));
        let stack = ClientStack::new(Duration::MAX).retry(retry.max_attempts(4).backoff(backoff));
        let client = stack.layer(Upstream::new([Ending::status(503)]));
        let mut waits = Vec::new();
        for _ in 0..3 {
            let began = Instant::now();
            let request = Request::get("/").body(Full::<Bytes>::default()).unwrap();
            client.clone().oneshot(request).await.unwrap();
            waits.push(began.elapsed());
        }
        waits
    }
    let seeded = waits(RetryLayer::new().seed(7)).await;
    assert_eq!(seeded, waits(RetryLayer::new().seed(7)).await);
    assert_ne!(seeded, waits(RetryLayer::new().seed(8)).await);
    assert_ne!(seeded, waits(RetryLayer::new()).await);
    assert_ne!(seeded[0], seeded[1]);
}
