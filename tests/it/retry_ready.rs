//! Readiness: every attempt is made on an instance that was made ready for it.
//!
//! [`Scripted`] panics if an instance is called that was not polled ready since it was cloned or called.

use http::Request;
use http_body_util::{BodyExt, Full};
use tower::{
    Layer, Service, ServiceBuilder, ServiceExt, buffer::BufferLayer, limit::ConcurrencyLimitLayer,
    load_shed::LoadShedLayer,
};
use tower_diagnose::{
    ClientStack, Delivery, ErrorClass, RecentCalls, Refused, ReplayBody, ResponseExt, RetryError,
    StopReason, find,
};

use crate::{
    retry::{call, quick, request},
    support::scripted::{Reply, Scripted},
};

type Replayed = Request<ReplayBody<Full<bytes::Bytes>>>;

#[tokio::test(start_paused = true)]
async fn a_limit_of_one_lets_all_attempts_through() {
    let service = Scripted::new([
        Reply::With(503, &[], b"busy"),
        Reply::Reset,
        Reply::Status(200),
    ]);
    let client = ServiceBuilder::new()
        .layer(quick())
        .layer(ConcurrencyLimitLayer::new(1))
        .service(service.clone());
    let mut together = tokio::task::JoinSet::new();
    for _ in 0..5 {
        together.spawn(client.clone().oneshot(request("GET")));
    }
    while let Some(response) = together.join_next().await {
        assert_eq!(response.unwrap().unwrap().status(), 200);
    }
    assert_eq!(service.calls(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_buffer_of_one_lets_all_attempts_through() {
    let service = Scripted::statuses([503, 503, 200]);
    let client = ServiceBuilder::new()
        .layer(quick())
        .layer(BufferLayer::<Replayed>::new(1))
        .service(service.clone());
    let response = client.oneshot(request("GET")).await.unwrap();
    assert_eq!(response.retried().unwrap().attempts(), 3);
}

#[tokio::test(start_paused = true)]
async fn load_shedding_lets_all_attempts_through_and_its_refusals_out() {
    let service = Scripted::statuses([503, 503, 200]);
    let client = ServiceBuilder::new()
        .layer(quick())
        .layer(LoadShedLayer::new())
        .service(service.clone());
    let response = client.oneshot(request("GET")).await.unwrap();
    assert_eq!(response.retried().unwrap().attempts(), 3);

    let client = ServiceBuilder::new()
        .layer(quick())
        .layer(LoadShedLayer::new())
        .layer(ConcurrencyLimitLayer::new(0))
        .service(service.clone());
    let error = client.oneshot(request("GET")).await.unwrap_err();
    assert!(find::<tower::load_shed::error::Overloaded>(&*error).is_some());
    assert!(find::<RetryError>(&*error).is_none());
    assert_eq!(service.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_readiness_is_returned_by_the_next_call() {
    let service = Scripted::statuses([200]);
    service.break_down();
    let mut client = quick().layer(service.clone());
    ServiceExt::<Request<Full<bytes::Bytes>>>::ready(&mut client)
        .await
        .unwrap();
    let error = client.call(request("GET")).await.unwrap_err();
    assert_eq!(find::<Refused>(&*error).unwrap().reason(), "broken down");
    assert!(find::<RetryError>(&*error).is_none());
    assert_eq!(service.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_breaks_down_after_an_answer_returns_the_answer_whole() {
    let service = Scripted::breaking([Reply::With(503, &[], b"the reason")]);
    let response = call(&quick(), &service, request("GET")).await.unwrap();
    assert_eq!(response.status(), 503);
    let retried = response.retried().unwrap();
    assert_eq!(retried.attempts(), 1);
    assert_eq!(retried.stop(), StopReason::NotReady);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "the reason");
}

#[tokio::test(start_paused = true)]
async fn in_a_stack_too_the_answer_comes_back_whole_and_not_the_breakdown() {
    let calls = RecentCalls::new(2);
    let stack = ClientStack::new(std::time::Duration::MAX)
        .retry(quick())
        .record(calls.clone());
    let service = Scripted::breaking([Reply::With(503, &[], br#"{"message":"the reason"}"#)]);
    let client = stack.layer(service.clone());
    let response = client.oneshot(request("GET")).await.unwrap();
    let line = "GET /orders failed (503 Service Unavailable): the reason";
    assert_eq!(response.diagnosis().unwrap().to_string(), line);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, r#"{"message":"the reason"}"#);
    let record = calls.snapshot().remove(0);
    assert_eq!((record.attempts(), service.calls()), (1, 1));
    assert_eq!(record.stop(), Some(StopReason::NotReady));
    assert_eq!(record.outcome().unwrap().class(), ErrorClass::Http);
    assert_eq!(record.delivery(), Delivery::Answered);
    // What broke down before the first attempt is all that there is to tell.
    let error = stack.layer(service).oneshot(request("GET")).await;
    let line = "GET /orders failed: broken down (not sent)";
    assert_eq!(error.unwrap_err().to_string(), line);
    let record = calls.snapshot().remove(1);
    assert_eq!((record.attempts(), record.stop()), (0, None));
    assert_eq!(record.outcome().unwrap().class(), ErrorClass::ProxyPolicy);
    assert_eq!(record.delivery(), Delivery::NotSent);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_breaks_down_after_an_error_returns_the_error() {
    let service = Scripted::breaking([Reply::Reset]);
    let error = call(&quick(), &service, request("GET")).await.unwrap_err();
    assert!(find::<Refused>(&*error).is_none());
    let retried = find::<RetryError>(&*error).unwrap().retried();
    assert_eq!(retried.stop(), StopReason::NotReady);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_breaks_down_during_the_wait_returns_an_answer_without_body() {
    let service = Scripted::statuses([503]);
    let call = tokio::spawn(quick().layer(service.clone()).oneshot(request("GET")));
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    service.break_down();
    let response = call.await.unwrap().unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(response.retried().unwrap().stop(), StopReason::NotReady);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_readiness_ends_at_the_total_limit() {
    let second = std::time::Duration::from_secs(1);
    let limit = ConcurrencyLimitLayer::new(1);
    let service = Scripted::new([Reply::Status(503), Reply::Never]);
    let shared = limit.layer(service.clone());
    let client = quick().total_limit(5 * second).layer(shared.clone());
    let call = tokio::spawn(client.oneshot(request("GET")));
    tokio::time::sleep(second / 2).await;
    // Takes the only permit, for good.
    let hog = tokio::spawn(shared.oneshot(Request::new(Full::new(bytes::Bytes::new()))));
    let started = tokio::time::Instant::now();
    let response = call.await.unwrap().unwrap();
    assert_eq!(started.elapsed().as_millis(), 4500);
    assert_eq!(response.status(), 503);
    assert_eq!(response.retried().unwrap().stop(), StopReason::NotReady);
    hog.abort();
}
