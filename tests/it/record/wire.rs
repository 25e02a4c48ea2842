//! Over real sockets.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{
    BodyEnd, CallRecord, Delivery, DispatchLayer, ErrorClass, FaultDomain, RecentCalls, Recorder,
    RecorderLayer,
};

use super::only;

type Http = Client<HttpConnector, Full<Bytes>>;

fn client(calls: &RecentCalls) -> Recorder<tower_diagnose::Dispatch<Http>> {
    let client = Client::builder(TokioExecutor::new()).build_http();
    RecorderLayer::new(calls.clone()).layer(DispatchLayer::new().layer(client))
}

/// Serves one connection: reads a request, writes this, and closes it, by a reset if so asked.
async fn server(answer: &'static str, reset: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/things", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let read = socket.read(&mut request).await.unwrap();
        assert!(read > 0);
        socket.write_all(answer.as_bytes()).await.unwrap();
        if reset {
            socket.set_zero_linger().unwrap();
        }
    });
    uri
}

async fn get(
    calls: &RecentCalls,
    uri: &str,
) -> Result<
    Response<tower_diagnose::recorder::ResponseBody<Incoming>>,
    hyper_util::client::legacy::Error,
> {
    let request = Request::post(uri).body(Full::from("12345")).unwrap();
    client(calls).oneshot(request).await
}

#[tokio::test]
async fn a_body_with_a_length_is_complete_when_its_bytes_are_read() {
    let calls = RecentCalls::new(10);
    let uri = server(
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-request-id: r1\r\n\r\nhello",
        false,
    )
    .await;
    let mut body = get(&calls, &uri).await.unwrap().into_body();
    while calls.total() == 0 {
        body.frame()
            .await
            .expect("recorded before the end")
            .unwrap();
    }
    let record = only(&calls);
    assert_eq!((record.bytes_out(), record.bytes_in()), (Some(5), 5));
    assert_eq!(record.body_end(), Some(BodyEnd::Complete));
    assert_eq!(record.request_id(), Some("r1"));
    assert_eq!(record.outcome(), None);
}

#[tokio::test]
async fn a_chunked_body_is_complete_at_its_trailers_or_its_end() {
    let calls = RecentCalls::new(10);
    let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let uri = server(answer, false).await;
    let body = get(&calls, &uri)
        .await
        .unwrap()
        .into_body()
        .collect()
        .await
        .unwrap();
    assert_eq!(body.to_bytes(), "hello");
    assert_eq!(only(&calls).body_end(), Some(BodyEnd::Complete));
    assert_eq!(only(&calls).bytes_in(), 5);
}

#[tokio::test]
async fn answers_without_a_body_are_complete_at_once() {
    for answer in [
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    ] {
        let calls = RecentCalls::new(10);
        let uri = server(answer, false).await;
        let response = get(&calls, &uri).await.unwrap();
        assert_eq!(only(&calls).body_end(), Some(BodyEnd::Complete), "{answer}");
        drop(response);
    }
}

#[tokio::test]
async fn a_connection_that_breaks_inside_the_body_is_a_failure_of_the_network() {
    for reset in [false, true] {
        let calls = RecentCalls::new(10);
        let uri = server("HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello", reset).await;
        let response = get(&calls, &uri).await;
        if let Ok(response) = response {
            assert!(response.into_body().collect().await.is_err());
            let record = only(&calls);
            assert_eq!(record.status(), Some(StatusCode::OK));
            assert_eq!(record.body_end(), Some(BodyEnd::Failed));
        }
        // A reset may overtake the head.
        let record = only(&calls);
        assert_eq!(record.error_class(), Some(ErrorClass::Network));
        assert_eq!(record.fault_domain(), Some(FaultDomain::Upstream));
    }
}

#[tokio::test]
async fn a_port_where_nobody_listens_was_sent_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let calls = RecentCalls::new(10);
    assert!(get(&calls, &uri).await.is_err());
    let record = only(&calls);
    assert_eq!(record.error_class(), Some(ErrorClass::Network));
    assert_eq!(record.delivery(), Delivery::NotSent);
    assert_eq!(record.attempts(), 1);
}

#[tokio::test]
async fn a_server_that_hangs_up_without_a_word_may_have_read_the_request() {
    let calls = RecentCalls::new(10);
    let uri = server("", false).await;
    assert!(get(&calls, &uri).await.is_err());
    let record = only(&calls);
    assert_eq!(record.error_class(), Some(ErrorClass::Network));
    assert_eq!(record.delivery(), Delivery::Unknown);
}

/// Serves one connection by the recorded service, and passes its records on.
async fn recorded(answer_after: Duration) -> (TcpStream, mpsc::UnboundedReceiver<CallRecord>) {
    let (records, seen) = mpsc::unbounded_channel();
    let service = service_fn(move |_: Request<Incoming>| async move {
        tokio::time::sleep(answer_after).await;
        let chunk = Bytes::from(vec![b'a'; 1 << 20]);
        let chunks = std::iter::repeat_with(move || {
            Ok::<_, Infallible>(http_body::Frame::data(chunk.clone()))
        });
        let body = Endless(chunks);
        Ok::<_, Infallible>(Response::new(body))
    });
    let service = RecorderLayer::new(move |record| drop(records.send(record))).layer(service);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(socket), TowerToHyperService::new(service));
        drop(connection.await);
    });
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket
        .write_all(b"GET /endless HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    (socket, seen)
}

/// A body that never ends by itself.
struct Endless<I>(I);

impl<I> http_body::Body for Endless<I>
where
    I: Iterator<Item = Result<http_body::Frame<Bytes>, Infallible>> + Unpin,
{
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        std::task::Poll::Ready(self.0.next())
    }
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_has_cancelled_the_call() {
    let (socket, mut records) = recorded(Duration::from_secs(3600)).await;
    drop(socket);
    let record = records.recv().await.unwrap();
    assert_eq!(record.error_class(), Some(ErrorClass::Cancelled));
    assert_eq!(record.fault_domain(), Some(FaultDomain::Client));
    assert!(records.recv().await.is_none());
}

#[tokio::test]
async fn a_client_that_leaves_inside_the_body_is_no_failure_of_the_server() {
    let (mut socket, mut records) = recorded(Duration::ZERO).await;
    socket.read_exact(&mut [0; 1000]).await.unwrap();
    drop(socket);
    let record = records.recv().await.unwrap();
    assert_eq!(record.outcome(), None);
    assert_eq!(record.body_end(), Some(BodyEnd::Dropped));
    assert!(record.bytes_in() > 0);
}

#[tokio::test]
async fn a_request_with_an_empty_body_has_sent_no_bytes() {
    let calls = RecentCalls::new(10);
    let uri = server("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", false).await;
    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let service = RecorderLayer::new(calls.clone()).layer(client);
    drop(
        service
            .oneshot(Request::get(uri).body(Empty::new()).unwrap())
            .await
            .unwrap(),
    );
    assert_eq!(only(&calls).bytes_out(), Some(0));
}
