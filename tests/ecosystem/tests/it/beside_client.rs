//! tower-http's layers around and inside a client stack.

use std::{convert::Infallible, iter, time::Duration};

use axum::{
    Json, Router,
    extract::Request as AxumRequest,
    response::Redirect,
    routing::{any, get},
};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::json;
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};
use tower_diagnose::{
    ClientStack, ErrorClass, FaultDomain, RecentCalls, ReplayBody, ResponseExt, TimeoutLayer,
};
use tower_http::{
    compression::CompressionLayer,
    decompression::DecompressionLayer,
    follow_redirect::FollowRedirectLayer,
    request_id::{MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer},
    sensitive_headers::SetSensitiveRequestHeadersLayer,
};

use crate::support::{only, serve};

type Body = Full<Bytes>;

fn client<B>() -> Client<HttpConnector, B>
where
    B: http_body::Body + Send,
    B::Data: Send,
{
    Client::builder(TokioExecutor::new()).build_http()
}

fn stack() -> ClientStack {
    ClientStack::new(Duration::from_secs(30)).without_retry()
}

fn get_of(url: String) -> Request<Body> {
    Request::get(url).body(Body::default()).unwrap()
}

/// Fails with a message long enough to be worth compressing.
fn failing() -> Router {
    Router::new().route(
        "/modules",
        get(|| async {
            let message = format!("no module of this name{}", " in this place".repeat(8));
            (StatusCode::NOT_FOUND, Json(json!({"message": message})))
        }),
    )
}

#[tokio::test]
async fn a_compressed_message_is_readable_with_decompression_inside_the_stack() {
    let address = serve(failing().layer(CompressionLayer::new())).await;
    let url = format!("http://{address}/modules");

    let inside = stack().layer(DecompressionLayer::new().layer(client()));
    let response = inside.oneshot(get_of(url.clone())).await.unwrap();
    let line = response.diagnosis().unwrap().to_string();
    assert!(
        line.starts_with("GET /modules failed (404 Not Found): no module of this name"),
        "{line}"
    );
    // The caller reads it too.
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert!(body.starts_with(b"{\"message\":\"no module"));

    let outside = DecompressionLayer::new().layer(stack().layer(client()));
    let response = outside.oneshot(get_of(url)).await.unwrap();
    let line = response.diagnosis().unwrap().to_string();
    assert_eq!(line, "GET /modules failed (404 Not Found): Not Found");
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert!(body.starts_with(b"{\"message\":\"no module"));
}

#[tokio::test]
async fn each_redirect_is_a_call_of_its_own_outside_the_stack_and_none_is_seen_inside() {
    let app = failing().route("/old", get(|| async { Redirect::temporary("/modules") }));
    let address = serve(app).await;
    let url = format!("http://{address}/old");

    let calls = RecentCalls::new(10);
    let outside = FollowRedirectLayer::new().layer(stack().record(calls.clone()).layer(client()));
    let response = outside.oneshot(get_of(url.clone())).await.unwrap();
    assert_eq!(response.diagnosis().unwrap().endpoint().path(), "/modules");
    drop(response);
    let paths: Vec<_> = calls
        .snapshot()
        .iter()
        .map(|call| call.endpoint().path().to_owned())
        .collect();
    assert_eq!(paths, ["/old", "/modules"]);

    let calls = RecentCalls::new(10);
    let inner = FollowRedirectLayer::new().layer(client());
    let inside = stack().record(calls.clone()).layer(inner);
    let response = inside.oneshot(get_of(url)).await.unwrap();
    assert_eq!(response.diagnosis().unwrap().endpoint().path(), "/old");
    drop(response);
    assert_eq!(only(&calls).endpoint().path(), "/old");
}

#[tokio::test]
async fn a_value_marked_outside_the_stack_is_never_shown() {
    let app = Router::new().route(
        "/echo",
        any(|request: AxumRequest| async move {
            let account = request.headers()["x-account"].to_str().unwrap().to_owned();
            (
                StatusCode::FORBIDDEN,
                Json(json!({"message": format!("account {account} is closed")})),
            )
        }),
    );
    let address = serve(app).await;
    let marks =
        SetSensitiveRequestHeadersLayer::new(iter::once(HeaderName::from_static("x-account")));
    for (is_marked, message) in [
        (true, "account [redacted] is closed"),
        (false, "account private-7731 is closed"),
    ] {
        let mut request = get_of(format!("http://{address}/echo"));
        request
            .headers_mut()
            .insert("x-account", HeaderValue::from_static("private-7731"));
        let client = stack().layer(client());
        let response = if is_marked {
            marks.layer(client).oneshot(request).await.unwrap()
        } else {
            client.oneshot(request).await.unwrap()
        };
        let diagnosis = response.diagnosis().unwrap();
        assert_eq!(diagnosis.message(), Some(message));
        let shown = format!(
            "{diagnosis} {diagnosis:#} {diagnosis:?} {}",
            json!(diagnosis.payload("t"))
        );
        assert_eq!(shown.contains("private-7731"), !is_marked, "{shown}");
    }
}

#[derive(Clone)]
struct Numbered;

impl MakeRequestId for Numbered {
    fn make_request_id<B>(&mut self, _: &Request<B>) -> Option<RequestId> {
        Some(RequestId::new(HeaderValue::from_static("call-41")))
    }
}

#[tokio::test]
async fn an_id_that_the_caller_sets_and_the_server_gives_back_is_in_the_report_and_the_record() {
    let server = ServiceBuilder::new()
        .layer(SetRequestIdLayer::x_request_id(Numbered))
        .layer(PropagateRequestIdLayer::x_request_id());
    let address = serve(failing().layer(server)).await;
    let calls = RecentCalls::new(10);
    let client = ServiceBuilder::new()
        .layer(SetRequestIdLayer::x_request_id(Numbered))
        .layer(stack().record(calls.clone()))
        .service(client());
    let response = client
        .oneshot(get_of(format!("http://{address}/modules")))
        .await
        .unwrap();
    let diagnosis = response.diagnosis().unwrap();
    assert_eq!(diagnosis.request_id(), Some("call-41"));
    assert!(
        format!("{diagnosis:#}").contains("call-41"),
        "{diagnosis:#}"
    );
    drop(response);
    assert_eq!(only(&calls).request_id(), Some("call-41"));
}

#[tokio::test(start_paused = true)]
async fn their_timeout_inside_a_client_stack_passes_for_an_answer_of_the_server() {
    let silent = || {
        service_fn(|_: Request<ReplayBody<Body>>| async {
            std::future::pending::<Result<Response<Body>, Infallible>>().await
        })
    };
    let limit = Duration::from_secs(1);
    let theirs =
        tower_http::timeout::TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, limit);
    let request = || {
        Request::post("http://host/pay")
            .body(Body::from("{}"))
            .unwrap()
    };

    let response = stack()
        .layer(theirs.layer(silent()))
        .oneshot(request())
        .await
        .unwrap();
    let diagnosis = response.diagnosis().unwrap();
    assert_eq!(
        (diagnosis.class(), diagnosis.domain()),
        (ErrorClass::Http, FaultDomain::Upstream)
    );
    assert!(!diagnosis.is_indeterminate(), "nobody can tell");

    for error in [
        stack()
            .attempt_timeout(limit)
            .layer(silent())
            .oneshot(request())
            .await
            .unwrap_err(),
        stack()
            .layer(TimeoutLayer::new(limit).layer(silent()))
            .oneshot(request())
            .await
            .unwrap_err(),
    ] {
        let diagnosis = error.diagnosis();
        assert_eq!(
            (diagnosis.class(), diagnosis.domain()),
            (ErrorClass::Timeout, FaultDomain::Upstream)
        );
        assert!(diagnosis.is_indeterminate());
        assert_eq!(diagnosis.timeout(), Some(limit));
    }
}
