//! What the limits of time allocate: in a binary of its own, since its allocator counts.

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use allocation_counter::measure;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tower::{Layer, Service, service_fn};
use tower_diagnose::{RequestBodyTimeoutLayer, RequestTimeout, TimeoutLayer};

const LIMIT: Duration = Duration::from_secs(30);

const URIS: [&str; 6] = [
    "/api/modules",
    "/api/modules?key=value",
    "http://127.0.0.1:8080/v1/orders/123e4567-e89b-12d3-a456-426614174000?expand=items",
    "https://user:password@api.example.com/v1/organizations/42/members?page=2",
    "https://api.example.com/v1/organizations/123e4567-e89b-12d3-a456-426614174000/members",
    "https://a.example/?a-query-does-not-count-however-long-it-is-since-it-is-never-printed=1&page=2&size=3",
];

type Text = Full<&'static [u8]>;

/// A request whose URI is made from a `String` and was never cloned, as an SDK would make it.
fn fresh(method: &str, uri: &str) -> Request<()> {
    let request = Request::builder().method(method).uri(uri.to_owned());
    request.body(()).unwrap()
}

/// Is pending so often, then answers.
fn answers<B>(
    pending: u32,
) -> impl Service<Request<B>, Response = Response<Text>, Error = Infallible> {
    service_fn(move |_| {
        let mut left = pending;
        poll_fn(move |_| match left.checked_sub(1) {
            Some(rest) => {
                left = rest;
                Poll::Pending
            }
            None => Poll::Ready(Ok(Response::new(Full::new(&b"body"[..])))),
        })
    })
}

/// Polls a future to its end, however often that takes, and returns what it allocated.
fn allocations<F: Future>(make: impl FnOnce() -> F) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let _entered = runtime.enter();
    let count = measure(|| {
        let mut future = pin!(make());
        let mut cx = Context::from_waker(Waker::noop());
        while future.as_mut().poll(&mut cx).is_pending() {}
    });
    count.count_total
}

#[test]
fn what_allocates_is_counted() {
    assert_eq!(allocations(|| async { Box::new(1) }), 1);
}

#[test]
fn a_success_allocates_nothing() {
    let layer = TimeoutLayer::new(LIMIT);
    for uri in URIS {
        for method in ["GET", "POST", "PATCH"] {
            for pending in [0, 1, 2] {
                let mut service = layer.layer(answers(pending));
                let request = fresh(method, uri);
                let count = allocations(|| service.call(request));
                assert_eq!(count, 0, "{method} {uri}, pending {pending} times");
            }
        }
    }
}

#[test]
fn an_extension_allocates_nothing_and_each_body_that_is_watched_one_block() {
    let layer = TimeoutLayer::new(LIMIT).body_idle(LIMIT).body_total(LIMIT);
    let inner = RequestBodyTimeoutLayer::new(LIMIT);
    for uri in URIS {
        let mut service = layer.layer(inner.layer(answers(1)));
        let mut request = fresh("POST", uri).map(|()| Full::new(&b"body"[..]));
        request.extensions_mut().insert(RequestTimeout(LIMIT));
        let call = async {
            let mut body = service.call(request).await.unwrap().into_body();
            while body.frame().await.is_some() {}
        };
        assert_eq!(allocations(|| call), 2, "{uri}");
    }
}
