//! What retries allocate for a call that goes well.

use std::{
    future::{Ready, ready},
    pin::pin,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, Uri, header};
use http_body::Body;
use http_body_util::{Empty, Full};
use tower::{Layer, Service, service_fn};
use tower_diagnose::{BoxError, Idempotency, MaxAttempts, NoRetry, ReplayBody, RetryLayer};

type Answer = Ready<Result<Response<Full<Bytes>>, BoxError>>;

/// A head with ten headers.
fn request<B>(method: Method, body: B) -> Request<B> {
    const VALUE: HeaderValue = HeaderValue::from_static("some value of a usual length");
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = Uri::from_static("http://host.example:8080/api/v1/things/42?page=2");
    for name in [
        header::ACCEPT,
        header::ACCEPT_ENCODING,
        header::ACCEPT_LANGUAGE,
        header::CACHE_CONTROL,
        header::CONTENT_TYPE,
        header::IF_MATCH,
        header::ORIGIN,
        header::REFERER,
        header::USER_AGENT,
        header::VIA,
    ] {
        request.headers_mut().insert(name, VALUE);
    }
    request
}

/// Calls once, with a client that reads the body or does not, and returns how many blocks were allocated.
fn allocations<B>(layer: &RetryLayer, reads: bool, request: Request<B>) -> u64
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin + 'static,
{
    let mut service = layer.layer(service_fn(
        move |request: Request<ReplayBody<B>>| -> Answer {
            if reads {
                let mut body = pin!(request.into_body());
                let mut cx = Context::from_waker(Waker::noop());
                while let Poll::Ready(Some(_)) = body.as_mut().poll_frame(&mut cx) {}
            }
            ready(Ok(Response::new(Full::default())))
        },
    ));
    let measured = allocation_counter::measure(|| {
        let mut cx = Context::from_waker(Waker::noop());
        let ready = Service::<Request<B>>::poll_ready(&mut service, &mut cx);
        assert!(ready.is_ready());
        let mut call = pin!(service.call(request));
        assert!(matches!(call.as_mut().poll(&mut cx), Poll::Ready(Ok(_))));
    });
    measured.count_total
}

#[test]
fn a_request_that_may_be_repeated_is_copied_into_one_block() {
    let layer = RetryLayer::new();
    for method in [Method::GET, Method::PUT, Method::POST] {
        let count = allocations(&layer, false, request(method.clone(), Empty::new()));
        assert!(count <= 1, "{method}: {count}");
        // An empty body costs nothing, read or not.
        let count = allocations(&layer, true, request(method.clone(), Empty::new()));
        assert!(count <= 1, "{method}, read: {count}");
        let count = allocations(&layer, true, request(method.clone(), Full::from("{}")));
        assert!(count <= 2, "{method}, with a body: {count}");
    }
}

#[test]
fn a_bare_request_needs_no_block() {
    let request = Request::get("http://host.example/a").body(Empty::new());
    let count = allocations(&RetryLayer::new(), true, request.unwrap());
    assert_eq!(count, 0);
}

#[test]
fn a_request_that_can_never_be_repeated_pays_nothing() {
    let layer = RetryLayer::new;
    let full = |method| request(method, Full::from("{}"));
    let mut expecting = full(Method::PUT);
    let expect = HeaderValue::from_static("100-continue");
    expecting.headers_mut().insert(header::EXPECT, expect);
    let mut tunnel = full(Method::CONNECT);
    *tunnel.uri_mut() = Uri::from_static("host.example:443");
    let mut forbidden = full(Method::GET);
    forbidden.extensions_mut().insert(NoRetry);
    let mut single = full(Method::GET);
    single.extensions_mut().insert(MaxAttempts(1));
    let mut declared = full(Method::GET);
    declared.extensions_mut().insert(Idempotency::NotIdempotent);
    for (what, layer, request) in [
        ("one attempt", layer().max_attempts(1), full(Method::GET)),
        ("a write", layer().repeat_unsent(false), full(Method::POST)),
        ("declared a write", layer().repeat_unsent(false), declared),
        ("undeclared", layer().only_declared(true), full(Method::GET)),
        ("expects", layer(), expecting),
        ("a tunnel", layer(), tunnel),
        ("forbidden", layer(), forbidden),
        ("one attempt of its own", layer(), single),
    ] {
        assert_eq!(allocations(&layer, true, request), 0, "{what}");
    }
}
