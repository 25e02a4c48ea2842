//! What a recorded call allocates when it goes well.

use std::{
    future::{Ready, ready},
    pin::pin,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body::Body;
use http_body_util::Full;
use tower::{Layer, Service, service_fn};
use tower_diagnose::{BoxError, CallRecord, CallRecorder, DispatchLayer, RecorderLayer};

type Answer = Ready<Result<Response<Full<Bytes>>, BoxError>>;

fn client(_: Request<Full<Bytes>>) -> Answer {
    ready(Ok(Response::new(Full::from("hello"))))
}

fn request() -> Request<Full<Bytes>> {
    Request::put("http://host.example:8080/api/v1/things/42")
        .header("content-type", HeaderValue::from_static("application/json"))
        .body(Full::from("{}"))
        .unwrap()
}

/// Calls once, reads the body to its end, and returns how many blocks were allocated meanwhile.
fn allocations<S, B>(service: &mut S, request: Request<Full<Bytes>>) -> u64
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>>,
    B: Body,
{
    let measured = allocation_counter::measure(|| {
        let mut cx = Context::from_waker(Waker::noop());
        let mut call = pin!(service.call(request));
        let Poll::Ready(Ok(response)) = call.as_mut().poll(&mut cx) else {
            panic!("no answer");
        };
        let mut body = pin!(response.into_body());
        while let Poll::Ready(Some(_)) = body.as_mut().poll_frame(&mut cx) {}
    });
    measured.count_total
}

#[test]
fn a_recorded_call_allocates_at_most_four_blocks() {
    let service = DispatchLayer::new().layer(service_fn(client));
    let mut service = RecorderLayer::new(|_: CallRecord| {}).layer(service);
    let count = allocations(&mut service, request());
    assert!(count <= 4, "{count}");
    // With an extension there already, two less: the map is there.
    let mut extended = request();
    extended.extensions_mut().insert(1_u8);
    let count = allocations(&mut service, extended);
    assert!(count <= 3, "{count}");
}

#[test]
fn dispatch_without_notes_allocates_nothing() {
    let mut service = DispatchLayer::new().layer(service_fn(client));
    assert_eq!(allocations(&mut service, request()), 0);
}

#[test]
fn dispatch_with_notes_allocates_nothing_more() {
    let mut service = DispatchLayer::new().layer(service_fn(client));
    let mut request = request();
    request.extensions_mut().insert(CallRecorder::new());
    assert_eq!(allocations(&mut service, request), 0);
}

#[test]
fn futures_and_bodies_stay_small() {
    let service = DispatchLayer::new().layer(service_fn(client));
    let mut service = RecorderLayer::new(|_: CallRecord| {}).layer(service);
    let inner = size_of::<Answer>();
    let future = service.call(request());
    assert!(
        size_of_val(&future) - inner <= 256,
        "{}",
        size_of_val(&future) - inner
    );
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Ok(response)) = pin!(future).poll(&mut cx) else {
        panic!("no answer");
    };
    let body = size_of_val(response.body()) - size_of::<Full<Bytes>>();
    assert!(body <= 192, "{body}");
}
