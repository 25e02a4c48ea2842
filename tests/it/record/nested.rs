use std::{
    future::{Ready, pending, ready},
    io,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use http::{Extensions, Request, Response, StatusCode};
use http_body_util::Empty;
use tokio::time::{sleep, timeout};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    BoxError, CallRecorder, Delivery, DispatchLayer, ErrorClass, PathTemplate, RecentCalls,
    RecorderLayer, Refused,
};

use super::only;

type Body = Empty<bytes::Bytes>;

fn status(status: u16) -> Response<Body> {
    let mut response = Response::new(Body::new());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

/// Repeats a call as a retry layer does: the same extensions, until the answer is good or three
/// attempts were made.
async fn repeat<S, B>(mut service: S, extensions: Extensions) -> Result<Response<B>, S::Error>
where
    S: Service<Request<()>, Response = Response<B>>,
{
    let mut attempt = 1;
    loop {
        let mut request = Request::get("/things").body(()).unwrap();
        *request.extensions_mut() = extensions.clone();
        let result = service.ready().await?.call(request).await;
        match &result {
            Ok(response) if response.status().is_success() => return result,
            _ if attempt == 3 => return result,
            _ => attempt += 1,
        }
    }
}

/// Answers 503, then breaks, then answers 200.
fn flaky() -> impl Service<
    Request<()>,
    Response = Response<Body>,
    Error = BoxError,
    Future = Ready<Result<Response<Body>, BoxError>>,
> + Clone {
    let calls = Arc::new(AtomicUsize::new(0));
    service_fn(move |_: Request<()>| {
        ready(match calls.fetch_add(1, Ordering::Relaxed) {
            0 => Ok(status(503)),
            1 => Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
            _ => Ok(status(200)),
        })
    })
}

#[tokio::test]
async fn outside_a_retry_there_is_one_record_with_all_attempts() {
    let calls = RecentCalls::new(10);
    let client = DispatchLayer::new().layer(flaky());
    let service = service_fn(move |request: Request<()>| {
        repeat(client.clone(), request.extensions().clone())
    });
    let service = RecorderLayer::new(calls.clone()).layer(service);
    drop(
        service
            .oneshot(Request::get("/things").body(()).unwrap())
            .await
            .unwrap(),
    );
    let record = only(&calls);
    assert_eq!(record.outcome(), None);
    assert_eq!(record.status(), Some(StatusCode::OK));
    assert_eq!(record.attempts(), 3);
    assert_eq!(record.delivery(), Delivery::Unknown);
    assert_eq!(record.last_failure().unwrap().class(), ErrorClass::Network);
    let log: Vec<_> = record
        .attempt_log()
        .map(|attempt| {
            (
                attempt.status().map(|status| status.as_u16()),
                attempt.class(),
            )
        })
        .collect();
    assert_eq!(
        log,
        [
            (Some(503), Some(ErrorClass::Http)),
            (None, Some(ErrorClass::Network)),
            (Some(200), None),
        ]
    );
    let json = serde_json::to_value(&record).unwrap();
    assert_eq!(
        json["attempt_results"],
        serde_json::json!(["503", "network", "200"])
    );
    assert_eq!(json["last_failure_class"], "network");
}

#[tokio::test]
async fn inside_a_retry_there_is_one_record_per_attempt_and_both_may_be_there() {
    let (outer, inner) = (RecentCalls::new(10), RecentCalls::new(10));
    let client = DispatchLayer::new().layer(flaky());
    let client = RecorderLayer::new(inner.clone()).layer(client);
    let service = service_fn(move |request: Request<()>| {
        repeat(client.clone(), request.extensions().clone())
    });
    let service = RecorderLayer::new(outer.clone()).layer(service);
    let handle = CallRecorder::new();
    let mut request = Request::get("/things").body(()).unwrap();
    request.extensions_mut().insert(handle.clone());
    drop(service.oneshot(request).await.unwrap());
    assert_eq!(only(&outer).attempts(), 3);
    let inner: Vec<_> = inner
        .snapshot()
        .iter()
        .map(|record| (record.attempts(), record.error_class(), record.delivery()))
        .collect();
    assert_eq!(
        inner,
        [
            (1, Some(ErrorClass::Http), Delivery::Answered),
            (1, Some(ErrorClass::Network), Delivery::Unknown),
            (1, None, Delivery::Answered),
        ]
    );
    assert_eq!(handle.snapshot().requests, 3);
    assert_eq!(handle.snapshot().responses, 2);
}

#[tokio::test]
async fn one_handle_used_for_two_calls_counts_both_and_each_record_its_own() {
    let calls = RecentCalls::new(10);
    let service = RecorderLayer::new(calls.clone()).layer(DispatchLayer::new().layer(flaky()));
    let handle = CallRecorder::new();
    for _ in 0..3 {
        let mut request = Request::new(());
        request.extensions_mut().insert(handle.clone());
        drop(service.clone().oneshot(request).await);
    }
    let seen: Vec<_> = calls
        .snapshot()
        .iter()
        .map(|record| {
            (
                record.attempts(),
                record.delivery(),
                record.last_failure().is_some(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (1, Delivery::Answered, true),
            (1, Delivery::Unknown, true),
            (1, Delivery::Answered, false),
        ]
    );
    assert_eq!(handle.snapshot().requests, 3);
}

#[tokio::test(start_paused = true)]
async fn attempts_cut_short_are_in_the_log_with_the_time_they_took() {
    let calls = RecentCalls::new(10);
    let client = DispatchLayer::new().layer(service_fn(|_: Request<()>| {
        pending::<Result<Response<Body>, BoxError>>()
    }));
    let service = service_fn(move |request: Request<()>| {
        let client = client.clone();
        async move {
            for _ in 0..2 {
                let mut again = Request::new(());
                *again.extensions_mut() = request.extensions().clone();
                let call = client.clone().oneshot(again);
                drop(timeout(Duration::from_millis(10), call).await);
                sleep(Duration::from_millis(5)).await;
            }
            Err::<Response<Body>, BoxError>(Refused::new("gave up").into())
        }
    });
    let service = RecorderLayer::new(calls.clone()).layer(service);
    drop(service.oneshot(Request::new(())).await);
    let record = only(&calls);
    let log: Vec<_> = record
        .attempt_log()
        .map(|attempt| (attempt.duration().as_millis(), attempt.delivery()))
        .collect();
    assert_eq!(log, [(10, Delivery::Unknown), (10, Delivery::Unknown)]);
    assert_eq!(record.attempts(), 2);
    assert_eq!(record.delivery(), Delivery::Unknown);
}

/// Fails to become ready, once.
#[derive(Clone)]
struct Broken {
    polled: bool,
}

impl Service<Request<()>> for Broken {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        assert!(!self.polled, "polled again after its error");
        self.polled = true;
        Poll::Ready(Err(io::Error::from(io::ErrorKind::ConnectionRefused).into()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        unreachable!("called although it is not ready")
    }
}

#[tokio::test]
async fn an_error_of_poll_ready_is_kept_for_the_next_call_and_recorded() {
    let calls = RecentCalls::new(10);
    let service = DispatchLayer::new().layer(Broken { polled: false });
    let mut service = RecorderLayer::new(calls.clone()).layer(service);
    let service = service.ready().await.expect("the error is kept");
    let service = service.ready().await.expect("the error is still kept");
    let error = service.call(Request::new(())).await.unwrap_err();
    assert_eq!(
        error.downcast::<io::Error>().unwrap().kind(),
        io::ErrorKind::ConnectionRefused
    );
    let record = only(&calls);
    assert_eq!(record.error_class(), Some(ErrorClass::Network));
    assert_eq!(record.delivery(), Delivery::NotSent);
    assert_eq!(record.attempts(), 0);

    // Also where nobody else was there to see that nothing was sent.
    let calls = RecentCalls::new(10);
    let mut service = RecorderLayer::new(calls.clone()).layer(Broken { polled: false });
    drop(service.ready().await.unwrap().call(Request::new(())).await);
    assert_eq!(only(&calls).delivery(), Delivery::NotSent);
}

#[tokio::test]
async fn an_error_of_a_type_nobody_knows_is_what_was_noted_below() {
    #[derive(Debug)]
    struct Opaque;
    let known = service_fn(|_: Request<()>| {
        ready(Err::<Response<Body>, _>(io::Error::from(
            io::ErrorKind::ConnectionReset,
        )))
    });
    let calls = RecentCalls::new(10);
    let service = DispatchLayer::new().layer(known).map_err(|_| Opaque);
    drop(
        RecorderLayer::new(calls.clone())
            .layer(service)
            .oneshot(Request::new(()))
            .await,
    );
    assert_eq!(only(&calls).error_class(), Some(ErrorClass::Network));

    let unknown = service_fn(|_: Request<()>| ready(Err::<Response<Body>, _>(Opaque)));
    let calls = RecentCalls::new(10);
    let service = DispatchLayer::new().layer(unknown);
    drop(
        RecorderLayer::new(calls.clone())
            .layer(service)
            .oneshot(Request::new(()))
            .await,
    );
    assert_eq!(only(&calls).error_class(), Some(ErrorClass::ProxyInternal));
    assert_eq!(only(&calls).delivery(), Delivery::Unknown);
}

#[tokio::test]
async fn a_template_replaces_the_path() {
    let calls = RecentCalls::new(10);
    let answer = service_fn(|_: Request<()>| ready(Ok::<_, BoxError>(status(200))));
    let layer = RecorderLayer::new(calls.clone());
    let hooked = layer.clone().path_with(|endpoint| {
        endpoint
            .path()
            .starts_with("/users/")
            .then_some("/users/{hooked}".into())
    });
    let get = |path: &str| Request::get(path).body(()).unwrap();
    let mut declared = get("/users/42");
    declared
        .extensions_mut()
        .insert(PathTemplate::new("/users/{id}"));
    drop(layer.layer(answer).oneshot(get("/users/42")).await);
    drop(hooked.layer(answer).oneshot(get("/users/42")).await);
    drop(hooked.layer(answer).oneshot(get("/orders/42")).await);
    drop(hooked.layer(answer).oneshot(declared).await);
    let seen: Vec<_> = calls
        .snapshot()
        .iter()
        .map(|record| (record.endpoint().to_string(), record.template().is_some()))
        .collect();
    let expected = [
        ("GET /users/42", false),
        ("GET /users/{hooked}", true),
        ("GET /orders/42", false),
        ("GET /users/{id}", true),
    ];
    assert_eq!(seen, expected.map(|(path, known)| (path.to_owned(), known)));
}

#[tokio::test]
async fn records_of_concurrent_calls_never_mix() {
    let records = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&records);
    let service = service_fn(|request: Request<()>| async move {
        let id: u16 = request.uri().path()[1..].parse().unwrap();
        sleep(Duration::from_micros(u64::from(id) % 7)).await;
        Ok::<_, BoxError>(status(200 + id))
    });
    let service = DispatchLayer::new().layer(service);
    let service =
        RecorderLayer::new(move |record| sink.lock().unwrap().push(record)).layer(service);
    let calls: Vec<_> = (0..200)
        .map(|id| {
            let request = Request::get(format!("/{id}")).body(()).unwrap();
            tokio::spawn(service.clone().oneshot(request))
        })
        .collect();
    for call in calls {
        drop(call.await.unwrap());
    }
    let records = records.lock().unwrap();
    assert_eq!(records.len(), 200);
    for record in &*records {
        let id: u16 = record.endpoint().path()[1..].parse().unwrap();
        assert_eq!(record.status().unwrap().as_u16(), 200 + id);
        assert_eq!(record.attempts(), 1);
    }
}
