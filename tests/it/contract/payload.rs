//! The structured payload, its hints, and what it leaves out.

use std::{io, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{Empty, Full};
use serde_json::{Value, json};
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tower_diagnose::{
    ClientStack, DiagnoseLayer, Diagnosis, Refused, TimeoutLayer, require_full_uuid,
};

use crate::support::{
    outside::{diagnosed, get, post, request, response},
    scripted::{Reply, Scripted},
};

const JSON: &str = "content-type: application/json";

fn json(diagnosis: &Diagnosis) -> Value {
    serde_json::to_value(diagnosis.payload("list_modules")).unwrap()
}

async fn answered(request: Request<()>, status: u16, headers: &str, body: &str) -> Value {
    let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
    let answer = response(status, headers, body);
    json(
        &diagnosed(&DiagnoseLayer::new(), request, answer)
            .await
            .unwrap(),
    )
}

async fn failed(request: Request<()>, error: impl Into<BoxError>) -> Value {
    let error = std::sync::Mutex::new(Some(error.into()));
    let service = DiagnoseLayer::new().layer(service_fn(async |_: Request<()>| {
        Err::<Response<Empty<Bytes>>, _>(error.lock().unwrap().take().unwrap())
    }));
    json(service.oneshot(request).await.unwrap_err().diagnosis())
}

#[tokio::test]
async fn an_answer() {
    let body = r#"{"message":"commentId must be a UUID"}"#;
    let headers = format!("{JSON}\nx-request-id: r-7\nretry-after: 2");
    let uri = "https://u:SENTINEL@h.example:81/comments/resolve?key=SENTINEL";
    let payload = answered(post(uri), 429, &headers, body).await;
    assert_eq!(payload["error"], "http");
    assert_eq!(payload["tool"], "list_modules");
    assert_eq!(
        payload["message"],
        "POST /comments/resolve failed (429 Too Many Requests): commentId must be a UUID"
    );
    assert_eq!(payload["status"], 429);
    assert_eq!(payload["endpoint"], "https://h.example:81/comments/resolve");
    assert_eq!(payload["bodyExcerpt"], body);
    assert_eq!(payload["errorClass"], "http");
    assert_eq!(payload["faultDomain"], "upstream");
    assert_eq!(payload["attempts"], 1);
    assert_eq!(payload["retryAfterMs"], 2000);
    assert_eq!(payload["requestId"], "r-7");
    assert!(
        payload["hint"].as_str().unwrap().contains("2s"),
        "{payload}"
    );
    for absent in ["timeoutMs", "indeterminate"] {
        assert!(
            payload
                .get(absent)
                .is_none_or(|value| *value == json!(false)),
            "{payload}"
        );
    }
    assert!(!payload.to_string().contains("SENTINEL"));
    assert!(
        payload
            .as_object()
            .unwrap()
            .values()
            .all(|value| !value.is_null()),
        "{payload}"
    );
}

#[tokio::test]
async fn the_kinds_of_error() {
    let kind = |payload: &Value| payload["error"].as_str().unwrap().to_owned();
    let reset = failed(get("/a"), io::Error::from(io::ErrorKind::ConnectionReset)).await;
    assert_eq!(kind(&reset), "network");
    assert!(reset.get("status").is_none() && reset.get("bodyExcerpt").is_none());
    assert_eq!(
        kind(&failed(get("/a"), Refused::new("circuit open")).await),
        "client"
    );
    let argument = require_full_uuid("resolve", "commentId", "1").unwrap_err();
    assert_eq!(kind(&failed(get("/a"), argument).await), "client");
    assert_eq!(kind(&failed(get("/a"), "whatever").await), "unknown");
    assert_eq!(
        kind(&failed(get("/a"), io::Error::from(io::ErrorKind::TimedOut)).await),
        "timeout"
    );
    for status in [400, 401, 403, 404, 500, 503] {
        assert_eq!(kind(&answered(get("/a"), status, "", "").await), "http");
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout() {
    let never = Scripted::new([Reply::Never]);
    let layers = (
        DiagnoseLayer::new(),
        TimeoutLayer::new(Duration::from_millis(1500)),
    );
    let sent = Request::get("http://u:p@h.example/a?b=c")
        .body(Empty::<Bytes>::new())
        .unwrap();
    let error = layers.layer(never).oneshot(sent).await.unwrap_err();
    let payload = json(error.diagnosis());
    assert_eq!(payload["error"], "timeout");
    assert_eq!(payload["timeoutMs"], 1500);
    assert_eq!(payload["endpoint"], "GET http://h.example/a");
    assert_eq!(
        payload["message"],
        "GET /a failed: timed out after 1.5s (no response from server)"
    );
    assert_eq!(payload["errorClass"], "timeout");
    assert!(payload.get("status").is_none());
    let hint = payload["hint"].as_str().unwrap();
    assert!(
        hint.contains("timeout") || hint.contains("reachable"),
        "{hint}"
    );
}

#[tokio::test]
async fn an_indeterminate_write() {
    let payload = failed(post("/a"), io::Error::from(io::ErrorKind::ConnectionReset)).await;
    assert_eq!(payload["indeterminate"], true);
    let hint = payload["hint"].as_str().unwrap();
    assert!(hint.contains("may have been applied"), "{hint}");
    let payload = failed(get("/a"), io::Error::from(io::ErrorKind::ConnectionReset)).await;
    assert!(
        payload
            .get("indeterminate")
            .is_none_or(|value| *value == json!(false))
    );
}

#[tokio::test]
async fn the_excerpt() {
    let excerpt = async |headers: &str, body: &str| {
        answered(post("/a"), 500, headers, body)
            .await
            .get("bodyExcerpt")
            .cloned()
    };
    let long = format!("{{\"message\":\"{}\"}}", "x".repeat(1000));
    let shown = excerpt(JSON, &long).await.unwrap();
    assert_eq!(
        shown,
        format!("{}\u{2026} ({} more chars)", &long[..500], long.len() - 500)
    );
    let wide = format!("{{\"message\":\"{}\"}}", "\u{1f980}".repeat(1000));
    let shown = excerpt(JSON, &wide).await.unwrap();
    let head: String = wide.chars().take(500).collect();
    assert_eq!(
        shown,
        format!("{head}\u{2026} ({} more chars)", wide.chars().count() - 500)
    );
    let exact = format!("\"{}\"", "x".repeat(498));
    assert_eq!(excerpt(JSON, &exact).await.unwrap(), exact);
    assert_eq!(
        excerpt("content-type: text/plain", "pool is empty")
            .await
            .unwrap(),
        "pool is empty"
    );
    for (headers, body, word) in [
        (
            "content-type: text/html",
            "<html><body>SENTINEL</body></html>",
            "html",
        ),
        (JSON, "<!DOCTYPE html><html>SENTINEL</html>", "html"),
        (
            "content-type: application/octet-stream",
            "\0\u{1}\u{2}SENTINEL\0",
            "binary",
        ),
    ] {
        let shown = excerpt(headers, body).await.unwrap();
        let shown = shown.as_str().unwrap();
        assert!(!shown.contains("SENTINEL"), "{shown}");
        assert!(
            shown.to_lowercase().contains(word) && shown.contains("omitted"),
            "{shown}"
        );
    }
    let shown = excerpt(
        JSON,
        r#"{"message":"Bearer abcdefgh12345678 and sk-abcdefgh12345678"}"#,
    )
    .await
    .unwrap();
    assert!(!shown.to_string().contains("12345678"), "{shown}");
    assert_eq!(excerpt(JSON, "").await, None);
}

#[tokio::test]
async fn the_usual_hints() {
    let hint = async |status: u16, headers: &str| {
        let payload = answered(get("/a"), status, headers, "").await;
        payload["hint"].as_str().unwrap_or_default().to_lowercase()
    };
    for (status, headers, words) in [
        (400, "", "request"),
        (422, "", "request"),
        (401, "", "credential"),
        (403, "", "credential"),
        (404, "", "path"),
        (429, "", "slow"),
        (429, "retry-after: 7", "7s"),
        (500, "", "log"),
        (503, "", "server"),
    ] {
        let hint = hint(status, headers).await;
        assert!(hint.contains(words), "{status}: {hint}");
    }
    let network = failed(get("/a"), io::Error::from(io::ErrorKind::ConnectionReset)).await;
    let hint = network["hint"].as_str().unwrap().to_lowercase();
    assert!(
        hint.contains("transient") && hint.contains("retry once"),
        "{hint}"
    );
    assert!(
        hint.contains("unreachable") && hint.contains("overloaded"),
        "{hint}"
    );
}

#[tokio::test]
async fn a_diagnosis_is_serialized_and_reported() {
    let body = r#"{"message":"no such page","code":"E_PAGE"}"#;
    let answer = response(
        404,
        &format!("{JSON}\nx-request-id: r-7\nset-cookie: s=SENTINEL"),
        Full::new(Bytes::from(body)),
    );
    let uri = "https://h.example/a?k=SENTINEL";
    let diagnosis = diagnosed(&DiagnoseLayer::new(), request(Method::GET, uri), answer)
        .await
        .unwrap();
    let value = serde_json::to_value(&diagnosis).unwrap();
    assert!(value.is_object());
    assert!(!value.to_string().contains("SENTINEL"));
    let report = format!("{diagnosis:#}");
    assert!(report.lines().count() > 1, "{report}");
    assert!(report.starts_with(&diagnosis.to_string()), "{report}");
    assert!(!report.contains("SENTINEL"));
    assert_eq!(diagnosis.to_string().lines().count(), 1);
    assert_eq!(diagnosis.code(), Some("E_PAGE"));
    assert_eq!(diagnosis.excerpt(), Some(body));
}

#[tokio::test(start_paused = true)]
async fn attempts_of_a_stack_are_told() {
    let service = ClientStack::new(Duration::from_secs(60)).layer(Scripted::statuses([503]));
    let sent = Request::get("/a").body(Empty::<Bytes>::new()).unwrap();
    let answer = service.oneshot(sent).await.unwrap();
    let diagnosis = tower_diagnose::ResponseExt::diagnosis(&answer).unwrap();
    assert_eq!(json(diagnosis)["attempts"], 3);
    assert_eq!(
        json(diagnosis)["message"],
        "GET /a failed (503 Service Unavailable): Service Unavailable [3 attempts]"
    );
}
