//! What reaches the server: over real sockets.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioIo},
};
use tokio::{net::TcpStream, time::Instant};
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn, timeout::TimeoutLayer};
use tower_diagnose::{
    Backoff, BoxError, Delivery, Idempotency, ReplayBody, ResponseExt, Retried, RetryError,
    RetryLayer, StopReason, find, is_timeout,
};

use crate::support::wire::{Act, H2Act, H2Server, Server, answer, client, h2_client};

fn layer() -> RetryLayer {
    let millis = Duration::from_millis;
    RetryLayer::new()
        .without_budget()
        .backoff(Backoff::exponential(millis(10), millis(20)))
}

fn request(method: &str, uri: &str) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri(uri)
        .body(Full::new(Bytes::from_static(br#"{"sha":"a"}"#)))
        .unwrap()
}

async fn call<B>(layer: &RetryLayer, request: Request<B>) -> Result<Response<Incoming>, BoxError>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    layer.layer(client()).oneshot(request).await
}

fn retried(result: &Result<Response<Incoming>, BoxError>) -> Option<Retried> {
    match result {
        Ok(response) => response.retried(),
        Err(error) => find::<RetryError>(&**error).map(RetryError::retried),
    }
}

fn declared<B>(mut request: Request<B>) -> Request<B> {
    request.extensions_mut().insert(Idempotency::Idempotent);
    request
}

#[tokio::test]
async fn a_write_that_was_applied_and_answered_502_is_not_applied_again() {
    for (method, key, applied) in [("POST", None, 1), ("PUT", None, 3), ("POST", Some("k"), 3)] {
        let server = Server::script([answer(502)]).await;
        let mut request = request(method, &server.uri("/orders"));
        if let Some(key) = key {
            let key = HeaderValue::from_static(key);
            request.headers_mut().insert("idempotency-key", key);
        }
        let response = call(&layer(), request).await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
        let seen = server.seen();
        assert_eq!(seen.len(), applied, "{method}");
        assert!(seen.iter().all(|one| one.header("idempotency-key") == key));
    }
}

#[tokio::test]
async fn a_connection_closed_after_the_request_was_read_proves_nothing() {
    for act in [Act::Close, Act::Reset] {
        let server = Server::script([act]).await;
        let result = call(&layer(), request("POST", &server.uri("/"))).await;
        assert_eq!(server.seen().len(), 1);
        let retried = retried(&result).unwrap();
        assert_eq!(retried.attempts(), 1);
        assert_eq!(retried.stop(), StopReason::NotIdempotent);
        assert_eq!(retried.delivery(), Delivery::Unknown);

        assert!(
            call(&layer(), request("GET", &server.uri("/")))
                .await
                .is_err()
        );
        assert_eq!(server.seen().len(), 1 + 3);
    }
}

#[tokio::test]
async fn a_stale_connection_costs_a_get_nothing_and_doubles_no_post() {
    let server = Server::script([Act::AnswerAndClose(200)]).await;
    let client = layer().layer(client());
    for _ in 0..100 {
        let get = request("GET", &server.uri("/"));
        let response = client.clone().oneshot(get).await.unwrap();
        assert!(
            response
                .retried()
                .is_none_or(|retried| retried.attempts() <= 2)
        );
        response.into_body().collect().await.unwrap();
    }
    let before = server.seen().len();
    let mut failed = 0;
    for _ in 0..100 {
        let post = request("POST", &server.uri("/"));
        match client.clone().oneshot(post).await {
            Ok(response) => drop(response.into_body().collect().await),
            Err(_) => failed += 1,
        }
    }
    assert!((100 - failed..=100).contains(&(server.seen().len() - before)));
}

#[tokio::test]
async fn a_refused_connection_was_not_sent_and_is_repeated_whatever_the_method() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);

    let result = call(&layer(), request("POST", &nobody)).await;
    let after_three = retried(&result).unwrap();
    assert_eq!(after_three.attempts(), 3);
    assert_eq!(after_three.stop(), StopReason::AttemptsUsedUp);
    assert_eq!(after_three.delivery(), Delivery::NotSent);

    let result = call(&layer().repeat_unsent(false), request("POST", &nobody)).await;
    let after_one = retried(&result).unwrap();
    assert_eq!(after_one.attempts(), 1);
    assert_eq!(after_one.stop(), StopReason::NotIdempotent);
}

#[tokio::test]
async fn every_attempt_sends_the_same_body_and_length() {
    let server = Server::script([answer(500), answer(200)]).await;
    let patch = declared(request("PATCH", &server.uri("/")));
    let response = call(&layer(), patch).await.unwrap();
    assert_eq!(response.status(), 200);
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    for one in seen {
        assert_eq!(one.body, br#"{"sha":"a"}"#);
        assert_eq!(one.header("content-length"), Some("11"));
        assert_eq!(one.header("transfer-encoding"), None);
    }
}

/// A body of unknown length: so many pieces of so many bytes.
struct Pieces(usize, usize);

impl Body for Pieces {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(left) = self.0.checked_sub(1) else {
            return Poll::Ready(None);
        };
        self.0 = left;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![b'x'; self.1])))))
    }
}

#[tokio::test]
async fn a_streamed_body_within_the_limit_is_sent_again() {
    let server = Server::script([answer(500), answer(200)]).await;
    let put = Request::put(server.uri("/")).body(Pieces(5, 100)).unwrap();
    call(&layer(), put).await.unwrap();
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    for one in seen {
        assert_eq!(one.body.len(), 500);
        assert_eq!(one.header("transfer-encoding"), Some("chunked"));
        assert_eq!(one.header("content-length"), None);
    }
}

#[tokio::test]
async fn a_streamed_body_over_the_limit_is_sent_once_and_whole() {
    for status in [200, 503] {
        let server = Server::script([answer(status)]).await;
        let put = Request::put(server.uri("/"))
            .body(Pieces(160, 64 * 1024))
            .unwrap();
        let result = call(&layer(), put).await;
        assert_eq!(result.as_ref().unwrap().status(), status);
        assert_eq!(server.seen().len(), 1);
        assert_eq!(server.seen()[0].body.len(), 160 * 64 * 1024);
        let stop = retried(&result).map(|retried| retried.stop());
        assert_eq!(
            stop,
            (status == 503).then_some(StopReason::BodyNotReplayable)
        );
    }
}

#[tokio::test]
async fn a_discarded_response_leaves_its_connection_usable() {
    let busy = Act::Answer(503, "", vec![b'x'; 1024]);
    let server = Server::script([busy.clone(), busy, answer(200)]).await;
    let response = call(&layer(), request("GET", &server.uri("/")))
        .await
        .unwrap();
    assert_eq!(response.retried().unwrap().attempts(), 3);
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_discarded_response_that_is_long_or_slow_is_not_waited_for() {
    let long = Act::Answer(503, "", vec![b'x'; 10 << 20]);
    for act in [long, Act::StallBody(503)] {
        let server = Server::script([act, answer(200)]).await;
        let started = Instant::now();
        let response = call(&layer(), request("GET", &server.uri("/")))
            .await
            .unwrap();
        assert_eq!(response.retried().unwrap().attempts(), 2);
        assert_eq!(server.accepted(), 2);
        assert!(started.elapsed() < Duration::from_secs(2));
    }
}

#[tokio::test]
async fn an_expectation_that_failed_is_returned() {
    let server = Server::script([answer(417), answer(200)]).await;
    let mut put = request("PUT", &server.uri("/"));
    let value = HeaderValue::from_static("100-continue");
    put.headers_mut().insert("expect", value);
    let response = call(&layer(), put).await.unwrap();
    assert_eq!(response.status(), 417);
    assert_eq!(server.seen().len(), 1);
}

/// Calls, with a limit for each attempt, by a connector that never connects.
async fn call_by_a_hanging_connector(
    layer: RetryLayer,
    attempt: Duration,
    request: Request<Full<Bytes>>,
) -> BoxError {
    let connector =
        service_fn(|_: Uri| std::future::pending::<std::io::Result<TokioIo<TcpStream>>>());
    let client =
        Client::builder(TokioExecutor::new()).build::<_, ReplayBody<Full<Bytes>>>(connector);
    ServiceBuilder::new()
        .layer(layer)
        .layer(TimeoutLayer::new(attempt))
        .service(client)
        .oneshot(request)
        .await
        .unwrap_err()
}

#[tokio::test]
async fn without_a_connection_a_timeout_is_unsent_if_connections_are_watched() {
    for (watched, attempts, delivery) in
        [(true, 3, Delivery::NotSent), (false, 1, Delivery::Unknown)]
    {
        let layer = layer().capture_connection(watched);
        let error = call_by_a_hanging_connector(
            layer,
            Duration::from_millis(20),
            request("POST", "http://h/"),
        )
        .await;
        assert!(is_timeout(&*error));
        let retried = find::<RetryError>(&*error).unwrap().retried();
        assert_eq!(retried.attempts(), attempts);
        assert_eq!(retried.delivery(), delivery);
    }
    let layer = layer()
        .capture_connection(true)
        .total_limit(Duration::from_millis(5));
    let error =
        call_by_a_hanging_connector(layer, Duration::from_secs(60), request("POST", "http://h/"))
            .await;
    let retried = find::<RetryError>(&*error).unwrap().retried();
    assert_eq!(retried.stop(), StopReason::TotalLimitReached);
    assert_eq!(retried.delivery(), Delivery::NotSent);
}

#[tokio::test]
async fn with_a_connection_a_timeout_proves_nothing_however_watched() {
    let server = Server::script([Act::Stall]).await;
    let error = ServiceBuilder::new()
        .layer(layer().capture_connection(true))
        .layer(TimeoutLayer::new(Duration::from_millis(50)))
        .service(client())
        .oneshot(request("POST", &server.uri("/")))
        .await
        .unwrap_err();
    let retried = find::<RetryError>(&*error).unwrap().retried();
    assert_eq!(retried.attempts(), 1);
    assert_eq!(retried.delivery(), Delivery::Unknown);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn layers_that_are_nested_watch_the_same_connection() {
    let server = Server::script([Act::Stall]).await;
    let error = ServiceBuilder::new()
        .layer(layer().capture_connection(true))
        .layer(TimeoutLayer::new(Duration::from_millis(50)))
        .layer(layer().capture_connection(true))
        .service(client())
        .oneshot(request("POST", &server.uri("/")))
        .await
        .unwrap_err();
    let retried = find::<RetryError>(&*error).unwrap().retried();
    assert_eq!(retried.attempts(), 1);
    assert_eq!(retried.delivery(), Delivery::Unknown);
    assert_eq!(server.seen().len(), 1);
}

const NO_ERROR: u32 = 0;
const INTERNAL_ERROR: u32 = 2;
const REFUSED_STREAM: u32 = 7;
const ENHANCE_YOUR_CALM: u32 = 11;

#[tokio::test]
async fn over_http2_only_a_refused_stream_proves_that_a_write_was_not_processed() {
    let above = |code| H2Act::GoAway(Some(0), code);
    let within = |code| H2Act::GoAway(None, code);
    for (act, repeated) in [
        (H2Act::Reset(REFUSED_STREAM), true),
        (H2Act::Reset(INTERNAL_ERROR), false),
        (above(NO_ERROR), true),
        (above(ENHANCE_YOUR_CALM), true),
        (within(NO_ERROR), false),
        (within(ENHANCE_YOUR_CALM), false),
    ] {
        let server = H2Server::script([act, H2Act::Answer200]).await;
        let post = request("POST", &format!("http://{}/", server.addr));
        let result = layer().layer(h2_client()).oneshot(post).await;
        let retried = retried(&result).unwrap();
        if repeated {
            assert_eq!(result.unwrap().status(), 200, "{act:?}");
            assert_eq!(retried.attempts(), 2, "{act:?}");
            assert_eq!(server.requests(), 2, "{act:?}");
        } else {
            assert_eq!(retried.stop(), StopReason::NotIdempotent, "{act:?}");
            assert_eq!(retried.delivery(), Delivery::Unknown, "{act:?}");
            assert_eq!(server.requests(), 1, "{act:?}");
        }
    }
}
