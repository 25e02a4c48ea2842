//! How a call may end, and that each end is one record.

use std::{panic::AssertUnwindSafe, sync::Mutex, task::Context};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use tokio::time::sleep;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    BodyEnd, CallRecord, CallRecorder, ClientStack, Delivery, DispatchLayer, RecentCalls,
    RecordSink, RecorderLayer, RetryLayer, ServerStack, fan_out,
};

use super::shared::{MS, SECOND, asked, named, only};
use crate::support::{
    outside::{
        Step::{Data, Fail, Stall, Trailers},
        get, response, steps, without_runtime,
    },
    scripted::{Reply, Scripted},
};

type Sent = Request<Empty<Bytes>>;

#[tokio::test(start_paused = true)]
async fn how_a_body_ended() {
    let end = async |all: Vec<crate::support::outside::Step>, frames: usize| {
        let calls = RecentCalls::new(4);
        let body = Mutex::new(Some(steps(all)));
        let service = ClientStack::new(SECOND)
            .without_retry()
            .record(calls.clone())
            .layer(service_fn(async |_: Request<_>| {
                Ok::<_, BoxError>(response(200, "", body.lock().unwrap().take().unwrap()))
            }));
        let answer = service.oneshot(asked("/a")).await.unwrap();
        {
            let mut body = Box::pin(answer.into_body());
            for _ in 0..frames {
                let _ = tokio::time::timeout(50 * MS, body.frame()).await;
            }
        }
        let record = only(&calls);
        (
            record.body_end(),
            named(&record),
            record.status().map(|status| status.as_u16()),
        )
    };
    let good = |end| (Some(end), "good".to_owned(), Some(200));
    assert_eq!(end(vec![Data(b"a")], 2).await, good(BodyEnd::Complete));
    assert_eq!(
        end(vec![Data(b"a"), Data(b"b")], 0).await,
        good(BodyEnd::Dropped)
    );
    assert_eq!(
        end(vec![Data(b"a"), Data(b"b")], 1).await,
        good(BodyEnd::Dropped)
    );
    assert_eq!(
        end(vec![Data(b"a"), Stall], 2).await,
        good(BodyEnd::Dropped)
    );
    assert_eq!(
        end(vec![Data(b"a"), Trailers(http::HeaderMap::new())], 2).await,
        good(BodyEnd::Complete)
    );
    let (failed, named, status) = end(vec![Data(b"a"), Fail("x")], 2).await;
    assert_eq!((failed, status), (Some(BodyEnd::Failed), Some(200)));
    assert_ne!(named, "good");
    let calls = RecentCalls::new(4);
    let service = RecorderLayer::new(calls.clone()).layer(service_fn(async |_: Request<()>| {
        Ok::<_, BoxError>(response(204, "", Empty::<Bytes>::new()))
    }));
    drop(service.oneshot(get("/a")).await);
    assert_eq!(only(&calls).body_end(), Some(BodyEnd::Complete));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_cancelled_by_the_client() {
    let calls = RecentCalls::new(4);
    let stack = ClientStack::new(SECOND).record(calls.clone());
    let call = stack
        .layer(Scripted::new([Reply::Never]))
        .oneshot(asked("/a"));
    assert!(tokio::time::timeout(10 * MS, call).await.is_err());
    let record = only(&calls);
    assert_eq!(named(&record), "cancelled/client");
    assert_eq!(
        (record.status(), record.attempts(), record.duration()),
        (None, 1, 10 * MS)
    );
    assert_eq!(record.delivery(), Delivery::Unknown);

    // During a wait between attempts.
    let calls = RecentCalls::new(4);
    let backoff = tower_diagnose::Backoff::exponential(10 * SECOND, 10 * SECOND)
        .jitter(tower_diagnose::Jitter::None);
    let stack = ClientStack::new(60 * SECOND)
        .retry(RetryLayer::new().backoff(backoff))
        .record(calls.clone());
    let call = stack.layer(Scripted::statuses([503])).oneshot(asked("/a"));
    assert!(tokio::time::timeout(50 * MS, call).await.is_err());
    let record = only(&calls);
    assert_eq!(
        (named(&record).as_str(), record.attempts()),
        ("cancelled/client", 1)
    );

    // A future that was never polled.
    let calls = RecentCalls::new(4);
    let mut service = ClientStack::new(SECOND)
        .record(calls.clone())
        .layer(Scripted::statuses([200]));
    drop(
        ServiceExt::<Sent>::ready(&mut service)
            .await
            .unwrap()
            .call(asked("/a")),
    );
    let records = calls.snapshot();
    assert!(
        records.len() <= 1
            && records
                .iter()
                .all(|record| named(record) == "cancelled/client"),
        "{records:?}"
    );
}

#[tokio::test]
async fn a_panic_is_recorded_and_goes_on() {
    fn caught<S: Service<Sent>>(mut service: S) {
        let caught = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let _ = without_runtime(async { assert!(service.ready().await.is_ok()) });
            let mut call = Box::pin(service.call(asked("/a")));
            let _ = call
                .as_mut()
                .poll(&mut Context::from_waker(std::task::Waker::noop()));
        }));
        assert!(caught.is_err(), "a panic is not swallowed");
    }
    let later = service_fn(
        async |_: Request<_>| -> Result<Response<Empty<Bytes>>, BoxError> { panic!("boom") },
    );
    let early = service_fn(
        |_: Request<_>| -> std::future::Ready<Result<Response<Empty<Bytes>>, BoxError>> {
            panic!("boom")
        },
    );
    let calls = RecentCalls::new(4);
    caught(ClientStack::new(SECOND).record(calls.clone()).layer(later));
    assert_eq!(named(&only(&calls)), "proxy_internal/proxy");
    let calls = RecentCalls::new(4);
    caught(ClientStack::new(SECOND).record(calls.clone()).layer(early));
    assert_eq!(named(&only(&calls)), "proxy_internal/proxy");
    let calls = RecentCalls::new(4);
    let later =
        service_fn(async |_: Sent| -> Result<Response<Empty<Bytes>>, BoxError> { panic!("boom") });
    caught(ServerStack::new(SECOND).record(calls.clone()).layer(later));
    assert_eq!(named(&only(&calls)), "proxy_internal/proxy");
}

#[tokio::test(start_paused = true)]
async fn two_records_of_one_recorder_count_from_their_own_start() {
    let calls = RecentCalls::new(4);
    let layers = (RecorderLayer::new(calls.clone()), DispatchLayer::new());
    let service = layers.layer(Scripted::new([
        Reply::Late(30 * MS, 503),
        Reply::Late(50 * MS, 200),
    ]));
    let recorder = CallRecorder::new();
    for _ in 0..2 {
        let mut request = asked("/a");
        request.extensions_mut().insert(recorder.clone());
        let answer = service.clone().oneshot(request).await.unwrap();
        answer.into_body().collect().await.unwrap();
        sleep(SECOND).await;
    }
    let records = calls.snapshot();
    assert_eq!(
        [records[0].duration(), records[1].duration()],
        [30 * MS, 50 * MS]
    );
    assert_eq!([records[0].attempts(), records[1].attempts()], [1, 1]);
    assert_eq!(
        [named(&records[0]), named(&records[1])],
        ["http/upstream", "good"]
    );
    assert_eq!(recorder.snapshot().requests, 2);
}

#[test]
fn rings_of_any_size() {
    for capacity in [0, 1, usize::MAX] {
        let calls = RecentCalls::new(capacity);
        let inner = service_fn(async |_: Request<()>| {
            Ok::<_, BoxError>(response(200, "", Empty::<Bytes>::new()))
        });
        let service = RecorderLayer::new(calls.clone()).layer(inner);
        without_runtime(service.oneshot(get("/a")))
            .unwrap()
            .unwrap();
        assert!(calls.snapshot().len() <= 1);
    }
}

#[tokio::test]
async fn a_sink_that_panics_harms_nobody() {
    struct Panics;
    impl RecordSink for Panics {
        fn record(&self, _: CallRecord) {
            panic!("boom");
        }
    }
    let calls = RecentCalls::new(4);
    let service =
        RecorderLayer::new(fan_out(Panics, calls.clone())).layer(Scripted::statuses([200]));
    let answer = service.oneshot(asked("/a")).await.unwrap();
    assert!(answer.into_body().collect().await.is_ok());
    assert_eq!(calls.snapshot().len(), 1);
    let stack = ClientStack::new(SECOND).record(|_: CallRecord| panic!("boom"));
    let call = stack
        .layer(Scripted::new([Reply::Never]))
        .oneshot(asked("/a"));
    drop(tokio::time::timeout(MS, call).await);
}
