//! A whole stack around hyper's client over real sockets: what an attempt is, and what is none.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{
        Client,
        connect::{Connected, Connection},
    },
    rt::{TokioExecutor, TokioIo},
};
use tokio::{io::AsyncWriteExt, net::TcpStream};
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{
    Backoff, BodyEnd, ClientStack, Delivery, ErrorClass, RecentCalls, RequestTimeout, ResponseExt,
    RetryLayer, StopReason,
};

use crate::support::{
    client, raw,
    wire::{Act, Server, answer},
};

fn stack(calls: &RecentCalls) -> ClientStack {
    let at_once = Backoff::exponential(Duration::ZERO, Duration::ZERO);
    ClientStack::new(Duration::from_secs(30))
        .retry(RetryLayer::new().backoff(at_once))
        .record(calls.clone())
}

fn request(method: &str, uri: &str) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri(uri)
        .body(Full::default())
        .unwrap()
}

#[tokio::test]
async fn the_last_answer_is_handed_out_whole_and_each_was_asked_for_once() {
    let full = br#"{"error":"queue full"}"#;
    for (status, attempts, line) in [
        (
            503,
            3,
            "GET /jobs failed (503 Service Unavailable): queue full [3 attempts]",
        ),
        (401, 1, "GET /jobs failed (401 Unauthorized): queue full"),
        (501, 1, "GET /jobs failed (501 Not Implemented): queue full"),
    ] {
        let server = Server::script([Act::Answer(status, "", full.to_vec())]).await;
        let calls = RecentCalls::new(9);
        let get = request("GET", &server.uri("/jobs"));
        let service = stack(&calls).layer(client::http1());
        let response = service.oneshot(get).await.unwrap();
        assert_eq!(response.status(), status);
        let diagnosis = response.diagnosis().unwrap();
        assert_eq!(diagnosis.to_string(), line);
        assert_eq!(diagnosis.line(), line);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, &full[..]);
        assert_eq!(server.seen().len(), attempts);
        let records = calls.snapshot();
        assert_eq!(records.len(), 1);
        assert_eq!(records[0].attempts() as usize, attempts);
        let stop = (attempts == 3).then_some(StopReason::AttemptsUsedUp);
        assert_eq!(records[0].stop(), stop);
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_told_and_not_asked_for_again() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let address = raw::serve(move |mut stream| {
        let count = Arc::clone(&count);
        async move {
            raw::read_head(&mut stream).await;
            count.fetch_add(1, SeqCst);
            let head = b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello";
            stream.write_all(head).await.unwrap();
        }
    })
    .await;
    let calls = RecentCalls::new(9);
    let get = request("GET", &format!("http://{address}/file"));
    let response = stack(&calls).layer(client::http1()).oneshot(get).await;
    let mut body = response.unwrap().into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, "hello");
    assert!(body.frame().await.unwrap().is_err());
    assert!(body.frame().await.is_none());
    assert_eq!(asked.load(SeqCst), 1);
    let records = calls.snapshot();
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].attempts(), records[0].stop()), (1, None));
    assert_eq!(records[0].error_class(), Some(ErrorClass::Network));
    assert_eq!(records[0].body_end(), Some(BodyEnd::Failed));
}

/// A connection that may turn out to have been closed by the peer when it is next looked at.
struct Stale {
    stream: TokioIo<TcpStream>,
    is_closed: Arc<AtomicBool>,
    seen_closed: Arc<AtomicUsize>,
}

impl Connection for Stale {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl hyper::rt::Read for Stale {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_closed.load(SeqCst) {
            self.seen_closed.fetch_add(1, SeqCst);
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl hyper::rt::Write for Stale {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// hyper's client sends a request once more, by itself, whose connection had gone before it was written.
#[tokio::test]
async fn what_the_client_sends_again_by_itself_is_one_attempt() {
    let server = Server::script([answer(200)]).await;
    let (is_closed, seen_closed) = (Arc::new(AtomicBool::new(false)), Arc::default());
    let connections = Arc::new(AtomicUsize::new(0));
    let connector = {
        let (address, is_closed, seen_closed) = (
            server.addr,
            Arc::clone(&is_closed),
            Arc::clone(&seen_closed),
        );
        service_fn(move |_: Uri| {
            let is_first = connections.fetch_add(1, SeqCst) == 0;
            let is_closed = match is_first {
                true => Arc::clone(&is_closed),
                false => Arc::default(),
            };
            let seen_closed = Arc::clone(&seen_closed);
            Box::pin(async move {
                let stream = TokioIo::new(TcpStream::connect(address).await?);
                io::Result::Ok(Stale {
                    stream,
                    is_closed,
                    seen_closed,
                })
            })
        })
    };
    let calls = RecentCalls::new(9);
    let hyper = Client::builder(TokioExecutor::new()).build(connector);
    let client = stack(&calls).layer(hyper);
    for number in 1..=2 {
        let post = request("POST", &server.uri("/orders"));
        let response = client.clone().oneshot(post).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.retried(), None);
        response.into_body().collect().await.unwrap();
        assert_eq!(server.seen().len(), number);
        // The connection goes back to the pool, by a task of the client's.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        is_closed.store(true, SeqCst);
    }
    assert!(
        seen_closed.load(SeqCst) > 0,
        "the second call met the first's connection"
    );
    assert_eq!(server.accepted(), 2);
    for record in calls.snapshot() {
        assert_eq!((record.attempts(), record.stop()), (1, None));
        assert_eq!(record.delivery(), Delivery::Answered);
        assert_eq!(record.attempt_log().count(), 1);
    }
}

/// A write that waited for a connection in vain was not sent, if somebody watched.
#[tokio::test]
async fn without_a_connection_nothing_was_sent_by_all_accounts() {
    for (is_watched, delivery, attempts) in
        [(true, Delivery::NotSent, 3), (false, Delivery::Unknown, 1)]
    {
        let connector =
            service_fn(|_: Uri| std::future::pending::<io::Result<TokioIo<TcpStream>>>());
        let hyper = Client::builder(TokioExecutor::new()).build(connector);
        let calls = RecentCalls::new(9);
        let at_once = Backoff::exponential(Duration::ZERO, Duration::ZERO);
        let retry = RetryLayer::new()
            .backoff(at_once)
            .capture_connection(is_watched);
        let stack = stack(&calls)
            .retry(retry)
            .attempt_timeout(Duration::from_millis(20));
        let post = request("POST", "http://host.example/orders");
        let client = stack.layer(hyper);
        let error = client.clone().oneshot(post).await.unwrap_err();
        let diagnosis = error.diagnosis();
        assert_eq!(diagnosis.class(), ErrorClass::Timeout);
        assert_eq!(
            (diagnosis.attempts(), diagnosis.delivery()),
            (attempts, delivery)
        );
        assert_eq!(diagnosis.is_indeterminate(), !is_watched);
        let record = calls.snapshot().remove(0);
        assert_eq!((record.attempts(), record.delivery()), (attempts, delivery));
        let each = record.attempt_log().map(|attempt| attempt.delivery());
        assert!(each.eq(std::iter::repeat_n(delivery, attempts as usize)));
        // The same at the limit of the whole call.
        let mut post = request("POST", "http://host.example/orders");
        let limit = RequestTimeout(Duration::from_millis(5));
        post.extensions_mut().insert(limit);
        let error = client.oneshot(post).await.unwrap_err();
        let line = "POST /orders failed: timed out after 5ms (no response from server)";
        assert_eq!(error.to_string(), line);
        assert_eq!(error.diagnosis().delivery(), delivery);
        assert_eq!(calls.snapshot()[1].delivery(), delivery);
    }
}
