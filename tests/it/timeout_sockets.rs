//! The limits over real sockets: hyper's client against a server that stalls.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};
use tower::{Layer, ServiceBuilder, ServiceExt};
use tower_diagnose::{
    RequestBodyTimeoutLayer, TimeoutError, TimeoutLayer, TimeoutScope, find, is_timeout,
    timeout::RequestBody,
};

const MS: Duration = Duration::from_millis(1);

/// Serves one connection: reads a head (and what comes with it), answers with `reply`, and keeps the
/// connection open. Returns the address, and what was read.
async fn server(reply: &'static str) -> (String, oneshot::Receiver<(String, TcpStream)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = oneshot::channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut read = Vec::new();
        while !read.windows(4).any(|window| window == b"\r\n\r\n") {
            if stream.read_buf(&mut read).await.unwrap() == 0 {
                break;
            }
        }
        stream.write_all(reply.as_bytes()).await.unwrap();
        let read = String::from_utf8(read).unwrap();
        sender.send((read, stream)).ok();
    });
    (format!("http://{address}"), receiver)
}

fn client<B>() -> Client<HttpConnector, B>
where
    B: Body<Data: Send> + Send,
{
    Client::builder(TokioExecutor::new()).build_http()
}

/// A request body whose producer never comes up with anything.
struct Stalled;

impl Body for Stalled {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Poll::Pending
    }
}

#[tokio::test]
async fn a_head_that_does_not_come_is_named() {
    let (url, seen) = server("").await;
    let request = Request::get(format!("{url}/reports?key=secret"));
    let error = TimeoutLayer::new(30 * MS)
        .layer(client())
        .oneshot(request.body(Full::<Bytes>::default()).unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "GET /reports timed out after 30ms");
    // The error does not hold on to the connection.
    let (_, mut stream) = seen.await.unwrap();
    assert_eq!(stream.read(&mut [0; 8]).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn a_body_that_stalls_is_named() {
    let reply = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n";
    let (url, _seen) = server(reply).await;
    let request = Request::get(format!("{url}/stream"));
    let mut body = TimeoutLayer::new(Duration::from_secs(10))
        .body_idle(50 * MS)
        .layer(client())
        .oneshot(request.body(Full::<Bytes>::default()).unwrap())
        .await
        .unwrap()
        .into_body();
    let first = body.frame().await.unwrap().unwrap();
    assert_eq!(first.data_ref().unwrap(), "abc");
    let error = body.frame().await.unwrap().unwrap_err();
    let text = "GET /stream timed out after 50ms (response body idle)";
    assert_eq!(error.to_string(), text);
    assert!(is_timeout(&*error));
    let twice = io::Error::other(io::Error::other(error));
    assert!(is_timeout(&twice), "through two wrappings");
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn a_post_of_known_length_keeps_its_content_length() {
    let (url, seen) = server("HTTP/1.1 204 No Content\r\n\r\n").await;
    let service = ServiceBuilder::new()
        .layer(TimeoutLayer::new(Duration::from_secs(10)))
        .layer(RequestBodyTimeoutLayer::new(Duration::from_secs(5)))
        .service(client::<RequestBody<Full<Bytes>>>());
    let request = Request::post(format!("{url}/orders"));
    let response = service
        .oneshot(request.body(Full::from("{\"a\":1}")).unwrap())
        .await
        .unwrap();
    assert_eq!(response.status(), 204);
    let (head, _) = seen.await.unwrap();
    let head = head.to_ascii_lowercase();
    assert!(head.contains("content-length: 7\r\n"), "{head}");
    assert!(!head.contains("transfer-encoding"), "{head}");
}

#[tokio::test]
async fn a_producer_that_stalls_is_found_in_the_clients_error() {
    let (url, _seen) = server("").await;
    let request = Request::post(format!("{url}/upload"));
    let request = request.body(Stalled).unwrap();
    let error = RequestBodyTimeoutLayer::new(50 * MS)
        .layer(client())
        .oneshot(request)
        .await
        .unwrap_err();
    let found = find::<TimeoutError>(&error).expect("the source is kept");
    assert_eq!(found.scope(), TimeoutScope::RequestBodyIdle);
    assert_eq!(
        found.to_string(),
        "POST /upload timed out after 50ms (request body idle)"
    );
}

#[test]
fn layers_services_and_bodies_are_what_their_insides_are() {
    fn service<T: Clone + Send + Sync + std::fmt::Debug>(_: &T) {}
    fn body<T: Send + Sync + Unpin>() {}

    let (limit, upload) = (TimeoutLayer::new(MS), RequestBodyTimeoutLayer::new(MS));
    service(&limit);
    service(&upload);
    service(&limit.layer(upload.layer(())));
    body::<RequestBody<Full<Bytes>>>();
    body::<tower_diagnose::timeout::ResponseBody<Full<Bytes>>>();

    service(&tower_diagnose::RespondLayer::new());
    service(&tower_diagnose::RespondLayer::new().layer(()));
    body::<tower_diagnose::respond::ResponseBody<Full<Bytes>>>();
}
