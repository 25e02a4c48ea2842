//! What several of these tests call with.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{Empty, Full};
use tower::{Layer, ServiceExt};
use tower_diagnose::{
    Backoff, CallRecord, DiagnoseLayer, Diagnosis, RecentCalls, ResponseExt, Retried, RetryError,
    RetryLayer, find,
};

use crate::support::{
    outside::{diagnosed, response},
    scripted::Scripted,
};

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const MS: Duration = Duration::from_millis(1);
pub(super) const JSON: &str = "content-type: application/json";

pub(super) type Sent = Request<Full<Bytes>>;

pub(super) fn sent(method: Method) -> Sent {
    Request::builder()
        .method(method)
        .uri("/a?b=c")
        .body(Full::default())
        .unwrap()
}

/// A request full of what must not be shown.
pub(super) fn secretive(method: Method) -> Sent {
    Request::builder()
        .method(method)
        .uri("http://h.example/a?k=SENTINEL")
        .header("authorization", "Bearer SENTINEL")
        .body(Full::from("SENTINEL"))
        .unwrap()
}

pub(super) fn asked(uri: &str) -> Request<Empty<Bytes>> {
    Request::get(uri).body(Empty::new()).unwrap()
}

/// Retries without a wait.
pub(super) fn at_once() -> RetryLayer {
    RetryLayer::new()
        .without_budget()
        .backoff(Backoff::exponential(Duration::ZERO, Duration::ZERO))
}

/// Retries whatever may be retried.
pub(super) fn calm() -> RetryLayer {
    RetryLayer::new().without_budget()
}

/// How many attempts `request` was given, and what is told of them.
pub(super) async fn attempts(
    layer: &RetryLayer,
    inner: &Scripted,
    request: Sent,
) -> (usize, Option<Retried>) {
    let before = inner.calls();
    let retried = match layer.layer(inner.clone()).oneshot(request).await {
        Ok(response) => response.retried(),
        Err(error) => find::<RetryError>(&*error).map(RetryError::retried),
    };
    (inner.calls() - before, retried)
}

/// The one record.
pub(super) fn only(calls: &RecentCalls) -> CallRecord {
    let mut records = calls.snapshot();
    assert_eq!(records.len(), 1, "{records:?}");
    records.remove(0)
}

/// Class and fault domain of a record.
pub(super) fn named(record: &CallRecord) -> String {
    match record.outcome() {
        Some(outcome) => format!("{}/{}", outcome.class(), outcome.domain()),
        None => "good".to_owned(),
    }
}

/// What is said of a 400 with this body.
pub(super) async fn diagnosis(
    layer: &DiagnoseLayer,
    request: Request<()>,
    headers: &str,
    body: &[u8],
) -> Diagnosis {
    let body = Full::new(Bytes::copy_from_slice(body));
    diagnosed(layer, request, response(400, headers, body))
        .await
        .unwrap()
}

/// All forms in which a diagnosis goes out.
pub(super) fn everything(diagnosis: &Diagnosis) -> Vec<String> {
    let payload = diagnosis.payload("tool");
    vec![
        diagnosis.to_string(),
        format!("{diagnosis:#}"),
        format!("{diagnosis:?}"),
        serde_json::to_string(diagnosis).unwrap(),
        serde_json::to_string(&payload).unwrap(),
        format!("{payload:?}"),
        diagnosis.message().unwrap_or_default().to_owned(),
        diagnosis.excerpt().unwrap_or_default().to_owned(),
    ]
}
