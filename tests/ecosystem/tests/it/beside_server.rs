//! tower-http's layers around and inside a server stack.

use std::{future::pending, time::Duration};

use axum::{Json, Router, body::Body, routing::get};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::{ServiceBuilder, ServiceExt};
use tower_diagnose::{CallRecord, ErrorClass, FaultDomain, RecentCalls, ResponseExt, ServerStack};
use tower_http::{
    catch_panic::CatchPanicLayer,
    compression::CompressionLayer,
    cors::CorsLayer,
    decompression::DecompressionLayer,
    request_id::{MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer},
    timeout::TimeoutLayer,
};

use crate::support::only;

const LIMIT: Duration = Duration::from_secs(2);

fn routes() -> Router {
    Router::new()
        .route("/fine", get(|| async { "fine" }))
        .route("/hangs/{id}", get(|| async { pending::<()>().await }))
        .route("/panics", get(|| async { panic!("a bug") as () }))
        .route(
            "/fails",
            get(|| async {
                let message = format!("the index is broken{}", " again".repeat(20));
                (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    Json(json!({"message": message})),
                )
            }),
        )
}

async fn send(app: Router, request: Request<Body>) -> (http::response::Parts, Bytes) {
    let (parts, body) = app.oneshot(request).await.unwrap().into_parts();
    (parts, body.collect().await.unwrap().to_bytes())
}

fn get_of(path: &str) -> Request<Body> {
    Request::get(path).body(Body::empty()).unwrap()
}

fn with_origin(path: &str) -> Request<Body> {
    let mut request = get_of(path);
    request.headers_mut().insert(
        header::ORIGIN,
        HeaderValue::from_static("https://shop.example"),
    );
    request
}

fn problem(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| panic!("{body:?} is no problem"))
}

#[tokio::test(start_paused = true)]
async fn compression_outside_the_stack_leaves_the_message_readable_and_shrinks_the_problem() {
    let calls = RecentCalls::new(10);
    let asks = || {
        let mut request = get_of("/fails");
        request
            .headers_mut()
            .insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        request
    };
    let stack = || ServerStack::new(LIMIT).record(calls.clone());

    let app = routes().layer(
        ServiceBuilder::new()
            .layer(CompressionLayer::new())
            .layer(stack()),
    );
    let response = app.oneshot(asks()).await.unwrap();
    assert_eq!(response.headers()[header::CONTENT_ENCODING], "gzip");
    assert!(
        response
            .diagnosis()
            .unwrap()
            .message()
            .unwrap()
            .starts_with("the index is broken")
    );

    let app = routes().layer(
        ServiceBuilder::new()
            .layer(stack())
            .layer(CompressionLayer::new()),
    );
    let response = app.oneshot(asks()).await.unwrap();
    assert_eq!(response.headers()[header::CONTENT_ENCODING], "gzip");
    assert_eq!(response.diagnosis().unwrap().message(), None);

    let mut hangs = get_of("/hangs/7");
    hangs
        .headers_mut()
        .insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    let app = routes().layer(
        ServiceBuilder::new()
            .layer(DecompressionLayer::new())
            .layer(CompressionLayer::new())
            .layer(stack())
            .map_response(|response: Response<_>| response.map(Body::new)),
    );
    let (parts, body) = send(app, hangs).await;
    assert_eq!(parts.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(problem(&body)["errorClass"], "timeout");
}

#[tokio::test]
async fn a_panic_is_recorded_and_caught_outside_the_stack() {
    let calls = RecentCalls::new(10);
    let stack = || ServerStack::new(LIMIT).record(calls.clone());
    let app = routes().layer(
        ServiceBuilder::new()
            .layer(CatchPanicLayer::new())
            .layer(stack()),
    );
    let (parts, _) = send(app, get_of("/panics")).await;
    assert_eq!(parts.status, StatusCode::INTERNAL_SERVER_ERROR);
    let record = only(&calls);
    assert_eq!(
        (record.error_class(), record.fault_domain()),
        (Some(ErrorClass::ProxyInternal), Some(FaultDomain::Proxy))
    );
    assert_eq!(
        (record.status(), record.endpoint().path()),
        (None, "/panics")
    );
}

#[tokio::test]
async fn a_panic_caught_inside_the_stack_is_an_answer_of_ours() {
    let calls = RecentCalls::new(10);
    let stack = ServerStack::new(LIMIT).record(calls.clone());
    let app = routes().layer(
        ServiceBuilder::new()
            .layer(stack)
            .layer(CatchPanicLayer::new()),
    );
    let (parts, _) = send(app, get_of("/panics")).await;
    assert_eq!(parts.status, StatusCode::INTERNAL_SERVER_ERROR);
    let record = only(&calls);
    assert_eq!(
        (record.error_class(), record.fault_domain()),
        (Some(ErrorClass::Http), Some(FaultDomain::Proxy))
    );
    assert_eq!(record.status(), Some(StatusCode::INTERNAL_SERVER_ERROR));
}

#[tokio::test(start_paused = true)]
async fn cors_outside_the_stack_reaches_the_problems_and_keeps_preflights_out_of_the_records() {
    let calls = RecentCalls::new(10);
    let stack = || ServerStack::new(LIMIT).record(calls.clone());
    let app = routes().layer(
        ServiceBuilder::new()
            .layer(CorsLayer::permissive())
            .layer(stack()),
    );

    let mut preflight = with_origin("/hangs/7");
    *preflight.method_mut() = Method::OPTIONS;
    preflight.headers_mut().insert(
        header::ACCESS_CONTROL_REQUEST_METHOD,
        HeaderValue::from_static("GET"),
    );
    let (parts, _) = send(app.clone(), preflight).await;
    assert_eq!(parts.status, StatusCode::OK);
    assert!(calls.snapshot().is_empty());

    let (parts, body) = send(app, with_origin("/hangs/7")).await;
    assert_eq!(parts.headers[header::ACCESS_CONTROL_ALLOW_ORIGIN], "*");
    assert_eq!(problem(&body)["status"], 503);

    let inside = routes().layer(
        ServiceBuilder::new()
            .layer(stack())
            .layer(CorsLayer::permissive()),
    );
    let (parts, _) = send(inside, with_origin("/hangs/7")).await;
    assert!(
        !parts
            .headers
            .contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN)
    );
}

#[derive(Clone)]
struct Numbered;

impl MakeRequestId for Numbered {
    fn make_request_id<B>(&mut self, _: &Request<B>) -> Option<RequestId> {
        Some(RequestId::new(HeaderValue::from_static("call-41")))
    }
}

#[tokio::test(start_paused = true)]
async fn an_id_is_set_outside_and_given_back_on_both_sides_of_the_stack() {
    let calls = RecentCalls::new(10);
    let app = routes().layer(
        ServiceBuilder::new()
            .layer(SetRequestIdLayer::x_request_id(Numbered))
            // For the problems that the stack itself answers with.
            .layer(PropagateRequestIdLayer::x_request_id())
            .layer(ServerStack::new(LIMIT).record(calls.clone()))
            // For what the stack says of the answers of handlers.
            .layer(PropagateRequestIdLayer::x_request_id()),
    );
    let response = app.clone().oneshot(get_of("/fails")).await.unwrap();
    assert_eq!(response.diagnosis().unwrap().request_id(), Some("call-41"));
    drop(response);
    assert_eq!(only(&calls).request_id(), Some("call-41"));

    let (parts, _) = send(app, get_of("/hangs/7")).await;
    assert_eq!(parts.headers["x-request-id"], "call-41");
}

#[tokio::test(start_paused = true)]
async fn of_two_limits_only_ours_names_the_handler() {
    async fn outcome(app: Router, calls: &RecentCalls) -> (StatusCode, Bytes, CallRecord) {
        let (parts, body) = send(app, get_of("/hangs/7")).await;
        let record = calls.snapshot().pop().unwrap();
        (parts.status, body, record)
    }
    let calls = RecentCalls::new(10);
    let stack = |limit| ServerStack::new(limit).record(calls.clone());
    let theirs = |limit| TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, limit);

    // Theirs inside and shorter: an answer without a word, of class http.
    let app = routes().layer(
        ServiceBuilder::new()
            .layer(stack(LIMIT))
            .layer(theirs(LIMIT / 2)),
    );
    let (status, body, record) = outcome(app, &calls).await;
    assert_eq!(
        (status, &*body),
        (StatusCode::SERVICE_UNAVAILABLE, &b""[..])
    );
    assert_eq!(record.error_class(), Some(ErrorClass::Http));

    // Theirs outside and shorter: to us the caller has gone.
    let app = routes().layer(
        ServiceBuilder::new()
            .layer(theirs(LIMIT / 2))
            .layer(stack(LIMIT)),
    );
    let (_, _, record) = outcome(app, &calls).await;
    assert_eq!(
        (record.error_class(), record.fault_domain()),
        (Some(ErrorClass::Cancelled), Some(FaultDomain::Client))
    );

    // Ours alone, or shorter than theirs, wherever that stands.
    let app = routes().layer(
        ServiceBuilder::new()
            .layer(theirs(LIMIT))
            .layer(stack(LIMIT / 2)),
    );
    let (status, body, record) = outcome(app, &calls).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        problem(&body)["detail"],
        "GET /hangs/7 failed: timed out after 1s"
    );
    assert_eq!(
        (record.error_class(), record.fault_domain()),
        (Some(ErrorClass::Timeout), Some(FaultDomain::Proxy))
    );
    assert_eq!(record.duration(), LIMIT / 2);
}
