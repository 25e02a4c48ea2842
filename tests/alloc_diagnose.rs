//! What a call through the layer allocates.
//!
//! Its own binary, since it counts by a global allocator. Counted on this thread only.

use std::{
    convert::Infallible,
    future::{Future, Ready, ready},
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use tower::{Layer, Service, service_fn};
use tower_diagnose::{DiagnoseLayer, ResponseExt};

/// Answers at once and allocates nothing.
#[derive(Clone)]
struct Inner {
    answer: Option<Response<Full<Bytes>>>,
}

impl Service<Request<()>> for Inner {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        ready(Ok(self.answer.take().unwrap_or_default()))
    }
}

/// Sends one request and returns how many allocations that took, beside the response.
fn allocations<L>(
    layer: &L,
    request: Request<()>,
    answer: Response<Full<Bytes>>,
) -> (
    u64,
    Response<tower_diagnose::diagnose::ResponseBody<Full<Bytes>>>,
)
where
    L: Layer<Inner>,
    L::Service: Service<
            Request<()>,
            Response = Response<tower_diagnose::diagnose::ResponseBody<Full<Bytes>>>,
        >,
    <L::Service as Service<Request<()>>>::Error: std::fmt::Debug,
{
    let mut service = layer.layer(Inner {
        answer: Some(answer),
    });
    let mut response = None;
    let info = allocation_counter::measure(|| {
        let mut cx = Context::from_waker(Waker::noop());
        assert!(service.poll_ready(&mut cx).is_ready());
        let mut future = pin!(service.call(request));
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(result) => response = Some(result.unwrap()),
            Poll::Pending => panic!("nothing here waits"),
        }
    });
    (info.count_total, response.unwrap())
}

#[test]
fn a_good_call_without_credentials_allocates_nothing() {
    let plain = Request::get("/api/modules").body(()).unwrap();
    let mut headers = Request::post("http://api.example/api/modules")
        .body(())
        .unwrap();
    for (name, value) in [
        ("accept", "application/json"),
        ("x-request-id", "1"),
        ("user-agent", "me"),
    ] {
        headers
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    for request in [plain, headers] {
        for answer in [Response::default(), Response::new(Full::from("fine"))] {
            let client = DiagnoseLayer::new();
            assert_eq!(allocations(&client, request.clone(), answer.clone()).0, 0);
            let server = DiagnoseLayer::for_server();
            assert_eq!(allocations(&server, request.clone(), answer).0, 0);
        }
    }
}

#[test]
fn a_static_uri_with_a_query_allocates_nothing_and_a_fresh_one_only_for_its_first_clone() {
    let uri = http::Uri::from_static("/api/modules?page=2");
    let request = Request::get(uri).body(()).unwrap();
    assert_eq!(
        allocations(&DiagnoseLayer::new(), request, Response::default()).0,
        0
    );

    let fresh = Request::get(String::from("/api/modules?page=3"))
        .body(())
        .unwrap();
    let again = Request::get(fresh.uri().clone()).body(()).unwrap();
    assert_eq!(
        allocations(&DiagnoseLayer::new(), again, Response::default()).0,
        0
    );
}

#[test]
fn credentials_cost_one_block() {
    let request = Request::get("/api/modules")
        .header("authorization", "Bearer 0123456789abcdef")
        .header("cookie", "session=0123456789abcdef")
        .body(())
        .unwrap();
    assert_eq!(
        allocations(&DiagnoseLayer::new(), request, Response::default()).0,
        1
    );
}

/// What people write without the layer: collect, parse into a tree, take the message out of it.
fn tell_naively(answer: Response<Full<Bytes>>) -> String {
    let (head, body) = answer.into_parts();
    let mut cx = Context::from_waker(Waker::noop());
    let mut collecting = pin!(body.collect());
    let Poll::Ready(Ok(body)) = collecting.as_mut().poll(&mut cx) else {
        panic!("nothing here waits");
    };
    let value: serde_json::Value = serde_json::from_slice(&body.to_bytes()).unwrap();
    let message = value["message"].as_str().unwrap();
    format!("{} failed ({}): {message}", "GET /api/modules", head.status)
}

#[test]
fn a_failing_call_and_its_line_allocate_no_more_than_the_naive_way_does() {
    let body = r#"{"error":"not_found","message":"no module named 'billing'"}"#;
    let answer = || {
        Response::builder()
            .status(404)
            .header("content-type", "application/json")
            .header("content-length", body.len())
            .body(Full::from(body))
            .unwrap()
    };
    let given = answer();
    let naive = allocation_counter::measure(|| {
        tell_naively(given);
    });

    let request = Request::get("/api/modules").body(()).unwrap();
    let (count, response) = allocations(&DiagnoseLayer::new(), request, answer());
    let mut line = String::new();
    let lined = allocation_counter::measure(|| {
        line = response.diagnosis().unwrap().to_string();
    });
    assert_eq!(
        line,
        "GET /api/modules failed (404 Not Found): no module named 'billing'"
    );
    let count = count + lined.count_total;
    println!(
        "a failing call: {count} allocations, naive {}",
        naive.count_total
    );
    assert!(
        count <= naive.count_total,
        "{count} > {}",
        naive.count_total
    );
}

/// A body that keeps its reader waiting so many times.
struct Slow {
    waits: u32,
    data: Option<Bytes>,
}

impl Body for Slow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.waits > 0 {
            self.waits -= 1;
            return Poll::Pending;
        }
        Poll::Ready(self.data.take().map(|data| Ok(Frame::data(data))))
    }
}

#[test]
fn a_wait_for_a_failing_body_allocates_nothing_but_the_first() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let _guard = runtime.enter();
    let allocations = |waits| {
        let mut service = DiagnoseLayer::new().layer(service_fn(move |_: Request<()>| {
            let data = Some(Bytes::from_static(b"{\"message\":\"full\"}"));
            let response = Response::builder()
                .status(503)
                .body(Slow { waits, data })
                .unwrap();
            ready(Ok::<_, Infallible>(response))
        }));
        let request = Request::get("/jobs").body(()).unwrap();
        let mut polls = 0;
        let info = allocation_counter::measure(|| {
            let mut future = pin!(service.call(request));
            let mut cx = Context::from_waker(Waker::noop());
            while future.as_mut().poll(&mut cx).is_pending() {
                polls += 1;
            }
        });
        assert_eq!(polls, waits);
        info.count_total
    };
    // What is made once for the process is no call's.
    allocations(1);
    let at_once = allocations(0);
    for waits in [1, 2, 100] {
        // The timer, and the rest of the response.
        assert_eq!(allocations(waits), at_once + 2, "{waits}");
    }
}

#[test]
fn the_sizes_of_what_a_call_carries() {
    type Future = <tower_diagnose::Diagnose<Inner> as Service<Request<()>>>::Future;
    let bare = size_of::<<Inner as Service<Request<()>>>::Future>();
    println!("future: {} over {bare}", size_of::<Future>());
    assert!(size_of::<Future>() - bare <= 240);
    assert!(
        size_of::<tower_diagnose::diagnose::ResponseBody<Full<Bytes>>>()
            <= size_of::<Full<Bytes>>() + 24
    );
}
