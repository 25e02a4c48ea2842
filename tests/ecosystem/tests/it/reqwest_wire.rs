//! What goes over the wire where a reqwest client is under the stack, and what comes back.

use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, header};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tower::Layer;
use tower_diagnose::{ClientService, ClientStack, Delivery, ReqwestService, RetryLayer};

use crate::raw;

fn stack() -> ClientService<ReqwestService> {
    following(reqwest::redirect::Policy::none())
}

fn following(redirects: reqwest::redirect::Policy) -> ClientService<ReqwestService> {
    let client = reqwest::Client::builder()
        .redirect(redirects)
        .retry(reqwest::retry::never())
        .no_proxy()
        .build()
        .unwrap();
    ClientStack::new(Duration::from_secs(30)).layer(ReqwestService::new(client))
}

/// Returns what a server got of a request to `uri`, which has a `{}` in place of the server's address.
async fn sent<B>(uri: &str, body: B) -> String
where
    B: Body<Data = Bytes, Error = Infallible> + Send + Sync + Unpin + 'static,
{
    let got = Arc::new(Mutex::new(String::new()));
    let server_got = Arc::clone(&got);
    let address = raw::serve(move |mut stream: TcpStream| {
        let got = Arc::clone(&server_got);
        async move {
            let mut request = raw::read_head(&mut stream).await;
            let end = match request.contains("chunked") {
                true => "\r\n0\r\n\r\n",
                false => "content",
            };
            while !request.ends_with(end) {
                let byte = stream.read_u8().await.unwrap();
                request.push(char::from(byte));
            }
            *got.lock().unwrap() = request;
            let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
            stream.write_all(answer).await.unwrap();
        }
    })
    .await;
    let request = Request::post(uri.replace("{}", &address.to_string()));
    stack().send(request.body(body).unwrap()).await.unwrap();
    std::mem::take(&mut *got.lock().unwrap())
}

/// Sends a request to a server that answers so, and returns the answer with its trailers.
async fn answered(
    method: http::Method,
    answer: &'static str,
) -> (HeaderMap, Bytes, Option<HeaderMap>) {
    let address = raw::serve(move |mut stream: TcpStream| async move {
        raw::read_head(&mut stream).await;
        stream.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    let request = Request::builder()
        .method(method)
        .uri(format!("http://{address}/"));
    let request = request.body(Empty::<Bytes>::new()).unwrap();
    let response = stack().send(request).await.unwrap();
    let headers = response.headers().clone();
    let body = response.into_body().collect().await.unwrap();
    let trailers = body.trailers().cloned();
    (headers, body.to_bytes(), trailers)
}

#[tokio::test]
async fn a_body_of_known_length_declares_it_and_a_stream_is_chunked() {
    let known = sent("http://{}/a", Full::new(Bytes::from("content"))).await;
    assert!(known.contains("\r\ncontent-length: 7\r\n"), "{known}");
    assert!(!known.contains("transfer-encoding"), "{known}");

    let frames = [Ok(Frame::data(Bytes::from("content")))];
    let streamed = sent("http://{}/a", StreamBody::new(tokio_stream::iter(frames))).await;
    assert!(
        streamed.contains("\r\ntransfer-encoding: chunked\r\n"),
        "{streamed}"
    );
    assert!(!streamed.contains("content-length"), "{streamed}");
}

#[tokio::test]
async fn a_user_and_a_password_do_not_become_a_header() {
    let sent = sent(
        "http://user:word@{}/a?b=c",
        Full::new(Bytes::from("content")),
    )
    .await;
    assert!(sent.starts_with("POST /a?b=c HTTP/1.1\r\n"), "{sent}");
    assert!(!sent.contains("authorization"), "{sent}");
    assert!(!sent.contains("user") && !sent.contains("word"), "{sent}");
}

#[tokio::test]
async fn the_path_is_sent_as_a_url_spells_it() {
    let sent = sent("http://{}/a/../b/{c}", Full::new(Bytes::from("content"))).await;
    assert!(sent.starts_with("POST /b/%7Bc%7D HTTP/1.1\r\n"), "{sent}");
}

#[tokio::test]
async fn trailers_come_back() {
    let (_, body, trailers) = answered(
        http::Method::GET,
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx-end: yes\r\n\r\n",
    )
    .await;
    assert_eq!(body, "abc");
    assert_eq!(trailers.unwrap()["x-end"], "yes");
}

#[tokio::test]
async fn the_answer_to_a_head_keeps_its_length_and_has_no_body() {
    let (headers, body, _) = answered(
        http::Method::HEAD,
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n",
    )
    .await;
    assert_eq!(headers[header::CONTENT_LENGTH], "10");
    assert!(body.is_empty());
}

#[tokio::test]
async fn the_limit_of_a_reqwest_request_holds_for_every_attempt() {
    let silent =
        raw::serve(|mut stream: TcpStream| async move { raw::drain(&mut stream).await }).await;
    let request = reqwest::Client::new()
        .get(format!("http://{silent}/slow"))
        .timeout(Duration::from_millis(50))
        .build()
        .unwrap();
    let request = Request::<reqwest::Body>::try_from(request).unwrap();
    let error = stack().send(request).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "GET /slow failed: timed out (no response from server) [3 attempts]"
    );
}

#[tokio::test]
async fn a_body_is_not_sent_again_where_a_redirect_leads() {
    let address = raw::serve(|mut stream: TcpStream| async move {
        raw::read_head(&mut stream).await;
        let answer =
            b"HTTP/1.1 307 Temporary Redirect\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
    })
    .await;
    let request = Request::post(format!("http://{address}/a"));
    let request = request.body(Full::new(Bytes::from("content"))).unwrap();
    let response = following(reqwest::redirect::Policy::default())
        .send(request)
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::TEMPORARY_REDIRECT);
    let response = reqwest::Response::from(response.map(reqwest::Body::wrap));
    assert_eq!(response.url().as_str(), "http://no.url.provided.local/");
}

#[tokio::test]
async fn a_tunnel_cannot_be_asked_for() {
    let request = Request::connect("host:443")
        .body(Empty::<Bytes>::new())
        .unwrap();
    let error = stack().send(request).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "CONNECT host:443 failed: invalid request (not sent)"
    );
}

/// reqwest does not tell of connections: nobody knows then that there was none.
#[tokio::test]
async fn a_write_that_timed_out_is_not_taken_for_unsent() {
    let attempts = Arc::new(AtomicU32::new(0));
    let arrived = Arc::clone(&attempts);
    let address = raw::serve(move |mut stream: TcpStream| {
        let arrived = Arc::clone(&arrived);
        async move {
            raw::read_head(&mut stream).await;
            arrived.fetch_add(1, Ordering::Relaxed);
            raw::drain(&mut stream).await;
        }
    })
    .await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let stack = ClientStack::new(Duration::from_secs(30))
        .attempt_timeout(Duration::from_millis(100))
        .retry(RetryLayer::new().capture_connection(true))
        .layer(ReqwestService::new(client));
    let request = Request::post(format!("http://{address}/orders"))
        .body(Full::new(Bytes::from_static(b"content")))
        .unwrap();
    let error = stack.clone().send(request).await.unwrap_err();
    assert_eq!(error.diagnosis().delivery(), Delivery::Unknown);
    assert!(error.diagnosis().is_indeterminate());
    assert_eq!(attempts.load(Ordering::Relaxed), 1);
}
