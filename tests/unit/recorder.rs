use std::{future::ready, sync::OnceLock, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use tower::{ServiceExt, service_fn};

use super::*;
use crate::{
    call::CallRecorder,
    class::{ErrorClass, FaultDomain},
    diagnosis::{Diagnosed, Diagnosis, LINE_CAP},
    endpoint::Endpoint,
    error::{BoxError, Refused, RetryError},
    outcome::{Delivery, Outcome},
    recorder::RecentCalls,
    retried::{Retried, StopReason},
    texts::{Text, Texts},
};

type Answer = Result<Response<Full<Bytes>>, BoxError>;

fn diagnosis() -> Diagnosis {
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    let mut texts = Texts::default();
    texts.put(Text::Code, b"E_BUSY");
    texts.put(Text::RequestId, b"r7");
    Diagnosis {
        endpoint: Endpoint::of(&Request::new(())),
        outcome: Outcome::new(ErrorClass::ToolError, FaultDomain::Proxy, Some(status)),
        texts,
        excerpt: crate::excerpt::Excerpt::default(),
        omitted: None,
        hint: None,
        cause: None,
        not_sent: false,
        delivery: Delivery::Unknown,
        attempts: 4,
        stop: None,
        timeout: None,
        retry_after: Some(Duration::from_secs(1)),
        indeterminate: false,
        headers: OnceLock::new(),
        omitted_headers: 0,
        line_cap: LINE_CAP,
    }
}

async fn record_of(answer: impl Fn(&Request<()>) -> Answer) -> crate::record::CallRecord {
    let calls = RecentCalls::new(1);
    let service = service_fn(|request: Request<()>| ready(answer(&request)));
    let service = RecorderLayer::new(calls.clone()).layer(service);
    drop(service.oneshot(Request::new(())).await);
    calls.snapshot().remove(0)
}

#[tokio::test]
async fn a_diagnosis_in_the_answer_or_in_the_error_is_taken_over() {
    let answered = record_of(|_| {
        let mut response = Response::new(Full::default());
        response.extensions_mut().insert(diagnosis());
        Ok(response)
    })
    .await;
    let failed = record_of(|_| Err(Diagnosed::new(diagnosis(), None, None).into())).await;
    for (record, status) in [
        (answered, StatusCode::OK),
        (failed, StatusCode::UNPROCESSABLE_ENTITY),
    ] {
        assert_eq!(record.outcome(), Some(diagnosis().outcome()));
        assert_eq!(record.status(), Some(status));
        assert_eq!(record.delivery(), Delivery::Unknown);
        assert_eq!(record.attempts(), 4);
        assert_eq!(record.remote_code(), Some("E_BUSY"));
        assert_eq!(record.request_id(), Some("r7"));
    }
}

#[tokio::test]
async fn what_a_retry_layer_leaves_counts_where_no_attempt_was_noted() {
    let retried = Retried::new(3, StopReason::AttemptsUsedUp, Delivery::NotSent);
    let answered = record_of(|_| {
        let mut response = Response::new(Full::default());
        response.extensions_mut().insert(retried);
        Ok(response)
    })
    .await;
    assert_eq!(answered.attempts(), 3);
    assert_eq!(answered.stop(), Some(StopReason::AttemptsUsedUp));

    let failed = record_of(|_| {
        let error = Refused::new("circuit open");
        Err(RetryError::new(error.into(), retried).into())
    })
    .await;
    assert_eq!(failed.attempts(), 3);
    assert_eq!(failed.delivery(), Delivery::NotSent);
    assert_eq!(failed.error_class(), Some(ErrorClass::ProxyPolicy));
}

#[tokio::test]
async fn an_answer_that_was_accepted_further_in_is_no_failure() {
    let record = record_of(|request| {
        CallRecorder::of(request.extensions()).unwrap().accepted();
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::NOT_FOUND;
        Ok(response)
    })
    .await;
    assert_eq!(record.outcome(), None);
    assert_eq!(record.status(), Some(StatusCode::NOT_FOUND));
}

#[tokio::test]
async fn a_failure_noted_while_the_body_is_read_counts_and_one_before_the_head_does_not() {
    let before = Outcome::new(ErrorClass::Http, FaultDomain::Upstream, None);
    let late = Outcome::new(ErrorClass::Jsonrpc, FaultDomain::Upstream, None);
    for noted in [None, Some(late)] {
        let calls = RecentCalls::new(1);
        let notes = std::sync::Mutex::new(None);
        let service = service_fn(|request: Request<()>| {
            let recorder = CallRecorder::of(request.extensions()).unwrap().clone();
            recorder.attempt_started();
            recorder.attempt_failed(Some(before), Delivery::Answered);
            *notes.lock().unwrap() = Some(recorder);
            ready(Ok::<_, BoxError>(Response::new(Full::<Bytes>::from("a"))))
        });
        let service = RecorderLayer::new(calls.clone()).layer(service);
        let response = service.oneshot(Request::new(())).await.unwrap();
        if noted.is_some() {
            let recorder = notes.lock().unwrap().take().unwrap();
            recorder.attempt_failed(noted, Delivery::Answered);
        }
        drop(response);
        assert_eq!(calls.snapshot().remove(0).outcome(), noted);
    }
}

#[test]
fn disabled_it_adds_nothing_to_the_request_and_allocates_nothing() {
    let service = service_fn(|request: Request<()>| {
        assert!(request.extensions().is_empty());
        ready(Ok::<_, BoxError>(Response::new(Full::<Bytes>::default())))
    });
    let mut service = RecorderLayer::disabled().layer(service);
    let measured = allocation_counter::measure(|| {
        let request = Request::new(());
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        let mut call = std::pin::pin!(tower::Service::call(&mut service, request));
        assert!(call.as_mut().poll(&mut cx).is_ready());
    });
    assert_eq!(measured.count_total, 0);
}
