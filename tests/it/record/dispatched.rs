//! An attempt of a record is one that the client was called for.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use tokio::time::sleep;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_diagnose::{
    CallRecorder, ClientStack, Delivery, DiagnoseLayer, DispatchLayer, Endpoint, ErrorClass,
    FaultDomain, RecentCalls, RecorderLayer, Refused, ReplayBody, RetryLayer,
};

use super::only;

type Sent = Request<ReplayBody<Full<Bytes>>>;
type Body = Full<Bytes>;

fn get() -> Request<Body> {
    Request::get("http://host/things")
        .body(Full::default())
        .unwrap()
}

trait Client: Service<Sent, Response = Response<Body>, Error = BoxError> + Clone {}

impl<S> Client for S where S: Service<Sent, Response = Response<Body>, Error = BoxError> + Clone {}

/// Answers with these statuses, one after the other.
fn answers(statuses: &'static [u16]) -> impl Client {
    let sent = Arc::new(AtomicUsize::new(0));
    service_fn(move |_: Sent| {
        let status = statuses[sent.fetch_add(1, Ordering::Relaxed)];
        let response = Response::builder().status(status).body(Full::default());
        async move { Ok(response?) }
    })
}

/// Lets so many calls through, as a breaker might.
fn allows(calls: usize, inner: impl Client) -> impl Client {
    let seen = Arc::new(AtomicUsize::new(0));
    service_fn(move |request: Sent| {
        let is_open = seen.fetch_add(1, Ordering::Relaxed) >= calls;
        let inner = inner.clone();
        async move {
            if is_open {
                return Err(Refused::new("circuit open").into());
            }
            inner.oneshot(request).await
        }
    })
}

/// Sends a second time after a 401, as a login might.
fn repeats(inner: impl Client) -> impl Client {
    service_fn(move |request: Sent| {
        let inner = inner.clone();
        async move {
            let mut second = Request::new(ReplayBody::default());
            *second.extensions_mut() = request.extensions().clone();
            let first = inner.clone().oneshot(request).await?;
            match first.status().as_u16() {
                401 => inner.oneshot(second).await,
                _ => Ok(first),
            }
        }
    })
}

/// Lets every call wait, as a limiter might.
fn queues(inner: impl Client) -> impl Client {
    service_fn(move |request: Sent| {
        let inner = inner.clone();
        async move {
            sleep(Duration::from_secs(60)).await;
            inner.oneshot(request).await
        }
    })
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_before_the_client_is_no_attempt() {
    for (allowed, attempts, delivery, line) in [
        (
            0,
            0,
            Delivery::NotSent,
            "GET /things failed: circuit open (not sent)",
        ),
        (
            1,
            1,
            Delivery::Answered,
            "GET /things failed: circuit open (no response from server) [2 attempts]",
        ),
    ] {
        let client = || allows(allowed, DispatchLayer::new().layer(answers(&[503])));
        let by_hand = RecentCalls::new(10);
        let layers = ServiceBuilder::new()
            .layer(RecorderLayer::new(by_hand.clone()))
            .layer(DiagnoseLayer::new())
            .layer(RetryLayer::new());
        let error = layers.service(client()).oneshot(get()).await.unwrap_err();
        assert_eq!(error.to_string(), line);

        let by_stack = RecentCalls::new(10);
        let stack = ClientStack::new(Duration::from_secs(30)).record(by_stack.clone());
        let stacked = stack.without_dispatch().layer(client());
        let error = stacked.send(get()).await.unwrap_err();
        assert_eq!(error.to_string(), line);

        for record in [only(&by_hand), only(&by_stack)] {
            assert_eq!((record.attempts(), record.delivery()), (attempts, delivery));
            assert_eq!(record.error_class(), Some(ErrorClass::ProxyPolicy));
            assert_eq!(record.attempt_log().count(), attempts as usize);
        }
    }
}

#[tokio::test]
async fn without_a_dispatch_layer_a_refusal_is_no_attempt_either() {
    let calls = RecentCalls::new(10);
    let client = DiagnoseLayer::new().layer(allows(0, answers(&[])));
    let client = RecorderLayer::new(calls.clone()).layer(client);
    let request = get().map(|_| ReplayBody::<Body>::default());
    assert!(client.oneshot(request).await.is_err());
    assert_eq!(only(&calls).attempts(), 0);
    assert_eq!(only(&calls).delivery(), Delivery::NotSent);
}

#[tokio::test]
async fn what_a_layer_inside_of_the_stack_sends_again_is_counted_where_dispatch_stands_below_it() {
    let calls = RecentCalls::new(10);
    let stack = ClientStack::new(Duration::from_secs(30)).record(calls.clone());
    let below = repeats(DispatchLayer::new().layer(answers(&[401, 200])));
    let below = stack.clone().without_dispatch().layer(below);
    let around = stack.layer(repeats(answers(&[401, 200])));
    drop(below.send(get()).await.unwrap());
    drop(around.send(get()).await.unwrap());

    let [below, around] = calls.snapshot().try_into().unwrap();
    let statuses = |record: &tower_diagnose::CallRecord| {
        let log = record.attempt_log().map(|attempt| attempt.status());
        log.map(|status| status.unwrap().as_u16())
            .collect::<Vec<_>>()
    };
    assert_eq!((below.attempts(), statuses(&below)), (2, vec![401, 200]));
    assert_eq!((around.attempts(), statuses(&around)), (1, vec![200]));
    assert_eq!((below.outcome(), around.outcome()), (None, None));
}

#[tokio::test(start_paused = true)]
async fn time_spent_before_the_client_is_called_is_not_the_servers() {
    let calls = RecentCalls::new(10);
    let stack = ClientStack::new(Duration::from_secs(1))
        .without_retry()
        .record(calls.clone());
    let below = queues(DispatchLayer::new().layer(answers(&[])));
    let below = stack.clone().without_dispatch().layer(below);
    let around = stack.layer(queues(answers(&[])));
    assert!(below.send(get()).await.is_err());
    assert!(around.send(get()).await.is_err());
    let domains = calls.snapshot();
    let domains: Vec<_> = domains.iter().map(|record| record.fault_domain()).collect();
    assert_eq!(
        domains,
        [Some(FaultDomain::Proxy), Some(FaultDomain::Upstream)]
    );
}

fn sent() -> Sent {
    get().map(|_| ReplayBody::default())
}

/// Waits so long before it calls its client, and before it hands on the answer of that.
fn waits(before: u64, after: u64, inner: impl Client) -> impl Client {
    service_fn(move |request: Sent| {
        let mut inner = inner.clone();
        // A client that nobody waits for is called along with the call itself.
        let (early, late) = match before {
            0 => (Some(inner.call(request)), None),
            _ => (None, Some(request)),
        };
        async move {
            sleep(Duration::from_millis(before)).await;
            let answer = match (early, late) {
                (Some(answer), _) => answer.await,
                (None, Some(request)) => inner.call(request).await,
                (None, None) => unreachable!(),
            };
            sleep(Duration::from_millis(after)).await;
            answer
        }
    })
}

#[tokio::test(start_paused = true)]
async fn an_attempt_has_its_own_beginning_and_end_wherever_the_calls_are() {
    for (before, after) in [(0, 0), (0, 7), (5, 0), (5, 7)] {
        for asks in [false, true] {
            let calls = RecentCalls::new(10);
            let kept = Arc::new(std::sync::Mutex::new(None));
            let keeps = Arc::clone(&kept);
            let client = service_fn(move |request: Sent| {
                *keeps.lock().unwrap() = request.extensions().get::<CallRecorder>().cloned();
                async {
                    sleep(Duration::from_millis(20)).await;
                    Ok(Response::new(Full::from("hello")))
                }
            });
            let client = waits(before, after, DispatchLayer::new().layer(client));
            let service = RecorderLayer::new(calls.clone()).layer(client);
            let response = service.oneshot(sent()).await.unwrap();
            sleep(Duration::from_millis(3)).await;
            let notes = kept.lock().unwrap().take().unwrap();
            if asks {
                assert_eq!(notes.snapshot().responses, 1);
            }
            drop(response);

            let record = only(&calls);
            let attempts: Vec<_> = record.attempt_log().collect();
            assert_eq!(attempts.len(), 1, "{record:?}");
            assert_eq!(attempts[0].duration(), Duration::from_millis(20));
            assert_eq!(attempts[0].status(), Some(StatusCode::OK));
            assert_eq!(attempts[0].delivery(), Delivery::Answered);
            let head = Duration::from_millis(before + 20 + after);
            assert_eq!(record.time_to_head(), Some(head));
            assert_eq!(record.duration(), head + Duration::from_millis(3));
            assert_eq!((record.attempts(), record.outcome()), (1, None));
            assert_eq!(notes.snapshot().responses, 1);
        }
    }
}

#[tokio::test]
async fn an_attempt_after_one_that_went_well_is_counted_too() {
    let calls = RecentCalls::new(10);
    let client = DispatchLayer::new().layer(answers(&[200, 202]));
    let twice = service_fn(move |request: Sent| {
        let mut client = client.clone();
        let again = request.extensions().clone();
        let first = client.call(request);
        async move {
            first.await?;
            let mut request = sent();
            *request.extensions_mut() = again;
            client.call(request).await
        }
    });
    let service = RecorderLayer::new(calls.clone()).layer(twice);
    drop(service.oneshot(sent()).await.unwrap());
    let record = only(&calls);
    let statuses: Vec<_> = record
        .attempt_log()
        .map(|attempt| attempt.status())
        .collect();
    assert_eq!(statuses, [Some(StatusCode::OK), Some(StatusCode::ACCEPTED)]);
    assert_eq!(record.status(), Some(StatusCode::ACCEPTED));
    assert_eq!(
        (record.attempts(), record.delivery()),
        (2, Delivery::Answered)
    );
}

#[tokio::test]
async fn a_look_into_the_notes_while_the_record_is_made_takes_no_attempt_out_of_it() {
    let calls = RecentCalls::new(10);
    let kept = Arc::new(std::sync::Mutex::new(None));
    let keeps = Arc::clone(&kept);
    let client = service_fn(move |request: Sent| {
        *keeps.lock().unwrap() = request.extensions().get::<CallRecorder>().cloned();
        async { Ok::<_, BoxError>(Response::new(Body::from("hello"))) }
    });
    let looks = move |_: &Endpoint| {
        let notes: Option<CallRecorder> = kept.lock().unwrap().take();
        assert_eq!(notes.unwrap().snapshot().responses, 1);
        Some("/{kind}".into())
    };
    let layer = RecorderLayer::new(calls.clone()).path_with(looks);
    let service = layer.layer(DispatchLayer::new().layer(client));
    drop(service.oneshot(sent()).await.unwrap());
    let record = only(&calls);
    assert_eq!(record.template(), Some("/{kind}"));
    let attempts: Vec<_> = record
        .attempt_log()
        .map(|attempt| attempt.status())
        .collect();
    assert_eq!(
        (record.attempts(), attempts),
        (1, vec![Some(StatusCode::OK)])
    );
}
