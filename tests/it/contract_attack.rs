//! Peers, callers and runtimes that misbehave.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use tokio::time::Instant;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    Backoff, CallRecord, ClientStack, Delivery, DiagnoseLayer, Diagnosed, Jitter, Protocol,
    RecentCalls, RecorderLayer, ReplayBody, RespondLayer, ResponseExt, RetryLayer, ServerStack,
    StopReason, TimeoutLayer,
};

use crate::support::{
    outside::{
        Step::{Data, Fail, Forever, Stall, Trailers, Wait, Yield},
        Woken, get, response, steps,
    },
    scripted::{Reply, Scripted},
};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
const JSON: &str = "content-type: application/json";

type Sent = Request<Full<Bytes>>;

fn sent(method: Method) -> Sent {
    Request::builder()
        .method(method)
        .uri("http://h.example/a?k=SENTINEL")
        .header("authorization", "Bearer SENTINEL")
        .body(Full::from("SENTINEL"))
        .unwrap()
}

fn at_once() -> RetryLayer {
    RetryLayer::new()
        .without_budget()
        .backoff(Backoff::exponential(Duration::ZERO, Duration::ZERO))
}

/// Polls `future` once with a waker that is then forgotten, and then to its end with another one.
async fn moved<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let first = Arc::new(Woken::default());
    let polled = future
        .as_mut()
        .poll(&mut Context::from_waker(&Waker::from(Arc::clone(&first))));
    match polled {
        Poll::Ready(output) => output,
        Poll::Pending => future.await,
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_moves_to_another_task_is_woken_there() {
    let never = || Scripted::new([Reply::Never]);
    assert!(
        moved(
            TimeoutLayer::new(MS)
                .layer(never())
                .oneshot(sent(Method::GET))
        )
        .await
        .is_err()
    );
    let stack = ClientStack::new(SECOND).attempt_timeout(10 * MS);
    assert!(
        moved(stack.layer(never()).oneshot(sent(Method::GET)))
            .await
            .is_err()
    );
    let busy = Scripted::statuses([503]);
    assert!(
        moved(RetryLayer::new().layer(busy).oneshot(sent(Method::GET)))
            .await
            .is_ok()
    );
    let stalls = service_fn(async |_: Request<()>| {
        Ok::<_, BoxError>(response(500, JSON, steps([Data(b"{"), Stall])))
    });
    assert!(
        moved(DiagnoseLayer::new().layer(stalls).oneshot(get("/a")))
            .await
            .is_ok()
    );
    let answers = Mutex::new(vec![
        response(200, "", steps([])),
        response(503, "", steps([Data(b"x"), Stall])),
    ]);
    let drained = service_fn(|_: Request<_>| {
        std::future::ready(Ok::<_, BoxError>(answers.lock().unwrap().pop().unwrap()))
    });
    assert!(
        moved(at_once().layer(drained).oneshot(sent(Method::GET)))
            .await
            .is_ok()
    );
    let idle = TimeoutLayer::new(SECOND)
        .body_idle(10 * MS)
        .body_total(SECOND);
    let body = idle
        .layer(service_fn(async |_: Request<()>| {
            Ok::<_, BoxError>(response(200, "", steps([Data(b"x"), Stall])))
        }))
        .oneshot(get("/a"))
        .await
        .unwrap()
        .into_body();
    let mut body = std::pin::pin!(body);
    assert!(body.frame().await.unwrap().is_ok());
    assert!(moved(body.frame()).await.unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_at_any_point_leaves_one_record_and_nothing_behind() {
    for polls in 0..40 {
        let calls = RecentCalls::new(8);
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let count = AtomicUsize::new(0);
        let inner = service_fn(move |_: Request<_>| {
            let (held, number) = (Arc::clone(&held), count.fetch_add(1, SeqCst));
            async move {
                let _held = held;
                tokio::task::yield_now().await;
                tokio::task::yield_now().await;
                let body = steps([
                    Yield,
                    Data(b"{"),
                    Yield,
                    Wait(MS),
                    Data(b"}"),
                    Yield,
                    Trailers(HeaderMap::new()),
                ]);
                Ok::<_, BoxError>(response([503, 500, 400][number.min(2)], JSON, body))
            }
        });
        let stack = ClientStack::new(SECOND)
            .attempt_timeout(SECOND)
            .record(calls.clone());
        let service = stack.layer(Shared(Arc::new(Mutex::new(inner))));
        let mut whole = Box::pin(async move {
            let answer = service.oneshot(sent(Method::GET)).await?;
            let _ = answer.into_body().collect().await;
            Ok::<_, Diagnosed>(())
        });
        let mut cx = Context::from_waker(Waker::noop());
        let mut ended = false;
        for _ in 0..polls {
            if whole.as_mut().poll(&mut cx).is_ready() {
                ended = true;
                break;
            }
            tokio::time::advance(MS).await;
        }
        drop(whole);
        assert_eq!(Arc::strong_count(&alive), 1, "{polls}");
        let records = calls.snapshot();
        assert_eq!(records.len(), usize::from(polls > 0), "{polls} {records:?}");
        if ended {
            assert_eq!(records[0].status().unwrap().as_u16(), 400);
        }
    }
}

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

/// Says nothing of itself, and ends when it is told to.
#[derive(Clone, Debug)]
struct Quiet(u16);

impl<B> Service<Request<B>> for Quiet {
    type Response = Response<Mute>;
    type Error = BoxError;
    type Future = Mute;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Mute {
        Mute(self.0, 0)
    }
}

#[derive(Debug)]
struct Mute(u16, u8);

impl Future for Mute {
    type Output = Result<Response<Mute>, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.1 += 1;
        if self.1 == 1 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let headers = format!("{JSON}\nset-cookie: SENTINEL\nlocation: /?SENTINEL");
        Poll::Ready(Ok(response(self.0, &headers, Self(self.0, 0))))
    }
}

impl Body for Mute {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, BoxError>>> {
        self.1 += 1;
        match self.1 {
            1 | 3 => Poll::Ready(Some(Ok(http_body::Frame::data(Bytes::from(
                "{\"a\":\"SENTINEL\"}",
            ))))),
            2 | 4 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            _ => Poll::Ready(None),
        }
    }
}

#[tokio::test]
async fn debug_texts_of_services_futures_and_bodies_hold_no_secret() {
    fn clean(shown: &impl std::fmt::Debug) {
        for text in [format!("{shown:?}"), format!("{shown:#?}")] {
            let bytes = text.contains("83, 69, 78") || text.contains("h.example");
            assert!(!bytes && !text.contains("SENTINEL"), "{text}");
        }
    }
    macro_rules! check {
        ($($layer:expr),+) => {$(for status in [200, 500] {
            let mut service = $layer.layer(Quiet(status));
            ServiceExt::<Sent>::ready(&mut service).await.unwrap();
            clean(&service);
            let mut call = Box::pin(service.call(sent(Method::PUT)));
            clean(&call);
            for _ in 0..4 {
                let Poll::Ready(answer) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
                    clean(&call);
                    continue;
                };
                let mut body = Box::pin(answer.unwrap().into_body());
                clean(&body);
                let _ = body.frame().await;
                clean(&body);
                break;
            }
        })+};
    }
    check!(
        DiagnoseLayer::new(),
        DiagnoseLayer::for_server(),
        TimeoutLayer::new(SECOND).body_idle(SECOND),
        RetryLayer::new(),
        RecorderLayer::new(|_: CallRecord| {}),
        tower_diagnose::DispatchLayer::new(),
        RespondLayer::new(),
        ServerStack::new(SECOND),
        ClientStack::new(SECOND)
    );
}

#[tokio::test]
async fn a_body_that_is_kept_for_a_retry_is_not_shown() {
    let inner = service_fn(async |request: Request<ReplayBody<Mute>>| {
        let mut body = request.into_body();
        for _ in 0..3 {
            let text = format!("{body:?} {body:#?}");
            assert!(!text.contains("SENTINEL"), "{text}");
            let _ = body.frame().await;
        }
        Ok::<_, BoxError>(response(500, "", Full::<Bytes>::default()))
    });
    let answer = at_once()
        .layer(inner)
        .oneshot(Request::put("/a").body(Mute(0, 0)).unwrap())
        .await
        .unwrap();
    assert_eq!(answer.retried().unwrap().attempts(), 3);
}

#[tokio::test]
async fn an_early_answer_and_a_body_still_read_do_not_mix() {
    // As hyper does it: the first answer comes while its request's body is still being sent.
    let bodies: Arc<Mutex<Vec<ReplayBody<UnsyncBoxBody<Bytes, BoxError>>>>> = Arc::default();
    let kept = Arc::clone(&bodies);
    let inner = service_fn(
        move |request: Request<ReplayBody<UnsyncBoxBody<Bytes, BoxError>>>| {
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
        },
    );
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
async fn a_body_that_lies_about_its_length_is_not_waited_for() {
    let layer = || {
        DiagnoseLayer::new()
            .inspect(Protocol::JsonRpc)
            .inspect(Protocol::Mcp)
    };
    for (headers, body) in [
        (
            format!("{JSON}\ncontent-length: 5"),
            steps([Forever(b"xxxxxxxx")]).hint(5),
        ),
        (format!("{JSON}\ncontent-length: 5"), steps([Stall]).hint(5)),
        (
            format!("{JSON}\ncontent-length: 5"),
            steps([Fail("broken")]).hint(5),
        ),
        (
            format!("{JSON}\ncontent-length: 5"),
            steps([Forever(b"")]).hint(5),
        ),
        (format!("{JSON}\ncontent-length: 5"), steps([]).hint(5)),
    ] {
        let body = Mutex::new(Some(body));
        let service = layer().layer(service_fn(async |_: Request<()>| {
            Ok::<_, BoxError>(response(
                200,
                &headers,
                body.lock().unwrap().take().unwrap(),
            ))
        }));
        let begun = Instant::now();
        let answer = tokio::time::timeout(5 * SECOND, service.oneshot(get("/a")))
            .await
            .unwrap()
            .unwrap();
        assert!(answer.diagnosis().is_none());
        assert!(begun.elapsed() <= SECOND + 2 * MS);
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
        .oneshot(sent(Method::GET))
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
        .oneshot(sent(Method::GET))
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
        .oneshot(sent(Method::GET))
        .await
        .unwrap_err();
    assert_eq!(inner.calls(), 3);
    assert_eq!(
        error.to_string(),
        "GET /a failed: ECONNRESET (no response from server) [3 attempts]"
    );
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
        .oneshot(sent(Method::GET))
        .await
        .unwrap_err();
    assert_eq!(error.diagnosis().status().unwrap().as_u16(), 422);
    let record = &calls.snapshot()[0];
    assert_eq!(record.status().map(|status| status.as_u16()), Some(422));
    assert_eq!(record.outcome().unwrap().to_string_class(), "http/upstream");
    assert_eq!(record.delivery(), Delivery::Answered);

    // A second diagnosis over it reads the same.
    let layers = (DiagnoseLayer::new(), failing());
    let error = layers
        .layer(Scripted::new([Reply::With(
            422,
            &[("content-type", "application/json")],
            b"{\"message\":\"no\"}",
        )]))
        .oneshot(sent(Method::GET))
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
            .oneshot(sent(Method::GET))
            .await
            .unwrap_err();
        assert_eq!(inner.calls(), count, "{status}");
    }
    // What was given up on below stays given up on.
    let inner = Scripted::statuses([503]);
    let layers = (at_once(), failing(), at_once());
    layers
        .layer(inner.clone())
        .oneshot(sent(Method::GET))
        .await
        .unwrap_err();
    assert_eq!(inner.calls(), 3);
    // A response made of it is that of a bad gateway, not of ours.
    let layers = (RespondLayer::new(), failing());
    let answer = layers
        .layer(Scripted::statuses([503]))
        .oneshot(sent(Method::GET))
        .await
        .unwrap();
    assert!(answer.status().is_server_error());
}

trait Told {
    fn to_string_class(&self) -> String;
}

impl Told for tower_diagnose::Outcome {
    fn to_string_class(&self) -> String {
        format!("{}/{}", self.class(), self.domain())
    }
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
            let answer = service.oneshot(sent(Method::GET)).await.unwrap();
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
        assert_eq!(
            records[0].outcome().unwrap().to_string_class(),
            "proxy_internal/proxy"
        );
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
        .oneshot(sent(Method::GET))
        .await
        .unwrap();
    assert_eq!(
        answer.retried().unwrap().stop(),
        StopReason::WouldPassTotalLimit
    );
    assert!(inner.calls() <= 6);
}
