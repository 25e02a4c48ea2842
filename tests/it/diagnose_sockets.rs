//! A real hyper client against real servers on loopback, behaving and not.

use std::time::Duration;

use axum::{Router, body::Body, routing::get};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    time::Instant,
};
use tower::{Layer, ServiceExt};
use tower_diagnose::{Delivery, Diagnose, DiagnoseLayer, ErrorClass, ResponseExt};

type HyperClient = Client<HttpConnector, Empty<Bytes>>;

fn client(layer: &DiagnoseLayer) -> Diagnose<HyperClient> {
    layer.layer(Client::builder(TokioExecutor::new()).build_http())
}

fn request(method: &str, port: u16, path: &str) -> Request<Empty<Bytes>> {
    Request::builder()
        .method(method)
        .uri(format!("http://127.0.0.1:{port}{path}"))
        .body(Empty::new())
        .unwrap()
}

async fn serve(router: Router) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}

/// Reads the head of one request, then does what `then` does with the connection.
async fn serve_raw<F, Fut>(then: F) -> u16
where
    F: FnOnce(TcpStream) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        then(stream).await;
    });
    port
}

#[tokio::test]
async fn an_answer_is_diagnosed_and_whole() {
    let big = "y".repeat(100_000);
    let body = format!(r#"{{"message":["name is taken","id is short"],"rest":"{big}"}}"#);
    let port = serve(Router::new().route(
        "/things",
        get({
            let body = body.clone();
            move || async {
                (
                    StatusCode::UNPROCESSABLE_ENTITY,
                    [("x-request-id", "r-1")],
                    body,
                )
            }
        }),
    ))
    .await;
    let response = client(&DiagnoseLayer::new())
        .oneshot(request("GET", port, "/things?key=SENTINEL"))
        .await
        .unwrap();
    let diagnosis = response.diagnosis().unwrap();
    assert_eq!(
        diagnosis.to_string(),
        "GET /things failed (422 Unprocessable Entity): name is taken; id is short"
    );
    assert_eq!(diagnosis.request_id(), Some("r-1"));
    assert_eq!(diagnosis.delivery(), Delivery::Answered);
    assert_eq!(
        format!("{:#}", diagnosis.endpoint()),
        format!("http://127.0.0.1:{port}/things")
    );
    assert!(!format!("{diagnosis:#}").contains("127.0.0.1"));
    assert_eq!(
        response.into_body().collect().await.unwrap().to_bytes(),
        body
    );
}

#[tokio::test]
async fn a_refused_connection_is_named_by_its_code() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let error = client(&DiagnoseLayer::new())
        .oneshot(request("POST", port, "/comments/create"))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "POST /comments/create failed: ECONNREFUSED (no response from server)"
    );
    assert_eq!(error.diagnosis().class(), ErrorClass::Network);
    assert_eq!(error.diagnosis().delivery(), Delivery::NotSent);
}

#[tokio::test]
async fn a_write_whose_connection_closes_is_indeterminate() {
    let port = serve_raw(|stream| async { drop(stream) }).await;
    let error = client(&DiagnoseLayer::new())
        .oneshot(request("POST", port, "/pay"))
        .await
        .unwrap_err();
    assert!(error.diagnosis().is_indeterminate());
    assert!(
        error
            .diagnosis()
            .hint()
            .unwrap()
            .contains("may have been applied")
    );
}

#[tokio::test]
async fn an_error_body_that_stalls_is_handed_on_in_time() {
    let (release, released) = oneshot::channel::<()>();
    let port = serve_raw(|mut stream| async move {
        stream
            .write_all(b"HTTP/1.1 500 Oops\r\ncontent-length: 20\r\n\r\n{\"mess")
            .await
            .unwrap();
        released.await.unwrap();
        stream.write_all(b"age\":\"later\"}\n").await.unwrap();
        // Until the client is gone.
        let _ = stream.read(&mut [0]).await;
    })
    .await;
    let start = Instant::now();
    let layer = DiagnoseLayer::new().peek_timeout(Duration::from_millis(50));
    let response = client(&layer)
        .oneshot(request("GET", port, "/a"))
        .await
        .unwrap();
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(
        response.diagnosis().unwrap().to_string(),
        "GET /a failed (500 Internal Server Error): Internal Server Error"
    );
    release.send(()).unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "{\"message\":\"later\"}\n");
}

#[tokio::test]
async fn a_reset_in_the_middle_of_the_body_reaches_the_caller_as_it_is() {
    let port = serve_raw(|mut stream| async move {
        stream
            .write_all(b"HTTP/1.1 502 Oops\r\ncontent-length: 500\r\n\r\n{\"message\":\"half\",")
            .await
            .unwrap();
    })
    .await;
    let response = client(&DiagnoseLayer::new())
        .oneshot(request("GET", port, "/a"))
        .await
        .unwrap();
    assert_eq!(response.diagnosis().unwrap().message(), Some("half"));
    assert!(response.into_body().collect().await.is_err());
}

#[tokio::test]
async fn a_stream_is_not_held_back() {
    let (release, released) = oneshot::channel::<()>();
    let port = serve_raw(|mut stream| async move {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n")
            .await
            .unwrap();
        // The second chunk is sent only when the first has been seen.
        released.await.unwrap();
        stream.write_all(b"3\r\ntwo\r\n0\r\n\r\n").await.unwrap();
        let _ = stream.read(&mut [0]).await;
    })
    .await;
    let response = client(&DiagnoseLayer::new())
        .oneshot(request("GET", port, "/stream"))
        .await
        .unwrap();
    assert!(response.diagnosis().is_none());
    let mut body = response.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, "one");
    release.send(()).unwrap();
    assert_eq!(body.collect().await.unwrap().to_bytes(), "two");
}

#[tokio::test]
async fn head_and_bodiless_statuses_come_at_once() {
    let port = serve(
        Router::new()
            .route(
                "/gone",
                get(|| async { (StatusCode::GONE, Body::from("x".repeat(50))) }),
            )
            .route("/empty", get(|| async { StatusCode::NO_CONTENT }))
            .route("/same", get(|| async { StatusCode::NOT_MODIFIED })),
    )
    .await;
    let layer = DiagnoseLayer::new().failure_when(|_| true);
    for (method, path, line) in [
        ("HEAD", "/gone", "HEAD /gone failed (410 Gone): Gone"),
        (
            "GET",
            "/empty",
            "GET /empty failed (204 No Content): No Content",
        ),
        (
            "GET",
            "/same",
            "GET /same failed (304 Not Modified): Not Modified",
        ),
    ] {
        let response = client(&layer)
            .oneshot(request(method, port, path))
            .await
            .unwrap();
        assert_eq!(response.diagnosis().unwrap().to_string(), line);
    }
}

#[tokio::test]
async fn an_upgrade_works_through_the_layer() {
    let port = serve_raw(|mut stream| async move {
        stream
            .write_all(
                b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n",
            )
            .await
            .unwrap();
        let mut bytes = [0; 5];
        stream.read_exact(&mut bytes).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
    })
    .await;
    let mut request = request("GET", port, "/socket");
    request
        .headers_mut()
        .insert("connection", "upgrade".parse().unwrap());
    request
        .headers_mut()
        .insert("upgrade", "echo".parse().unwrap());
    let response = client(&DiagnoseLayer::new())
        .oneshot(request)
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let mut upgraded = TokioIo::new(hyper::upgrade::on(response).await.unwrap());
    upgraded.write_all(b"hello").await.unwrap();
    let mut echoed = [0; 5];
    upgraded.read_exact(&mut echoed).await.unwrap();
    assert_eq!(&echoed, b"hello");
}
