//! Peers, callers and runtimes that misbehave.

use std::{
    future::Future,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use tokio::time::Instant;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    CallRecord, ClientStack, DiagnoseLayer, Diagnosed, Protocol, RecentCalls, RecorderLayer,
    ReplayBody, ResponseExt, RetryLayer, ServerStack, TimeoutLayer,
};

use super::shared::{JSON, MS, SECOND, Sent, at_once, secretive};
use crate::support::{
    outside::{
        Step::{Data, Fail, Forever, Stall, Trailers, Wait, Yield},
        Woken, get, response, steps,
    },
    scripted::{Reply, Scripted},
};

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
                .oneshot(secretive(Method::GET))
        )
        .await
        .is_err()
    );
    let stack = ClientStack::new(SECOND).attempt_timeout(10 * MS);
    assert!(
        moved(stack.layer(never()).oneshot(secretive(Method::GET)))
            .await
            .is_err()
    );
    let busy = Scripted::statuses([503]);
    assert!(
        moved(
            RetryLayer::new()
                .layer(busy)
                .oneshot(secretive(Method::GET))
        )
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
        moved(at_once().layer(drained).oneshot(secretive(Method::GET)))
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
            let answer = service.oneshot(secretive(Method::GET)).await?;
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
async fn a_body_that_has_ended_is_not_asked_again() {
    async fn asked_again<S, B>(service: S)
    where
        S: Service<Sent, Response = Response<B>>,
        B: Body,
    {
        let Ok(answer) = service.oneshot(secretive(Method::GET)).await else {
            panic!("an answer");
        };
        let mut body = std::pin::pin!(answer.into_body());
        while let Some(Ok(_)) = body.frame().await {}
        for _ in 0..3 {
            assert!(body.frame().await.is_none());
        }
    }
    for status in [200, 500] {
        for last in [None, Some(Fail("broken")), Some(Trailers(HeaderMap::new()))] {
            let inner = || {
                let last = last.clone();
                service_fn(move |_: Request<_>| {
                    let body = steps(
                        [Data(b"{"), Yield, Data(b"}")]
                            .into_iter()
                            .chain(last.clone()),
                    );
                    std::future::ready(Ok::<_, BoxError>(response(status, JSON, body)))
                })
            };
            let timed = TimeoutLayer::new(SECOND)
                .body_idle(SECOND)
                .body_total(SECOND);
            asked_again(timed.layer(inner())).await;
            asked_again(TimeoutLayer::new(SECOND).layer(inner())).await;
            asked_again(DiagnoseLayer::new().layer(inner())).await;
            asked_again(DiagnoseLayer::new().body_cap(1).layer(inner())).await;
            asked_again(DiagnoseLayer::for_server().layer(inner())).await;
            asked_again(RecorderLayer::new(|_: CallRecord| {}).layer(inner())).await;
            asked_again(ServerStack::new(SECOND).layer(inner())).await;
            let retry = at_once().max_attempts(1);
            asked_again(
                ClientStack::new(SECOND)
                    .retry(retry)
                    .layer(Shared(Arc::new(Mutex::new(inner().map_request(
                        |sent: Request<ReplayBody<_>>| sent.map(|_| Full::<Bytes>::default()),
                    ))))),
            )
            .await;
        }
    }
}
