//! A diagnosis that is asked late, often, from within and by many.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tower_diagnose::{DiagnoseLayer, Diagnosis, LogPolicy};

use crate::support::outside::{diagnosed, get, post, response};

const JSON: &str = "content-type: application/json";
const BODY: &[u8] = br#"{"message":"no such page","code":"E_PAGE"}"#;

async fn told(layer: &DiagnoseLayer) -> Diagnosis {
    let answer = response(
        404,
        &format!("{JSON}\nx-request-id: r-7"),
        Full::new(Bytes::from_static(BODY)),
    );
    diagnosed(layer, post("http://h.example/a"), answer)
        .await
        .unwrap()
}

#[tokio::test]
async fn hooks_may_ask_for_everything() {
    let all = |diagnosis: &Diagnosis| {
        format!(
            "{diagnosis} {diagnosis:#} {diagnosis:?} {:?} {:?} {:?} {:?} {} {}",
            diagnosis.hint(),
            diagnosis.message(),
            diagnosis.code(),
            diagnosis.excerpt(),
            serde_json::to_string(diagnosis).unwrap(),
            serde_json::to_string(&diagnosis.payload("tool")).unwrap(),
        )
    };
    let layer = DiagnoseLayer::new()
        .path_with(|endpoint| Some(format!("/{}", endpoint.path().len())))
        .hint_with(move |diagnosis| Some(format!("{} characters", all(diagnosis).len().min(1))))
        .log(LogPolicy::new());
    let diagnosis = told(&layer).await;
    assert_eq!(diagnosis.hint(), Some("1 characters"));
    assert_eq!(
        diagnosis.to_string(),
        "POST /2 failed (404 Not Found): no such page"
    );
    assert_eq!(diagnosis.payload("tool").hint(), Some("1 characters"));
}

#[tokio::test]
async fn many_may_ask_at_once_and_hear_the_same() {
    for _ in 0..200 {
        let diagnosis = told(&DiagnoseLayer::new()).await;
        let copy = diagnosis.clone();
        std::thread::scope(|scope| {
            for one in [&diagnosis, &copy, &diagnosis, &copy] {
                scope.spawn(move || {
                    assert_eq!(one.message(), Some("no such page"));
                    assert_eq!(one.code(), Some("E_PAGE"));
                    assert_eq!(one.request_id(), Some("r-7"));
                    assert_eq!(
                        one.to_string(),
                        "POST /a failed (404 Not Found): no such page"
                    );
                });
            }
        });
    }
}

#[tokio::test]
async fn the_caller_may_change_the_response_meanwhile() {
    let service = DiagnoseLayer::new().layer(service_fn(async |_: Request<()>| {
        Ok::<_, BoxError>(response(404, JSON, Full::new(Bytes::from_static(BODY))))
    }));
    let mut answer = service.oneshot(get("/a")).await.unwrap();
    *answer.status_mut() = http::StatusCode::OK;
    answer.headers_mut().clear();
    let (parts, body) = answer.into_parts();
    drop(body);
    let diagnosis = parts.extensions.get::<Diagnosis>().unwrap();
    assert_eq!(
        diagnosis.to_string(),
        "GET /a failed (404 Not Found): no such page"
    );
    assert_eq!(diagnosis.excerpt().map(str::as_bytes), Some(BODY));
}

/// The memory of a frame, which tells when it is given back.
struct Owned(Vec<u8>, Arc<AtomicUsize>);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.1.fetch_add(1, SeqCst);
    }
}

#[tokio::test]
async fn a_diagnosis_that_is_kept_keeps_no_frame() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let frame = Owned(
        [br#"{"message":"a","x":""#, &[b'x'; 1 << 20][..]].concat(),
        Arc::clone(&dropped),
    );
    let answer = response(500, JSON, Full::new(Bytes::from_owner(frame)));
    let layer = DiagnoseLayer::new().peek_timeout(Duration::from_secs(1));
    let diagnosis = diagnosed(&layer, get("/a"), answer).await.unwrap();
    assert_eq!(dropped.load(SeqCst), 1, "the frame went with its response");
    assert_eq!(diagnosis.message(), Some("a"));
}
