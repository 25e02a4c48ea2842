//! How long it waits, and what ends the waiting.

use std::{
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::time::{Instant, timeout};
use tower::{Layer, Service, ServiceExt};
use tower_diagnose::{
    Backoff, Delivery, Jitter, ResponseExt, RetryError, StopReason, TimeoutError, TimeoutLayer,
    TimeoutScope, find,
};

use crate::{
    retry::{call, quick, request},
    support::scripted::{Reply, Scripted},
};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn waits_double() {
    let service = Scripted::statuses([503]);
    call(&quick().max_attempts(6), &service, request("GET"))
        .await
        .unwrap();
    let seconds: Vec<_> = service.times().iter().map(Duration::as_secs).collect();
    assert_eq!(seconds, [0, 1, 3, 7, 15, 23]);
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_the_longer_of_backoff_and_what_the_server_asks() {
    for (headers, waited) in [
        (&[("retry-after", "2")][..], 2000),
        (&[("retry-after", "0")], 1000),
        (&[("retry-after", "soon")], 1000),
        (&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")], 1000),
        (&[("retry-after", "1"), ("retry-after-ms", "2500")], 2500),
        (&[("retry-after", "9"), ("retry-after-ms", "250")], 1000),
        (
            &[
                ("date", "Wed, 21 Oct 2015 07:28:00 GMT"),
                ("retry-after", "Wed, 21 Oct 2015 07:28:07 GMT"),
            ],
            7000,
        ),
        (&[("retry-after", "30")], 30_000),
    ] {
        let service = Scripted::new([Reply::With(429, headers, b""), Reply::Status(200)]);
        call(&quick(), &service, request("GET")).await.unwrap();
        let times = service.times();
        assert_eq!(times.len(), 2, "{headers:?}");
        let late = times[1].saturating_sub(Duration::from_millis(waited));
        assert!(
            times[1] >= Duration::from_millis(waited) && late < Duration::from_millis(5),
            "{headers:?}: {:?}",
            times[1]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_limit_is_not_begun() {
    for value in [
        "31",
        "999999",
        "18446744073709551616",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ] {
        let headers: &'static [_] = Box::leak(Box::new([("retry-after", value)]));
        let service = Scripted::new([Reply::With(429, headers, b"slow down")]);
        let started = Instant::now();
        let response = call(&quick(), &service, request("GET")).await.unwrap();
        assert_eq!(started.elapsed(), Duration::ZERO);
        assert_eq!(response.status(), 429);
        let retried = response.retried().unwrap();
        assert_eq!(retried.attempts(), 1, "{value}");
        assert_eq!(retried.stop(), StopReason::RetryAfterBeyondLimit, "{value}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_server_asks_can_be_ignored_or_limited() {
    let asks = || {
        [
            Reply::With(429, &[("retry-after", "3600")], b""),
            Reply::Status(200),
        ]
    };
    for (layer, waited) in [
        (quick().ignore_retry_after(), SECOND),
        (quick().retry_after_limit(2 * 3600 * SECOND), 3600 * SECOND),
        (quick().retry_after_limit(Duration::MAX), 3600 * SECOND),
    ] {
        let service = Scripted::new(asks());
        call(&layer, &service, request("GET")).await.unwrap();
        assert_eq!(service.times()[1].as_secs(), waited.as_secs());
    }
}

#[tokio::test(start_paused = true)]
async fn replayability_is_decided_before_the_wait() {
    let service = Scripted::statuses([429]);
    let started = Instant::now();
    let response = call(&quick().replay_limit(0), &service, request("PUT")).await;
    assert_eq!(started.elapsed(), Duration::ZERO);
    let retried = response.unwrap().retried().unwrap();
    assert_eq!(retried.stop(), StopReason::BodyNotReplayable);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_would_pass_the_total_limit_is_not_begun() {
    for (limit, calls) in [(500, 1), (1000, 1), (1001, 2), (3000, 2), (3001, 3)] {
        let layer = quick().total_limit(Duration::from_millis(limit));
        let service = Scripted::statuses([503]);
        let started = Instant::now();
        let response = call(&layer, &service, request("GET")).await.unwrap();
        assert_eq!(service.calls(), calls, "{limit}");
        assert!(started.elapsed() <= Duration::from_millis(limit));
        let stop = match calls {
            3 => StopReason::AttemptsUsedUp,
            _ => StopReason::WouldPassTotalLimit,
        };
        assert_eq!(response.retried().unwrap().stop(), stop, "{limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_runs_past_the_total_limit_is_dropped() {
    for (script, attempts) in [
        (vec![Reply::Never], 1),
        (vec![Reply::Status(503), Reply::Never], 2),
        (vec![Reply::Reset, Reply::Late(9 * SECOND, 200)], 2),
    ] {
        let layer = quick().total_limit(5 * SECOND);
        let service = Scripted::new(script);
        let started = Instant::now();
        let error = call(&layer, &service, request("GET")).await.unwrap_err();
        assert_eq!(started.elapsed().as_secs(), 5);
        assert_eq!(error.to_string(), "GET /orders timed out after 5s");
        let retried = find::<RetryError>(&*error).unwrap().retried();
        assert_eq!(retried.attempts(), attempts);
        assert_eq!(retried.stop(), StopReason::TotalLimitReached);
        assert_eq!(retried.delivery(), Delivery::Unknown);
        let timeout = find::<TimeoutError>(&*error).unwrap();
        assert_eq!(timeout.limit(), 5 * SECOND);
        assert_eq!(timeout.scope(), TimeoutScope::Head);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_never_repeated_has_a_total_limit_too() {
    let layer = quick().total_limit(5 * SECOND).repeat_unsent(false);
    let service = Scripted::new([Reply::Never]);
    let error = call(&layer, &service, request("POST")).await.unwrap_err();
    assert_eq!(error.to_string(), "POST /orders timed out after 5s");
}

#[tokio::test(start_paused = true)]
async fn limits_at_the_edges() {
    let late = || Scripted::new([Reply::Late(SECOND, 200)]);
    let instant = || Scripted::statuses([200]);
    for (limit, service, succeeds) in [
        (Duration::ZERO, instant(), true),
        (Duration::ZERO, late(), false),
        (Duration::from_nanos(1), instant(), true),
        (Duration::MAX, late(), true),
        (Duration::from_secs(u64::MAX), late(), true),
        (2 * SECOND, late(), true),
        (SECOND / 2, late(), false),
    ] {
        let result = call(&quick().total_limit(limit), &service, request("GET")).await;
        assert_eq!(result.is_ok(), succeeds, "{limit:?}");
    }
}

#[test]
fn an_instant_answer_needs_no_timer() {
    let mut cx = Context::from_waker(Waker::noop());
    let mut client = quick().total_limit(SECOND).layer(Scripted::statuses([200]));
    let ready = Service::<http::Request<http_body_util::Full<bytes::Bytes>>>::poll_ready(
        &mut client,
        &mut cx,
    );
    assert!(ready.is_ready());
    let call = std::pin::pin!(client.call(request("GET")));
    assert!(matches!(call.poll(&mut cx), Poll::Ready(Ok(_))));
}

#[test]
fn an_expired_limit_needs_no_timer() {
    let mut cx = Context::from_waker(Waker::noop());
    let client = quick()
        .total_limit(Duration::ZERO)
        .layer(Scripted::new([Reply::Never]));
    let call = std::pin::pin!(client.oneshot(request("GET")));
    assert!(matches!(call.poll(&mut cx), Poll::Ready(Err(_))));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_call_stops_everything() {
    let service = Scripted::statuses([503]);
    let call = quick().layer(service.clone()).oneshot(request("GET"));
    assert!(timeout(Duration::from_millis(50), call).await.is_err());
    tokio::time::sleep(3600 * SECOND).await;
    assert_eq!(service.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_discarded_body_that_stalls_holds_nothing_up() {
    let short = tower_diagnose::Backoff::exponential(Duration::ZERO, Duration::ZERO);
    let service = Scripted::new([Reply::Stalls(503), Reply::Status(200)]);
    call(&quick().backoff(short), &service, request("GET"))
        .await
        .unwrap();
    let waited = service.times()[1];
    assert!(
        waited >= Duration::from_millis(99) && waited <= Duration::from_millis(102),
        "{waited:?}"
    );

    // While there is a wait anyway, reading costs no time of its own.
    let service = Scripted::new([Reply::Stalls(503), Reply::Status(200)]);
    call(&quick(), &service, request("GET")).await.unwrap();
    assert!(service.times()[1] < SECOND + Duration::from_millis(5));
}

#[tokio::test(start_paused = true)]
async fn reading_a_discarded_body_does_not_eat_the_total_limit() {
    let short = tower_diagnose::Backoff::exponential(Duration::ZERO, Duration::ZERO);
    let layer = quick()
        .backoff(short)
        .total_limit(Duration::from_millis(60));
    let late = Reply::Late(Duration::from_millis(20), 200);
    let service = Scripted::new([Reply::Stalls(503), late]);
    let response = call(&layer, &service, request("GET")).await.unwrap();
    assert_eq!(response.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_limit_around_the_retries_ends_them_and_one_inside_begins_anew() {
    let millis = Duration::from_millis;
    let retries =
        || quick().backoff(Backoff::exponential(millis(150), millis(150)).jitter(Jitter::None));
    let limit = TimeoutLayer::new(millis(200));
    let service = Scripted::statuses([500]);
    let client = limit.layer(retries().layer(service.clone()));
    let started = Instant::now();
    let error = client.oneshot(request("GET")).await.unwrap_err();
    assert_eq!(started.elapsed(), millis(200));
    assert_eq!(error.to_string(), "GET /orders timed out after 200ms");
    tokio::time::sleep(3600 * SECOND).await;
    assert_eq!(service.calls(), 2);
    // Inside, every attempt has the whole of it.
    let late = |status| Reply::Late(millis(190), status);
    let service = Scripted::new([late(500), Reply::Never, late(200)]);
    let client = retries().layer(limit.layer(service.clone()));
    let started = Instant::now();
    let response = client.oneshot(request("GET")).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(started.elapsed(), millis(190 + 150 + 200 + 150 + 190));
}
