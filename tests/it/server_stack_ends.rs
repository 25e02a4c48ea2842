//! What the records of a server say: which route, which handler was slow, who went away, what broke.

use std::{
    future::pending,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, body::Body, routing::get};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body::Frame;
use http_body_util::BodyExt;
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    sync::mpsc,
    time::{Instant, sleep},
};
use tower::ServiceExt;
use tower_diagnose::{BodyEnd, ErrorClass, FaultDomain};

use crate::{
    server_stack::{get_of, recorded, serve},
    support::{client, raw},
};

const LONG: Duration = Duration::from_secs(30);

/// A body that sends one frame and then waits, or panics.
struct Endless {
    has_begun: bool,
    panics: bool,
}

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if !self.has_begun {
            self.has_begun = true;
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"one")))));
        }
        assert!(!self.panics, "a bug in a body");
        Poll::Pending
    }
}

fn endless(panics: bool) -> Body {
    Body::new(Endless {
        has_begun: false,
        panics,
    })
}

#[cfg(feature = "axum")]
#[tokio::test]
async fn the_endpoint_is_the_matched_route() {
    let (stack, mut records) = recorded(LONG);
    let inner = Router::new().route("/orders/{order}", get(async || StatusCode::NOT_FOUND));
    let app = Router::new()
        .route("/users/{id}", get(async || "fine"))
        .nest("/shop", inner)
        .layer(stack);
    for (path, endpoint, template) in [
        ("/users/42?key=1", "GET /users/{id}", Some("/users/{id}")),
        (
            "/shop/orders/7",
            "GET /shop/orders/{order}",
            Some("/shop/orders/{order}"),
        ),
        ("/nowhere/42", "GET /nowhere/42", None),
    ] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        drop(app.clone().oneshot(request).await.unwrap());
        let record = records.recv().await.unwrap();
        assert_eq!(record.endpoint().to_string(), endpoint);
        assert_eq!(record.template(), template);
    }
}

#[tokio::test(start_paused = true)]
async fn the_slow_handler_is_the_one_with_the_long_duration() {
    let (stack, mut records) = recorded(LONG);
    let app = Router::new()
        .route("/quick", get(async || "fine"))
        .route(
            "/slow",
            get(async || {
                sleep(Duration::from_secs(7)).await;
                "late"
            }),
        )
        .route("/hangs", get(async || pending::<()>().await))
        .layer(stack);
    let begun = Instant::now();
    let mut calls = tokio::task::JoinSet::new();
    for path in ["/quick", "/slow", "/hangs"] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = app.clone().oneshot(request);
        calls.spawn(async { response.await.unwrap().into_body().collect().await.is_ok() });
    }
    assert!(calls.join_all().await.iter().all(|is_ok| *is_ok));
    assert_eq!(begun.elapsed(), LONG);
    for (path, duration, class) in [
        ("/quick", Duration::ZERO, None),
        ("/slow", Duration::from_secs(7), None),
        ("/hangs", LONG, Some(ErrorClass::Timeout)),
    ] {
        let record = records.recv().await.unwrap();
        assert_eq!(record.endpoint().path(), path);
        assert_eq!(record.duration(), duration);
        assert_eq!(record.error_class(), class);
        if class.is_some() {
            assert_eq!(record.fault_domain(), Some(FaultDomain::Proxy));
        }
    }
}

/// An app whose handler says when it has begun, and then never ends.
async fn hanging() -> (
    SocketAddr,
    mpsc::UnboundedReceiver<()>,
    crate::server_stack::Records,
) {
    let (begun, has_begun) = mpsc::unbounded_channel();
    let (stack, records) = recorded(LONG);
    let handler = async move || {
        begun.send(()).unwrap();
        pending::<()>().await;
    };
    let app = Router::new()
        .route("/hangs", get(handler))
        .route("/endless", get(async || endless(false)))
        .layer(stack);
    (serve(app).await, has_begun, records)
}

#[tokio::test]
async fn a_caller_who_goes_before_the_answer_is_in_the_record_over_http1() {
    let (address, mut has_begun, mut records) = hanging().await;
    for resets in [false, true] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(b"GET /hangs HTTP/1.1\r\nhost: a\r\n\r\n")
            .await
            .unwrap();
        has_begun.recv().await.unwrap();
        if resets {
            raw::reset(stream);
        } else {
            drop(stream);
        }
        let record = records.recv().await.unwrap();
        assert_eq!(record.error_class(), Some(ErrorClass::Cancelled));
        assert_eq!(record.fault_domain(), Some(FaultDomain::Client));
        assert_eq!((record.status(), record.body_end()), (None, None));
    }
}

#[tokio::test]
async fn a_caller_who_goes_before_the_answer_is_in_the_record_over_http2() {
    let (address, mut has_begun, mut records) = hanging().await;
    let http = client::http2();
    // The stream is reset; the connection stays for the next.
    for _ in 0..2 {
        let call = tokio::spawn(http.request(get_of(address, "/hangs")));
        has_begun.recv().await.unwrap();
        call.abort();
        let record = records.recv().await.unwrap();
        assert_eq!(record.error_class(), Some(ErrorClass::Cancelled));
        assert_eq!(record.fault_domain(), Some(FaultDomain::Client));
    }
}

#[tokio::test]
async fn a_caller_who_goes_during_the_body_dropped_it_and_that_is_no_failure() {
    let (address, _has_begun, mut records) = hanging().await;
    for is_http2 in [false, true] {
        let http = if is_http2 {
            client::http2()
        } else {
            client::http1()
        };
        let response = http.request(get_of(address, "/endless")).await.unwrap();
        let mut body = response.into_body();
        assert_eq!(
            body.frame().await.unwrap().unwrap().into_data().unwrap(),
            "one"
        );
        drop(body);
        drop(http);
        let record = records.recv().await.unwrap();
        assert_eq!(
            (record.outcome(), record.status()),
            (None, Some(StatusCode::OK))
        );
        assert_eq!(record.body_end(), Some(BodyEnd::Dropped));
        assert_eq!(record.bytes_in(), 3);
    }
}

#[tokio::test]
async fn a_panic_is_recorded_and_not_swallowed() {
    let (stack, mut records) = recorded(LONG);
    let app = Router::new()
        .route("/panics", get(async || panic!("a bug") as ()))
        .route("/body", get(async || endless(true)))
        .route("/fine", get(async || "fine"))
        .layer(stack);
    let address = serve(app).await;
    for http in [client::http1(), client::http2()] {
        // The connection's task has died of it, as it does without the stack.
        assert!(http.request(get_of(address, "/panics")).await.is_err());
        let record = records.recv().await.unwrap();
        assert_eq!(record.error_class(), Some(ErrorClass::ProxyInternal));
        assert_eq!(record.fault_domain(), Some(FaultDomain::Proxy));
        assert_eq!(record.endpoint().path(), "/panics");

        if let Ok(response) = http.request(get_of(address, "/body")).await {
            assert!(response.into_body().collect().await.is_err());
        }
        let record = records.recv().await.unwrap();
        assert_eq!(record.error_class(), Some(ErrorClass::ProxyInternal));
        assert_eq!(record.body_end(), Some(BodyEnd::Failed));

        let response = http.request(get_of(address, "/fine")).await.unwrap();
        response.into_body().collect().await.unwrap();
        assert_eq!(records.recv().await.unwrap().outcome(), None);
    }
}
