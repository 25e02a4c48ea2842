//! The line, and the diagnosis behind it, over services in memory.

use std::{borrow::Cow, convert::Infallible, time::Duration};

use bytes::Bytes;
use http::{HeaderName, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tower_diagnose::{
    Delivery, DiagnoseLayer, Diagnosed, Diagnosis, ErrorClass, FaultDomain, Idempotency, Refused,
    ResponseExt, find,
};

type Answer = Response<Full<Bytes>>;

fn answer(status: u16, body: &'static str) -> Answer {
    Response::builder()
        .status(status)
        .body(Full::from(body))
        .unwrap()
}

fn request(method: &str, uri: &str) -> Request<()> {
    Request::builder().method(method).uri(uri).body(()).unwrap()
}

async fn diagnosed(layer: DiagnoseLayer, request: Request<()>, answer: Answer) -> Diagnosis {
    let service = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(answer.clone()) });
    let response = layer.layer(service).oneshot(request).await.unwrap();
    response.diagnosis().unwrap().clone()
}

async fn failed(
    layer: DiagnoseLayer,
    request: Request<()>,
    error: impl Into<BoxError>,
) -> Diagnosed {
    let mut error = Some(error.into());
    let service = service_fn(move |_: Request<()>| {
        std::future::ready(Err::<Answer, BoxError>(error.take().unwrap()))
    });
    layer.layer(service).oneshot(request).await.unwrap_err()
}

#[tokio::test]
async fn the_line_names_method_path_status_and_the_servers_words() {
    let long_path = format!("/{}", "p/".repeat(150));
    let long_message: &'static str = format!(r#"{{"message":"{}"}}"#, "m".repeat(400)).leak();
    for (method, uri, status, body, line) in [
        (
            "POST",
            "http://u:p@host.example:81/comments/resolve?key=1#x",
            400,
            r#"{"message":"commentId must be a UUID"}"#,
            "POST /comments/resolve failed (400 Bad Request): commentId must be a UUID".to_owned(),
        ),
        (
            "GET",
            "/a",
            404,
            "",
            "GET /a failed (404 Not Found): Not Found".to_owned(),
        ),
        (
            "GET",
            "/a",
            529,
            "",
            "GET /a failed (529): no error message".to_owned(),
        ),
        (
            "GET",
            "/a",
            529,
            r#"{"message":"Overloaded"}"#,
            "GET /a failed (529): Overloaded".to_owned(),
        ),
        (
            "GET",
            "/a",
            502,
            "<!DOCTYPE html><h1>Bad</h1>",
            "GET /a failed (502 Bad Gateway): Bad Gateway".to_owned(),
        ),
        (
            "GET",
            "/a",
            400,
            "{\"message\":\"two\\nlines \\u001b[31mred\"}",
            "GET /a failed (400 Bad Request): two lines red".to_owned(),
        ),
        (
            "GET",
            &long_path,
            400,
            long_message,
            format!(
                "GET /{}… failed (400 Bad Request): {}…",
                "p/".repeat(59),
                "m".repeat(300 - 4 - 120 - 27 - 1)
            ),
        ),
    ] {
        let diagnosis = diagnosed(
            DiagnoseLayer::new(),
            request(method, uri),
            answer(status, body),
        )
        .await;
        let printed = diagnosis.to_string();
        assert_eq!(printed, line);
        assert!(printed.chars().count() <= 300);
    }
}

#[tokio::test]
async fn a_smaller_cap_keeps_path_and_status_as_long_as_they_fit() {
    for (cap, line) in [
        (300, "GET /some/path failed (404 Not Found): it is not here"),
        (50, "GET /some/path failed (404 Not Found): it is not …"),
        (40, "GET /some/path failed (404 Not Found): …"),
        (35, "GET /som… failed (404 Not Found): …"),
        (10, "GET … fai…"),
        (1, "…"),
        (0, ""),
    ] {
        let diagnosis = diagnosed(
            DiagnoseLayer::new().line_cap(cap),
            request("GET", "/some/path"),
            answer(404, r#"{"message":"it is not here"}"#),
        )
        .await;
        let printed = diagnosis.to_string();
        assert!(printed.chars().count() <= cap, "{cap} {printed}");
        assert_eq!(printed, line, "{cap}");
        // Where nothing had to be cut it is read where it stands.
        assert_eq!(diagnosis.line(), line, "{cap}");
        let is_borrowed = matches!(diagnosis.line(), Cow::Borrowed(_));
        assert_eq!(is_borrowed, cap == 300, "{cap}");
    }
}

#[tokio::test]
async fn a_failure_without_an_answer_says_how_far_it_came() {
    let refused = failed(
        DiagnoseLayer::new(),
        request("POST", "/orders"),
        Refused::new("service overloaded"),
    )
    .await;
    assert_eq!(
        refused.to_string(),
        "POST /orders failed: service overloaded (not sent)"
    );
    let diagnosis = refused.diagnosis();
    assert_eq!(diagnosis.class(), ErrorClass::ProxyPolicy);
    assert_eq!(diagnosis.delivery(), Delivery::NotSent);
    assert!(!diagnosis.is_indeterminate());
    assert!(find::<Refused>(&refused).is_some());
    assert!(refused.into_source().unwrap().is::<Refused>());

    let elapsed = std::io::Error::from(std::io::ErrorKind::TimedOut);
    let timed_out = failed(
        DiagnoseLayer::new(),
        request("GET", "/api/modules"),
        elapsed,
    )
    .await;
    let line = timed_out.to_string();
    assert!(line.starts_with("GET /api/modules failed: "), "{line}");
    assert!(line.ends_with(" (no response from server)"), "{line}");
    assert_eq!(timed_out.diagnosis().class(), ErrorClass::Timeout);
    assert_eq!(timed_out.diagnosis().domain(), FaultDomain::Upstream);
}

#[tokio::test]
async fn a_write_that_may_have_arrived_is_indeterminate_unless_it_may_be_repeated() {
    for (method, key, declared, indeterminate) in [
        (Method::GET, false, None, false),
        (Method::PUT, false, None, false),
        (Method::POST, false, None, true),
        (Method::POST, true, None, false),
        (Method::POST, false, Some(Idempotency::Idempotent), false),
        (Method::GET, false, Some(Idempotency::NotIdempotent), true),
    ] {
        let mut request = request(method.as_str(), "/pay");
        if key {
            request
                .headers_mut()
                .insert("idempotency-key", "k".parse().unwrap());
        }
        if let Some(declared) = declared {
            request.extensions_mut().insert(declared);
        }
        let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        let error = failed(DiagnoseLayer::new(), request, reset).await;
        let diagnosis = error.diagnosis();
        assert_eq!(diagnosis.delivery(), Delivery::Unknown);
        assert_eq!(
            diagnosis.is_indeterminate(),
            indeterminate,
            "{method} {key} {declared:?}"
        );
        let payload = serde_json::to_value(diagnosis.payload("pay")).unwrap();
        assert_eq!(payload["indeterminate"] == true, indeterminate);
    }
}

#[tokio::test]
async fn an_error_of_poll_ready_comes_with_the_next_call() {
    #[derive(Clone)]
    struct NeverReady;
    impl tower::Service<Request<()>> for NeverReady {
        type Response = Answer;
        type Error = Refused;
        type Future = std::future::Ready<Result<Answer, Refused>>;
        fn poll_ready(
            &mut self,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Result<(), Refused>> {
            std::task::Poll::Ready(Err(Refused::new("circuit open")))
        }
        fn call(&mut self, _: Request<()>) -> Self::Future {
            panic!("called although it was not ready")
        }
    }
    let error = DiagnoseLayer::new()
        .layer(NeverReady)
        .oneshot(request("GET", "/a"))
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "GET /a failed: circuit open (not sent)");

    let kept = DiagnoseLayer::for_server()
        .layer(NeverReady)
        .oneshot(request("GET", "/a"))
        .await
        .unwrap_err();
    assert_eq!(kept, Refused::new("circuit open"));
}

#[tokio::test]
async fn error_for_status_keeps_the_head() {
    let mut answer = answer(429, r#"{"message":"slow down"}"#);
    answer
        .headers_mut()
        .insert("retry-after", "7".parse().unwrap());
    let service = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(answer.clone()) });
    let error = DiagnoseLayer::new()
        .error_for_status(true)
        .layer(service)
        .oneshot(request("GET", "/a"))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "GET /a failed (429 Too Many Requests): slow down"
    );
    assert_eq!(
        error.diagnosis().retry_after(),
        Some(Duration::from_secs(7))
    );
    let head = error.response().unwrap();
    assert_eq!(head.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(head.headers["retry-after"], "7");
    assert!(error.into_source().is_none());
}

#[tokio::test]
async fn hooks_replace_failure_path_and_hint() {
    let layer = DiagnoseLayer::new()
        .failure_when(|status| status.is_redirection())
        .path_with(|endpoint| {
            endpoint
                .path()
                .starts_with("/users/")
                .then(|| "/users/{id}".into())
        })
        .hint_with(|diagnosis| Some(format!("ask about {}", diagnosis.status()?.as_u16())))
        .redact_header("x-tenant")
        .redact_header(HeaderName::from_static("x-other"));
    let diagnosis = diagnosed(layer.clone(), request("GET", "/users/42"), answer(302, "")).await;
    assert_eq!(
        diagnosis.to_string(),
        "GET /users/{id} failed (302 Found): Found"
    );
    assert_eq!(diagnosis.hint(), Some("ask about 302"));
    let silent = layer.clone().hint_with(|_| Some(" ".to_owned()));
    let diagnosis_without = diagnosed(silent, request("GET", "/users/42"), answer(302, "")).await;
    assert_eq!(diagnosis_without.hint(), None);
    assert!(!format!("{diagnosis_without:#}").contains("hint"));
    assert_eq!(diagnosis.class(), ErrorClass::Http);

    let service = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(answer(500, "")) });
    let fine = layer
        .layer(service)
        .oneshot(request("GET", "/users/42"))
        .await
        .unwrap();
    assert!(fine.diagnosis().is_none());
}

#[tokio::test]
async fn an_excerpt_is_cut_and_says_how_much_there_is() {
    let body: &'static str = format!(r#"{{"message":"no","rest":"{}"}}"#, "x".repeat(600)).leak();
    let whole = diagnosed(
        DiagnoseLayer::new(),
        request("GET", "/a"),
        answer(400, body),
    )
    .await;
    let expected = format!("{}… ({} more chars)", &body[..500], body.len() - 500);
    assert_eq!(whole.excerpt(), Some(&*expected));

    let prefix = diagnosed(
        DiagnoseLayer::new().body_cap(100).excerpt_cap(10),
        request("GET", "/a"),
        answer(400, body),
    )
    .await;
    let expected = format!("{}… ({} more chars)", &body[..10], body.len() - 10);
    assert_eq!(prefix.excerpt(), Some(&*expected));
}

#[tokio::test]
async fn what_the_caller_gets_is_what_came() {
    let mut answer = answer(503, r#"{"message":"later"}"#);
    *answer.version_mut() = http::Version::HTTP_2;
    answer
        .headers_mut()
        .insert("x-kept", "yes".parse().unwrap());
    answer.extensions_mut().insert(7u8);
    let service = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(answer.clone()) });
    let response = DiagnoseLayer::new()
        .layer(service)
        .oneshot(request("GET", "/a"))
        .await
        .unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(response.version(), http::Version::HTTP_2);
    assert_eq!(response.headers(), answer.headers());
    assert_eq!(response.extensions().get::<u8>(), Some(&7));
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(&body[..], br#"{"message":"later"}"#);
}

#[test]
fn everything_is_send_sync_and_clone() {
    fn check<T: Send + Sync + Clone>(_: &T) {}
    fn check_future<T: Send>(_: &T) {}
    fn check_body<T: Send + Sync + Unpin>() {}
    fn check_error<T: std::error::Error + Send + Sync + 'static>() {}
    let service = DiagnoseLayer::new().layer(service_fn(|_: Request<()>| {
        std::future::ready(Ok::<_, Infallible>(answer(200, "")))
    }));
    check(&DiagnoseLayer::new());
    check(&DiagnoseLayer::for_server());
    check(&service);
    check_future(&service.oneshot(Request::new(())));
    check_body::<tower_diagnose::diagnose::ResponseBody<Full<Bytes>>>();
    check_error::<Diagnosed>();
    assert_eq!(size_of::<Diagnosed>(), size_of::<usize>());
}

#[tokio::test]
async fn a_code_that_is_all_the_server_said_is_told_once_and_found_by_its_name() {
    for (body, message, has_row) in [
        (
            r#"{"error":"slow_down","error_description":"wait for it"}"#,
            "slow_down: wait for it",
            true,
        ),
        (r#"{"error":"slow_down"}"#, "slow_down", false),
    ] {
        let diagnosis = diagnosed(
            DiagnoseLayer::new(),
            request("POST", "/token"),
            answer(400, body),
        )
        .await;
        assert_eq!(diagnosis.code(), Some("slow_down"), "{body}");
        assert_eq!(diagnosis.message(), Some(message), "{body}");
        let report = format!("{diagnosis:#}");
        assert_eq!(report.contains("\n  code "), has_row, "{report}");
    }
}
