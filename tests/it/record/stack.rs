//! What a record says of a call through all layers.

use std::{
    future::{Ready, pending, ready},
    io,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tokio::time::sleep;
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{
    BodyEnd, BoxError, ClientStack, Delivery, DiagnoseLayer, ErrorClass, FaultDomain, RecentCalls,
    ServerStack, StopReason, retry::ReplayBody,
};

use super::only;

type Sent = Request<ReplayBody<Full<Bytes>>>;

fn answer(status: u16, body: &'static str) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .header("x-request-id", "r9")
        .body(Full::from(body))
        .unwrap()
}

fn get() -> Request<Full<Bytes>> {
    Request::get("http://host/things")
        .body(Full::default())
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_ran_out_of_time_is_in_the_log_and_the_last_failure() {
    let calls = RecentCalls::new(10);
    let sent = AtomicUsize::new(0);
    let client = service_fn(|_: Sent| {
        let is_first = sent.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            if is_first {
                sleep(Duration::MAX).await;
            }
            Ok::<_, BoxError>(answer(200, "{}"))
        }
    });
    let client = ClientStack::new(Duration::from_secs(30))
        .attempt_timeout(Duration::from_secs(1))
        .record(calls.clone())
        .layer(client);
    let response = client.oneshot(get()).await.unwrap();
    response.into_body().collect().await.unwrap();
    let record = only(&calls);
    assert_eq!(record.outcome(), None);
    assert_eq!(
        (record.attempts(), record.delivery()),
        (2, Delivery::Unknown)
    );
    assert_eq!(record.stop(), Some(StopReason::Succeeded));
    assert_eq!(record.body_end(), Some(BodyEnd::Complete));
    let failure = record.last_failure().unwrap();
    assert_eq!(failure.class(), ErrorClass::Timeout);
    assert_eq!(failure.domain(), FaultDomain::Upstream);
    let first = record.attempt_log().next().unwrap();
    assert_eq!(first.class(), Some(ErrorClass::Timeout));
    assert_eq!(first.duration(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn every_attempt_that_ran_out_of_its_own_limit_is_a_timeout() {
    let calls = RecentCalls::new(10);
    let client = ClientStack::new(Duration::from_secs(30))
        .attempt_timeout(Duration::from_secs(1))
        .record(calls.clone())
        .layer(service_fn(|_: Sent| {
            std::future::pending::<Result<Response<String>, BoxError>>()
        }));
    client.oneshot(get()).await.unwrap_err();
    let record = only(&calls);
    let classes: Vec<_> = record
        .attempt_log()
        .map(|attempt| attempt.class())
        .collect();
    assert_eq!(classes, [Some(ErrorClass::Timeout); 3]);
}

#[tokio::test(start_paused = true)]
async fn a_failing_call_is_recorded_as_it_was_diagnosed() {
    let calls = RecentCalls::new(10);
    let body = r#"{"error":"server_busy","error_description":"come back later"}"#;
    let client = service_fn(move |_: Sent| ready(Ok::<_, BoxError>(answer(503, body))));
    let client = ClientStack::new(Duration::from_secs(30))
        .record(calls.clone())
        .layer(client);
    let response = client.oneshot(get()).await.unwrap();
    response.into_body().collect().await.unwrap();
    let json = serde_json::to_value(only(&calls)).unwrap();
    for (name, value) in [
        ("error_class", "http"),
        ("fault_domain", "upstream"),
        ("delivery", "answered"),
        ("request_id", "r9"),
        ("retry_stop", "attempts used up"),
        ("body_end", "complete"),
    ] {
        assert_eq!(json[name], value, "{json}");
    }
    assert_eq!(json["attempts"], 3);
    assert_eq!(json["upstream_http_status"], 503);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_broke_three_times_has_one_record() {
    fn broken(_: Sent) -> Ready<Result<Response<Full<Bytes>>, io::Error>> {
        ready(Err(io::ErrorKind::ConnectionReset.into()))
    }
    let calls = RecentCalls::new(10);
    let client = ClientStack::new(Duration::from_secs(30))
        .record(calls.clone())
        .layer(service_fn(broken));
    assert!(client.oneshot(get()).await.is_err());
    let record = only(&calls);
    assert_eq!(record.error_class(), Some(ErrorClass::Network));
    assert_eq!(
        (record.attempts(), record.delivery()),
        (3, Delivery::Unknown)
    );
    assert_eq!(record.stop(), Some(StopReason::AttemptsUsedUp));
    assert_eq!(record.status(), None);
}

#[tokio::test]
async fn a_status_that_the_diagnosis_accepts_is_no_failure() {
    let calls = RecentCalls::new(10);
    let client = service_fn(|_: Sent| ready(Ok::<_, BoxError>(answer(404, "{}"))));
    let client = ClientStack::new(Duration::from_secs(30))
        .diagnose(DiagnoseLayer::new().failure_when(|status| status.is_server_error()))
        .record(calls.clone())
        .layer(client);
    drop(client.oneshot(get()).await.unwrap());
    let record = only(&calls);
    assert_eq!(record.outcome(), None);
    assert_eq!(record.status(), Some(StatusCode::NOT_FOUND));
}

#[tokio::test(start_paused = true)]
async fn a_success_after_an_answer_that_failed_says_which() {
    let calls = RecentCalls::new(10);
    let sent = AtomicUsize::new(0);
    let client = service_fn(|_: Sent| {
        let status = match sent.fetch_add(1, Ordering::Relaxed) {
            0 => 503,
            _ => 200,
        };
        ready(Ok::<_, BoxError>(answer(status, "{}")))
    });
    let client = ClientStack::new(Duration::from_secs(30))
        .record(calls.clone())
        .layer(client);
    let response = client.oneshot(get()).await.unwrap();
    response.into_body().collect().await.unwrap();
    let record = only(&calls);
    assert_eq!((record.outcome(), record.attempts()), (None, 2));
    assert_eq!(record.status(), Some(StatusCode::OK));
    let failure = record.last_failure().unwrap();
    assert_eq!(failure.class(), ErrorClass::Http);
    assert_eq!(failure.status(), Some(StatusCode::SERVICE_UNAVAILABLE));
    let json = serde_json::to_value(&record).unwrap();
    assert_eq!(json["last_failure_class"], "http");
    assert_eq!(json["last_failure_status"], 503);
    assert!(json.get("error_class").is_none(), "{json}");
}

#[tokio::test(start_paused = true)]
async fn the_answer_that_is_made_of_an_error_outside_is_none_of_the_records() {
    let calls = RecentCalls::new(10);
    let service =
        service_fn(|_: Request<Full<Bytes>>| pending::<Result<Response<Full<Bytes>>, BoxError>>());
    let service = ServerStack::new(Duration::from_secs(1))
        .record(calls.clone())
        .layer(service);
    let response = service.oneshot(get()).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    let record = only(&calls);
    assert_eq!(record.error_class(), Some(ErrorClass::Timeout));
    assert_eq!((record.status(), record.body_end()), (None, None));
}
