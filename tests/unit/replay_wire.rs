//! What hyper makes of these bodies on a connection.

use std::{convert::Infallible, time::Duration};

use http::{HeaderMap, HeaderValue, Response, header};
use http_body_util::{BodyExt, Empty, Full};
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    sync::mpsc,
    time::timeout,
};

use super::{tests::kept_with, *};

/// A body that is fed from elsewhere, and of which nothing is known beforehand.
struct Fed(mpsc::Receiver<Frame<Bytes>>);

impl Body for Fed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|frame| frame.map(Ok))
    }
}

fn fed(frames: impl IntoIterator<Item = Frame<Bytes>>) -> Fed {
    let (feed, body) = mpsc::channel(16);
    for frame in frames {
        feed.try_send(frame).unwrap();
    }
    Fed(body)
}

fn data(data: &'static str) -> Frame<Bytes> {
    Frame::data(Bytes::from_static(data.as_bytes()))
}

fn trailers() -> Frame<Bytes> {
    let value = HeaderValue::from_static("t");
    Frame::trailers(HeaderMap::from_iter([(header::ETAG, value)]))
}

/// Opens a connection, and sends a request with this body on it.
fn send<B>(head: &Parts, body: B) -> (DuplexStream, impl Future<Output = Response<Incoming>>)
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let request = Request::from_parts(head.clone(), body);
    let answer = tokio::spawn(async move {
        let (mut sender, connection) = http1::handshake(TokioIo::new(ours)).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    });
    (theirs, async { answer.await.unwrap() })
}

/// Reads until nothing more comes. Time is paused: it passes as soon as there is nothing else to do.
async fn read(peer: &mut DuplexStream) -> (String, bool) {
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    let is_closed = loop {
        match timeout(Duration::from_secs(1), peer.read(&mut buffer)).await {
            Ok(Ok(count)) if count > 0 => all.extend_from_slice(&buffer[..count]),
            Ok(_) => break true,
            Err(_) => break false,
        }
    };
    (String::from_utf8(all).unwrap(), is_closed)
}

/// Returns what was written for a request with this body.
async fn wire<B>(head: &Parts, body: B) -> String
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let (mut peer, answer) = send(head, body);
    let (text, is_closed) = read(&mut peer).await;
    assert!(!is_closed, "{text}");
    peer.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(answer.await.status(), 204);
    text
}

/// Sends the same body bare and as every attempt would, and checks that the wire shows no difference.
async fn assert_same_on_the_wire<B>(head: &Parts, make: impl Fn() -> B, expected: &str)
where
    B: Body<Data = Bytes, Error = Infallible> + Unpin + Send + 'static,
{
    let bare = wire(head, make()).await;
    assert!(bare.contains(expected), "{bare}");
    assert_eq!(wire(head, ReplayBody::once(make())).await, bare);
    for read_before in 0..4 {
        let (mut first, replay) = kept_with(head, make(), 100);
        for _ in 0..read_before {
            let _ = first.frame().await;
        }
        drop(first);
        for _ in 0..3 {
            let (head, body) = replay.request().unwrap().into_parts();
            assert_eq!(wire(&head, body).await, bare, "{read_before}");
        }
    }
    // Past the limit, and after the last attempt was made.
    let (first, replay) = kept_with(head, make(), 1);
    assert_eq!(wire(head, first).await, bare);
    drop(replay);
    let (first, replay) = kept_with(head, make(), 100);
    drop(replay);
    assert_eq!(wire(head, first).await, bare);
}

fn head(method: &str) -> Parts {
    let request = Request::builder().method(method).uri("/x?y");
    let request = request
        .header("Trailer", "etag")
        .header("x-a", "1")
        .header("x-a", "2");
    request.body(()).unwrap().into_parts().0
}

#[tokio::test(start_paused = true)]
async fn the_framing_is_that_of_the_bare_body() {
    let post = head("POST");
    let full = || Full::new(Bytes::from_static(b"abcdef"));
    assert_same_on_the_wire(&post, full, "\r\ncontent-length: 6\r\n\r\nabcdef").await;
    assert_same_on_the_wire(&post, Empty::new, "x-a: 2\r\n\r\n").await;
    assert_same_on_the_wire(&head("GET"), Empty::new, "x-a: 2\r\n\r\n").await;
    let chunked = || fed([data("abc"), data("de")]);
    let expected = "\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    assert_same_on_the_wire(&post, chunked, expected).await;
    // Known to be empty only once it was read.
    let expected = "\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_same_on_the_wire(&post, || fed([]), expected).await;
    let with_trailers = || fed([data("abc"), trailers()]);
    assert_same_on_the_wire(&post, with_trailers, "3\r\nabc\r\n0\r\netag: t\r\n\r\n").await;

    let mut declared = head("PUT");
    declared
        .headers
        .insert(header::CONTENT_LENGTH, HeaderValue::from_static("5"));
    assert_same_on_the_wire(&declared, chunked, "\r\ncontent-length: 5\r\n\r\nabcde").await;
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_answered_early_leaves_the_body_to_the_next() {
    let (feed, body) = mpsc::channel(16);
    feed.try_send(data("abc")).unwrap();
    let head = head("PUT");
    let (first, replay) = kept_with(&head, Fed(body), 100);
    let (mut early, answer) = send(&head, first);
    assert!(read(&mut early).await.0.ends_with("\r\n\r\n3\r\nabc\r\n"));
    let refusal = b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";
    early.write_all(refusal).await.unwrap();
    assert_eq!(answer.await.status(), 503);
    assert_eq!(read(&mut early).await, (String::new(), false));

    let (head, body) = replay.request().unwrap().into_parts();
    let (mut peer, answer) = send(&head, body);
    feed.try_send(data("de")).unwrap();
    drop(feed);
    // The first connection ends without the chunk that would make what it had a whole body.
    assert_eq!(read(&mut early).await, (String::new(), true));
    let (text, _) = read(&mut peer).await;
    assert!(
        text.ends_with("\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
        "{text}"
    );
    peer.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(answer.await.status(), 204);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_whose_early_answer_is_good_goes_on_sending() {
    let (feed, body) = mpsc::channel(16);
    feed.try_send(data("abc")).unwrap();
    let head = head("PUT");
    let (first, replay) = kept_with(&head, Fed(body), 100);
    let (mut peer, answer) = send(&head, first);
    read(&mut peer).await;
    peer.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        .await
        .unwrap();
    let response = answer.await;
    assert_eq!(response.status(), 200);
    drop(replay);
    feed.try_send(data("de")).unwrap();
    drop(feed);
    assert_eq!(read(&mut peer).await.0, "2\r\nde\r\n0\r\n\r\n");
}

#[tokio::test(start_paused = true)]
async fn over_http2_too_half_a_body_never_looks_like_a_whole_one() {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (seen, mut bodies) = mpsc::unbounded_channel();
    // Answers every request as soon as it begins, and reads its body afterwards.
    let service = service_fn(move |request: Request<Incoming>| {
        let seen = seen.clone();
        tokio::spawn(async move {
            let body = request.into_body().collect().await;
            let body = body.map(|body| {
                let trailers = body.trailers().is_some();
                (body.to_bytes(), trailers)
            });
            let _ = seen.send(body.map_err(drop));
        });
        async { Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new())) }
    });
    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    tokio::spawn(server.serve_connection(TokioIo::new(theirs), service));
    let client = http2::handshake(TokioExecutor::new(), TokioIo::new(ours));
    let (mut client, connection) = client.await.unwrap();
    tokio::spawn(connection);

    let (feed, body) = mpsc::channel(16);
    feed.try_send(data("abc")).unwrap();
    let mut head = head("PUT");
    head.uri = "http://h/x".parse().unwrap();
    let (first, replay) = kept_with(&head, Fed(body), 100);
    let early = client.send_request(Request::from_parts(head, first)).await;
    assert_eq!(early.unwrap().status(), 200);
    let pending = timeout(Duration::from_secs(1), bodies.recv()).await;
    assert!(pending.is_err());

    let again = client.send_request(replay.request().unwrap()).await;
    assert_eq!(again.unwrap().status(), 200);
    assert_eq!(bodies.recv().await.unwrap(), Err(()));
    feed.try_send(data("de")).unwrap();
    feed.try_send(trailers()).unwrap();
    drop(feed);
    let whole = Bytes::from_static(b"abcde");
    assert_eq!(bodies.recv().await.unwrap(), Ok((whole, true)));
}
