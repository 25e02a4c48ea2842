//! Where retries end: limits, hooks, and a service that is not ready again.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use tokio::time::Instant;
use tower::{Layer, ServiceExt};
use tower_diagnose::{
    Backoff, Delivery, DiagnoseLayer, Jitter, Refused, ResponseExt, Retried, RetryBudget,
    RetryError, RetryLayer, StopReason, TimeoutError, find,
};

use crate::support::scripted::{Reply, Scripted};

type Sent = Request<Full<Bytes>>;

fn sent(method: Method) -> Sent {
    Request::builder()
        .method(method)
        .uri("/a?b=c")
        .body(Full::default())
        .unwrap()
}

fn calm() -> RetryLayer {
    RetryLayer::new().without_budget()
}

/// How many attempts `request` was given, and what is told of them.
async fn attempts(layer: &RetryLayer, inner: &Scripted, request: Sent) -> (usize, Option<Retried>) {
    let before = inner.calls();
    let retried = match layer.layer(inner.clone()).oneshot(request).await {
        Ok(response) => response.retried(),
        Err(error) => find::<RetryError>(&*error).map(RetryError::retried),
    };
    (inner.calls() - before, retried)
}

#[tokio::test(start_paused = true)]
async fn hooks_see_the_attempt() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let layer = calm()
        .backoff(
            Backoff::exponential(Duration::from_millis(100), Duration::from_secs(9))
                .jitter(Jitter::None),
        )
        .retry_if(|attempt| attempt.status().is_some_and(|status| status == 423))
        .on_retry(move |attempt| {
            let text = format!(
                "{} {} {:?} {} {} {:?}",
                attempt.endpoint(),
                attempt.number(),
                attempt.status(),
                attempt.delivery(),
                attempt.idempotency(),
                attempt.wait()
            );
            noted.lock().unwrap().push(text);
        });
    let inner = Scripted::statuses([423, 423, 503]);
    let (count, _) = attempts(&layer, &inner, sent(Method::PUT)).await;
    assert_eq!(count, 3);
    let seen = seen.lock().unwrap();
    assert_eq!(
        *seen,
        [
            "PUT /a 1 Some(423) answered idempotent 100ms",
            "PUT /a 2 Some(423) answered idempotent 200ms",
        ]
    );
    assert_eq!(inner.times(), [0, 100, 300].map(Duration::from_millis));
}

#[tokio::test(start_paused = true)]
async fn nested_retries_do_not_multiply() {
    let inner = Scripted::statuses([503]);
    let nested = calm().layer(calm().layer(inner.clone()));
    let response = nested.oneshot(sent(Method::GET)).await.unwrap();
    assert_eq!(inner.calls(), 3);
    assert_eq!(response.retried().unwrap().attempts(), 3);

    let inner = Scripted::new([Reply::Reset]);
    let nested =
        calm().layer(DiagnoseLayer::new().layer(calm().layer(calm().layer(inner.clone()))));
    let error = nested.oneshot(sent(Method::GET)).await.unwrap_err();
    assert_eq!(inner.calls(), 3);
    assert_eq!(find::<RetryError>(&*error).unwrap().retried().attempts(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_total_limit_covers_the_whole_call() {
    let total = Duration::from_millis(250);
    let layer = calm().total_limit(total).backoff(
        Backoff::exponential(Duration::from_millis(150), Duration::from_secs(9))
            .jitter(Jitter::None),
    );
    // A wait that would pass the limit is not begun.
    let begun = Instant::now();
    let inner = Scripted::statuses([503]);
    let (count, retried) = attempts(&layer, &inner, sent(Method::GET)).await;
    assert_eq!((count, begun.elapsed()), (2, Duration::from_millis(150)));
    assert_eq!(retried.unwrap().stop(), StopReason::WouldPassTotalLimit);

    // An attempt that still runs is dropped.
    let begun = Instant::now();
    let inner = Scripted::new([Reply::Status(503), Reply::Never]);
    let error = layer
        .layer(inner)
        .oneshot(sent(Method::GET))
        .await
        .unwrap_err();
    assert_eq!(begun.elapsed(), total);
    let retry = find::<RetryError>(&*error).unwrap();
    assert_eq!(retry.retried().attempts(), 2);
    assert_eq!(retry.retried().delivery(), Delivery::Unknown);
    let timeout = find::<TimeoutError>(&*error).unwrap();
    assert_eq!((timeout.limit(), timeout.endpoint().path()), (total, "/a"));
    assert_eq!(timeout.to_string(), "GET /a timed out after 250ms");

    let begun = Instant::now();
    let inner = Scripted::new([Reply::Never]);
    let error = layer
        .layer(inner)
        .oneshot(sent(Method::GET))
        .await
        .unwrap_err();
    assert_eq!(begun.elapsed(), total);
    assert!(error.downcast_ref::<RetryError>().is_some());
    assert!(find::<TimeoutError>(&*error).is_some());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_stops_everything() {
    let budget = RetryBudget::new(20, 10, 1);
    let layer = RetryLayer::new().budget(budget.clone()).backoff(
        Backoff::exponential(Duration::from_secs(10), Duration::from_secs(10)).jitter(Jitter::None),
    );
    let inner = Scripted::statuses([503]);
    let full = budget.balance();
    let call = layer.layer(inner.clone()).oneshot(sent(Method::GET));
    assert!(
        tokio::time::timeout(Duration::from_millis(50), call)
            .await
            .is_err()
    );
    assert_eq!(budget.balance(), full);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(inner.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_service_not_ready_again_leaves_the_last_result() {
    let inner = Scripted::breaking([Reply::With(503, &[("x-n", "1")], b"busy")]);
    let (count, retried) = attempts(&calm(), &inner, sent(Method::GET)).await;
    assert_eq!(count, 1);
    assert_eq!(retried.unwrap().stop(), StopReason::NotReady);
    let inner = Scripted::breaking([Reply::Reset]);
    let error = calm()
        .layer(inner)
        .oneshot(sent(Method::GET))
        .await
        .unwrap_err();
    assert!(find::<io::Error>(&*error).is_some());
    assert!(find::<Refused>(&*error).is_none());
}
