//! Problems in memory: which status, which words, which form.

use std::{
    convert::Infallible,
    future::{Ready, pending, ready},
    io,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header::RETRY_AFTER};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use proptest::prelude::*;
use serde_json::{Value, json};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_diagnose::{
    BoxError, DiagnoseLayer, Refused, RespondLayer, ResponseExt, RetryLayer, TimeoutLayer,
    require_full_uuid,
};

const MS: Duration = Duration::from_millis(1);

type Text = Full<Bytes>;

fn request(uri: &str) -> Request<Text> {
    Request::get(uri).body(Text::default()).unwrap()
}

fn failing(
    error: impl Fn() -> BoxError + Clone,
) -> impl Service<Request<Text>, Response = Response<Text>, Error = BoxError, Future: Send> + Clone
{
    service_fn(move |_| ready(Err(error())))
}

async fn answer(error: impl Fn() -> BoxError + Clone, uri: &str) -> (Response<()>, Value) {
    let service = RespondLayer::new().layer(failing(error));
    read(service.oneshot(request(uri)).await.unwrap()).await
}

async fn read<B: Body<Error: std::fmt::Debug>>(response: Response<B>) -> (Response<()>, Value) {
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    (
        Response::from_parts(head, ()),
        serde_json::from_slice(&bytes).unwrap(),
    )
}

/// What a handler gets of a call to an upstream that ends so.
async fn upstream(reply: Result<Response<Text>, io::Error>) -> BoxError {
    let mut reply = Some(reply);
    let client = service_fn(move |_| ready(reply.take().unwrap()));
    let client = DiagnoseLayer::new().error_for_status(true).layer(client);
    let request = request("http://internal.example:8080/v1/things?key=secret");
    client.oneshot(request).await.unwrap_err().into()
}

fn reply(status: u16) -> Result<Response<Text>, io::Error> {
    let response = Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .header(RETRY_AFTER, "7");
    let body = r#"{"message":"foreign words of internal.example"}"#;
    Ok(response.body(Full::from(body)).unwrap())
}

#[tokio::test]
async fn errors_of_our_own_side() {
    type Make = fn() -> BoxError;
    for (make, status, wait, class, domain, detail) in [
        (
            (|| Refused::new("circuit open").into()) as Make,
            503,
            Some("1"),
            "proxy_policy",
            "proxy",
            "GET /orders failed: circuit open (not sent)",
        ),
        (
            || {
                require_full_uuid("resolve", "commentId", "12")
                    .unwrap_err()
                    .into()
            },
            400,
            None,
            "proxy_policy",
            "client",
            "GET /orders failed: resolve: commentId must be a full UUID of 36 characters like \
             123e4567-e89b-12d3-a456-426614174000, got 2 characters (not sent)",
        ),
        (
            || io::Error::from(io::ErrorKind::ConnectionRefused).into(),
            502,
            None,
            "network",
            "upstream",
            "GET /orders failed: ECONNREFUSED (no response from server)",
        ),
        (
            || "panic at host.example: secret".into(),
            500,
            None,
            "proxy_internal",
            "proxy",
            "GET /orders failed: internal error",
        ),
    ] {
        let (response, problem) = answer(make, "http://u:p@host.example/orders?key=secret").await;
        assert_eq!(response.status(), status, "{detail}");
        assert_eq!(
            response.headers()["content-type"],
            "application/problem+json"
        );
        let header = response.headers().get(RETRY_AFTER);
        assert_eq!(
            header.map(|value| value.to_str().unwrap()),
            wait,
            "{detail}"
        );
        let expected = json!({
            "type": "about:blank",
            "title": response.status().canonical_reason(),
            "status": status,
            "detail": detail,
            "instance": "/orders",
            "errorClass": class,
            "faultDomain": domain,
        });
        assert_eq!(problem, expected);
    }
}

#[tokio::test]
async fn failures_of_an_upstream_are_told_without_its_words_and_its_host() {
    for (ended, status, wait, class, detail) in [
        (reply(404), 502, None, "http", "(404 Not Found): Not Found"),
        (
            reply(401),
            502,
            None,
            "auth",
            "(401 Unauthorized): Unauthorized",
        ),
        (
            reply(429),
            503,
            Some("7"),
            "http",
            "(429 Too Many Requests): Too Many Requests",
        ),
        (
            reply(503),
            503,
            Some("7"),
            "http",
            "(503 Service Unavailable): Service Unavailable",
        ),
        (
            reply(504),
            504,
            None,
            "http",
            "(504 Gateway Timeout): Gateway Timeout",
        ),
        (reply(529), 502, None, "http", "(529): no error message"),
        (
            Err(io::ErrorKind::ConnectionReset.into()),
            502,
            None,
            "network",
            ": ECONNRESET (no response from server)",
        ),
        (
            Err(io::ErrorKind::TimedOut.into()),
            504,
            None,
            "timeout",
            ": ETIMEDOUT (no response from server)",
        ),
    ] {
        let error = upstream(ended).await;
        let mut error = Some(error);
        let service = service_fn(move |_: Request<Text>| {
            ready(Err::<Response<Text>, _>(error.take().unwrap()))
        });
        let service = RespondLayer::new().layer(service);
        let response = service.oneshot(request("/ours")).await.unwrap();
        let line = response.diagnosis().expect("kept for those above");
        assert_eq!(line.endpoint().to_string(), "GET /v1/things");
        let (response, problem) = read(response).await;
        assert_eq!(response.status(), status, "{detail}");
        if let Some(wait) = wait {
            assert_eq!(response.headers()[RETRY_AFTER], wait);
        }
        assert_eq!(problem["errorClass"], class, "{detail}");
        assert_eq!(problem["faultDomain"], "upstream");
        assert_eq!(problem["instance"], "/ours");
        let text = problem["detail"].as_str().unwrap();
        let detail = detail.trim_start_matches(':').trim();
        assert!(text.starts_with("GET /v1/things failed"), "{text}");
        assert!(text.ends_with(detail), "{text} {detail}");
        let whole = problem.to_string();
        for word in ["foreign", "internal.example", "secret"] {
            assert!(!whole.contains(word), "{whole}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_time_is_ours_or_an_upstreams() {
    fn hangs(_: Request<Text>) -> std::future::Pending<Result<Response<Text>, Infallible>> {
        pending()
    }
    let ours = ServiceBuilder::new()
        .layer(RespondLayer::new())
        .layer(TimeoutLayer::new(50 * MS))
        .service_fn(hangs);
    let (response, problem) = read(ours.oneshot(request("/slow?a=b")).await.unwrap()).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(problem["detail"], "GET /slow failed: timed out after 50ms");
    assert_eq!(problem["faultDomain"], "proxy");

    // A client stack below, with a diagnosis and without one.
    let diagnosed = ServiceBuilder::new()
        .layer(RespondLayer::new())
        .layer(DiagnoseLayer::new())
        .layer(TimeoutLayer::new(50 * MS))
        .service_fn(hangs);
    let (response, problem) = read(diagnosed.oneshot(request("/a")).await.unwrap()).await;
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(problem["faultDomain"], "upstream");
    let detail = "GET /a failed: timed out after 50ms (no response from server)";
    assert_eq!(problem["detail"], detail);

    let retried = ServiceBuilder::new()
        .layer(RespondLayer::new())
        .layer(RetryLayer::new().total_limit(50 * MS))
        .service_fn(|_: Request<_>| pending::<Result<Response<Text>, Infallible>>());
    let (response, _) = read(retried.oneshot(request("/a")).await.unwrap()).await;
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
}

#[tokio::test]
async fn text_for_those_who_accept_only_text_and_nothing_for_head() {
    let service = RespondLayer::new().layer(failing(|| Refused::new("circuit open").into()));
    let detail = "GET /a failed: circuit open (not sent)\n";
    let mut text = request("/a");
    text.headers_mut()
        .insert("accept", "text/plain".parse().unwrap());
    let response = service.clone().oneshot(text).await.unwrap();
    assert_eq!(
        response.headers()["content-type"],
        "text/plain; charset=utf-8"
    );
    let length = detail.len().to_string();
    assert_eq!(response.headers()["content-length"], *length);
    assert_eq!(
        response.body().size_hint().exact(),
        Some(detail.len() as u64)
    );
    assert_eq!(
        response.into_body().collect().await.unwrap().to_bytes(),
        detail
    );

    let mut head = request("/a");
    *head.method_mut() = Method::HEAD;
    let of_head = service.clone().oneshot(head).await.unwrap();
    let of_get = service.oneshot(request("/a")).await.unwrap();
    assert!(of_head.body().is_end_stream());
    let length: usize = of_get.headers()["content-length"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(
        of_get.into_body().collect().await.unwrap().to_bytes().len(),
        length
    );
    // "HEAD" is one letter longer than "GET".
    assert_eq!(
        of_head.headers()["content-length"],
        *(length + 1).to_string()
    );
}

#[tokio::test]
async fn a_hook_may_say_it_better() {
    let layer = RespondLayer::new()
        .overload_wait(1500 * MS)
        .map_with(|error, problem| {
            assert!(tower_diagnose::find::<Refused>(error).is_some());
            assert_eq!(problem.status(), 503);
            problem.set_status(StatusCode::OK);
            assert_eq!(problem.status(), 503, "no failure at all is refused");
            problem.set_status(StatusCode::TOO_MANY_REQUESTS);
            problem.set_kind("https://example.com/problems/busy");
            problem.set_detail("come back later");
        });
    let service = layer.layer(failing(|| Refused::new("busy").into()));
    let (response, problem) = read(service.oneshot(request("/")).await.unwrap()).await;
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()[RETRY_AFTER], "2");
    assert_eq!(problem["type"], "https://example.com/problems/busy");
    assert_eq!(problem["title"], "Too Many Requests");
    assert_eq!(problem["status"], 429);
    assert_eq!(problem["detail"], "come back later");
}

#[derive(Clone)]
struct NeverReady;

impl Service<Request<Text>> for NeverReady {
    type Response = Response<Text>;
    type Error = Refused;
    type Future = Ready<Result<Response<Text>, Refused>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Refused>> {
        Poll::Ready(Err(Refused::new("shutting down")))
    }

    fn call(&mut self, _: Request<Text>) -> Self::Future {
        panic!("called although it was not ready");
    }
}

#[tokio::test]
async fn an_error_of_readiness_is_answered_too() {
    let service = RespondLayer::new().layer(NeverReady);
    let (response, problem) = read(service.oneshot(request("/a")).await.unwrap()).await;
    assert_eq!(response.status(), 503);
    assert_eq!(problem["detail"], "GET /a failed: shutting down (not sent)");
}

#[tokio::test]
async fn what_the_service_answers_passes_unchanged() {
    let service = service_fn(|_| ready(Ok::<_, BoxError>(reply(500).unwrap())));
    let service = RespondLayer::new().layer(service);
    let (response, body) = read(service.oneshot(request("/")).await.unwrap()).await;
    assert_eq!(response.status(), 500);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(body["message"], "foreign words of internal.example");
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(
        "[a-zA-Z0-9~._:@-]{1,30}|sk-[a-zA-Z0-9]{20}|bot1:[a-z]{9}",
        0..8,
    )
    .prop_map(|segments| format!("/{}", segments.join("/")))
}

/// Any text, and what looks like a secret or an address.
fn reason() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,400}",
        "(word |Bearer [a-z0-9]{8,12}|Basic [a-zA-Z0-9=]{9}|sk-[a-zA-Z0-9]{20}|AKIA[A-Z0-9]{16} )\
         (http://u:p@h/a\\?b=c#d|password=[a-z]{9}|[\r\n\t\u{1b}\"'\\\\]){0,3} ?[a-z]{0,9}",
        "([a-z ]{0,9}|</?(a|b|html|p)[ \u{1b}/]{0,2}>|<(a|vec)|<title>){1,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// What this layer writes, a client's diagnosis reads back word for word.
    #[test]
    fn a_problem_is_read_back_word_for_word(
        path in path(), reason in reason(), kind in 0..4_u8, name in "\\PC{0,30}"
    ) {
        let make = move || -> BoxError {
            match kind {
                0 => Refused::new(reason.clone()).into(),
                1 => require_full_uuid(&name, &reason, "12").unwrap_err().into(),
                2 => io::Error::from(io::ErrorKind::BrokenPipe).into(),
                _ => reason.clone().into(),
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (_, problem) = answer(make.clone(), &path).await;
            let detail = problem["detail"].as_str().unwrap().to_owned();
            assert!(detail.chars().count() <= 300, "{detail}");
            let server = RespondLayer::new().layer(failing(make));
            let client = DiagnoseLayer::new().layer(server);
            let response = client.oneshot(request(&path)).await.unwrap();
            let message = response.diagnosis().unwrap().message();
            assert_eq!(message, Some(&*detail));
        });
    }
}
