use std::future::ready;

use axum::Router;
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty};
use serde_json::Value;
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{BoxError, DispatchLayer, PathTemplate, RecentCalls, RecorderLayer, Refused};

async fn recorded(paths: &[&'static str]) -> RecentCalls {
    let calls = RecentCalls::new(100);
    let service = service_fn(|request: Request<()>| {
        let mut response = Response::new(Empty::<Bytes>::new());
        response
            .headers_mut()
            .insert("x-request-id", "\"><script>bad()</script>".parse().unwrap());
        ready(match request.uri().path() {
            "/ok" => Ok(response),
            "/refused" => Err(BoxError::from(Refused::new("circuit open"))),
            "/slow" => Err(tower::timeout::error::Elapsed::new().into()),
            _ => {
                *response.status_mut() = StatusCode::BAD_GATEWAY;
                Ok(response)
            }
        })
    });
    let service = RecorderLayer::new(calls.clone()).layer(DispatchLayer::new().layer(service));
    for path in paths {
        let mut request = Request::get(*path).body(()).unwrap();
        if *path == "/evil" {
            let template = PathTemplate::new("/<script>bad()</script>");
            request.extensions_mut().insert(template);
        }
        drop(service.clone().oneshot(request).await);
    }
    calls
}

async fn get(calls: &RecentCalls, uri: &str) -> (StatusCode, http::HeaderMap, String) {
    let app: Router = Router::new().nest("/debug", calls.router());
    let request = Request::get(uri).body(axum::body::Body::empty()).unwrap();
    let response = app.oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (
        head.status,
        head.headers,
        String::from_utf8(body.to_vec()).unwrap(),
    )
}

async fn endpoints(calls: &RecentCalls, query: &str) -> Vec<String> {
    let (status, headers, body) = get(calls, &format!("/debug/calls{query}")).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert_eq!(headers[header::CONTENT_TYPE], "application/json");
    let records: Vec<Value> = serde_json::from_str(&body).unwrap();
    let endpoint = |record: &Value| record["endpoint"].as_str().unwrap().to_owned();
    records.iter().map(endpoint).collect()
}

#[tokio::test]
async fn the_calls_are_json_newest_first_and_can_be_narrowed() {
    let calls = recorded(&["/ok", "/slow", "/refused", "/bad"]).await;
    for (query, expected) in [
        ("", vec!["GET /bad", "GET /refused", "GET /slow", "GET /ok"]),
        ("?limit=1", vec!["GET /bad"]),
        (
            "?error_class=timeout,http&fault_domain=upstream&limit=50",
            vec!["GET /bad", "GET /slow"],
        ),
        (
            "?error_class=timeout&error_class=http",
            vec!["GET /bad", "GET /slow"],
        ),
        ("?fault_domain=proxy", vec!["GET /refused"]),
        ("?status=502", vec!["GET /bad"]),
        ("?endpoint=GET+/ok", vec!["GET /ok"]),
        (
            "?since=3600&limit=2&status=",
            vec!["GET /bad", "GET /refused"],
        ),
        ("?error_class=auth", vec![]),
    ] {
        assert_eq!(endpoints(&calls, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn a_bad_parameter_is_named_with_what_is_allowed() {
    let calls = recorded(&[]).await;
    for page in ["calls", "calls.html"] {
        let uri = format!("/debug/{page}?error_class=timeout,slow");
        let (status, headers, body) = get(&calls, &uri).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert_eq!(headers[header::CONTENT_TYPE], "application/problem+json");
        let problem: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(problem["status"], 400);
        assert_eq!(problem["parameter"], "error_class");
        let allowed = problem["allowed"].as_array().unwrap();
        assert!(allowed.contains(&"timeout".into()), "{body}");
        assert!(
            problem["detail"].as_str().unwrap().contains("timeout"),
            "{body}"
        );
    }
}

#[tokio::test]
async fn the_page_shows_calls_filters_and_a_row_per_class_without_any_script() {
    let calls = recorded(&["/ok", "/slow", "/evil", "/bad"]).await;
    let (status, headers, body) = get(&calls, "/debug/calls.html?error_class=timeout,http").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(headers[header::CONTENT_TYPE], "text/html; charset=utf-8");
    let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
    assert!(policy.contains("default-src 'none'"), "{policy}");
    assert!(!body.contains("<script"), "{body}");
    assert!(body.contains("&lt;script&gt;bad()"), "{body}");
    assert!(
        body.contains("GET /slow") && body.contains("GET /bad"),
        "{body}"
    );
    assert!(!body.contains("GET /ok"), "{body}");
    assert!(body.contains("value=\"timeout\" checked"), "{body}");
    assert!(body.contains("aria-label=\"timeout over time\""), "{body}");
    let (_, _, empty) = get(&recorded(&[]).await, "/debug/calls.html").await;
    assert!(empty.contains("No calls match"), "{empty}");
}

#[tokio::test]
async fn axums_matched_path_is_the_template() {
    let calls = RecentCalls::new(10);
    let app: Router = Router::new()
        .route("/users/{id}", axum::routing::get(|| async { "hello" }))
        .layer(RecorderLayer::new(calls.clone()));
    let request = Request::get("/users/42")
        .body(axum::body::Body::empty())
        .unwrap();
    let body = app
        .oneshot(request)
        .await
        .unwrap()
        .into_body()
        .collect()
        .await;
    assert_eq!(body.unwrap().to_bytes(), "hello");
    let record = super::only(&calls);
    assert_eq!(record.template(), Some("/users/{id}"));
    assert_eq!(record.bytes_in(), 5);
}
