//! The stack around a real reqwest client.

use std::time::Duration;

use axum::{
    Json, Router,
    response::Redirect,
    routing::{get, post},
};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use serde_json::json;
use tokio::{io::AsyncWriteExt, net::TcpStream};
use tower::{Layer, ServiceExt};
use tower_diagnose::{
    BodyEnd, ClientStack, Delivery, DiagnoseLayer, Diagnosis, ErrorClass, FaultDomain, RecentCalls,
    ReqwestService, ResponseExt, find,
};

use crate::{
    raw,
    support::{only, serve},
};

fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
}

/// Sends one request through the stack, once.
async fn call<B>(client: reqwest::Client, request: Request<B>) -> (Diagnosis, RecentCalls)
where
    B: http_body::Body<Data = Bytes> + Send + Sync + Unpin + 'static,
    B::Error: Into<tower_diagnose::BoxError>,
{
    let calls = RecentCalls::new(10);
    let stack = ClientStack::new(Duration::from_secs(30))
        .without_retry()
        .diagnose(DiagnoseLayer::new().error_for_status(true))
        .record(calls.clone());
    let error = stack
        .layer(ReqwestService::new(client))
        .oneshot(request)
        .await
        .expect_err("the call should fail");
    (error.diagnosis().clone(), calls)
}

fn request(url: String) -> Request<Empty<Bytes>> {
    Request::get(url).body(Empty::new()).unwrap()
}

#[tokio::test]
async fn a_body_goes_out_and_comes_back_whole() {
    let app = Router::new().route("/echo", post(|body: Bytes| async { body }));
    let address = serve(app).await;
    let client = ClientStack::new(Duration::from_secs(30))
        .layer(ReqwestService::new(builder().build().unwrap()));
    let sent = Bytes::from(vec![b'x'; 300_000]);
    let request = Request::post(format!("http://{address}/echo"))
        .body(Full::new(sent.clone()))
        .unwrap();
    let response = client.oneshot(request).await.unwrap();
    assert!(response.diagnosis().is_none());
    assert_eq!(
        response.into_body().collect().await.unwrap().to_bytes(),
        sent
    );
}

#[tokio::test]
async fn a_request_without_a_body_declares_none() {
    let address = raw::serve(|mut stream: TcpStream| async move {
        let head = raw::read_head(&mut stream).await.to_ascii_lowercase();
        let body = if head.contains("content-length") || head.contains("transfer-encoding") {
            "yes"
        } else {
            "no"
        };
        let answer = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}");
        stream.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    let response = ReqwestService::new(builder().build().unwrap())
        .oneshot(request(format!("http://{address}/")))
        .await
        .unwrap();
    assert_eq!(
        response.into_body().collect().await.unwrap().to_bytes(),
        "no"
    );
}

#[tokio::test]
async fn the_message_of_a_failing_answer_is_read() {
    let app = Router::new().route(
        "/comments/resolve",
        post(|| async {
            (
                StatusCode::BAD_REQUEST,
                Json(json!({"message": ["commentId must be a UUID"]})),
            )
        }),
    );
    let address = serve(app).await;
    let request = Request::post(format!("http://{address}/comments/resolve?key=secret"))
        .body(Full::new(Bytes::from("{}")))
        .unwrap();
    let (diagnosis, calls) = call(builder().build().unwrap(), request).await;
    assert_eq!(
        diagnosis.to_string(),
        "POST /comments/resolve failed (400 Bad Request): commentId must be a UUID",
    );
    assert_eq!(only(&calls).status(), Some(StatusCode::BAD_REQUEST));
    assert_eq!(only(&calls).error_class(), Some(ErrorClass::Http));
}

#[tokio::test]
async fn a_refused_connection_was_not_sent_and_names_no_host() {
    let (address, _kept) = raw::refused();
    let url = format!("http://user:word@{address}/orders?key=secret");
    let (diagnosis, calls) = call(builder().build().unwrap(), request(url)).await;
    assert_eq!(
        diagnosis.to_string(),
        "GET /orders failed: ECONNREFUSED (no response from server)"
    );
    assert_eq!(diagnosis.delivery(), Delivery::NotSent);
    assert_eq!(only(&calls).error_class(), Some(ErrorClass::Network));
    let debug = format!("{diagnosis:?} {:?}", only(&calls));
    assert!(
        !debug.contains("secret") && !debug.contains("word") && !debug.contains("127.0"),
        "{debug}"
    );
    // reqwest's own error, which is what stands below ours.
    let client = ReqwestService::new(builder().build().unwrap());
    let url = format!("http://user:word@{address}/orders?key=secret");
    let error = client.oneshot(request(url)).await.unwrap_err();
    let text = error.to_string();
    assert!(
        !text.contains("secret") && !text.contains("127.0"),
        "{text}"
    );
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_told_by_its_code() {
    let (diagnosis, _) = call(
        builder().build().unwrap(),
        request("http://nowhere.invalid/a".into()),
    )
    .await;
    assert_eq!(
        diagnosis.to_string(),
        "GET /a failed: ENOTFOUND (no response from server)"
    );
    assert_eq!(diagnosis.delivery(), Delivery::NotSent);
}

#[tokio::test]
async fn a_connection_that_closes_or_resets_may_have_been_served() {
    for (resets, cause) in [
        (false, "connection closed before a response"),
        (true, "ECONNRESET"),
    ] {
        let address = raw::serve(move |mut stream: TcpStream| async move {
            raw::read_head(&mut stream).await;
            if resets {
                raw::reset(stream);
            }
        })
        .await;
        let request = Request::post(format!("http://{address}/pay"))
            .body(Full::new(Bytes::from("{}")))
            .unwrap();
        let (diagnosis, _) = call(builder().build().unwrap(), request).await;
        assert_eq!(
            diagnosis.to_string(),
            format!("POST /pay failed: {cause} (no response from server)")
        );
        assert_eq!(diagnosis.delivery(), Delivery::Unknown);
        assert!(diagnosis.is_indeterminate());
    }
}

#[tokio::test]
async fn its_own_limits_are_timeouts_of_the_upstream() {
    let silent =
        raw::serve(|mut stream: TcpStream| async move { raw::drain(&mut stream).await }).await;
    let client = builder()
        .timeout(Duration::from_millis(50))
        .build()
        .unwrap();
    let (diagnosis, calls) = call(client, request(format!("http://{silent}/slow"))).await;
    assert_eq!(
        diagnosis.to_string(),
        "GET /slow failed: timed out (no response from server)"
    );
    assert_eq!(
        (diagnosis.class(), diagnosis.domain()),
        (ErrorClass::Timeout, FaultDomain::Upstream)
    );
    assert_eq!(diagnosis.delivery(), Delivery::Unknown);
    assert_eq!(only(&calls).error_class(), Some(ErrorClass::Timeout));

    // A connection that never comes about was not sent, whatever its limit.
    let (address, _kept) = raw::unreachable().await;
    let client = builder()
        .connect_timeout(Duration::from_millis(50))
        .build()
        .unwrap();
    let (diagnosis, _) = call(client, request(format!("http://{address}/slow"))).await;
    assert_eq!(diagnosis.class(), ErrorClass::Timeout);
    assert_eq!(diagnosis.delivery(), Delivery::NotSent);
}

#[tokio::test]
async fn our_limit_says_how_long_it_was() {
    let silent =
        raw::serve(|mut stream: TcpStream| async move { raw::drain(&mut stream).await }).await;
    let client = ClientStack::new(Duration::from_millis(60))
        .layer(ReqwestService::new(builder().build().unwrap()));
    let error = client
        .oneshot(request(format!("http://{silent}/slow")))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "GET /slow failed: timed out after 60ms (no response from server)"
    );
}

#[tokio::test]
async fn what_is_no_url_is_an_invalid_request() {
    for uri in ["/relative", "http://[::1", "ftp://host/a"] {
        let Ok(request) = Request::get(uri).body(Empty::<Bytes>::new()) else {
            continue;
        };
        let (diagnosis, _) = call(builder().build().unwrap(), request).await;
        let line = diagnosis.to_string();
        assert!(
            line.ends_with("failed: invalid request (not sent)"),
            "{line}"
        );
        assert_eq!(diagnosis.delivery(), Delivery::NotSent);
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_in_the_record() {
    let address = raw::serve(|mut stream: TcpStream| async move {
        raw::read_head(&mut stream).await;
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc")
            .await
            .unwrap();
    })
    .await;
    let calls = RecentCalls::new(10);
    let client = ClientStack::new(Duration::from_secs(30))
        .record(calls.clone())
        .layer(ReqwestService::new(builder().build().unwrap()));
    let response = client
        .oneshot(request(format!("http://{address}/file")))
        .await
        .unwrap();
    let error = response.into_body().collect().await.unwrap_err();
    assert!(find::<reqwest::Error>(&error).is_some());
    let record = only(&calls);
    assert_eq!(record.body_end(), Some(BodyEnd::Failed));
    assert_eq!(record.error_class(), Some(ErrorClass::Network));
}

#[tokio::test]
async fn a_request_body_that_fails_is_the_callers_fault() {
    let address =
        raw::serve(|mut stream: TcpStream| async move { raw::drain(&mut stream).await }).await;
    let frames = [
        Ok::<_, tower_diagnose::BoxError>(http_body::Frame::data(Bytes::from("a"))),
        Err("disk".into()),
    ];
    let body = http_body_util::StreamBody::new(tokio_stream::iter(frames));
    let request = Request::post(format!("http://{address}/upload"))
        .body(body)
        .unwrap();
    let (diagnosis, _) = call(builder().build().unwrap(), request).await;
    assert_eq!(
        diagnosis.to_string(),
        "POST /upload failed: request body failed (no response from server)"
    );
    assert_eq!(
        (diagnosis.class(), diagnosis.domain()),
        (ErrorClass::Cancelled, FaultDomain::Client)
    );
}

#[tokio::test]
async fn without_redirects_of_its_own_the_redirect_is_the_answer() {
    let app = Router::new()
        .route("/old", get(|| async { Redirect::temporary("/new") }))
        .route("/new", get(|| async { "new" }));
    let address = serve(app).await;
    let url = format!("http://{address}/old");
    let response = ReqwestService::new(builder().build().unwrap())
        .oneshot(request(url.clone()))
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::TEMPORARY_REDIRECT);

    let following = builder()
        .redirect(reqwest::redirect::Policy::default())
        .build()
        .unwrap();
    let calls = RecentCalls::new(10);
    let client = ClientStack::new(Duration::from_secs(30))
        .record(calls.clone())
        .layer(ReqwestService::new(following));
    let response = client.oneshot(request(url)).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    drop(response);
    assert_eq!(only(&calls).endpoint().path(), "/old");
    assert_eq!(only(&calls).attempts(), 1);
}
