//! Stacks in stacks, errors made of answers, and panics inside.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{Method, Request};
use http_body::Body;
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    Backoff, ClientStack, Delivery, DiagnoseLayer, Diagnosed, ErrorClass, Jitter, MaxAttempts,
    Outcome, Protocol, RecentCalls, ReplayBody, RespondLayer, ResponseExt, RetryError, ServerStack,
    StopReason, find,
};

use super::shared::{JSON, MS, SECOND, at_once, secretive};
use crate::support::{
    outside::{
        Step::{Data, Yield},
        response, steps,
    },
    scripted::{Reply, Scripted},
};

/// A service behind a lock, because what it is made of is not `Clone`.
struct Shared<S>(Arc<Mutex<S>>);

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R, S: Service<R>> Service<R> for Shared<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.lock().unwrap().poll_ready(cx)
    }

    fn call(&mut self, request: R) -> S::Future {
        self.0.lock().unwrap().call(request)
    }
}

type Kept = ReplayBody<UnsyncBoxBody<Bytes, BoxError>>;

#[tokio::test]
async fn an_early_answer_and_a_body_still_read_do_not_mix() {
    // As hyper does it: the first answer comes while its request's body is still being sent.
    let bodies: Arc<Mutex<Vec<Kept>>> = Arc::default();
    let kept = Arc::clone(&bodies);
    let inner = service_fn(move |request: Request<Kept>| {
        let kept = Arc::clone(&kept);
        async move {
            let mut body = request.into_body();
            let number = kept.lock().unwrap().len();
            if number < 2 {
                let _ = body.frame().await;
                kept.lock().unwrap().push(body);
                return Ok::<_, BoxError>(response(503, "", Full::<Bytes>::default()));
            }
            // The older copies go on meanwhile, frame by frame.
            let mut all = Vec::new();
            loop {
                let mut older = std::mem::take(&mut *kept.lock().unwrap());
                for body in &mut older {
                    if !body.is_end_stream() {
                        let _ = tokio::time::timeout(MS, body.frame()).await;
                    }
                }
                *kept.lock().unwrap() = older;
                match body.frame().await {
                    Some(frame) => {
                        all.push(frame.map_err(|error| BoxError::from(error.to_string()))?)
                    }
                    None => break,
                }
            }
            let text: Vec<u8> = all
                .iter()
                .filter_map(|frame| frame.data_ref())
                .flatten()
                .copied()
                .collect();
            Ok(response(200, "", Full::from(text)))
        }
    });
    let frames = ["one ", "two ", "three ", "four"];
    let body = steps(
        frames
            .map(|frame| Data(frame.as_bytes()))
            .into_iter()
            .flat_map(|step| [Yield, step]),
    );
    let request = Request::put("/a").body(body.boxed_unsync()).unwrap();
    let call = at_once()
        .max_attempts(5)
        .layer(Shared(Arc::new(Mutex::new(inner))))
        .oneshot(request);
    let answer = tokio::time::timeout(5 * SECOND, call)
        .await
        .expect("no standstill");
    match answer {
        Ok(answer) if answer.status() == 200 => {
            let text = answer.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(text, "one two three four");
        }
        // Or it was not repeated, because the body was on its way elsewhere.
        Ok(answer) => assert_eq!(answer.status(), 503),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(start_paused = true)]
async fn stacks_in_stacks_do_not_multiply() {
    let inner = Scripted::new([Reply::Reset]);
    let layers = (
        ClientStack::new(60 * SECOND),
        ServerStack::new(60 * SECOND),
        ClientStack::new(60 * SECOND),
    );
    let answer = layers
        .layer(inner.clone())
        .oneshot(secretive(Method::GET))
        .await
        .unwrap();
    assert_eq!(answer.status().as_u16() / 100, 5);
    assert_eq!(
        inner.calls(),
        3,
        "what one gave up on, the others do not repeat"
    );
    let diagnosis = answer.diagnosis().unwrap();
    assert_eq!(diagnosis.attempts(), 3, "{diagnosis}");

    let inner = Scripted::statuses([503]);
    let layers = (
        ClientStack::new(60 * SECOND),
        ClientStack::new(60 * SECOND),
        ClientStack::new(60 * SECOND),
    );
    let answer = layers
        .layer(inner.clone())
        .oneshot(secretive(Method::GET))
        .await
        .unwrap();
    assert_eq!(inner.calls(), 3);
    assert_eq!(
        answer.diagnosis().unwrap().to_string(),
        "GET /a failed (503 Service Unavailable): Service Unavailable [3 attempts]"
    );
    let inner = Scripted::new([Reply::Reset]);
    let error = layers
        .layer(inner.clone())
        .oneshot(secretive(Method::GET))
        .await
        .unwrap_err();
    assert_eq!(inner.calls(), 3);
    assert_eq!(
        error.to_string(),
        "GET /a failed: ECONNRESET (no response from server) [3 attempts]"
    );
}

#[tokio::test]
async fn a_stack_without_retries_gives_nothing_up() {
    for reply in [Reply::Status(503), Reply::Reset] {
        let inner = Scripted::new([reply.clone()]);
        let stack = ClientStack::new(SECOND).without_retry();
        let mut request = secretive(Method::GET);
        request.extensions_mut().insert(MaxAttempts(3));
        match stack.layer(inner.clone()).oneshot(request).await {
            Ok(response) => assert!(response.retried().is_none()),
            Err(error) => assert!(find::<RetryError>(&error).is_none(), "{error:?}"),
        }
        assert_eq!(inner.calls(), 1);

        // Retries outside of it have all attempts left.
        let inner = Scripted::new([reply]);
        let layers = (at_once(), stack);
        let _ = layers
            .layer(inner.clone())
            .oneshot(secretive(Method::GET))
            .await;
        assert_eq!(inner.calls(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_made_of_a_status_keeps_its_outcome_above() {
    let failing = || DiagnoseLayer::new().error_for_status(true);
    let calls = RecentCalls::new(4);
    let stack = ClientStack::new(SECOND)
        .diagnose(failing())
        .record(calls.clone());
    let error = stack
        .layer(Scripted::statuses([422]))
        .oneshot(secretive(Method::GET))
        .await
        .unwrap_err();
    assert_eq!(error.diagnosis().status().unwrap().as_u16(), 422);
    let record = &calls.snapshot()[0];
    assert_eq!(record.status().map(|status| status.as_u16()), Some(422));
    assert_eq!(named(record.outcome()), "http/upstream");
    assert_eq!(record.delivery(), Delivery::Answered);

    // A second diagnosis over it reads the same.
    let layers = (DiagnoseLayer::new(), failing());
    let error = layers
        .layer(Scripted::new([Reply::With(
            422,
            &[("content-type", "application/json")],
            b"{\"message\":\"no\"}",
        )]))
        .oneshot(secretive(Method::GET))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "GET /a failed (422 Unprocessable Entity): no"
    );
    assert_eq!(error.diagnosis().status().unwrap().as_u16(), 422);
    assert_eq!(error.diagnosis().delivery(), Delivery::Answered);

    // Retries over it see the status too.
    for (status, count) in [(503, 3), (422, 1)] {
        let inner = Scripted::statuses([status]);
        let layers = (at_once(), failing());
        layers
            .layer(inner.clone())
            .oneshot(secretive(Method::GET))
            .await
            .unwrap_err();
        assert_eq!(inner.calls(), count, "{status}");
    }
    // What was given up on below stays given up on.
    let inner = Scripted::statuses([503]);
    let layers = (at_once(), failing(), at_once());
    layers
        .layer(inner.clone())
        .oneshot(secretive(Method::GET))
        .await
        .unwrap_err();
    assert_eq!(inner.calls(), 3);
    // A response made of it is that of a bad gateway, not of ours.
    let layers = (RespondLayer::new(), failing());
    let answer = layers
        .layer(Scripted::statuses([503]))
        .oneshot(secretive(Method::GET))
        .await
        .unwrap();
    assert!(answer.status().is_server_error());
}

fn named(outcome: Option<Outcome>) -> String {
    outcome.map_or("good".to_owned(), |outcome| {
        format!("{}/{}", outcome.class(), outcome.domain())
    })
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_body_is_one_record() {
    struct Bomb;
    impl Body for Bomb {
        type Data = Bytes;
        type Error = BoxError;
        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<Bytes>, BoxError>>> {
            panic!("boom")
        }
    }
    for status in [200, 500] {
        let calls = RecentCalls::new(4);
        let inner =
            service_fn(async |_: Request<_>| Ok::<_, BoxError>(response(status, JSON, Bomb)));
        let service = ClientStack::new(SECOND)
            .without_retry()
            .record(calls.clone())
            .layer(inner);
        let call = std::panic::AssertUnwindSafe(async {
            let answer = service.oneshot(secretive(Method::GET)).await.unwrap();
            let _ = answer.into_body().collect().await;
        });
        let mut call = Box::pin(call.0);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }));
        assert!(caught.is_err());
        drop(call);
        let records = calls.snapshot();
        assert_eq!(records.len(), 1);
        assert_eq!(named(records[0].outcome()), "proxy_internal/proxy");
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_without_number() {
    let inner = Scripted::statuses([503]);
    let layer = at_once()
        .max_attempts(u32::MAX)
        .total_limit(5 * MS)
        .backoff(Backoff::exponential(MS, MS).jitter(Jitter::None));
    let answer = layer
        .layer(inner.clone())
        .oneshot(secretive(Method::GET))
        .await
        .unwrap();
    assert_eq!(
        answer.retried().unwrap().stop(),
        StopReason::WouldPassTotalLimit
    );
    assert!(inner.calls() <= 6);
}

#[tokio::test(start_paused = true)]
async fn what_a_protocol_calls_a_failure_is_not_repeated() {
    use ErrorClass::{Jsonrpc, ToolError};
    for (protocol, body, class) in [
        (
            Protocol::Mcp,
            br#"{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[]}}"#.as_slice(),
            ToolError,
        ),
        (
            Protocol::JsonRpc,
            br#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"busy"}}"#,
            Jsonrpc,
        ),
        (
            Protocol::GraphQl,
            br#"{"data":null,"errors":[{"message":"busy"}]}"#,
            Jsonrpc,
        ),
        (Protocol::Slack, br#"{"ok":false,"error":"busy"}"#, Jsonrpc),
    ] {
        let json = &[("content-type", "application/json")];
        let inner = Scripted::new([Reply::With(200, json, body)]);
        let failing = DiagnoseLayer::new()
            .inspect(protocol)
            .error_for_status(true);
        let error = (at_once(), failing)
            .layer(inner.clone())
            .oneshot(secretive(Method::GET))
            .await
            .unwrap_err();
        assert_eq!(inner.calls(), 1, "{protocol}");
        let diagnosed = find::<Diagnosed>(&*error).unwrap();
        assert_eq!(diagnosed.diagnosis().class(), class, "{protocol}");
        assert!(find::<RetryError>(&*error).is_none(), "{protocol}");
    }
}
