//! The limit on the head, in memory and on a paused clock.

use std::{
    convert::Infallible,
    future::{pending, poll_fn, ready},
    io,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio::time::{Instant, sleep, timeout};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_diagnose::{
    BoxError, PathTemplate, RequestTimeout, RetryLayer, TimeoutError, TimeoutLayer, TimeoutScope,
    find, is_timeout, timeout as limits,
};

const MS: Duration = Duration::from_millis(1);

fn request(uri: &str) -> Request<String> {
    Request::get(uri).body(String::new()).unwrap()
}

fn answers_after(
    delay: Duration,
) -> impl Service<Request<String>, Response = Response<String>, Error = Infallible, Future: Send> + Clone
{
    service_fn(move |_| async move {
        sleep(delay).await;
        Ok(Response::new("late".to_owned()))
    })
}

/// Returns the text of the error and when it came, or `None` for an answer.
async fn outcome(
    layer: &TimeoutLayer,
    delay: Duration,
    request: Request<String>,
) -> (Option<String>, Duration) {
    let start = Instant::now();
    let result = layer.layer(answers_after(delay)).oneshot(request).await;
    (result.err().map(|error| error.to_string()), start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn names_the_endpoint_and_the_limit_and_nothing_secret() {
    let layer = TimeoutLayer::new(30 * MS);
    let uri = "http://user:pass@host.example/reports/eyJhbGciOi.eyJzdWIi.c2ln?key=secret";
    let error = layer
        .layer(answers_after(Duration::MAX))
        .oneshot(request(uri))
        .await
        .unwrap_err();
    let text = "GET /reports/[redacted] timed out after 30ms";
    assert_eq!(error.to_string(), text);
    for word in ["user", "pass", "host", "secret", "c2ln"] {
        assert!(!format!("{error:?}").contains(word), "{error:?}");
    }

    let boxed: BoxError = Box::new(io::Error::other(error));
    assert!(is_timeout(&*boxed));
    let error = find::<TimeoutError>(&*boxed).unwrap();
    assert_eq!(error.limit(), 30 * MS);
    assert_eq!(error.scope(), TimeoutScope::Head);
    assert_eq!(error.endpoint().to_string(), "GET /reports/[redacted]");
    assert!(error.elapsed() >= 30 * MS && error.elapsed() <= 32 * MS);
    assert_eq!(error.attempts(), None);
}

#[tokio::test(start_paused = true)]
async fn names_the_template_where_the_request_brings_one() {
    let layer = TimeoutLayer::new(30 * MS);
    for (uri, template, text) in [
        (
            "/users/42?x",
            "/users/{id}",
            "GET /users/{id} timed out after 30ms",
        ),
        (
            "http://h/users/42",
            "/users/{id}",
            "GET /users/{id} timed out after 30ms",
        ),
    ] {
        let mut request = request(uri);
        request.extensions_mut().insert(PathTemplate::new(template));
        let (error, _) = outcome(&layer, 50 * MS, request).await;
        assert_eq!(error.as_deref(), Some(text));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_ready_wins_a_tie() {
    let layer = TimeoutLayer::new(100 * MS);
    for (delay, answered) in [(99, true), (100, true), (101, false), (500, false)] {
        let (error, took) = outcome(&layer, delay * MS, request("/")).await;
        assert_eq!(error.is_none(), answered, "{delay} ms");
        assert!(took <= 102 * MS, "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn zero_is_expired_already_and_an_instant_answer_still_gets_through() {
    let layer = TimeoutLayer::new(Duration::ZERO);
    let (error, took) = outcome(&layer, MS, request("/")).await;
    assert_eq!(error.as_deref(), Some("GET / timed out after 0ns"));
    assert_eq!(took, Duration::ZERO);

    let instant = service_fn(|_| ready(Ok::<_, Infallible>(Response::new("now"))));
    let response = layer.layer(instant).oneshot(request("/")).await.unwrap();
    assert_eq!(response.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn limits_beyond_a_lifetime_are_none() {
    let years = |n: u64| Duration::from_secs(n * 365 * 24 * 60 * 60);
    for limit in [
        Duration::MAX,
        Duration::from_secs(u64::MAX),
        Duration::from_secs(i64::MAX as u64),
        Duration::from_secs(i64::MAX as u64 / 2),
        years(30),
        years(29),
    ] {
        let layer = TimeoutLayer::new(limit).body_idle(limit).body_total(limit);
        let (error, took) = outcome(&layer, 1000 * MS, request("/")).await;
        assert_eq!(error, None, "{limit:?}");
        assert_eq!(took, 1000 * MS, "{limit:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_shorter_of_two_nested_limits_speaks() {
    for (outer, inner) in [(20, 80), (80, 20), (50, 50)] {
        let service = ServiceBuilder::new()
            .layer(TimeoutLayer::new(outer * MS))
            .layer(TimeoutLayer::new(inner * MS))
            .service(answers_after(1000 * MS));
        let error = service.oneshot(request("/a")).await.unwrap_err();
        let shorter = outer.min(inner);
        let text = format!("GET /a timed out after {shorter}ms");
        assert_eq!(error.to_string(), text);
    }
}

#[tokio::test(start_paused = true)]
async fn the_request_wins_over_the_hook_and_the_hook_over_the_layer() {
    let layer = TimeoutLayer::new(30 * MS)
        .limit_for(|endpoint| (endpoint.path() == "/slow").then_some(60 * MS));
    for (uri, own, limit) in [
        ("/fast", None, 30),
        ("/slow?x=1", None, 60),
        ("/fast", Some(90), 90),
        ("/slow", Some(5), 5),
    ] {
        let mut request = request(uri);
        if let Some(own) = own {
            request.extensions_mut().insert(RequestTimeout(own * MS));
        }
        let (error, _) = outcome(&layer, 1000 * MS, request).await;
        let error = error.unwrap();
        assert!(error.ends_with(&format!("after {limit}ms")), "{error}");
    }
    let mut request = request("/fast");
    request
        .extensions_mut()
        .insert(RequestTimeout(Duration::MAX));
    assert_eq!(outcome(&layer, 1000 * MS, request).await.0, None);
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_service_pass_unchanged() {
    let failing = service_fn(|_| {
        ready(Err::<Response<String>, _>(io::Error::from(
            io::ErrorKind::BrokenPipe,
        )))
    });
    let error = TimeoutLayer::new(MS)
        .layer(failing)
        .oneshot(request("/"))
        .await
        .unwrap_err();
    let error = error.downcast::<io::Error>().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}

#[derive(Clone)]
struct NeverReady(Arc<AtomicU32>);

impl Service<Request<String>> for NeverReady {
    type Response = Response<String>;
    type Error = io::Error;
    type Future = std::future::Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Err(io::Error::from(io::ErrorKind::AddrInUse)))
    }

    fn call(&mut self, _: Request<String>) -> Self::Future {
        self.0.fetch_add(1, Ordering::Relaxed);
        ready(Ok(Response::new(String::new())))
    }
}

#[tokio::test]
async fn an_error_of_readiness_is_returned_by_the_call_and_nothing_is_called() {
    let calls = Arc::new(AtomicU32::new(0));
    let mut service = TimeoutLayer::new(MS).layer(NeverReady(calls.clone()));
    service.ready().await.unwrap();
    let mut clone = service.clone();
    let error = service.call(request("/")).await.unwrap_err();
    assert!(error.is::<io::Error>());
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    clone.call(request("/")).await.unwrap();
}

#[test]
fn an_instant_answer_needs_no_timer() {
    let service = || service_fn(|_| ready(Ok::<_, Infallible>(Response::new(String::new()))));
    let layer = TimeoutLayer::new(MS).body_idle(MS).body_total(MS);
    let mut cx = Context::from_waker(Waker::noop());
    let mut call = std::pin::pin!(layer.layer(service()).call(request("/")));
    assert!(call.as_mut().poll(&mut cx).is_ready(), "without a runtime");

    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        layer.layer(service()).oneshot(request("/")).await.unwrap();
        // No limit needs no timer either, and zero is known without one.
        for (limit, text) in [
            (Duration::MAX, None),
            (Duration::ZERO, Some("GET / timed out after 0ns")),
        ] {
            let mut once = true;
            let pending_once = service_fn(move |_| {
                poll_fn(move |cx| {
                    if std::mem::take(&mut once) {
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    Poll::Ready(Ok::<_, Infallible>(Response::new(String::new())))
                })
            });
            let result = TimeoutLayer::new(limit)
                .layer(pending_once)
                .oneshot(request("/"))
                .await;
            assert_eq!(result.err().map(|e| e.to_string()).as_deref(), text);
        }
    });
}

#[tokio::test]
async fn a_service_that_uses_up_the_budget_cannot_hold_off_the_limit() {
    let greedy = service_fn(|_| async {
        loop {
            tokio::task::consume_budget().await;
        }
        #[expect(unreachable_code, reason = "names the type of the answer")]
        Ok::<_, Infallible>(Response::new(String::new()))
    });
    let call = TimeoutLayer::new(20 * MS)
        .layer(greedy)
        .oneshot(request("/"));
    let result = timeout(Duration::from_secs(5), call).await;
    assert!(result.expect("the limit never fired").is_err());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_call_drops_what_it_waits_for() {
    let alive = Arc::new(());
    let held = alive.clone();
    let service = service_fn(move |_| {
        let held = held.clone();
        async move {
            let _held = held;
            pending::<Result<Response<String>, Infallible>>().await
        }
    });
    let mut service = TimeoutLayer::new(1000 * MS).layer(service);
    let call = service.call(request("/"));
    assert!(timeout(MS, call).await.is_err());
    assert_eq!(Arc::strong_count(&alive), 2, "one here, one in the service");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_readiness_is_not_covered_and_can_be_bounded() {
    let limited = || {
        ServiceBuilder::new()
            .layer(TimeoutLayer::new(50 * MS))
            .concurrency_limit(1)
            .service(answers_after(40 * MS))
    };
    let mut service = limited();
    let busy = service.ready().await.unwrap().call(request("/"));
    let busy = tokio::spawn(async move {
        sleep(500 * MS).await;
        busy.await
    });
    let start = Instant::now();
    let error = limits::ready(&mut service, &request("/a?b"), 50 * MS)
        .await
        .unwrap_err();
    let error = find::<TimeoutError>(&*error).unwrap();
    assert_eq!(
        error.to_string(),
        "GET /a timed out after 50ms (service not ready)"
    );
    assert_eq!(error.scope(), TimeoutScope::Ready);

    // The same service can be asked again, and the limit on the head starts with the call.
    limits::ready(&mut service, &request("/"), Duration::MAX)
        .await
        .unwrap();
    assert!(start.elapsed() >= 500 * MS);
    service.call(request("/")).await.unwrap();
    busy.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_limit_on_all_attempts_says_how_many_there_were() {
    let hangs = |_: Request<_>| pending::<Result<Response<String>, Infallible>>();
    let client = ServiceBuilder::new()
        .layer(RetryLayer::new().total_limit(5000 * MS))
        .layer(TimeoutLayer::new(2000 * MS))
        .service(service_fn(hangs));
    let request = Request::get("/a").body(Full::<Bytes>::default()).unwrap();
    let error = client.oneshot(request).await.unwrap_err();
    let limits: Vec<_> = std::iter::successors(Some(&*error as &dyn std::error::Error), |error| {
        error.source()
    })
    .filter_map(|error| error.downcast_ref::<TimeoutError>())
    .map(|error| (error.limit(), error.attempts()))
    .collect();
    assert_eq!(limits, [(5000 * MS, Some(3))]);
}

#[test]
fn the_future_is_as_small_as_stated() {
    let mut service = TimeoutLayer::new(MS).layer(service_fn(|_| {
        ready(Ok::<_, Infallible>(Response::new(4_u8)))
    }));
    let call = service.call(request("/"));
    let inner = size_of::<std::future::Ready<Result<Response<u8>, Infallible>>>();
    let own = size_of_val(&call) - inner;
    assert!(own <= 232, "{own} bytes beside the inner future");
}
