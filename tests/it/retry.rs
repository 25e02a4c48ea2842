//! What is repeated, how often, and what comes back.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Empty, Full};
use tower::{Layer, Service, ServiceExt};
use tower_diagnose::{
    Backoff, BoxError, Delivery, Idempotency, Jitter, MaxAttempts, NoRetry, ResponseExt,
    RetryError, RetryLayer, StopReason, find,
};

use crate::support::scripted::{Reply, ReplyBody, Scripted};

pub(crate) fn quick() -> RetryLayer {
    RetryLayer::new().without_budget().backoff(
        Backoff::exponential(Duration::from_secs(1), Duration::from_secs(8)).jitter(Jitter::None),
    )
}

pub(crate) fn request(method: &str) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri("http://host.example/orders?id=7")
        .body(Full::new(Bytes::from_static(b"hello")))
        .unwrap()
}

pub(crate) async fn call(
    layer: &RetryLayer,
    service: &Scripted,
    request: Request<Full<Bytes>>,
) -> Result<Response<ReplyBody>, BoxError> {
    layer.layer(service.clone()).oneshot(request).await
}

#[tokio::test(start_paused = true)]
async fn a_call_that_succeeds_at_once_carries_nothing() {
    let service = Scripted::statuses([200]);
    let response = call(&quick(), &service, request("GET")).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.retried(), None);
    assert_eq!(service.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_success_after_failures_says_how_many() {
    let service = Scripted::statuses([503, 503, 200]);
    let response = call(&quick(), &service, request("GET")).await.unwrap();
    assert_eq!(response.status(), 200);
    let retried = response.retried().unwrap();
    assert_eq!(retried.attempts(), 3);
    assert_eq!(retried.stop(), StopReason::Succeeded);
    assert_eq!(retried.delivery(), Delivery::Answered);
}

#[tokio::test(start_paused = true)]
async fn the_last_response_comes_back_unread() {
    let service = Scripted::new([Reply::With(503, &[("x-reason", "full")], b"try later")]);
    let response = call(&quick(), &service, request("GET")).await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["x-reason"], "full");
    let retried = response.retried().unwrap();
    assert_eq!(retried.attempts(), 3);
    assert_eq!(retried.stop(), StopReason::AttemptsUsedUp);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "try later");
}

#[tokio::test(start_paused = true)]
async fn the_last_error_comes_back_inside_one_that_reads_the_same() {
    let service = Scripted::new([Reply::Reset]);
    let error = call(&quick(), &service, request("GET")).await.unwrap_err();
    let inner = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    assert_eq!(error.to_string(), inner.to_string());
    let retried = find::<RetryError>(&*error).unwrap().retried();
    assert_eq!(retried.attempts(), 3);
    assert_eq!(retried.stop(), StopReason::AttemptsUsedUp);
    assert_eq!(retried.delivery(), Delivery::Unknown);
    assert_eq!(service.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn one_uncertain_attempt_makes_the_call_uncertain() {
    let service = Scripted::new([Reply::Reset, Reply::Status(503)]);
    let response = call(&quick(), &service, request("GET")).await.unwrap();
    assert_eq!(response.retried().unwrap().delivery(), Delivery::Unknown);
}

#[tokio::test(start_paused = true)]
async fn methods_and_declarations_decide_what_is_repeated() {
    let with_key = |mut request: Request<_>| {
        let key = HeaderValue::from_static("k-1");
        request.headers_mut().insert("idempotency-key", key);
        request
    };
    let declared = |mut request: Request<_>, idempotency: Idempotency| {
        request.extensions_mut().insert(idempotency);
        request
    };
    for (request, attempts) in [
        (request("GET"), 3),
        (request("HEAD"), 3),
        (request("OPTIONS"), 3),
        (request("TRACE"), 3),
        (request("PUT"), 3),
        (request("DELETE"), 3),
        (request("POST"), 1),
        (request("PATCH"), 1),
        (request("QUERY"), 1),
        (with_key(request("POST")), 3),
        (declared(request("PATCH"), Idempotency::Idempotent), 3),
        (declared(request("POST"), Idempotency::Safe), 3),
        (declared(request("GET"), Idempotency::NotIdempotent), 1),
        (
            declared(with_key(request("PUT")), Idempotency::NotIdempotent),
            1,
        ),
    ] {
        for reply in [Reply::Status(502), Reply::Reset, Reply::TimedOut] {
            let service = Scripted::new([reply]);
            let what = format!("{} {:?}", request.method(), request.extensions());
            let result = call(&quick(), &service, request.clone()).await;
            assert_eq!(service.calls(), attempts, "{what}");
            if attempts == 1 {
                let retried = match result {
                    Ok(response) => response.retried(),
                    Err(error) => find::<RetryError>(&*error).map(RetryError::retried),
                };
                assert_eq!(retried.unwrap().stop(), StopReason::NotIdempotent, "{what}");
            }
            let keys = service.each(|seen| seen.head.headers.get("idempotency-key").cloned());
            assert!(keys.iter().all(|key| *key == keys[0]), "{what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn statuses_decide_whether_repeating_could_help() {
    for status in 400..600 {
        let is_retryable = match status {
            408 | 425 | 429 => true,
            501 | 505 | 511 => false,
            _ => status >= 500,
        };
        let service = Scripted::statuses([status]);
        let response = call(&quick(), &service, request("GET")).await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(
            service.calls(),
            if is_retryable { 3 } else { 1 },
            "{status}"
        );
        assert_eq!(response.retried().is_some(), is_retryable, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_early_data_is_repeated_only_if_that_is_safe() {
    for (method, attempts) in [("GET", 2), ("POST", 1)] {
        let service = Scripted::statuses([425, 200]);
        call(&quick(), &service, request(method)).await.unwrap();
        assert_eq!(service.calls(), attempts, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_of_our_own_side_are_not_repeated() {
    let service = Scripted::new([Reply::Refuses]);
    let error = call(&quick(), &service, request("GET")).await.unwrap_err();
    assert!(find::<RetryError>(&*error).is_none());
    assert_eq!(service.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_failed_is_no_failed_call() {
    let body = br#"{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[]}}"#;
    let service = Scripted::new([Reply::With(
        200,
        &[("content-type", "application/json")],
        body,
    )]);
    let response = call(&quick(), &service, request("GET")).await.unwrap();
    assert_eq!(response.retried(), None);
    assert_eq!(service.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn expect_and_connect_are_never_repeated() {
    let mut expecting = request("PUT");
    let value = HeaderValue::from_static("100-continue");
    expecting.headers_mut().insert("expect", value);
    for status in [417, 503] {
        let service = Scripted::statuses([status]);
        call(&quick(), &service, expecting.clone()).await.unwrap();
        assert_eq!(service.calls(), 1);
    }
    let mut tunnel = request("CONNECT");
    *tunnel.uri_mut() = "host.example:443".parse().unwrap();
    let service = Scripted::statuses([503]);
    call(&quick(), &service, tunnel).await.unwrap();
    assert_eq!(service.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_number_of_attempts_includes_the_first() {
    let max = |attempts| {
        let mut request = request("GET");
        request.extensions_mut().insert(MaxAttempts(attempts));
        request
    };
    let mut never = request("GET");
    never.extensions_mut().insert(NoRetry);
    let used_up = StopReason::AttemptsUsedUp;
    for (layer, request, calls, stop) in [
        (quick().max_attempts(0), request("GET"), 1, used_up),
        (quick().max_attempts(1), request("GET"), 1, used_up),
        (quick().max_attempts(2), request("GET"), 2, used_up),
        (quick(), max(0), 1, used_up),
        (quick(), max(1), 1, used_up),
        (quick().max_attempts(1), max(5), 5, used_up),
        (quick(), never, 1, StopReason::Forbidden),
    ] {
        let service = Scripted::statuses([503]);
        let response = call(&layer, &service, request).await.unwrap();
        assert_eq!(service.calls(), calls);
        assert_eq!(response.retried().unwrap().attempts(), calls as u32);
        assert_eq!(response.retried().unwrap().stop(), stop);
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_counts_for_itself() {
    let service = Scripted::statuses([503]);
    let mut client = quick().layer(service.clone());
    for calls in [3, 6] {
        let ready = ServiceExt::<Request<Full<Bytes>>>::ready(&mut client).await;
        let response = ready.unwrap().call(request("GET")).await.unwrap();
        assert_eq!(response.retried().unwrap().attempts(), 3);
        assert_eq!(service.calls(), calls);
    }
    let mut together = tokio::task::JoinSet::new();
    for _ in 0..20 {
        together.spawn(client.clone().oneshot(request("GET")));
    }
    while let Some(response) = together.join_next().await {
        let response = response.unwrap().unwrap();
        assert_eq!(response.retried().unwrap().attempts(), 3);
    }
    assert_eq!(service.calls(), 6 + 60);
}

#[tokio::test(start_paused = true)]
async fn every_attempt_sends_the_same_request() {
    #[derive(Clone, Debug, PartialEq)]
    struct Tag(&'static str);

    let mut request = request("PUT");
    *request.version_mut() = Version::HTTP_2;
    let mut secret = HeaderValue::from_static("Bearer secret");
    secret.set_sensitive(true);
    request.headers_mut().insert("authorization", secret);
    request
        .headers_mut()
        .append("x-twice", HeaderValue::from_static("1"));
    request
        .headers_mut()
        .append("x-twice", HeaderValue::from_static("2"));
    request.extensions_mut().insert(Tag("mine"));

    let service = Scripted::statuses([503, 503, 200]);
    call(&quick(), &service, request.clone()).await.unwrap();
    let same = service.each(|seen| {
        assert_eq!(seen.head.method, Method::PUT);
        assert_eq!(seen.head.uri, *request.uri());
        assert_eq!(seen.head.version, Version::HTTP_2);
        assert_eq!(seen.head.headers, *request.headers());
        assert!(seen.head.headers["authorization"].is_sensitive());
        assert_eq!(seen.head.extensions.get(), Some(&Tag("mine")));
        assert_eq!(seen.body, "hello");
    });
    assert_eq!(same.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn nested_layers_do_not_multiply() {
    for (reply, is_error) in [(Reply::Status(503), false), (Reply::Reset, true)] {
        let service = Scripted::new([reply]);
        let client = quick().layer(quick().layer(service.clone()));
        let result = client.oneshot(request("GET")).await;
        assert_eq!(service.calls(), 3);
        let retried = match result {
            Ok(response) => response.retried().unwrap(),
            Err(error) => find::<RetryError>(&*error).unwrap().retried(),
        };
        assert_eq!(retried.attempts(), 3, "{is_error}");
        assert_eq!(retried.stop(), StopReason::GivenUpBelow);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_layer_below_noted_on_a_success_stays() {
    let service = Scripted::statuses([503, 200]);
    let client = quick().layer(quick().layer(service.clone()));
    let retried = client.oneshot(request("GET")).await.unwrap().retried();
    assert_eq!(retried.unwrap().attempts(), 2);
    assert_eq!(retried.unwrap().stop(), StopReason::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn a_body_over_the_limit_forbids_only_the_repetition() {
    let service = Scripted::statuses([503]);
    let response = call(&quick().replay_limit(4), &service, request("PUT")).await;
    let response = response.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    let retried = response.retried().unwrap();
    assert_eq!(retried.stop(), StopReason::BodyNotReplayable);
    assert_eq!(service.each(|seen| seen.body.clone()), ["hello"]);
}

#[test]
fn everything_is_clone_send_and_sync() {
    fn check<T: Clone + Send + Sync>(_: &T) {}
    fn check_future<T: Send>(_: &T) {}

    let layer = RetryLayer::default();
    check(&layer);
    let mut client = layer.layer(Scripted::statuses([200]));
    check(&client);
    let request = Request::new(Empty::<Bytes>::new());
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let _ = Service::<Request<Empty<Bytes>>>::poll_ready(&mut client, &mut cx);
    check_future(&client.call(request));
}
