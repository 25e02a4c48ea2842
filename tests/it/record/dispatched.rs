//! An attempt of a record is one that the client was called for.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio::time::sleep;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_diagnose::{
    ClientStack, Delivery, DiagnoseLayer, DispatchLayer, ErrorClass, FaultDomain, RecentCalls,
    RecorderLayer, Refused, ReplayBody, RetryLayer,
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
