//! What of a request arrives with a later attempt, as real servers see it.

use std::{
    collections::VecDeque,
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, Uri, Version, header::ETAG};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Empty};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use tokio::net::{TcpListener, TcpStream};
use tower::{Layer, ServiceExt};
use tower_diagnose::{Backoff, ResponseExt, RetryLayer};

use crate::support::body::Synthetic;

fn layer() -> RetryLayer {
    RetryLayer::new().backoff(Backoff::exponential(Duration::ZERO, Duration::ZERO))
}

/// The length of a body, and its trailers.
type Seen = Arc<Mutex<Vec<(usize, Option<HeaderMap>)>>>;

/// A server of either protocol that reads every request to its end, and answers 503 until `good`.
async fn serve(good: usize) -> (SocketAddr, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Seen::default();
    let noted = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let noted = Arc::clone(&noted);
            let answer = service_fn(move |request: Request<Incoming>| {
                let noted = Arc::clone(&noted);
                async move {
                    let body = request.into_body().collect().await?;
                    let trailers = body.trailers().cloned();
                    let mut noted = noted.lock().unwrap();
                    noted.push((body.to_bytes().len(), trailers));
                    let status = if noted.len() < good { 503 } else { 200 };
                    let response = Response::builder().status(status);
                    Ok::<_, hyper::Error>(response.body(Empty::<Bytes>::new()).unwrap())
                }
            });
            tokio::spawn(async move {
                let server = auto::Builder::new(TokioExecutor::new());
                let served = server.serve_connection(TokioIo::new(socket), answer);
                // An error is a client that went away.
                served.await.ok();
            });
        }
    });
    (address, seen)
}

/// A body of these frames, of unknown length.
struct Frames(VecDeque<Frame<Bytes>>);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

#[tokio::test]
async fn trailers_arrive_with_every_attempt() {
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let (address, seen) = serve(3).await;
        let trailers = HeaderMap::from_iter([(ETAG, HeaderValue::from_static("t"))]);
        let frames = [
            Frame::data(Bytes::from("ab")),
            Frame::data(Bytes::new()),
            Frame::data(Bytes::from("cd")),
            Frame::trailers(trailers.clone()),
        ];
        let put = Request::put(format!("http://{address}/"))
            .version(version)
            .header("trailer", "etag")
            .body(Frames(frames.into()))
            .unwrap();
        let client = Client::builder(TokioExecutor::new())
            .http2_only(version == Version::HTTP_2)
            .build_http();
        let response = layer().layer(client).oneshot(put).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.retried().unwrap().attempts(), 3);
        let whole = (4, Some(trailers));
        assert_eq!(*seen.lock().unwrap(), vec![whole; 3], "{version:?}");
    }
}

#[tokio::test]
async fn a_write_that_nobody_has_begun_to_read_is_sent_again_however_long_it_is() {
    const LENGTH: u64 = 1024 * 1024;
    let (address, seen) = serve(1).await;
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refusing = nobody.local_addr().unwrap();
    drop(nobody);
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    let connector = tower::service_fn(move |_: Uri| {
        let is_first = count.fetch_add(1, SeqCst) == 0;
        Box::pin(async move {
            let address = if is_first { refusing } else { address };
            TcpStream::connect(address).await.map(TokioIo::new)
        })
    });
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let post = Request::post("http://host.example/")
        .body(Synthetic::of(LENGTH))
        .unwrap();
    let layer = layer().replay_limit(1024);
    let response = layer.layer(client).oneshot(post).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.retried().unwrap().attempts(), 2);
    assert_eq!(connections.load(SeqCst), 2);
    let lengths: Vec<_> = seen
        .lock()
        .unwrap()
        .iter()
        .map(|one| one.0 as u64)
        .collect();
    assert_eq!(lengths, [LENGTH]);
}
