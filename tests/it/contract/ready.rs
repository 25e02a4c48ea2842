//! Readiness: who is called, and what becomes of its errors.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{Empty, Full};
use tower::{
    BoxError, Layer, Service, ServiceExt, buffer::BufferLayer, limit::ConcurrencyLimitLayer,
};
use tower_diagnose::{
    CallRecord, ClientStack, Delivery, DiagnoseLayer, DispatchLayer, ErrorClass, FaultDomain,
    RecentCalls, RecorderLayer, Refused, RespondLayer, RetryLayer, ServerStack, TimeoutLayer, find,
};

use crate::support::outside::response;

const SECOND: Duration = Duration::from_secs(1);

type Sent = Request<Empty<Bytes>>;
type Reply = Response<Full<Bytes>>;

fn sent(uri: &str) -> Sent {
    Request::get(uri).body(Empty::new()).unwrap()
}

/// Fails in `poll_ready` as often as told, and counts its calls.
#[derive(Clone)]
struct Unready {
    fails: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
}

impl Unready {
    fn new(fails: usize) -> Self {
        Self {
            fails: Arc::new(AtomicUsize::new(fails)),
            calls: Arc::default(),
        }
    }
}

impl<B> Service<Request<B>> for Unready {
    type Response = Reply;
    type Error = BoxError;
    type Future = std::future::Ready<Result<Reply, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        let left = self
            .fails
            .fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        Poll::Ready(left.map_or(Ok(()), |_| Err(Refused::new("circuit open").into())))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        self.calls.fetch_add(1, SeqCst);
        std::future::ready(Ok(response(200, "", Full::default())))
    }
}

async fn an_error_of_readiness<L, S>(layer: L, name: &str)
where
    L: Layer<Unready, Service = S>,
    S: Service<Sent, Error: Into<BoxError>>,
{
    let inner = Unready::new(1);
    let mut service = layer.layer(inner.clone());
    let ready = service.ready().await;
    assert!(ready.is_ok(), "{name}: an error of poll_ready is kept");
    let error = match service.call(sent("/a")).await {
        Ok(_) => panic!("{name}: the kept error is returned by the next call"),
        Err(error) => error.into(),
    };
    assert_eq!(inner.calls.load(SeqCst), 0, "{name}");
    assert!(find::<Refused>(&*error).is_some(), "{name}: {error:?}");
    assert!(service.ready().await.is_ok());
    assert!(service.call(sent("/a")).await.is_ok(), "{name}");
    assert_eq!(inner.calls.load(SeqCst), 1, "{name}");
}

#[tokio::test]
async fn an_error_of_readiness_is_kept_and_returned_by_the_next_call() {
    an_error_of_readiness(DiagnoseLayer::new(), "diagnose").await;
    an_error_of_readiness(DiagnoseLayer::for_server(), "diagnose for_server").await;
    an_error_of_readiness(TimeoutLayer::new(SECOND), "timeout").await;
    an_error_of_readiness(RetryLayer::new(), "retry").await;
    an_error_of_readiness(RecorderLayer::new(|_: CallRecord| {}), "recorder").await;
    an_error_of_readiness(DispatchLayer::new(), "dispatch").await;
    an_error_of_readiness(ClientStack::new(SECOND), "stack").await;
    let inner = Unready::new(1);
    let service = RespondLayer::new().layer(inner.clone());
    let answer = service.oneshot(sent("/a")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(inner.calls.load(SeqCst), 0);
}

#[tokio::test]
async fn an_error_of_readiness_has_its_line_and_its_record() {
    let calls = RecentCalls::new(4);
    let stack = ClientStack::new(SECOND).record(calls.clone());
    let error = stack
        .layer(Unready::new(9))
        .oneshot(sent("/a?b=c"))
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "GET /a failed: circuit open (not sent)");
    let diagnosis = error.diagnosis();
    assert_eq!(diagnosis.class(), ErrorClass::ProxyPolicy);
    assert_eq!(diagnosis.domain(), FaultDomain::Proxy);
    assert_eq!(diagnosis.delivery(), Delivery::NotSent);
    let records = calls.snapshot();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].endpoint().to_string(), "GET /a");
    assert_eq!(records[0].delivery(), Delivery::NotSent);
    assert_eq!(
        records[0].outcome().unwrap().class(),
        ErrorClass::ProxyPolicy
    );
}

/// Panics unless the very instance that was polled ready is called, once for each time.
struct Strict {
    ready: bool,
    calls: Arc<AtomicUsize>,
}

impl Clone for Strict {
    fn clone(&self) -> Self {
        Self {
            ready: false,
            calls: Arc::clone(&self.calls),
        }
    }
}

impl<B> Service<Request<B>> for Strict {
    type Response = Reply;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Reply, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        if std::mem::replace(&mut self.ready, true) {
            return Poll::Ready(Ok(()));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        assert!(
            std::mem::take(&mut self.ready),
            "called without being ready"
        );
        self.calls.fetch_add(1, SeqCst);
        Box::pin(async { Ok(response(503, "", Full::default())) })
    }
}

#[tokio::test(start_paused = true)]
async fn the_instance_that_was_ready_is_called() {
    async fn twice<S, B>(mut service: S)
    where
        S: Service<Sent, Response = Response<B>> + Clone,
        S::Error: std::fmt::Debug,
    {
        for _ in 0..2 {
            let answer = service
                .ready()
                .await
                .unwrap()
                .call(sent("/a"))
                .await
                .unwrap();
            assert_eq!(answer.status(), 503);
            let answer = service.clone().oneshot(sent("/a")).await.unwrap();
            assert_eq!(answer.status(), 503);
        }
    }
    let strict = || Strict {
        ready: false,
        calls: Arc::default(),
    };
    twice(DiagnoseLayer::new().layer(strict())).await;
    twice(DiagnoseLayer::for_server().layer(strict())).await;
    twice(TimeoutLayer::new(SECOND).layer(strict())).await;
    twice(RetryLayer::new().layer(strict())).await;
    twice(RecorderLayer::new(|_: CallRecord| {}).layer(strict())).await;
    twice(DispatchLayer::new().layer(strict())).await;
    twice(RespondLayer::new().layer(strict())).await;
    twice(ClientStack::new(60 * SECOND).layer(strict())).await;
    twice(ServerStack::new(SECOND).layer(strict())).await;
    twice(
        (
            ClientStack::new(60 * SECOND),
            ServerStack::new(SECOND),
            ClientStack::new(SECOND),
        )
            .layer(strict()),
    )
    .await;
    // Those that give out one permit, and one place.
    let limited = || ConcurrencyLimitLayer::new(1).layer(strict());
    twice(DiagnoseLayer::new().layer(limited())).await;
    twice(TimeoutLayer::new(SECOND).layer(limited())).await;
    twice(RetryLayer::new().layer(limited())).await;
    twice(RecorderLayer::new(|_: CallRecord| {}).layer(limited())).await;
    twice(ClientStack::new(60 * SECOND).layer(limited())).await;
    twice(DiagnoseLayer::new().layer(BufferLayer::new(1).layer(strict()))).await;
    twice(TimeoutLayer::new(SECOND).layer(BufferLayer::new(1).layer(strict()))).await;
    twice(RetryLayer::new().layer(BufferLayer::new(1).layer(strict()))).await;
    let recorder = RecorderLayer::new(|_: CallRecord| {});
    twice(recorder.layer(BufferLayer::new(1).layer(strict()))).await;
    twice(ClientStack::new(60 * SECOND).layer(BufferLayer::new(1).layer(strict()))).await;
}
