//! The connection was made, and the exchange over HTTP/1.1 failed.

use std::net::SocketAddr;

use tokio::io::AsyncWriteExt;

use super::{
    support::{
        body::Synthetic,
        client,
        h1::{self, Reply},
        raw,
    },
    *,
};

/// What the server does with a request that it has read, and what is said of it.
const AFTER_THE_REQUEST: [(Reply, &str); 10] = [
    (Reply::Close, "connection closed before a response"),
    (Reply::Reset, "ECONNRESET"),
    (Reply::Raw(b"garbage\r\n\r\n"), "invalid response"),
    (Reply::Raw(b"HTTP/3.1 200 OK\r\n\r\n"), "invalid response"),
    (Reply::Raw(b"HTTP/1.1 abc OK\r\n\r\n"), "invalid response"),
    (
        Reply::Raw(b"HTTP/1.1 200 OK\r\na b: c\r\n\r\n"),
        "invalid response",
    ),
    (
        Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"),
        "invalid response",
    ),
    (
        Reply::RawThenClose(b"HTTP/1.1 200 OK\r\ncontent-len"),
        "connection closed before a response",
    ),
    (
        Reply::RawThenClose(b"HTTP/1.1 100 Continue\r\n\r\n"),
        "connection closed before a response",
    ),
    (
        Reply::RawThenClose(b"HT"),
        "connection closed before a response",
    ),
];

#[tokio::test]
async fn a_fresh_connection_proves_nothing() {
    for (reply, cause) in AFTER_THE_REQUEST {
        let server = h1::serve([reply]).await;
        let error = fail_http1(post(server.address, "body")).await;
        assert_verdict(error, &network(Delivery::Unknown, cause));
        assert_eq!(server.requests()[0].body, b"body");
    }
}

#[tokio::test]
async fn a_reused_connection_proves_nothing_either() {
    for (reply, cause) in AFTER_THE_REQUEST {
        let server = h1::serve([Reply::Status(204, ""), reply]).await;
        let client = client::http1();
        client.request(post(server.address, "first")).await.unwrap();
        let second = client.request(post(server.address, "second"));
        let error = second.await.unwrap_err();
        assert_verdict(error, &network(Delivery::Unknown, cause));
        assert_eq!((server.connections(), server.requests().len()), (1, 2));
    }
}

#[tokio::test]
async fn a_connection_that_ends_before_the_request_is_written_proves_that_it_was_not_sent() {
    let expected = network(Delivery::NotSent, "connection closed before a response");
    let closes = raw::serve(|stream| async { drop(stream) }).await;
    assert_verdict(until_canceled(closes).await, &expected);

    let expected = network(Delivery::NotSent, "ECONNRESET");
    let resets = raw::serve(|stream| async { raw::reset(stream) }).await;
    assert_verdict(until_canceled(resets).await, &expected);

    let expected = network(Delivery::NotSent, "invalid response");
    let greets = raw::serve(|mut stream| async move {
        stream.write_all(b"220 ready\r\n").await.unwrap();
        raw::drain(&mut stream).await;
    })
    .await;
    assert_verdict(until_canceled(greets).await, &expected);
}

/// Sends until hyper notices the peer's act before it has written anything. Which comes first is up
/// to the scheduler.
async fn until_canceled(address: SocketAddr) -> legacy::Error {
    for _ in 0..1000 {
        let error = fail_http1(post(address, "body")).await;
        let source = error.source().and_then(|error| error.downcast_ref());
        if source.is_some_and(hyper::Error::is_canceled) {
            return error;
        }
        // The bytes were written: whatever happened then, nothing is proven.
        assert_eq!(delivery(&error), Delivery::Unknown);
    }
    panic!("hyper always wrote first");
}

#[tokio::test]
async fn an_upload_that_the_server_cuts_off() {
    for resets in [true, false] {
        let address = raw::serve(move |mut stream| async move {
            raw::skip(&mut stream, 100_000).await;
            if resets {
                raw::reset(stream);
            }
        })
        .await;
        let error = fail_http1(post_body(address, Synthetic::of(1 << 30))).await;
        // Whether the write or the read notices first is up to the system.
        let cause = cause(&error).into_owned();
        assert!(["EPIPE", "ECONNRESET"].contains(&&*cause), "{cause}");
        assert_verdict(error, &network(Delivery::Unknown, &cause));
    }
}

#[tokio::test]
async fn an_answer_before_the_end_of_the_upload_is_an_answer() {
    let address = raw::serve(|mut stream| async move {
        raw::skip(&mut stream, 1000).await;
        let answer = b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        raw::drain(&mut stream).await;
    })
    .await;
    let request = post_body(address, Synthetic::stalling(1000));
    let response = client::http1().request(request).await.unwrap();
    assert_eq!(response.status(), 413);
}

#[tokio::test]
async fn a_server_that_waits_for_a_head_in_vain() {
    let (client, server) = tokio::io::duplex(64);
    let service = hyper::service::service_fn(|_| async {
        Ok::<_, std::convert::Infallible>(http::Response::new(String::new()))
    });
    let error = hyper::server::conn::http1::Builder::new()
        .timer(hyper_util::rt::TokioTimer::new())
        .header_read_timeout(std::time::Duration::from_millis(10))
        .serve_connection(hyper_util::rt::TokioIo::new(server), service)
        .await
        .unwrap_err();
    drop(client);
    assert_verdict(error, &timeout(Delivery::Unknown, "timed out"));
}
