//! Where retries end: limits, hooks, and a service that is not ready again.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tokio::time::Instant;
use tower::{Layer, ServiceExt};
use tower_diagnose::{
    Backoff, BoxError, ClientStack, Delivery, DiagnoseLayer, Idempotency, Jitter, Refused,
    ResponseExt, RetryBudget, RetryError, RetryLayer, StopReason, TimeoutError, find,
};

use super::shared::{attempts, calm, sent};
use crate::support::{
    outside::response,
    scripted::{Reply, Scripted},
};

#[tokio::test(start_paused = true)]
async fn hooks_see_the_attempt() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let layer = calm()
        .backoff(
            Backoff::exponential(Duration::from_millis(100), Duration::from_secs(9))
                .jitter(Jitter::None),
        )
        .retry_if(|attempt| attempt.status().is_some_and(|status| status == 423))
        .on_retry(move |attempt| {
            let text = format!(
                "{} {} {:?} {} {} {:?}",
                attempt.endpoint(),
                attempt.number(),
                attempt.status(),
                attempt.delivery(),
                attempt.idempotency(),
                attempt.wait()
            );
            noted.lock().unwrap().push(text);
        });
    let inner = Scripted::statuses([423, 423, 503]);
    let (count, _) = attempts(&layer, &inner, sent(Method::PUT)).await;
    assert_eq!(count, 3);
    let seen = seen.lock().unwrap();
    assert_eq!(
        *seen,
        [
            "PUT /a 1 Some(423) answered idempotent 100ms",
            "PUT /a 2 Some(423) answered idempotent 200ms",
        ]
    );
    assert_eq!(inner.times(), [0, 100, 300].map(Duration::from_millis));
}

#[tokio::test(start_paused = true)]
async fn nested_retries_do_not_multiply() {
    let inner = Scripted::statuses([503]);
    let nested = calm().layer(calm().layer(inner.clone()));
    let response = nested.oneshot(sent(Method::GET)).await.unwrap();
    assert_eq!(inner.calls(), 3);
    assert_eq!(response.retried().unwrap().attempts(), 3);

    let inner = Scripted::new([Reply::Reset]);
    let nested =
        calm().layer(DiagnoseLayer::new().layer(calm().layer(calm().layer(inner.clone()))));
    let error = nested.oneshot(sent(Method::GET)).await.unwrap_err();
    assert_eq!(inner.calls(), 3);
    assert_eq!(find::<RetryError>(&*error).unwrap().retried().attempts(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_total_limit_covers_the_whole_call() {
    let total = Duration::from_millis(250);
    let layer = calm().total_limit(total).backoff(
        Backoff::exponential(Duration::from_millis(150), Duration::from_secs(9))
            .jitter(Jitter::None),
    );
    // A wait that would pass the limit is not begun.
    let begun = Instant::now();
    let inner = Scripted::statuses([503]);
    let (count, retried) = attempts(&layer, &inner, sent(Method::GET)).await;
    assert_eq!((count, begun.elapsed()), (2, Duration::from_millis(150)));
    assert_eq!(retried.unwrap().stop(), StopReason::WouldPassTotalLimit);

    // An attempt that still runs is dropped.
    let begun = Instant::now();
    let inner = Scripted::new([Reply::Status(503), Reply::Never]);
    let error = layer
        .layer(inner)
        .oneshot(sent(Method::GET))
        .await
        .unwrap_err();
    assert_eq!(begun.elapsed(), total);
    let retry = find::<RetryError>(&*error).unwrap();
    assert_eq!(retry.retried().attempts(), 2);
    assert_eq!(retry.retried().delivery(), Delivery::Unknown);
    let timeout = find::<TimeoutError>(&*error).unwrap();
    assert_eq!((timeout.limit(), timeout.endpoint().path()), (total, "/a"));
    assert_eq!(timeout.to_string(), "GET /a timed out after 250ms");

    let begun = Instant::now();
    let inner = Scripted::new([Reply::Never]);
    let error = layer
        .layer(inner)
        .oneshot(sent(Method::GET))
        .await
        .unwrap_err();
    assert_eq!(begun.elapsed(), total);
    assert!(error.downcast_ref::<RetryError>().is_some());
    assert!(find::<TimeoutError>(&*error).is_some());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_stops_everything() {
    let budget = RetryBudget::new(20, 10, 1);
    let layer = RetryLayer::new().budget(budget.clone()).backoff(
        Backoff::exponential(Duration::from_secs(10), Duration::from_secs(10)).jitter(Jitter::None),
    );
    let inner = Scripted::statuses([503]);
    let full = budget.balance();
    let call = layer.layer(inner.clone()).oneshot(sent(Method::GET));
    assert!(
        tokio::time::timeout(Duration::from_millis(50), call)
            .await
            .is_err()
    );
    assert_eq!(budget.balance(), full);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(inner.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_service_not_ready_again_leaves_the_last_result() {
    let inner = Scripted::breaking([Reply::With(503, &[("x-n", "1")], b"busy")]);
    let (count, retried) = attempts(&calm(), &inner, sent(Method::GET)).await;
    assert_eq!(count, 1);
    assert_eq!(retried.unwrap().stop(), StopReason::NotReady);
    let inner = Scripted::breaking([Reply::Reset]);
    let error = calm()
        .layer(inner)
        .oneshot(sent(Method::GET))
        .await
        .unwrap_err();
    assert!(find::<io::Error>(&*error).is_some());
    assert!(find::<Refused>(&*error).is_none());
}

/// Nobody listens: nothing can have been sent.
#[derive(Clone)]
struct Refusing(Arc<Mutex<Vec<u16>>>);

impl<B> tower::Service<Request<B>> for Refusing {
    type Response = http::Response<Full<Bytes>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        let status = self.0.lock().unwrap().pop().unwrap_or(0);
        Box::pin(async move {
            match status {
                0 => {
                    let client: Client<_, Full<Bytes>> =
                        Client::builder(TokioExecutor::new()).build_http();
                    let request = Request::post("http://127.0.0.1:1/a")
                        .body(Full::default())
                        .unwrap();
                    Err(client
                        .request(request)
                        .await
                        .expect_err("nobody listens")
                        .into())
                }
                1 => Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
                _ => Ok(response(status, "", Full::default())),
            }
        })
    }
}

#[tokio::test]
async fn the_least_certain_attempt_tells_for_all() {
    let told = async |layer: RetryLayer,
                      method: Method,
                      mut script: Vec<u16>,
                      declared: Option<Idempotency>| {
        script.reverse();
        let layer = layer.backoff(Backoff::exponential(Duration::ZERO, Duration::ZERO));
        let mut request = sent(method);
        declared.into_iter().for_each(|declared| {
            request.extensions_mut().insert(declared);
        });
        let script = Arc::new(Mutex::new(script));
        let retried = match layer.layer(Refusing(script)).oneshot(request).await {
            Ok(response) => response.retried(),
            Err(error) => find::<RetryError>(&*error).map(RetryError::retried),
        };
        retried.map_or((1, None), |retried| {
            (retried.attempts(), Some(retried.delivery()))
        })
    };
    let (get, post) = (Method::GET, Method::POST);
    let some = |attempts, delivery| (attempts, Some(delivery));
    use Delivery::{Answered, NotSent, Unknown};
    assert_eq!(
        told(calm(), post.clone(), vec![0, 0, 0], None).await,
        some(3, NotSent)
    );
    assert_eq!(
        told(calm(), post.clone(), vec![0, 503], None).await,
        some(2, Answered)
    );
    assert_eq!(
        told(calm(), post.clone(), vec![0, 1], None).await,
        some(2, Unknown)
    );
    assert_eq!(
        told(calm(), get.clone(), vec![1, 503, 0], None).await,
        some(3, Unknown)
    );
    assert_eq!(
        told(calm(), get.clone(), vec![503, 0, 200], None).await,
        some(3, Answered)
    );
    assert_eq!(
        told(
            calm(),
            post.clone(),
            vec![0, 0, 200],
            Some(Idempotency::NotIdempotent)
        )
        .await,
        some(3, Answered)
    );
    // What was switched off.
    let writes = || calm().repeat_unsent(false);
    assert_eq!(told(writes(), get.clone(), vec![0, 200], None).await.0, 2);
    assert_eq!(told(writes(), post.clone(), vec![0, 200], None).await.0, 1);
    let declared = || calm().only_declared(true);
    assert_eq!(told(declared(), get.clone(), vec![0, 200], None).await.0, 1);
    assert_eq!(
        told(declared(), get, vec![0, 200], Some(Idempotency::Safe))
            .await
            .0,
        2
    );
    assert_eq!(
        told(
            declared(),
            post,
            vec![0, 200],
            Some(Idempotency::Idempotent)
        )
        .await
        .0,
        2
    );
}

#[tokio::test(start_paused = true)]
async fn bodies_that_are_too_long_are_sent_once_and_whole() {
    for (limit, length, count) in [
        (0, 0, 3),
        (0, 1, 1),
        (10, 10, 3),
        (10, 11, 1),
        (65_536, 65_536, 3),
        (usize::MAX, 1 << 20, 3),
    ] {
        let inner = Scripted::statuses([503]);
        let layer = calm().replay_limit(limit);
        let request = Request::put("/a")
            .body(Full::from(vec![b'x'; length]))
            .unwrap();
        let (calls, retried) = attempts(&layer, &inner, request).await;
        assert_eq!(calls, count, "{limit} {length}");
        if count == 1 {
            assert_eq!(retried.unwrap().stop(), StopReason::BodyNotReplayable);
        }
        assert!(
            inner
                .each(|seen| seen.body.len())
                .iter()
                .all(|seen| *seen == length)
        );
    }
    let inner = Scripted::statuses([503]);
    let request = Request::put("/a")
        .body(Full::from(vec![b'x'; 65_537]))
        .unwrap();
    assert_eq!(attempts(&calm(), &inner, request).await.0, 1);
}

#[tokio::test(start_paused = true)]
async fn limits_of_nothing_and_of_for_ever() {
    let zero = || ClientStack::new(Duration::ZERO).attempt_timeout(Duration::ZERO);
    let answer = zero()
        .layer(Scripted::statuses([200]))
        .oneshot(sent(Method::GET))
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    let begun = Instant::now();
    let error = zero()
        .layer(Scripted::new([Reply::Never]))
        .oneshot(sent(Method::GET))
        .await
        .unwrap_err();
    assert_eq!(
        (begun.elapsed(), error.diagnosis().timeout()),
        (Duration::ZERO, Some(Duration::ZERO))
    );
    for limit in [Duration::MAX, Duration::from_secs(u64::MAX)] {
        let stack = ClientStack::new(limit).attempt_timeout(limit);
        let inner = Scripted::new([Reply::Late(Duration::from_secs(9), 503), Reply::Status(200)]);
        let answer = stack.layer(inner).oneshot(sent(Method::GET)).await.unwrap();
        assert_eq!(
            (
                answer.status().as_u16(),
                answer.retried().unwrap().attempts()
            ),
            (200, 2)
        );
    }
    // Each attempt runs out at once, and may be repeated.
    let stack = ClientStack::new(Duration::from_secs(60)).attempt_timeout(Duration::ZERO);
    let error = stack
        .layer(Scripted::new([Reply::Never]))
        .oneshot(sent(Method::GET))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "GET /a failed: timed out after 0ns (no response from server) [3 attempts]"
    );
}
