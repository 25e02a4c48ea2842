//! The diagnosis as tools read it, and as people do.

use std::{convert::Infallible, io, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use serde_json::{Value, json};
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tower_diagnose::{DiagnoseLayer, Diagnosis, Refused, ResponseExt, TimeoutLayer};

fn request() -> Request<()> {
    Request::post("http://u:p@api.example:8080/orders?key=1")
        .body(())
        .unwrap()
}

async fn answered() -> Diagnosis {
    let service = service_fn(|_: Request<()>| async {
        let answer = Response::builder()
            .status(429)
            .header("content-type", "application/json")
            .header("retry-after", "7")
            .header("x-request-id", "r-1")
            .header("set-cookie", "a=b")
            .body(Full::<Bytes>::from(r#"{"message":"slow down"}"#));
        Ok::<_, Infallible>(answer.unwrap())
    });
    let response = DiagnoseLayer::new().layer(service).oneshot(request()).await;
    response.unwrap().diagnosis().unwrap().clone()
}

async fn failed(error: impl Into<BoxError>) -> Value {
    let mut error = Some(error.into());
    let service = service_fn(move |_: Request<()>| {
        std::future::ready(Err::<Response<Full<Bytes>>, _>(error.take().unwrap()))
    });
    let client = DiagnoseLayer::new().layer(service);
    let error = client.oneshot(request()).await.unwrap_err();
    serde_json::to_value(error.diagnosis().payload("order")).unwrap()
}

#[tokio::test]
async fn an_answer_gives_what_is_known_and_leaves_out_the_rest() {
    let diagnosis = answered().await;
    let mut payload = serde_json::to_value(diagnosis.payload("order")).unwrap();
    assert!(payload["hint"].take().as_str().unwrap().contains("7s"));
    assert_eq!(
        payload,
        json!({
            "error": "http",
            "tool": "order",
            "message": "POST /orders failed (429 Too Many Requests): slow down",
            "status": 429,
            "endpoint": "http://api.example:8080/orders",
            "bodyExcerpt": r#"{"message":"slow down"}"#,
            "hint": null,
            "errorClass": "http",
            "faultDomain": "upstream",
            "attempts": 1,
            "retryAfterMs": 7000,
            "requestId": "r-1",
        })
    );
}

#[tokio::test]
async fn each_kind_of_failure_has_its_name() {
    let refused = failed(Refused::new("circuit open")).await;
    assert_eq!(refused["error"], "client");
    assert_eq!(
        refused["message"],
        "POST /orders failed: circuit open (not sent)"
    );
    assert!(refused.get("status").is_none() && refused.get("indeterminate").is_none());

    let network = failed(io::Error::from(io::ErrorKind::ConnectionReset)).await;
    assert_eq!(network["error"], "network");
    assert_eq!(network["indeterminate"], true);
    assert_eq!(network["endpoint"], "http://api.example:8080/orders");

    assert_eq!(failed("whatever this is").await["error"], "unknown");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_names_its_limit_and_the_method() {
    let service = service_fn(|_: Request<()>| {
        std::future::pending::<Result<Response<Full<Bytes>>, BoxError>>()
    });
    let timed = TimeoutLayer::new(Duration::from_millis(1500)).layer(service);
    let error = DiagnoseLayer::new()
        .layer(timed)
        .oneshot(request())
        .await
        .unwrap_err();
    let payload = serde_json::to_value(error.diagnosis().payload("order")).unwrap();
    assert_eq!(payload["error"], "timeout");
    assert_eq!(payload["timeoutMs"], 1500);
    assert_eq!(payload["endpoint"], "POST http://api.example:8080/orders");
    assert_eq!(
        payload["message"],
        "POST /orders failed: timed out after 1.5s (no response from server)"
    );
}

#[tokio::test]
async fn the_report_has_a_row_for_each_thing_known() {
    let diagnosis = answered().await;
    let report = format!("{diagnosis:#}");
    let hint = diagnosis.hint().unwrap();
    assert_eq!(
        report,
        format!(
            "POST /orders failed (429 Too Many Requests): slow down\n  \
             endpoint   POST /orders\n  \
             class      http (fault: upstream)\n  \
             delivery   answered\n  \
             attempts   1\n  \
             retry      after 7s\n  \
             request id r-1\n  \
             header     content-type: application/json\n  \
             header     retry-after: 7\n  \
             header     x-request-id: r-1\n  \
             hint       {hint}"
        )
    );
    let json = serde_json::to_value(&diagnosis).unwrap();
    assert_eq!(json["error_class"], "http");
    assert_eq!(json["headers"]["set-cookie"], "[redacted]");
    assert!(json.get("timeout_ms").is_none());
}
