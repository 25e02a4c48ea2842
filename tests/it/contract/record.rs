//! One record for every call, whatever happens to it.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use tokio::time::sleep;
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tower_diagnose::{
    BodyEnd, ClientStack, Delivery, DiagnoseLayer, DispatchLayer, ErrorClass, FaultDomain,
    RecentCalls, RecorderLayer, ResponseExt, RetryLayer, TimeoutLayer,
};

use super::shared::{MS, SECOND, asked, named, only};
use crate::support::{
    outside::{
        Step::{Data, Trailers, Wait},
        get, post, response, steps, without_runtime,
    },
    scripted::{Reply, Scripted},
};

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
            .oneshot(asked("/a"))
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
async fn success_after_retries_shows_them() {
    let calls = RecentCalls::new(4);
    let inner = Scripted::new([Reply::Status(503), Reply::Reset, Reply::Status(200)]);
    let service = ClientStack::new(60 * SECOND)
        .record(calls.clone())
        .layer(inner);
    let answer = service.oneshot(asked("/a")).await.unwrap();
    assert_eq!(answer.retried().unwrap().attempts(), 3);
    answer.into_body().collect().await.unwrap();
    let record = only(&calls);
    assert_eq!((record.outcome(), record.attempts()), (None, 3));
    assert_eq!(record.last_failure().unwrap().class(), ErrorClass::Network);
    // Inside the retries there is a record for each attempt.
    let calls = RecentCalls::new(8);
    let inner = Scripted::statuses([503, 503, 200]);
    let layers = (RetryLayer::new(), RecorderLayer::new(calls.clone()));
    let answer = layers.layer(inner).oneshot(asked("/a")).await.unwrap();
    answer.into_body().collect().await.unwrap();
    let seen: Vec<_> = calls
        .snapshot()
        .iter()
        .map(|record| (record.attempts(), record.status().unwrap().as_u16()))
        .collect();
    assert_eq!(seen, [(1, 503), (1, 503), (1, 200)]);
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
                let answer = service.oneshot(asked(&path)).await.unwrap();
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
        .oneshot(asked("/a"))
        .await
        .unwrap_err();
    assert_eq!(error.diagnosis().domain(), FaultDomain::Upstream);
    assert_eq!(named(&only(&calls)), "timeout/upstream");
}
