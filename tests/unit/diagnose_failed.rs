use std::time::Duration;

use http::{Request, Response, StatusCode};

use super::*;
use crate::{
    diagnose::{DiagnoseLayer, call::Kept, peeked::Prefix},
    error::{BoxError, Refused, TimeoutError, TimeoutScope},
    outcome::Idempotency,
    remembered::Remembered,
    retried::{Retried, StopReason},
};

fn call(method: &str, recorder: Option<&CallRecorder>) -> Kept {
    let request = Request::builder()
        .method(method)
        .uri("/pay")
        .body(())
        .unwrap();
    let remembered = Remembered::of(request.method(), request.uri(), request.headers(), &[]);
    let idempotency = Idempotency::of(&request);
    Kept::recalled(
        &DiagnoseLayer::new(),
        (remembered, idempotency, recorder.cloned()),
    )
}

fn retried(attempts: u32, delivery: Delivery) -> Retried {
    Retried::new(attempts, StopReason::AttemptsUsedUp, delivery)
}

fn timed_out() -> TimeoutError {
    let request = Request::get("/pay").body(()).unwrap();
    TimeoutError::new(
        crate::endpoint::Endpoint::of(&request),
        Duration::from_secs(30),
        TimeoutScope::Head,
    )
}

#[test]
fn attempts_and_delivery_come_from_the_retries() {
    let error: BoxError =
        RetryError::new(Box::new(timed_out()), retried(3, Delivery::Unknown)).into();
    let diagnosis = call("GET", None).call().failed(Some(&*error));
    assert_eq!(
        diagnosis.to_string(),
        "GET /pay failed: timed out after 30s (no response from server) [3 attempts]"
    );
    assert_eq!(diagnosis.attempts(), 3);
    assert_eq!(diagnosis.timeout(), Some(Duration::from_secs(30)));
    assert!(!diagnosis.is_indeterminate());
    assert!(
        call("POST", None)
            .call()
            .failed(Some(&*error))
            .is_indeterminate()
    );
}

#[test]
fn a_refusal_after_an_attempt_that_may_have_arrived_is_not_called_unsent() {
    let error: BoxError = RetryError::new(
        Box::new(Refused::new("circuit open")),
        retried(2, Delivery::Unknown),
    )
    .into();
    let diagnosis = call("POST", None).call().failed(Some(&*error));
    assert_eq!(
        diagnosis.to_string(),
        "POST /pay failed: circuit open (no response from server) [2 attempts]"
    );
    assert!(diagnosis.is_indeterminate());
}

#[test]
fn a_recorder_adds_what_the_error_does_not_know() {
    let recorder = CallRecorder::new();
    recorder.attempt_started();
    recorder.attempt_failed(None, Delivery::Unknown);
    recorder.attempt_started();
    let refused = Refused::new("circuit open");
    let diagnosis = call("POST", Some(&recorder)).call().failed(Some(&refused));
    assert_eq!(diagnosis.attempts(), 2);
    assert_eq!(diagnosis.delivery(), Delivery::Unknown);

    let untouched = CallRecorder::new();
    let timeout = timed_out();
    let diagnosis = call("GET", Some(&untouched)).call().failed(Some(&timeout));
    assert_eq!(diagnosis.class(), ErrorClass::Timeout);
    assert_eq!(diagnosis.domain(), FaultDomain::Proxy);
    let diagnosis = call("GET", None).call().failed(Some(&timeout));
    assert_eq!(diagnosis.domain(), FaultDomain::Upstream);
}

fn failing(mut head: http::response::Parts, prefix: &Prefix<'_>) -> Diagnosis {
    call("GET", None).call().fail(&mut head, prefix);
    head.extensions.remove().unwrap()
}

#[test]
fn an_answer_after_retries_says_how_many() {
    let mut response = Response::builder().status(503).body(()).unwrap();
    response
        .extensions_mut()
        .insert(retried(3, Delivery::Unknown));
    let (head, ()) = response.into_parts();
    let diagnosis = failing(head, &Prefix::EMPTY);
    assert_eq!(
        diagnosis.to_string(),
        "GET /pay failed (503 Service Unavailable): Service Unavailable [3 attempts]"
    );
    assert_eq!(diagnosis.delivery(), Delivery::Unknown);
    assert_eq!(diagnosis.status(), Some(StatusCode::SERVICE_UNAVAILABLE));
}

#[test]
fn the_suffix_survives_the_cut() {
    let mut response = Response::builder().status(503).body(()).unwrap();
    response
        .extensions_mut()
        .insert(retried(3, Delivery::Answered));
    let (head, ()) = response.into_parts();
    let body = format!(r#"{{"message":"{}"}}"#, "m".repeat(1000));
    let prefix = Prefix {
        bytes: body.as_bytes(),
        is_complete: true,
        unread: 0,
    };
    let line = failing(head, &prefix).to_string();
    assert_eq!(line.chars().count(), 300);
    assert!(line.starts_with("GET /pay failed (503 Service Unavailable): mmm"));
    assert!(line.ends_with("mmm… [3 attempts]"), "{line}");
}

#[test]
fn what_a_layer_below_said_of_an_attempt_is_kept() {
    let below = call("GET", None)
        .call()
        .failed(Some(&Refused::new("circuit open")));
    let error: BoxError = RetryError::new(
        Box::new(Diagnosed::new(below, None, None)),
        retried(2, Delivery::NotSent),
    )
    .into();
    let diagnosis = call("GET", None).call().failed(Some(&*error));
    assert_eq!(
        diagnosis.to_string(),
        "GET /pay failed: circuit open (not sent) [2 attempts]"
    );
    assert_eq!(diagnosis.class(), ErrorClass::ProxyPolicy);
}
