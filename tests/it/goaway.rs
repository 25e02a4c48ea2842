//! A GOAWAY of the server's, and what it proves of a write.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Empty, Full};
use hyper::body::Body;
use hyper_util::client::legacy;
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{
    Backoff, BoxError, Delivery, ReplayBody, ResponseExt, RetryError, RetryLayer, find,
};

use crate::support::{client, h2_by_hand as by_hand};

/// Takes a request, and says that it did not.
async fn goaway() -> legacy::Error {
    let address = by_hand::serve(|mut connection| async move {
        connection.request().await.unwrap();
        connection.goaway(0, by_hand::NO_ERROR).await.unwrap();
        connection.drain().await;
    })
    .await;
    let request = Request::post(format!("http://{address}/"));
    let request = request.body(Full::new(Bytes::from("{}"))).unwrap();
    client::http2().request(request).await.unwrap_err()
}

/// Sends a POST with a client that fails once with `error`, after it has read the request's body or not.
/// Returns how often it was called, and what is said of the delivery.
async fn attempts<B>(error: legacy::Error, reads: bool, body: B) -> (u32, Option<Delivery>)
where
    B: Body<Error: Into<BoxError>> + Unpin + Send + 'static,
{
    let error = Arc::new(Mutex::new(Some(error)));
    let calls = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&calls);
    let client = service_fn(move |request: Request<ReplayBody<B>>| {
        seen.fetch_add(1, Relaxed);
        let error = error.lock().unwrap().take();
        async move {
            let mut body = request.into_body();
            if reads {
                poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
            }
            match error {
                Some(error) => Err(error),
                None => Ok(Response::new(Empty::<Bytes>::new())),
            }
        }
    });
    let millis = Duration::from_millis;
    let retry = RetryLayer::new().backoff(Backoff::exponential(millis(1), millis(1)));
    let request = Request::post("http://h.example/orders").body(body).unwrap();
    let retried = match retry.layer(client).oneshot(request).await {
        Ok(response) => response.retried(),
        Err(error) => find::<RetryError>(&*error).map(RetryError::retried),
    };
    (
        calls.load(Relaxed),
        retried.map(|retried| retried.delivery()),
    )
}

/// The error alone looks the same where hyper found out before the stream was sent, and where it had been.
#[tokio::test]
async fn proves_something_only_of_a_request_whose_body_was_begun() {
    let body = || Full::new(Bytes::from("{}"));
    let (calls, delivery) = attempts(goaway().await, true, body()).await;
    assert_eq!((calls, delivery), (2, Some(Delivery::Answered)));

    let (calls, delivery) = attempts(goaway().await, false, body()).await;
    assert_eq!((calls, delivery), (1, Some(Delivery::Unknown)));

    let (calls, delivery) = attempts(goaway().await, true, Empty::<Bytes>::new()).await;
    assert_eq!((calls, delivery), (1, Some(Delivery::Unknown)));
}

/// As it comes from a socket: hyper begins the body when it has sent the head.
#[tokio::test]
async fn above_our_stream_lets_a_write_be_repeated() {
    let connections = Arc::new(AtomicU32::new(0));
    let address = by_hand::serve(move |mut connection| {
        let number = connections.fetch_add(1, Relaxed);
        async move {
            while let Ok(id) = connection.request().await {
                match number {
                    0 => connection.goaway(0, by_hand::NO_ERROR).await.unwrap(),
                    _ => connection.head(id, 204, true).await.unwrap(),
                }
            }
        }
    })
    .await;
    let request = Request::post(format!("http://{address}/orders"));
    let request = request.body(Full::new(Bytes::from("{}"))).unwrap();
    let response = RetryLayer::new()
        .layer(client::http2())
        .oneshot(request)
        .await
        .unwrap();
    assert_eq!(response.status(), 204);
    assert_eq!(response.retried().unwrap().attempts(), 2);
}
