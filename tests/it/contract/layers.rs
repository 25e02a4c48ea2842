//! What holds for every layer: readiness, kept errors, clones, panics, drops; and what each leaves for
//! the others.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex},
    task::Context,
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    CallRecord, CallRecorder, ClientStack, Delivery, DiagnoseLayer, DispatchLayer, FaultDomain,
    RecentCalls, RecorderLayer, Refused, ReplayBody, RespondLayer, ResponseExt, RetryError,
    RetryLayer, ServerStack, StopReason, TimeoutLayer, find,
};

use crate::support::outside::{post, response, without_runtime};
use crate::support::scripted::Scripted;

const SECOND: Duration = Duration::from_secs(1);
const JSON: &str = "content-type: application/json";

type Sent = Request<Empty<Bytes>>;
type Reply = Response<Full<Bytes>>;

fn sent(uri: &str) -> Sent {
    Request::get(uri).body(Empty::new()).unwrap()
}

#[tokio::test]
async fn a_panic_of_the_service_goes_through() {
    async fn panics<L, S>(layer: L)
    where
        L: Layer<tower::util::BoxCloneSyncService<Sent, Reply, BoxError>, Service = S>,
        S: Service<Sent>,
    {
        let inner = service_fn(async |_: Sent| -> Result<Reply, BoxError> { panic!("boom") });
        let mut service = layer.layer(tower::util::BoxCloneSyncService::new(inner));
        assert!(service.ready().await.is_ok());
        let mut call = Box::pin(service.call(sent("/a")));
        let caught = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let mut cx = Context::from_waker(std::task::Waker::noop());
            let _ = call.as_mut().poll(&mut cx);
        }));
        assert!(caught.is_err());
        drop(call);
    }
    panics(DiagnoseLayer::new()).await;
    panics(DiagnoseLayer::for_server()).await;
    panics(TimeoutLayer::new(SECOND)).await;
    panics(RecorderLayer::new(|_: CallRecord| {})).await;
    panics(DispatchLayer::new()).await;
    panics(RespondLayer::new()).await;
    panics(ServerStack::new(SECOND)).await;
}

#[tokio::test]
async fn a_failing_status_can_be_made_an_error_that_keeps_its_head() {
    let inner = service_fn(async |_: Request<()>| {
        let body = Full::new(Bytes::from(r#"{"message":"name is taken"}"#));
        Ok::<_, BoxError>(response(422, &format!("{JSON}\nx-request-id: r-7"), body))
    });
    let error = DiagnoseLayer::new()
        .error_for_status(true)
        .layer(inner)
        .oneshot(post("/users"))
        .await
        .unwrap_err();
    let line = "POST /users failed (422 Unprocessable Entity): name is taken";
    assert_eq!(error.to_string(), line);
    let head = error.response().expect("the head is kept");
    assert_eq!(head.status, 422);
    assert_eq!(head.headers["x-request-id"], "r-7");
    assert!(std::error::Error::source(&error).is_none());
    let diagnosis = error.diagnosis().clone();
    assert_eq!(diagnosis.request_id(), Some("r-7"));
    assert_eq!(diagnosis.message(), Some("name is taken"));
    assert_eq!(diagnosis.status(), Some(StatusCode::UNPROCESSABLE_ENTITY));
    assert_eq!(diagnosis.delivery(), Delivery::Answered);
    assert!(error.into_source().is_none());
}

#[tokio::test]
async fn an_error_keeps_its_source() {
    let inner = service_fn(async |_: Request<()>| -> Result<Reply, BoxError> {
        Err(Refused::new("circuit open").into())
    });
    let error = DiagnoseLayer::new()
        .layer(inner)
        .oneshot(post("/a"))
        .await
        .unwrap_err();
    assert!(error.response().is_none());
    let source = std::error::Error::source(&error).expect("the original");
    assert_eq!(source.to_string(), "circuit open");
    assert!(source.downcast_ref::<Refused>().is_some());
    let source = error.into_source().unwrap();
    assert!(source.downcast::<Refused>().is_ok());
}

#[tokio::test(start_paused = true)]
async fn attempts_are_known_above_without_a_recorder() {
    let statuses = Arc::new(Mutex::new(vec![200, 503, 503]));
    let inner = service_fn(move |_: Request<ReplayBody<Empty<Bytes>>>| {
        let status = statuses.lock().unwrap().pop().unwrap_or(503);
        async move { Ok::<_, BoxError>(response(status, "", Full::<Bytes>::default())) }
    });
    let service = DiagnoseLayer::new().layer(RetryLayer::new().layer(inner));
    let good = service.clone().oneshot(sent("/a")).await.unwrap();
    let retried = good.retried().unwrap();
    assert_eq!((good.status().as_u16(), retried.attempts()), (200, 3));
    let failed = service.oneshot(sent("/a")).await.unwrap();
    assert_eq!(failed.retried().unwrap().attempts(), 3);
    assert_eq!(failed.retried().unwrap().stop(), StopReason::AttemptsUsedUp);
    assert_eq!(failed.diagnosis().unwrap().attempts(), 3);

    let refused = service_fn(async |_: Request<_>| -> Result<Reply, BoxError> {
        Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset).into())
    });
    let error = RetryLayer::new()
        .layer(refused)
        .oneshot(sent("/a"))
        .await
        .unwrap_err();
    let retry = find::<RetryError>(&*error).unwrap();
    assert_eq!(retry.retried().attempts(), 3);
    assert_eq!(
        retry.to_string(),
        std::error::Error::source(retry).unwrap().to_string()
    );
}

#[tokio::test]
async fn a_proxied_diagnosis_is_kept_by_the_server() {
    let calls = RecentCalls::new(4);
    let upstream = DiagnoseLayer::new().layer(service_fn(async |_: Request<()>| {
        let body = Full::new(Bytes::from(r#"{"message":"no such page"}"#));
        Ok::<_, BoxError>(response(404, JSON, body))
    }));
    let service = ServerStack::new(SECOND)
        .record(calls.clone())
        .layer(upstream);
    let answer = service.oneshot(post("/proxy")).await.unwrap();
    let diagnosis = answer.diagnosis().unwrap();
    assert_eq!(diagnosis.domain(), FaultDomain::Upstream);
    assert_eq!(diagnosis.message(), Some("no such page"));
    let _ = answer.into_body().collect().await;
    let records = calls.snapshot();
    assert_eq!(
        records[0].outcome().unwrap().domain(),
        FaultDomain::Upstream
    );
}

#[tokio::test]
async fn a_servers_own_failures_are_its_own_fault() {
    for (status, domain) in [
        (500, FaultDomain::Proxy),
        (503, FaultDomain::Proxy),
        (404, FaultDomain::Client),
    ] {
        let inner = service_fn(async |_: Request<()>| {
            Ok::<_, std::convert::Infallible>(response(status, "", Full::<Bytes>::default()))
        });
        let answer = DiagnoseLayer::for_server()
            .layer(inner)
            .oneshot(post("/a"))
            .await
            .unwrap();
        let diagnosis = answer.diagnosis().unwrap();
        assert_eq!(diagnosis.domain(), domain, "{status}");
    }
}

#[tokio::test]
async fn errors_become_problems() {
    let inner = service_fn(async |_: Request<()>| -> Result<Reply, BoxError> {
        Err("cannot reach 10.0.0.7 with SENTINEL".into())
    });
    let answer = ServerStack::new(SECOND)
        .layer(inner)
        .oneshot(post("/a?b=SENTINEL"))
        .await
        .unwrap();
    assert_eq!(answer.status(), 500);
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    let bytes = answer.into_body().collect().await.ok().unwrap().to_bytes();
    let problem: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(problem["status"], 500);
    assert!(problem["title"].is_string());
    assert!(!String::from_utf8_lossy(&bytes).contains("SENTINEL"));
    assert!(!String::from_utf8_lossy(&bytes).contains("10.0.0.7"));
}

#[test]
fn a_whole_stack_answers_at_once_on_no_runtime() {
    let calls = RecentCalls::new(4);
    let inner = service_fn(async |_: Request<ReplayBody<Empty<Bytes>>>| {
        Ok::<_, BoxError>(response(200, "", Full::new(Bytes::from("fine"))))
    });
    let stack = ClientStack::new(SECOND)
        .attempt_timeout(SECOND)
        .record(calls.clone());
    let answer = without_runtime(stack.layer(inner).oneshot(sent("/a")))
        .unwrap()
        .unwrap();
    let bytes = without_runtime(answer.into_body().collect())
        .unwrap()
        .ok()
        .unwrap()
        .to_bytes();
    assert_eq!(bytes, "fine");
    assert_eq!(calls.snapshot().len(), 1);
    assert_eq!(calls.snapshot()[0].outcome(), None);
}

#[tokio::test]
async fn the_callers_recorder_is_adopted() {
    let recorder = CallRecorder::new();
    let inner = DispatchLayer::new().layer(Scripted::statuses([503]));
    let service = RecorderLayer::new(|_: CallRecord| {}).layer(inner);
    let mut request = sent("/a");
    request.extensions_mut().insert(recorder.clone());
    assert!(service.oneshot(request).await.is_ok());
    let facts = recorder.snapshot();
    assert!(facts.dispatched);
    assert_eq!((facts.requests, facts.responses), (1, 1));
    assert_eq!(facts.last_status, Some(StatusCode::SERVICE_UNAVAILABLE));
    assert!(!facts.caller_cancelled);
}
