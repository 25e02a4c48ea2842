//! What users may hang into the retry layer, and what it says of itself.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use http::StatusCode;
use tower::{Layer, ServiceExt};
use tower_diagnose::{
    ClientStack, Delivery, Idempotency, NoRetry, RecentCalls, ResponseExt, RetryBudget, RetryLayer,
    StopReason,
};

use crate::{
    retry::{call, quick, request},
    support::scripted::{Reply, Scripted},
};

#[tokio::test(start_paused = true)]
async fn a_hook_extends_what_is_retryable() {
    let layer = quick()
        .retry_if(|attempt| attempt.is_retryable() || attempt.status() == Some(StatusCode::LOCKED));
    for (status, calls) in [(423, 3), (503, 3), (404, 1)] {
        let service = Scripted::statuses([status]);
        call(&layer, &service, request("GET")).await.unwrap();
        assert_eq!(service.calls(), calls, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_cannot_make_an_unsafe_write_repeat() {
    let layer = quick().retry_if(|_| true);
    for reply in [
        Reply::Status(423),
        Reply::Status(503),
        Reply::Reset,
        Reply::TimedOut,
    ] {
        let service = Scripted::new([reply]);
        let _ = call(&layer, &service, request("POST")).await;
        assert_eq!(service.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_vetoes() {
    let layer = quick().retry_if(|attempt| {
        let stops = attempt
            .headers()
            .and_then(|headers| headers.get("x-should-retry"));
        attempt.is_retryable() && stops.is_none_or(|value| value != "false")
    });
    let service = Scripted::new([Reply::With(503, &[("x-should-retry", "false")], b"")]);
    let response = call(&layer, &service, request("GET")).await.unwrap();
    assert_eq!(service.calls(), 1);
    assert_eq!(response.retried().unwrap().stop(), StopReason::Forbidden);
}

#[tokio::test(start_paused = true)]
async fn a_hook_sees_every_attempt_that_is_followed_by_another() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let layer = quick().on_retry({
        let seen = Arc::clone(&seen);
        move |attempt| {
            seen.lock().unwrap().push((
                attempt.number(),
                attempt.status().map(|status| status.as_u16()),
                attempt.error().is_some(),
                attempt.delivery(),
                attempt.wait(),
            ));
            assert_eq!(attempt.endpoint().to_string(), "PUT /orders");
            assert_eq!(attempt.idempotency(), Idempotency::Idempotent);
            assert!(!format!("{attempt:?}").contains("host.example"));
        }
    });
    let service = Scripted::new([
        Reply::Reset,
        Reply::With(503, &[("retry-after", "9")], b""),
        Reply::Status(503),
    ]);
    call(&layer, &service, request("PUT")).await.unwrap();
    assert_eq!(
        *seen.lock().unwrap(),
        [
            (1, None, true, Delivery::Unknown, Duration::from_secs(1)),
            (
                2,
                Some(503),
                false,
                Delivery::Answered,
                Duration::from_secs(9)
            ),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reports_no_connection_is_not_taken_for_unsent_when_it_breaks() {
    let layer = quick().capture_connection(true);
    let service = Scripted::new([Reply::Reset]);
    let _ = call(&layer, &service, request("POST")).await;
    assert_eq!(service.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_announced_in_headers_of_their_own() {
    let layer =
        quick()
            .total_limit(Duration::from_secs(10))
            .announce(|number, time_left, headers| {
                headers.insert("x-attempt", number.into());
                headers.insert("x-left", time_left.unwrap().as_secs().into());
            });
    let service = Scripted::statuses([503, 503, 200]);
    call(&layer, &service, request("GET")).await.unwrap();
    let announced = service.each(|seen| {
        ["x-attempt", "x-left"].map(|name| {
            assert_eq!(seen.head.headers.get_all(name).iter().count(), 1);
            seen.head.headers[name].to_str().unwrap().to_owned()
        })
    });
    assert_eq!(announced, [["1", "10"], ["2", "9"], ["3", "7"]]);
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_no_time_is_announced() {
    let layer = quick().announce(|number, time_left, headers| {
        assert_eq!(time_left, None);
        headers.insert("x-attempt", number.into());
    });
    let service = Scripted::statuses([503, 200]);
    call(&layer, &service, request("GET")).await.unwrap();
    let announced = service.each(|seen| seen.head.headers["x-attempt"].clone());
    assert_eq!(announced, ["1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn every_reason_to_stop_is_named_in_the_record() {
    let busy = || Scripted::statuses([503]);
    let asks = || Scripted::new([Reply::With(503, &[("retry-after", "31")], b"")]);
    let mut forbidden = request("GET");
    forbidden.extensions_mut().insert(NoRetry);
    for (layer, service, request, reason) in [
        (quick(), busy(), request("POST"), "not idempotent"),
        (quick(), busy(), request("GET"), "attempts used up"),
        (quick(), busy(), forbidden, "forbidden"),
        (
            quick(),
            asks(),
            request("GET"),
            "retry-after beyond the limit",
        ),
        (
            quick().replay_limit(0),
            busy(),
            request("PUT"),
            "body not replayable",
        ),
        (
            quick().budget(RetryBudget::new(0, 0, 0)),
            busy(),
            request("GET"),
            "budget exhausted",
        ),
        (
            quick().total_limit(Duration::from_millis(500)),
            busy(),
            request("GET"),
            "would pass the total limit",
        ),
        (
            quick().total_limit(Duration::from_millis(500)),
            Scripted::new([Reply::Never]),
            request("GET"),
            "total limit reached",
        ),
        (
            quick(),
            Scripted::breaking([Reply::Status(503)]),
            request("GET"),
            "not ready",
        ),
    ] {
        let calls = RecentCalls::new(2);
        let stack = ClientStack::new(Duration::MAX)
            .retry(layer)
            .record(calls.clone());
        let _ = stack.layer(service).oneshot(request).await;
        let record = calls.snapshot().remove(0);
        assert_eq!(record.stop().unwrap().to_string(), reason);
        let json = serde_json::to_value(&record).unwrap();
        assert_eq!(json["retry_stop"], reason);
    }
}

#[tokio::test(start_paused = true)]
async fn only_declared_repeats_nothing_else() {
    let layer = quick().only_declared(true);
    for _ in 0..2 {
        let service = Scripted::statuses([503]);
        let response = call(&layer, &service, request("GET")).await.unwrap();
        assert_eq!(service.calls(), 1);
        assert_eq!(
            response.retried().unwrap().stop(),
            StopReason::NotIdempotent
        );
    }
    let mut declared = request("GET");
    declared.extensions_mut().insert(Idempotency::Safe);
    let service = Scripted::statuses([503]);
    call(&layer, &service, declared).await.unwrap();
    assert_eq!(service.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_never_repeated_is_announced_all_the_same() {
    let layer = quick().repeat_unsent(false).announce(|number, _, headers| {
        headers.insert("x-attempt", number.into());
    });
    let service = Scripted::statuses([503]);
    call(&layer, &service, request("POST")).await.unwrap();
    let announced = service.each(|seen| seen.head.headers["x-attempt"].clone());
    assert_eq!(announced, ["1"]);
}

#[tokio::test(start_paused = true)]
async fn a_request_of_which_nothing_is_kept_saves_up_too_and_ends_for_a_reason() {
    let budget = RetryBudget::new(100, 0, 0);
    let layer = quick().repeat_unsent(false).budget(budget.clone());
    let service = Scripted::statuses([503]);
    let response = call(&layer, &service, request("POST")).await.unwrap();
    assert_eq!(service.calls(), 1);
    let retried = response.retried().unwrap();
    assert_eq!(retried.attempts(), 1);
    assert_eq!(retried.stop(), StopReason::NotIdempotent);
    assert_eq!(budget.balance(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_empty_budget_ends_the_repeating() {
    let budget = RetryBudget::new(0, 1, 0);
    let layer = quick().budget(budget.clone());
    let service = Scripted::statuses([503]);
    let response = call(&layer, &service, request("GET")).await.unwrap();
    assert_eq!(service.calls(), 2);
    let retried = response.retried().unwrap();
    assert_eq!(retried.attempts(), 2);
    assert_eq!(retried.stop(), StopReason::BudgetExhausted);
    assert_eq!(budget.balance(), 0);
}

#[tokio::test(start_paused = true)]
async fn one_budget_serves_all_clones_and_services_of_a_layer() {
    let layer = RetryLayer::new();
    let service = Scripted::statuses([503]);
    for _ in 0..20 {
        call(&layer.clone(), &service, request("GET"))
            .await
            .unwrap();
    }
    // 20 first attempts, the reserve of 10 with what time put back in, and a fifth of the calls.
    let repeated = service.calls() - 20;
    assert!((14..=30).contains(&repeated), "{repeated}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_it_waits_returns_what_it_took() {
    let budget = RetryBudget::new(0, 5, 0);
    let layer = quick().budget(budget.clone());
    let service = Scripted::statuses([503]);
    let call = layer.layer(service.clone()).oneshot(request("GET"));
    let result = tokio::time::timeout(Duration::from_millis(500), call).await;
    assert!(result.is_err());
    assert_eq!(budget.balance(), 5);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(service.calls(), 1);
}
