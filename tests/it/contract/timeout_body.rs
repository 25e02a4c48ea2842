//! Limits of bodies, and of whole stacks.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::{Body, SizeHint};
use http_body_util::{BodyExt, Empty, Full};
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{
    BoxError, ClientStack, ErrorClass, FaultDomain, RecentCalls, RequestTimeout, RetryLayer,
    TimeoutError, TimeoutLayer, TimeoutScope, find, is_timeout,
};

use crate::support::outside::{
    Step::{self, Data, Fail, Stall, Trailers, Wait},
    get, response, steps,
};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

async fn after(wait: Duration) -> Result<Response<Full<Bytes>>, BoxError> {
    if !wait.is_zero() {
        sleep(wait).await;
    }
    Ok(response(200, "", Full::default()))
}

/// Reads a body of these steps to its end: what came, and the error if there was one.
async fn read(
    layer: TimeoutLayer,
    headers: &str,
    all: Vec<Step>,
) -> (usize, Option<BoxError>, Duration) {
    let body = std::sync::Mutex::new(Some(steps(all)));
    let service = layer.layer(service_fn(async |_: Request<()>| {
        Ok::<_, BoxError>(response(200, headers, body.lock().unwrap().take().unwrap()))
    }));
    let answer = service.oneshot(get("/stream?a=b")).await.unwrap();
    let begun = Instant::now();
    let mut body = std::pin::pin!(answer.into_body());
    let mut count = 0;
    loop {
        match body.frame().await {
            None => return (count, None, begun.elapsed()),
            Some(Ok(_)) => count += 1,
            Some(Err(error)) => {
                let took = begun.elapsed();
                assert!(body.frame().await.is_none(), "after an error, nothing");
                return (count, Some(error), took);
            }
        }
    }
}

fn timed_out(read: &(usize, Option<BoxError>, Duration)) -> (TimeoutScope, Duration, Duration) {
    let error = read.1.as_deref().expect("an error");
    let timeout = find::<TimeoutError>(error).expect("our error");
    let twice: BoxError = Box::new(std::io::Error::other(std::io::Error::other(
        timeout.to_string(),
    )));
    assert!(!is_timeout(&*twice), "texts are not matched");
    assert!(is_timeout(error));
    assert!(timeout.to_string().contains("GET /stream"), "{timeout}");
    assert!(!timeout.to_string().contains("a=b"), "{timeout}");
    assert!(
        timeout
            .to_string()
            .contains(&format!("{:?}", timeout.limit())),
        "{timeout}"
    );
    (timeout.scope(), timeout.limit(), read.2)
}

#[tokio::test(start_paused = true)]
async fn bodies_are_limited_only_when_asked() {
    let slow = || {
        vec![
            Data(b"a"),
            Wait(60 * SECOND),
            Data(b"b"),
            Trailers(HeaderMap::new()),
        ]
    };
    let (count, error, _) = read(TimeoutLayer::new(30 * MS), "", slow()).await;
    assert!((count, error.is_none()) == (3, true));

    let idle = || TimeoutLayer::new(SECOND).body_idle(50 * MS);
    let outcome = read(idle(), "", vec![Data(b"a"), Stall]).await;
    assert_eq!(
        timed_out(&outcome),
        (TimeoutScope::BodyIdle, 50 * MS, 50 * MS)
    );
    // Every frame begins it anew.
    let trickle = || {
        (0..10)
            .flat_map(|_| [Wait(40 * MS), Data(b"a")])
            .collect::<Vec<_>>()
    };
    let (count, error, _) = read(idle(), "", trickle()).await;
    assert!((count, error.is_none()) == (10, true));

    let total = || TimeoutLayer::new(SECOND).body_total(100 * MS);
    let outcome = read(total(), "", trickle()).await;
    assert_eq!(
        timed_out(&outcome),
        (TimeoutScope::BodyTotal, 100 * MS, 100 * MS)
    );
    assert_eq!(outcome.0, 2);
    // An event stream is never cut by a total, but may be idle for too long.
    for label in ["text/event-stream", "Text/Event-Stream; charset=utf-8"] {
        let (count, error, _) = read(total(), &format!("content-type: {label}"), trickle()).await;
        assert!((count, error.is_none()) == (10, true));
    }
    let outcome = read(
        idle(),
        "content-type: text/event-stream",
        vec![Data(b"a"), Stall],
    )
    .await;
    assert_eq!(timed_out(&outcome).0, TimeoutScope::BodyIdle);
    let (_, error, _) = read(idle(), "", vec![Data(b"a"), Fail("broken")]).await;
    assert_eq!(error.unwrap().to_string(), "broken");
    for limit in [Duration::MAX, Duration::from_secs(u64::MAX)] {
        let layer = TimeoutLayer::new(limit).body_idle(limit).body_total(limit);
        let (count, error, _) = read(layer, "", slow()).await;
        assert!((count, error.is_none()) == (3, true));
    }
    let layer = TimeoutLayer::new(SECOND).body_idle(Duration::ZERO);
    let outcome = read(layer, "", vec![Data(b"a"), Data(b"b"), Stall]).await;
    assert_eq!((outcome.0, timed_out(&outcome).2), (2, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_not_a_slow_server() {
    let body = steps([Data(b"a"), Data(b"b"), Data(b"c")]);
    let body = std::sync::Mutex::new(Some(body));
    let layer = TimeoutLayer::new(SECOND).body_idle(50 * MS);
    let service = layer.layer(service_fn(async |_: Request<()>| {
        Ok::<_, BoxError>(response(200, "", body.lock().unwrap().take().unwrap()))
    }));
    let answer = service.oneshot(get("/a")).await.unwrap();
    let mut body = std::pin::pin!(answer.into_body());
    for _ in 0..3 {
        sleep(60 * SECOND).await;
        assert!(body.frame().await.unwrap().is_ok());
    }
    sleep(60 * SECOND).await;
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn the_body_says_what_the_inner_one_says() {
    fn unpin<T: Unpin>(_: &T) {}
    let layer = TimeoutLayer::new(SECOND)
        .body_idle(SECOND)
        .body_total(SECOND);
    let trailers = HeaderMap::from_iter([(
        HeaderName::from_static("x-a"),
        HeaderValue::from_static("1"),
    )]);
    let sent = trailers.clone();
    let service = layer.layer(service_fn(async |_: Request<()>| {
        let body =
            Full::new(Bytes::from("abc")).with_trailers(std::future::ready(Some(Ok(sent.clone()))));
        Ok::<_, BoxError>(response(200, "", body))
    }));
    let collected = service
        .oneshot(get("/a"))
        .await
        .unwrap()
        .into_body()
        .collect()
        .await
        .unwrap();
    assert_eq!(collected.trailers(), Some(&trailers));
    let service = layer.layer(service_fn(async |_: Request<()>| {
        after(Duration::ZERO).await
    }));
    let body = service.oneshot(get("/a")).await.unwrap().into_body();
    unpin(&body);
    assert!(body.is_end_stream());
    assert_eq!(body.size_hint().exact(), Some(0));
    let service = layer.layer(service_fn(async |_: Request<()>| {
        Ok::<_, BoxError>(response(200, "", steps([Data(b"abc")]).hint(3)))
    }));
    let body = service.oneshot(get("/a")).await.unwrap().into_body();
    assert_eq!(body.size_hint().exact(), SizeHint::with_exact(3).exact());
    assert!(!body.is_end_stream());
}

#[tokio::test(start_paused = true)]
async fn of_a_stack_the_request_replaces_the_total() {
    let calls = RecentCalls::new(8);
    let stack = ClientStack::new(300 * MS)
        .attempt_timeout(100 * MS)
        .record(calls.clone());
    let service = stack.layer(service_fn(async |_: Request<_>| after(3600 * SECOND).await));
    let sent = |own: Option<Duration>| {
        let mut request = Request::post("/a").body(Empty::<Bytes>::new()).unwrap();
        own.into_iter().for_each(|own| {
            request.extensions_mut().insert(RequestTimeout(own));
        });
        request
    };
    for (own, wanted) in [
        (None, 100 * MS),
        (Some(30 * MS), 30 * MS),
        (Some(SECOND), 100 * MS),
        (Some(Duration::ZERO), Duration::ZERO),
    ] {
        let begun = Instant::now();
        let error = service.clone().oneshot(sent(own)).await.unwrap_err();
        assert_eq!(begun.elapsed(), wanted, "{own:?}");
        assert_eq!(error.diagnosis().timeout(), Some(wanted), "{own:?}");
        assert_eq!(error.diagnosis().class(), ErrorClass::Timeout);
        assert_eq!(error.diagnosis().domain(), FaultDomain::Upstream);
        assert!(error.diagnosis().is_indeterminate());
        assert!(error.diagnosis().status().is_none());
    }
    assert_eq!(calls.snapshot().len(), 4);
    let without = ClientStack::new(300 * MS).without_retry();
    let service = without.layer(service_fn(async |_: Request<_>| after(3600 * SECOND).await));
    let begun = Instant::now();
    let error = service.clone().oneshot(sent(None)).await.unwrap_err();
    assert_eq!(
        (begun.elapsed(), error.diagnosis().timeout()),
        (300 * MS, Some(300 * MS))
    );
    let begun = Instant::now();
    service.oneshot(sent(Some(20 * MS))).await.unwrap_err();
    assert_eq!(begun.elapsed(), 20 * MS);
}

#[tokio::test(start_paused = true)]
async fn a_total_of_retries_that_have_their_own_stays() {
    let never = || service_fn(async |_: Request<_>| after(3600 * SECOND).await);
    for (retry, wanted) in [
        (RetryLayer::new(), 300 * MS),
        (RetryLayer::new().total_limit(50 * MS), 50 * MS),
        (RetryLayer::new().max_attempts(1), 300 * MS),
    ] {
        let begun = Instant::now();
        let service = ClientStack::new(300 * MS).retry(retry).layer(never());
        let request = Request::get("/a").body(Empty::<Bytes>::new()).unwrap();
        assert!(service.oneshot(request).await.is_err());
        assert_eq!(begun.elapsed(), wanted);
    }
}
