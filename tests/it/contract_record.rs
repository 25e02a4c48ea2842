//! One record for every call, whatever happens to it.

use std::{
    convert::Infallible, panic::AssertUnwindSafe, sync::Mutex, task::Context, time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use tokio::time::sleep;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    BodyEnd, CallRecord, CallRecorder, ClientStack, Delivery, DiagnoseLayer, DispatchLayer,
    ErrorClass, FaultDomain, RecentCalls, RecordSink, RecorderLayer, ResponseExt, RetryLayer,
    ServerStack, TimeoutLayer, fan_out,
};

use crate::support::{
    outside::{
        Step::{Data, Fail, Stall, Trailers, Wait},
        get, post, response, steps, without_runtime,
    },
    scripted::{Reply, Scripted},
};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

type Sent = Request<Empty<Bytes>>;

fn sent(uri: &str) -> Sent {
    Request::get(uri).body(Empty::new()).unwrap()
}

fn only(calls: &RecentCalls) -> CallRecord {
    let mut records = calls.snapshot();
    assert_eq!(records.len(), 1, "{records:?}");
    records.remove(0)
}

fn named(record: &CallRecord) -> String {
    match record.outcome() {
        Some(outcome) => format!("{}/{}", outcome.class(), outcome.domain()),
        None => "good".to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_good_call() {
    let calls = RecentCalls::new(4);
    let service = RecorderLayer::new(calls.clone()).layer(DispatchLayer::new().layer(service_fn(
        async |_: Request<()>| {
            sleep(30 * MS).await;
            let body = steps([
                Data(b"a"),
                Wait(20 * MS),
                Data(b"b"),
                Trailers(http::HeaderMap::new()),
            ]);
            Ok::<_, BoxError>(response(200, "x-request-id: r-1", body))
        },
    )));
    let answer = service
        .oneshot(get("https://u:SENTINEL@h.example/a?k=SENTINEL"))
        .await
        .unwrap();
    assert!(calls.snapshot().is_empty(), "a call ends with its body");
    answer.into_body().collect().await.unwrap();
    let record = only(&calls);
    assert_eq!(record.endpoint().to_string(), "GET /a");
    assert_eq!(record.status(), Some(StatusCode::OK));
    assert_eq!(record.outcome(), None);
    assert_eq!(record.delivery(), Delivery::Answered);
    assert_eq!(record.attempts(), 1);
    assert_eq!(record.duration(), 50 * MS);
    assert_eq!(record.body_end(), Some(BodyEnd::Complete));
    let json = serde_json::to_string(&record).unwrap();
    assert!(
        !json.contains("SENTINEL") && !json.contains("h.example"),
        "{json}"
    );
    assert!(!format!("{record:?}").contains("SENTINEL"));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(
        json.get("error_class").is_none() && json.get("fault_domain").is_none(),
        "{json}"
    );
    assert!(json.get("upstream_http_status").is_none(), "{json}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_names_class_and_domain() {
    let record = async |reply: Reply| {
        let calls = RecentCalls::new(4);
        let layer = ClientStack::new(SECOND)
            .without_retry()
            .record(calls.clone());
        let result = layer
            .layer(Scripted::new([reply]))
            .oneshot(sent("/a"))
            .await;
        if let Ok(answer) = result {
            let _ = answer.into_body().collect().await;
        }
        only(&calls)
    };
    for (reply, wanted, status, delivery) in [
        (Reply::Status(200), "good", Some(200), Delivery::Answered),
        (Reply::Status(304), "good", Some(304), Delivery::Answered),
        (
            Reply::Status(404),
            "http/upstream",
            Some(404),
            Delivery::Answered,
        ),
        (
            Reply::Status(503),
            "http/upstream",
            Some(503),
            Delivery::Answered,
        ),
        (
            Reply::Status(401),
            "auth/upstream",
            Some(401),
            Delivery::Answered,
        ),
        (Reply::Reset, "network/upstream", None, Delivery::Unknown),
        (Reply::TimedOut, "timeout/upstream", None, Delivery::Unknown),
        (Reply::Never, "timeout/upstream", None, Delivery::Unknown),
        (
            Reply::Refuses,
            "proxy_policy/proxy",
            None,
            Delivery::NotSent,
        ),
    ] {
        let record = record(reply).await;
        assert_eq!(named(&record), wanted);
        assert_eq!(
            record.status().map(|status| status.as_u16()),
            status,
            "{wanted}"
        );
        assert_eq!(record.delivery(), delivery, "{wanted}");
        let json = serde_json::to_value(&record).unwrap();
        let told = json
            .get("upstream_http_status")
            .and_then(|code| code.as_u64());
        if wanted == "good" {
            assert!(json.get("error_class").is_none());
        } else {
            assert_eq!(told, status.map(u64::from));
            assert_eq!(
                format!(
                    "{}/{}",
                    json["error_class"].as_str().unwrap(),
                    json["fault_domain"].as_str().unwrap()
                ),
                wanted
            );
        }
    }
}

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
        let answer = service.oneshot(sent("/a")).await.unwrap();
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
        .oneshot(sent("/a"));
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
    let call = stack.layer(Scripted::statuses([503])).oneshot(sent("/a"));
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
            .call(sent("/a")),
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
            let mut call = Box::pin(service.call(sent("/a")));
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
async fn success_after_retries_shows_them() {
    let calls = RecentCalls::new(4);
    let inner = Scripted::new([Reply::Status(503), Reply::Reset, Reply::Status(200)]);
    let service = ClientStack::new(60 * SECOND)
        .record(calls.clone())
        .layer(inner);
    let answer = service.oneshot(sent("/a")).await.unwrap();
    assert_eq!(answer.retried().unwrap().attempts(), 3);
    answer.into_body().collect().await.unwrap();
    let record = only(&calls);
    assert_eq!((record.outcome(), record.attempts()), (None, 3));
    assert_eq!(record.last_failure().unwrap().class(), ErrorClass::Network);
    // Inside the retries there is a record for each attempt.
    let calls = RecentCalls::new(8);
    let inner = Scripted::statuses([503, 503, 200]);
    let layers = (RetryLayer::new(), RecorderLayer::new(calls.clone()));
    let answer = layers.layer(inner).oneshot(sent("/a")).await.unwrap();
    answer.into_body().collect().await.unwrap();
    let seen: Vec<_> = calls
        .snapshot()
        .iter()
        .map(|record| (record.attempts(), record.status().unwrap().as_u16()))
        .collect();
    assert_eq!(seen, [(1, 503), (1, 503), (1, 200)]);
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
        let mut request = sent("/a");
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

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_thousand_calls_at_once_never_mix() {
    let calls = RecentCalls::new(20_000);
    let service = ClientStack::new(60 * SECOND)
        .without_retry()
        .record(calls.clone())
        .layer(service_fn(|request: Request<_>| async move {
            tokio::task::yield_now().await;
            let path = request.uri().path();
            let code: u16 = path.rsplit('/').next().unwrap().parse().unwrap();
            Ok::<_, Infallible>(response(code, "", Full::new(Bytes::from(path.to_owned()))))
        }));
    let tasks: Vec<_> = (0..10_000_u32)
        .map(|number| {
            let service = service.clone();
            tokio::spawn(async move {
                let path = format!("/{number}/{}", 200 + number % 400);
                let answer = service.oneshot(sent(&path)).await.unwrap();
                let bytes = answer.into_body().collect().await.unwrap().to_bytes();
                assert_eq!(bytes, path);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let records = calls.snapshot();
    assert_eq!(records.len(), 10_000);
    for record in records {
        let status = record.status().unwrap().as_u16().to_string();
        assert!(record.endpoint().path().ends_with(&status));
        assert_eq!(record.outcome().is_some(), status.as_str() >= "400");
        assert_eq!(record.attempts(), 1);
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
    let answer = service.oneshot(sent("/a")).await.unwrap();
    assert!(answer.into_body().collect().await.is_ok());
    assert_eq!(calls.snapshot().len(), 1);
    let stack = ClientStack::new(SECOND).record(|_: CallRecord| panic!("boom"));
    let call = stack
        .layer(Scripted::new([Reply::Never]))
        .oneshot(sent("/a"));
    drop(tokio::time::timeout(MS, call).await);
}

#[test]
fn recent_calls_keep_the_last_ones_oldest_first() {
    let calls = RecentCalls::new(3);
    let service = RecorderLayer::new(calls.clone()).layer(service_fn(async |_: Request<()>| {
        Ok::<_, BoxError>(response(200, "", Empty::<Bytes>::new()))
    }));
    for number in 0..5 {
        without_runtime(service.clone().oneshot(post(&format!("/{number}"))))
            .unwrap()
            .unwrap();
    }
    let paths: Vec<_> = calls
        .snapshot()
        .iter()
        .map(|record| record.endpoint().path().to_owned())
        .collect();
    assert_eq!(paths, ["/2", "/3", "/4"]);
    let none = RecentCalls::new(0);
    let service = RecorderLayer::new(none.clone()).layer(service_fn(async |_: Request<()>| {
        Ok::<_, BoxError>(response(200, "", Empty::<Bytes>::new()))
    }));
    without_runtime(service.oneshot(get("/a")))
        .unwrap()
        .unwrap();
    assert!(none.snapshot().len() <= 1);
}

#[tokio::test(start_paused = true)]
async fn a_recorder_over_layers_it_does_not_know_still_names_the_failure() {
    /// Nobody's error.
    #[derive(Debug)]
    struct Own;
    let calls = RecentCalls::new(4);
    let inner = service_fn(async |_: Request<()>| Err::<Response<Empty<Bytes>>, _>(Own));
    let layers = (RecorderLayer::new(calls.clone()), DispatchLayer::new());
    assert!(layers.layer(inner).oneshot(get("/a")).await.is_err());
    assert_eq!(named(&only(&calls)), "proxy_internal/proxy");

    // A timeout below is known by its type; what dispatched it, by the recorder.
    let calls = RecentCalls::new(4);
    let layers = (
        RecorderLayer::new(calls.clone()),
        DiagnoseLayer::new(),
        TimeoutLayer::new(MS),
        DispatchLayer::new(),
    );
    let error = layers
        .layer(Scripted::new([Reply::Never]))
        .oneshot(sent("/a"))
        .await
        .unwrap_err();
    assert_eq!(error.diagnosis().domain(), FaultDomain::Upstream);
    assert_eq!(named(&only(&calls)), "timeout/upstream");
}
