//! Real clients, real sockets, and servers that do what servers should not do.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tower::{BoxError, Layer, ServiceExt};
use tower_diagnose::{
    BodyEnd, ClientStack, Delivery, DiagnoseLayer, Diagnosed, RecentCalls, ReplayBody, ResponseExt,
    RetryLayer,
};

use crate::support::{
    client,
    outside::{
        Step::{Data, Fail},
        steps,
    },
    raw,
    wire::{self, H2Act, H2Server},
};

const SECOND: Duration = Duration::from_secs(10);

/// Serves every connection by `answer`, once the head of a request has come in.
async fn serve<F>(
    answer: impl Fn(TcpStream) -> F + Clone + Send + 'static,
) -> (SocketAddr, Arc<AtomicUsize>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (answer, count) = (answer.clone(), Arc::clone(&count));
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.windows(4).any(|four| four == b"\r\n\r\n") {
                    if stream.read_buf(&mut head).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
                count.fetch_add(1, SeqCst);
                answer(stream).await;
            });
        }
    });
    (address, requests)
}

async fn written(bytes: &'static [u8]) -> (SocketAddr, Arc<AtomicUsize>) {
    serve(move |mut stream| async move {
        let _ = stream.write_all(bytes).await;
    })
    .await
}

fn quick() -> ClientStack {
    let retry = RetryLayer::new().backoff(tower_diagnose::Backoff::exponential(
        Duration::ZERO,
        Duration::ZERO,
    ));
    ClientStack::new(SECOND).retry(retry)
}

fn sent(method: &str, address: SocketAddr) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri(format!("http://u:SENTINEL@{address}/a?k=SENTINEL"))
        .body(Full::default())
        .unwrap()
}

async fn failed(stack: &ClientStack, method: &str, address: SocketAddr) -> Diagnosed {
    let call = stack.layer(client::http1()).oneshot(sent(method, address));
    let error = call.await.expect_err("the call fails");
    for text in [
        error.to_string(),
        format!("{error:?}"),
        format!("{error:#}"),
    ] {
        assert!(
            !text.contains("SENTINEL") && !text.contains("127.0.0.1"),
            "{text}"
        );
    }
    error
}

fn told(error: &Diagnosed) -> String {
    let diagnosis = error.diagnosis();
    format!(
        "{}/{} {} {}",
        diagnosis.class(),
        diagnosis.domain(),
        diagnosis.delivery(),
        diagnosis.attempts()
    )
}

#[tokio::test]
async fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = failed(&quick(), "POST", address).await;
    assert_eq!(
        error.to_string(),
        "POST /a failed: ECONNREFUSED (no response from server) [3 attempts]"
    );
    assert_eq!(told(&error), "network/upstream not_sent 3");
    assert!(!error.diagnosis().is_indeterminate());
}

#[tokio::test]
async fn the_server_reads_and_closes() {
    let (address, requests) = serve(async |_| ()).await;
    let error = failed(&quick(), "POST", address).await;
    assert_eq!(
        error.to_string(),
        "POST /a failed: connection closed before a response (no response from server)"
    );
    assert_eq!(told(&error), "network/upstream unknown 1");
    assert_eq!(requests.load(SeqCst), 1);
    assert!(error.diagnosis().is_indeterminate());
    let error = failed(&quick(), "GET", address).await;
    assert_eq!(told(&error), "network/upstream unknown 3");
    assert_eq!(requests.load(SeqCst), 4);
}

#[tokio::test]
async fn the_server_resets() {
    let (address, requests) = serve(async |stream| raw::reset(stream)).await;
    let error = failed(&quick(), "POST", address).await;
    assert_eq!(
        error.to_string(),
        "POST /a failed: ECONNRESET (no response from server)"
    );
    assert_eq!(told(&error), "network/upstream unknown 1");
    assert_eq!(requests.load(SeqCst), 1);
}

#[tokio::test]
async fn the_server_says_nothing_that_is_http() {
    for garbage in [
        b"SSH-2.0-OpenSSH_9.6\r\n".as_slice(),
        b"HTTP/9.9 999 X\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
    ] {
        let (address, requests) = written(garbage).await;
        let error = failed(&quick(), "POST", address).await;
        let line = error.to_string();
        assert!(
            line.starts_with("POST /a failed: ") && line.ends_with(" (no response from server)"),
            "{line}"
        );
        assert_eq!(error.diagnosis().delivery(), Delivery::Unknown, "{line}");
        assert_eq!(requests.load(SeqCst), 1, "{line}");
    }
}

#[tokio::test]
async fn a_flood_of_headers() {
    let mut head = b"HTTP/1.1 500 X\r\n".to_vec();
    for number in 0..5000 {
        head.extend(format!("x-h{number}: {number}\r\n").bytes());
    }
    head.extend(b"content-length: 0\r\n\r\n");
    let (address, _) = written(head.leak()).await;
    let error = failed(&quick(), "POST", address).await;
    assert!(
        error.to_string().ends_with(" (no response from server)"),
        "{error}"
    );
}

#[tokio::test]
async fn a_request_that_cannot_be_sent() {
    for uri in [
        "https://127.0.0.1:9/a?k=SENTINEL",
        "ftp://127.0.0.1:9/a",
        "/a",
    ] {
        let service = quick().layer(client::http1());
        let error = service
            .oneshot(Request::post(uri).body(Full::<Bytes>::default()).unwrap())
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "POST /a failed: invalid request (not sent)",
            "{uri}"
        );
        assert_eq!(error.diagnosis().delivery(), Delivery::NotSent);
        assert_eq!(error.diagnosis().attempts(), 1, "{uri}");
    }
}

#[tokio::test]
async fn the_requests_own_body_fails() {
    let (address, _) = serve(async |mut stream| raw::drain(&mut stream).await).await;
    for (frames, method) in [(1, "POST"), (1, "PUT")] {
        let body = steps((0..frames).map(|_| Data(b"abc")).chain([Fail("SENTINEL")]));
        let body: UnsyncBoxBody<Bytes, BoxError> = body.boxed_unsync();
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{address}/a"))
            .body(body)
            .unwrap();
        let error = quick()
            .layer(client::http1())
            .oneshot(request)
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{method} /a failed: request body failed (no response from server)")
        );
        assert_eq!(told(&error), "cancelled/client unknown 1");
    }
}

#[tokio::test]
async fn an_endless_error_is_told_at_once_and_can_be_read_on() {
    let (address, _) = serve(async |mut stream| {
        let head = b"HTTP/1.1 500 X\r\ncontent-type: application/json\r\n\r\n{\"message\":\"too much\",\"rest\":\"";
        let _ = stream.write_all(head).await;
        while stream.write_all(&[b'x'; 64 * 1024]).await.is_ok() {}
    })
    .await;
    let answer = DiagnoseLayer::new()
        .layer(client::http1())
        .oneshot(sent("GET", address))
        .await
        .unwrap();
    let line = answer.diagnosis().unwrap().to_string();
    assert_eq!(line, "GET /a failed (500 Internal Server Error): too much");
    let mut body = answer.into_body();
    let mut length = 0;
    while length < 8 * 1024 * 1024 {
        length += body
            .frame()
            .await
            .unwrap()
            .unwrap()
            .into_data()
            .unwrap()
            .len();
    }
}

#[tokio::test]
async fn an_error_that_stalls_or_breaks_off_is_told_all_the_same() {
    for (bytes, message, stalls) in [
        (b"HTTP/1.1 500 X\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{\"message\":\"a b\",".as_slice(), "a b", false),
        (b"HTTP/1.1 500 X\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n11\r\n{\"message\":\"a b\",\r\n5\r\nabc", "a b", false),
        (b"HTTP/1.1 500 X\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n11\r\n{\"message\":\"a b\",\r\nzz\r\n", "a b", false),
        (b"HTTP/1.1 500 X\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{\"mess", "Internal Server Error", true),
    ] {
        let (address, _) = serve(move |mut stream| async move {
            let _ = stream.write_all(bytes).await;
            if stalls {
                raw::drain(&mut stream).await;
            }
        })
        .await;
        let calls = RecentCalls::new(4);
        let diagnose = DiagnoseLayer::new().peek_timeout(Duration::from_millis(100));
        let stack = ClientStack::new(SECOND).without_retry().diagnose(diagnose).record(calls.clone());
        let answer = stack.layer(client::http1()).oneshot(sent("GET", address)).await.unwrap();
        let line = answer.diagnosis().unwrap().to_string();
        assert_eq!(line, format!("GET /a failed (500 Internal Server Error): {message}"));
        let mut body = answer.into_body();
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(first.starts_with(b"{\"mess"));
        if stalls {
            drop(body);
            assert_eq!(calls.snapshot()[0].body_end(), Some(BodyEnd::Dropped));
        } else {
            assert!(body.collect().await.is_err());
            assert_eq!(calls.snapshot()[0].body_end(), Some(BodyEnd::Failed));
        }
        assert_eq!(calls.snapshot().len(), 1);
        assert_eq!(calls.snapshot()[0].status().unwrap(), 500);
    }
}

#[tokio::test]
async fn a_connection_is_kept_through_repeated_answers() {
    let connections = Arc::new(AtomicUsize::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::clone(&connections);
    let answers = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, SeqCst);
            let answers = Arc::clone(&answers);
            tokio::spawn(async move {
                let mut buffer = Vec::new();
                while stream.read_buf(&mut buffer).await.unwrap_or(0) > 0 {
                    if !buffer.ends_with(b"\r\n\r\n") {
                        continue;
                    }
                    buffer.clear();
                    let status = if answers.fetch_add(1, SeqCst) % 3 == 2 {
                        200
                    } else {
                        503
                    };
                    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: 1024\r\n\r\n");
                    let _ = stream.write_all(head.as_bytes()).await;
                    let _ = stream.write_all(&[b'x'; 1024]).await;
                }
            });
        }
    });
    let service = quick().layer(client::http1());
    for _ in 0..5 {
        let answer = service.clone().oneshot(sent("GET", address)).await.unwrap();
        assert_eq!(
            (
                answer.status().as_u16(),
                answer.retried().unwrap().attempts()
            ),
            (200, 3)
        );
        assert_eq!(
            answer.into_body().collect().await.unwrap().to_bytes().len(),
            1024
        );
    }
    assert_eq!(connections.load(SeqCst), 1);
}

#[tokio::test]
async fn what_http2_says_of_a_stream() {
    const REFUSED_STREAM: u32 = 7;
    const INTERNAL_ERROR: u32 = 2;
    const ENHANCE_YOUR_CALM: u32 = 11;
    for (act, told) in [
        (H2Act::Reset(REFUSED_STREAM), "200 2"),
        (H2Act::GoAway(Some(0), ENHANCE_YOUR_CALM), "200 2"),
        (H2Act::GoAway(Some(0), 0), "200 2"),
        (H2Act::Reset(INTERNAL_ERROR), "unknown 1"),
        (H2Act::GoAway(None, 0), "unknown 1"),
        (H2Act::GoAway(None, ENHANCE_YOUR_CALM), "unknown 1"),
    ] {
        let server = H2Server::script([act, H2Act::Answer200]).await;
        let request = Request::post(format!("http://{}/a", server.addr))
            .body(Full::from("abc"))
            .unwrap();
        let result: Result<_, Diagnosed> = quick()
            .layer(wire::h2_client::<ReplayBody<Full<Bytes>>>())
            .oneshot(request)
            .await;
        let seen = match result {
            Ok(answer) => format!(
                "{} {}",
                answer.status().as_u16(),
                answer.retried().unwrap().attempts()
            ),
            Err(error) => format!(
                "{} {}",
                error.diagnosis().delivery(),
                error.diagnosis().attempts()
            ),
        };
        assert_eq!(seen, told, "{act:?}");
    }
}
