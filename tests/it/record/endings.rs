use std::{
    future::{Future, pending, ready},
    io,
    time::Duration,
};

use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;
use tokio::time::{advance, sleep, timeout};
use tower::{Layer, Service, ServiceExt, service_fn, timeout::TimeoutLayer};
use tower_diagnose::{
    AuditClass, BodyEnd, BoxError, CallRecord, CallRecorder, Delivery, DispatchLayer, ErrorClass,
    FaultDomain, Outcome, RecentCalls, RecorderLayer, Refused,
};

use super::{
    body::{Scripted, Step},
    only,
};

fn response(status: u16, body: Scripted) -> Response<Scripted> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

/// Calls a service that answers like this, lets `read` do with the answer what it will, and returns
/// the record.
async fn after<F>(
    answer: impl Fn() -> Result<Response<Scripted>, BoxError>,
    read: impl FnOnce(Response<tower_diagnose::recorder::ResponseBody<Scripted>>) -> F,
) -> CallRecord
where
    F: Future<Output = ()>,
{
    let calls = RecentCalls::new(10);
    let service = service_fn(|_: Request<()>| ready(answer()));
    let service = RecorderLayer::new(calls.clone()).layer(DispatchLayer::new().layer(service));
    let request = Request::get("http://user:secret@host/users/42?key=1");
    if let Ok(response) = service.oneshot(request.body(()).unwrap()).await {
        read(response).await;
    }
    only(&calls)
}

async fn collect(response: Response<impl Body>) {
    drop(response.into_body().collect().await);
}

#[tokio::test(start_paused = true)]
async fn a_body_read_to_its_end_is_complete() {
    let steps = || [Step::Data("hello "), Step::Wait, Step::Data("world")];
    let record = after(|| Ok(response(200, Scripted::new(steps()))), collect).await;
    assert_eq!(record.endpoint().to_string(), "GET /users/42");
    assert_eq!(record.status(), Some(StatusCode::OK));
    assert_eq!(record.outcome(), None);
    assert_eq!(record.delivery(), Delivery::Answered);
    assert_eq!(record.attempts(), 1);
    assert_eq!(record.body_end(), Some(BodyEnd::Complete));
    assert_eq!((record.bytes_out(), record.bytes_in()), (Some(0), 11));
    assert_eq!(record.stop(), None);
}

#[tokio::test]
async fn a_body_that_tells_its_end_needs_no_further_poll() {
    let body = || Scripted::telling_its_end([Step::Data("a"), Step::Data("b")]);
    let record = after(
        || Ok(response(200, body())),
        |response| async {
            let mut body = response.into_body();
            body.frame().await.unwrap().unwrap();
            body.frame().await.unwrap().unwrap();
        },
    )
    .await;
    assert_eq!(record.body_end(), Some(BodyEnd::Complete));
    assert_eq!(record.bytes_in(), 2);
}

#[tokio::test]
async fn a_body_is_not_polled_after_its_end_and_its_hints_are_passed_on() {
    for last in [Step::Data("b"), Step::Fail] {
        let calls = RecentCalls::new(10);
        let body = || Scripted::new([Step::Data("a"), last.clone()]);
        let service = service_fn(|_: Request<()>| ready(Ok::<_, BoxError>(response(200, body()))));
        let service = RecorderLayer::new(calls.clone()).layer(service);
        let mut body = service.oneshot(Request::new(())).await.unwrap().into_body();
        assert_eq!(body.size_hint().exact(), Some(2));
        assert!(!body.is_end_stream());
        while let Some(Ok(_)) = body.frame().await {}
        // The scripted body panics if it is polled again.
        assert!(body.frame().await.is_none());
        assert!(body.is_end_stream());
        assert_eq!(calls.total(), 1);
    }
}

#[tokio::test]
async fn an_answer_without_a_body_is_complete_at_its_head() {
    let record = after(
        || Ok(response(204, Scripted::telling_its_end([]))),
        |_| ready(()),
    )
    .await;
    assert_eq!(record.body_end(), Some(BodyEnd::Complete));
    assert_eq!(record.outcome(), None);
}

#[tokio::test]
async fn what_is_never_sent_in_answer_to_a_head_is_not_missed() {
    let calls = RecentCalls::new(1);
    let service = RecorderLayer::new(calls.clone()).layer(service_fn(async |_: Request<()>| {
        Ok::<_, BoxError>(response(200, Scripted::new([Step::Data("a")])))
    }));
    let request = Request::head("/").body(()).unwrap();
    drop(service.oneshot(request).await.unwrap());
    assert_eq!(only(&calls).body_end(), Some(BodyEnd::Complete));
}

/// As one does of which a server resets the stream behind its head.
#[tokio::test]
async fn what_fails_in_answer_to_a_head_has_failed() {
    let calls = RecentCalls::new(1);
    let service = RecorderLayer::new(calls.clone()).layer(service_fn(async |_: Request<()>| {
        Ok::<_, BoxError>(response(200, Scripted::new([Step::Fail])))
    }));
    let request = Request::head("/").body(()).unwrap();
    let response = service.oneshot(request).await.unwrap();
    response.into_body().collect().await.unwrap_err();
    assert_eq!(only(&calls).body_end(), Some(BodyEnd::Failed));
}

#[tokio::test]
async fn trailers_end_the_body_and_a_grpc_status_in_them_counts() {
    for (status, class) in [
        ("0", None),
        ("5", Some(ErrorClass::Jsonrpc)),
        ("16", Some(ErrorClass::Auth)),
        ("nonsense", Some(ErrorClass::Jsonrpc)),
    ] {
        let trailers =
            HeaderMap::from_iter([("grpc-status".parse().unwrap(), status.parse().unwrap())]);
        let record = after(
            || {
                let steps = [Step::Data("a"), Step::Trailers(trailers.clone())];
                Ok(response(200, Scripted::new(steps)))
            },
            |response| async {
                let mut body = response.into_body();
                body.frame().await.unwrap().unwrap();
                body.frame().await.unwrap().unwrap();
            },
        )
        .await;
        assert_eq!(record.body_end(), Some(BodyEnd::Complete));
        assert_eq!(record.error_class(), class, "{status}");
    }
}

#[tokio::test]
async fn a_grpc_answer_that_is_all_head_has_its_status_there() {
    let answer = || {
        let mut response = response(200, Scripted::telling_its_end([]));
        response
            .headers_mut()
            .insert("grpc-status", "14".parse().unwrap());
        Ok(response)
    };
    let record = after(answer, |_| ready(())).await;
    assert_eq!(record.error_class(), Some(ErrorClass::Network));
}

#[tokio::test]
async fn a_good_answer_whose_body_is_dropped_is_no_failure() {
    let body = || Scripted::new([Step::Data("a"), Step::Data("b")]);
    let unread = after(|| Ok(response(200, body())), |_| ready(())).await;
    let begun = after(
        || Ok(response(200, body())),
        |response| async { drop(response.into_body().frame().await) },
    )
    .await;
    for (record, bytes) in [(unread, 0), (begun, 1)] {
        assert_eq!(record.body_end(), Some(BodyEnd::Dropped));
        assert_eq!(record.outcome(), None);
        assert_eq!(record.bytes_in(), bytes);
    }
}

#[tokio::test]
async fn a_body_that_fails_after_a_good_head_is_a_failure() {
    let body = || Scripted::new([Step::Data("a"), Step::Fail]);
    let record = after(|| Ok(response(200, body())), collect).await;
    assert_eq!(record.status(), Some(StatusCode::OK));
    assert_eq!(record.error_class(), Some(ErrorClass::Network));
    assert_eq!(record.fault_domain(), Some(FaultDomain::Upstream));
    assert_eq!(record.body_end(), Some(BodyEnd::Failed));
    assert_eq!(record.delivery(), Delivery::Answered);

    let failing = after(|| Ok(response(503, body())), collect).await;
    assert_eq!(
        failing.error_class(),
        Some(ErrorClass::Http),
        "the head's word comes first"
    );
}

#[tokio::test]
async fn failing_answers_have_the_outcome_of_their_status() {
    for (status, class, audit) in [
        (400, ErrorClass::Http, AuditClass::UpstreamError),
        (401, ErrorClass::Auth, AuditClass::UpstreamError),
        (404, ErrorClass::Http, AuditClass::UpstreamError),
        (503, ErrorClass::Http, AuditClass::UpstreamUnavailable),
    ] {
        let record = after(|| Ok(response(status, Scripted::new([]))), collect).await;
        let outcome = record.outcome().unwrap();
        assert_eq!(outcome.class(), class);
        assert_eq!(outcome.domain(), FaultDomain::Upstream);
        assert_eq!(outcome.status().unwrap().as_u16(), status);
        assert_eq!(record.audit_class(), Some(audit));
    }
}

#[tokio::test]
async fn an_mcp_session_that_ended_is_told_from_a_missing_page() {
    let calls = RecentCalls::new(10);
    let service = service_fn(|_: Request<()>| {
        ready(Ok::<_, BoxError>(response(
            404,
            Scripted::telling_its_end([]),
        )))
    });
    let service = RecorderLayer::new(calls.clone()).layer(service);
    let request = Request::post("/mcp")
        .header("mcp-session-id", "abc")
        .body(())
        .unwrap();
    service.oneshot(request).await.unwrap();
    assert_eq!(
        only(&calls).error_class(),
        Some(ErrorClass::SessionTerminated)
    );
}

#[tokio::test]
async fn errors_have_the_outcome_of_their_type() {
    type Make = fn() -> BoxError;
    let refused: Make = || io::Error::from(io::ErrorKind::ConnectionRefused).into();
    let ours: Make = || Refused::new("circuit open").into();
    let unknown: Make = || "who knows".into();
    for (make, class, domain) in [
        (refused, ErrorClass::Network, FaultDomain::Upstream),
        (ours, ErrorClass::ProxyPolicy, FaultDomain::Proxy),
        (unknown, ErrorClass::ProxyInternal, FaultDomain::Proxy),
    ] {
        let record = after(|| Err(make()), collect).await;
        assert_eq!(record.outcome(), Some(Outcome::new(class, domain, None)));
        assert_eq!((record.status(), record.body_end()), (None, None));
        assert_eq!(record.time_to_head(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_before_its_answer_is_cancelled() {
    let calls = RecentCalls::new(10);
    let notes = CallRecorder::new();
    let service = service_fn(|_: Request<()>| pending::<Result<Response<Scripted>, BoxError>>());
    let service = RecorderLayer::new(calls.clone()).layer(DispatchLayer::new().layer(service));
    let mut request = Request::new(());
    request.extensions_mut().insert(notes.clone());
    assert!(
        timeout(Duration::from_millis(10), service.oneshot(request))
            .await
            .is_err()
    );
    let record = only(&calls);
    assert_eq!(record.error_class(), Some(ErrorClass::Cancelled));
    assert_eq!(record.fault_domain(), Some(FaultDomain::Client));
    assert_eq!(record.status(), None);
    assert_eq!(record.duration(), Duration::from_millis(10));
    assert_eq!(record.delivery(), Delivery::Unknown);
    assert_eq!(record.attempts(), 1);
    assert_eq!(
        record.attempt_log().next().unwrap().duration(),
        Duration::from_millis(10)
    );
    assert!(notes.snapshot().caller_cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_further_in_is_a_timeout() {
    let calls = RecentCalls::new(10);
    let service = service_fn(|_: Request<()>| pending::<Result<Response<Scripted>, BoxError>>());
    let service = DispatchLayer::new().layer(service);
    let service = TimeoutLayer::new(Duration::from_millis(30)).layer(service);
    let service = RecorderLayer::new(calls.clone()).layer(service);
    assert!(service.oneshot(Request::new(())).await.is_err());
    let record = only(&calls);
    assert_eq!(record.error_class(), Some(ErrorClass::Timeout));
    assert_eq!(record.fault_domain(), Some(FaultDomain::Upstream));
    assert_eq!(record.delivery(), Delivery::Unknown);
    assert_eq!(record.duration(), Duration::from_millis(30));
}

#[test]
fn a_future_that_is_never_polled_is_a_cancelled_call() {
    let calls = RecentCalls::new(10);
    let service = service_fn(|_: Request<()>| pending::<Result<Response<Scripted>, BoxError>>());
    let mut service = RecorderLayer::new(calls.clone()).layer(service);
    drop(service.call(Request::new(())));
    assert_eq!(only(&calls).error_class(), Some(ErrorClass::Cancelled));
}

#[tokio::test]
async fn upgrades_end_at_the_head() {
    for (method, status) in [(Method::GET, 101), (Method::CONNECT, 200)] {
        let calls = RecentCalls::new(10);
        let service = service_fn(|_: Request<()>| {
            ready(Ok::<_, BoxError>(response(
                status,
                Scripted::new([Step::Data("a")]),
            )))
        });
        let service = RecorderLayer::new(calls.clone()).layer(service);
        let request = Request::builder().method(method).uri("host:443");
        let response = service.oneshot(request.body(()).unwrap()).await.unwrap();
        let record = only(&calls);
        assert_eq!((record.outcome(), record.body_end()), (None, None));
        drop(response);
        assert_eq!(calls.total(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_to_the_head_and_the_whole_time_are_two_things() {
    let calls = RecentCalls::new(10);
    let service = service_fn(|_: Request<()>| async {
        sleep(Duration::from_millis(20)).await;
        Ok::<_, BoxError>(response(200, Scripted::new([Step::Data("a")])))
    });
    let service = RecorderLayer::new(calls.clone()).layer(service);
    let response = service.oneshot(Request::new(())).await.unwrap();
    advance(Duration::from_millis(5)).await;
    collect(response).await;
    let record = only(&calls);
    assert_eq!(record.time_to_head(), Some(Duration::from_millis(20)));
    assert_eq!(record.duration(), Duration::from_millis(25));
}
