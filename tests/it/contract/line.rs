//! The one line: its grammar, its length, and what never stands in it.

use std::{io, time::Duration};

use http::{Method, Request, StatusCode};
use http_body_util::Empty;
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{
    BoxError, DiagnoseLayer, Diagnosed, Refused, RetryLayer, TimeoutLayer, require_full_uuid,
};

use crate::support::outside::{diagnosed, get, line, post, response};

const JSON: &str = "content-type: application/json";

/// The error of a call whose client fails with `error`.
async fn failed<E>(request: Request<()>, error: E) -> Diagnosed
where
    E: Into<BoxError> + Send + 'static,
{
    let error = std::sync::Mutex::new(Some(error));
    let service = DiagnoseLayer::new().layer(service_fn(async |_: Request<()>| {
        Err::<http::Response<Empty<&'static [u8]>>, _>(error.lock().unwrap().take().unwrap())
    }));
    service.oneshot(request).await.expect_err("the call fails")
}

#[tokio::test]
async fn the_four_forms() {
    let layer = DiagnoseLayer::new();
    let body = br#"{"message":"commentId must be a UUID"}"#;
    let answered = line(&layer, post("/comments/resolve"), 400, JSON, body).await;
    assert_eq!(
        answered,
        "POST /comments/resolve failed (400 Bad Request): commentId must be a UUID"
    );

    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
    assert_eq!(
        failed(post("http://h.example:81/comments/create?a=b"), refused)
            .await
            .to_string(),
        "POST /comments/create failed: ECONNREFUSED (no response from server)"
    );

    let never = service_fn(async |_: Request<()>| {
        std::future::pending::<Result<http::Response<Empty<&[u8]>>, BoxError>>().await
    });
    let limited = TimeoutLayer::new(Duration::from_millis(30)).layer(never);
    let error = DiagnoseLayer::new()
        .layer(limited)
        .oneshot(get("/api/modules?page=1"))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "GET /api/modules failed: timed out after 30ms (no response from server)"
    );
    assert_eq!(error.diagnosis().timeout(), Some(Duration::from_millis(30)));

    let overloaded = failed(post("/orders"), tower::load_shed::error::Overloaded::new()).await;
    assert_eq!(
        overloaded.to_string(),
        "POST /orders failed: service overloaded (not sent)"
    );
    assert_eq!(
        failed(post("/orders"), Refused::new("circuit open"))
            .await
            .to_string(),
        "POST /orders failed: circuit open (not sent)"
    );
    let argument = require_full_uuid("resolve", "commentId", "12").unwrap_err();
    let argument = failed(post("/orders"), argument).await.to_string();
    assert!(argument.starts_with("POST /orders failed: "), "{argument}");
    assert!(argument.ends_with(" (not sent)"), "{argument}");
}

#[tokio::test]
async fn system_codes_are_named() {
    for (kind, code) in [
        (io::ErrorKind::ConnectionRefused, "ECONNREFUSED"),
        (io::ErrorKind::ConnectionReset, "ECONNRESET"),
        (io::ErrorKind::BrokenPipe, "EPIPE"),
        (io::ErrorKind::HostUnreachable, "EHOSTUNREACH"),
        (io::ErrorKind::NetworkUnreachable, "ENETUNREACH"),
    ] {
        let error = failed(get("/a"), io::Error::from(kind)).await;
        assert_eq!(
            error.to_string(),
            format!("GET /a failed: {code} (no response from server)")
        );
        let boxed: BoxError = Box::new(io::Error::new(kind, "to 10.0.0.1:80"));
        let twice: BoxError = Box::new(io::Error::other(boxed));
        let error = failed(get("/a"), twice).await;
        assert_eq!(
            error.to_string(),
            format!("GET /a failed: {code} (no response from server)")
        );
    }
    let unknown: BoxError = "could not reach https://user:pw@host.example/?key=1".into();
    let error = failed(get("/a"), unknown).await.to_string();
    assert_eq!(
        error,
        "GET /a failed: internal error (no response from server)"
    );
}

#[tokio::test]
async fn the_path_is_as_it_was_sent_and_nothing_else_of_the_uri() {
    let layer = DiagnoseLayer::new();
    for (method, uri, shown) in [
        (
            Method::GET,
            "https://user:SENTINEL@h.example:81/a/b?key=SENTINEL",
            "GET /a/b",
        ),
        (Method::GET, "https://h.example", "GET /"),
        (Method::GET, "/a/b?api_key=SENTINEL&x", "GET /a/b"),
        (Method::CONNECT, "h.example:443", "CONNECT h.example:443"),
        (Method::OPTIONS, "*", "OPTIONS *"),
        (Method::from_bytes(b"PURGE").unwrap(), "/a", "PURGE /a"),
        (Method::GET, "/a/%2F%0A%1b[0m", "GET /a/%2F%0A%1b[0m"),
    ] {
        let Ok(uri) = uri.parse::<http::Uri>() else {
            continue;
        };
        let request = Request::builder().method(method).uri(uri).body(()).unwrap();
        let line = line(&layer, request, 404, "", b"").await;
        assert_eq!(line, format!("{shown} failed (404 Not Found): Not Found"));
    }
}

#[tokio::test]
async fn segments_that_look_like_secrets_are_redacted() {
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
    for (path, shown) in [
        (
            "/bot123456:AAF-SENTINELSENTINELSENTINELSENTINEL/sendMessage",
            "/bot[redacted]/sendMessage",
        ),
        (&format!("/a/{jwt}/b"), "/a/[redacted]/b"),
        (
            "/hooks/T00000000/B00000000/XXXXXXXXabcd1234XXXXXXXX",
            "/hooks/T00000000/B00000000/[redacted]",
        ),
        ("/a/abcdefghijKLMNOPQRST1234", "/a/[redacted]"),
        ("/a/abcdefghijKLMNOPQRST123", "/a/abcdefghijKLMNOPQRST123"),
        ("/users/42/orders", "/users/42/orders"),
        (
            "/a/123e4567-e89b-12d3-a456-426614174000",
            "/a/123e4567-e89b-12d3-a456-426614174000",
        ),
        (
            "/a/123E4567-E89B-12D3-A456-426614174000",
            "/a/123E4567-E89B-12D3-A456-426614174000",
        ),
        (
            "/blobs/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "/blobs/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ),
        (
            "/posts/how-to-write-a-very-long-slug-in-2024-and-keep-it",
            "/posts/how-to-write-a-very-long-slug-in-2024-and-keep-it",
        ),
    ] {
        let line = line(&DiagnoseLayer::new(), get(path), 404, "", b"").await;
        assert_eq!(
            line,
            format!("GET {shown} failed (404 Not Found): Not Found")
        );
    }
}

#[tokio::test]
async fn a_hook_replaces_the_path() {
    let layer = DiagnoseLayer::new().path_with(|_| Some("/users/{id}".to_owned()));
    let line = line(&layer, get("/users/42"), 404, "", b"").await;
    assert_eq!(line, "GET /users/{id} failed (404 Not Found): Not Found");
}

#[tokio::test]
async fn a_status_without_a_phrase() {
    let line = line(&DiagnoseLayer::new(), get("/a"), 529, "", b"").await;
    assert_eq!(line, "GET /a failed (529): no error message");
}

#[tokio::test]
async fn control_characters_become_one_space() {
    let layer = DiagnoseLayer::new();
    for (escaped, shown) in [
        (r"a\nb\r\n\tc", "a b c"),
        (r"a\u0000\u0007b", "a b"),
        (r"a\u0085b\u0081c", "a b c"),
        (r"a\u2028b\u2029c", "a b c"),
        (r"a\u202eb\u2066c\u200fd", "a b c d"),
        (r"a\u001b[31mred\u001b[0m b", "a red b"),
        (r"a\u001b]8;;http://x.example\u0007b", "a b"),
        (r"\u001b[31mred\u001b[0m", "red"),
        (r"\u001b]0;title\u0007a\u001b]0;title\u0007", "a"),
        (r"   a   b   ", "a b"),
        // What nobody sees is no message.
        (r"\u200b", "Bad Request"),
        (r"\u001b[0m", "Bad Request"),
    ] {
        let body = format!("{{\"message\":\"{escaped}\"}}");
        let line = line(&layer, get("/a"), 400, JSON, body.as_bytes()).await;
        assert_eq!(
            line,
            format!("GET /a failed (400 Bad Request): {shown}"),
            "{escaped}"
        );
    }
}

#[tokio::test]
async fn three_hundred_characters_and_no_more() {
    let layer = DiagnoseLayer::new();
    for character in ["x", "\u{e9}", "\u{1f980}", "e\u{301}"] {
        let body = format!("{{\"message\":\"{}\"}}", character.repeat(900));
        let line = line(&layer, get("/a"), 400, JSON, body.as_bytes()).await;
        assert_eq!(line.chars().count(), 300);
        assert!(line.ends_with('\u{2026}'), "{line}");
    }
    // What fits exactly is not cut.
    let head = "GET /a failed (400 Bad Request): ";
    for (extra, cut) in [(0, false), (1, true)] {
        let text = "x".repeat(300 - head.len() + extra);
        let body = format!("{{\"message\":\"{text}\"}}");
        let line = line(&layer, get("/a"), 400, JSON, body.as_bytes()).await;
        assert_eq!(line.chars().count(), 300);
        assert_eq!(line.ends_with('\u{2026}'), cut);
    }
    let short = DiagnoseLayer::new().line_cap(60);
    let body = format!("{{\"message\":\"{}\"}}", "x".repeat(900));
    let line = line(&short, get("/a"), 400, JSON, body.as_bytes()).await;
    assert_eq!(line.chars().count(), 60);
}

#[tokio::test]
async fn a_path_over_120_characters_is_cut() {
    for (length, cut) in [(120, false), (121, true), (5000, true)] {
        let path = format!("/{}", "ab-".repeat(length)[..length - 1].to_owned());
        let line = line(&DiagnoseLayer::new(), get(&path), 404, "", b"").await;
        let shown = line.split(' ').nth(1).unwrap();
        assert_eq!(shown.chars().count(), 120, "{line}");
        assert_eq!(shown.ends_with('\u{2026}'), cut, "{line}");
        assert!(
            line.ends_with(" failed (404 Not Found): Not Found"),
            "{line}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_number_of_attempts_survives_the_cut() {
    let text: &'static str = Box::leak(format!("{{\"message\":\"{}\"}}", "x".repeat(900)).into());
    let busy = service_fn(async |_: Request<_>| {
        let body = http_body_util::Full::new(bytes::Bytes::from(text));
        Ok::<_, BoxError>(response(503, JSON, body))
    });
    let service = DiagnoseLayer::new().layer(RetryLayer::new().layer(busy));
    let request = Request::get(format!("/{}", "a".repeat(200)))
        .body(Empty::<bytes::Bytes>::new())
        .unwrap();
    let answer = service.oneshot(request).await.unwrap();
    let line = tower_diagnose::ResponseExt::diagnosis(&answer)
        .unwrap()
        .to_string();
    assert_eq!(line.chars().count(), 300);
    assert!(line.ends_with("x\u{2026} [3 attempts]"), "{line}");
    assert!(
        line.contains("a\u{2026} failed (503 Service Unavailable): x"),
        "{line}"
    );
}

#[tokio::test]
async fn durations_are_rusts() {
    for (limit, shown) in [
        (Duration::from_micros(1500), "1.5ms"),
        (Duration::from_millis(3), "3ms"),
        (Duration::ZERO, "0ns"),
    ] {
        let never = service_fn(async |_: Request<()>| {
            std::future::pending::<Result<http::Response<Empty<&[u8]>>, BoxError>>().await
        });
        let layers = (DiagnoseLayer::new(), TimeoutLayer::new(limit));
        let error = layers.layer(never).oneshot(get("/a")).await.unwrap_err();
        let wanted = format!("GET /a failed: timed out after {shown} (no response from server)");
        assert_eq!(error.to_string(), wanted);
    }
}

#[tokio::test]
async fn no_sent_secret_comes_back_in_any_rendering() {
    let echo = br#"{"message":"bad token SECRETVALUE1 for SECRETVALUE2, SECRETVALUE3 and SECRETVALUE4; SECRETVALUE5; see https://u:SECRETVALUE6@h.example/p?q=SECRETVALUE7"}"#;
    let request = Request::post("https://me:SECRETVALUE5@h.example/a?key=SECRETVALUE4")
        .header("authorization", "Token SECRETVALUE1")
        .header("cookie", "a=SECRETVALUE2; b=SECRETVALUE3")
        .body(())
        .unwrap();
    let answer = response(
        401,
        "content-type: application/json\nset-cookie: s=SECRETVALUE8\nlocation: /u?sig=SECRETVALUE9\nwww-authenticate: Bearer error=\"SECRETVALUE0\"",
        http_body_util::Full::new(bytes::Bytes::from_static(echo)),
    );
    let diagnosis = diagnosed(&DiagnoseLayer::new(), request, answer)
        .await
        .unwrap();
    let payload = diagnosis.payload("tool");
    for text in [
        diagnosis.to_string(),
        format!("{diagnosis:#}"),
        format!("{diagnosis:?}"),
        format!("{diagnosis:#?}"),
        serde_json::to_string(&diagnosis).unwrap(),
        serde_json::to_string(&payload).unwrap(),
        format!("{payload:?}"),
    ] {
        assert!(!text.contains("SECRETVALUE"), "{text}");
    }
    assert!(
        diagnosis
            .to_string()
            .contains("bad token [redacted] for [redacted]"),
        "{diagnosis}"
    );
    let host_free = [diagnosis.to_string(), format!("{diagnosis:?}")];
    assert!(!host_free[1].contains("me:"), "{}", host_free[1]);
    assert_eq!(diagnosis.status(), Some(StatusCode::UNAUTHORIZED));
    assert_eq!(request_free(&diagnosis), "POST /a");
}

fn request_free(diagnosis: &tower_diagnose::Diagnosis) -> String {
    diagnosis.endpoint().to_string()
}

#[tokio::test]
async fn ordinary_words_that_were_also_sent_stay() {
    let request = Request::get("/a?field=required&q=name")
        .header("authorization", "Token required")
        .body(())
        .unwrap();
    let body = br#"{"message":"name is required, requiredness is not"}"#;
    let line = line(&DiagnoseLayer::new(), request, 400, JSON, body).await;
    // Eight characters are a secret, but only as a whole token.
    assert_eq!(
        line,
        "GET /a failed (400 Bad Request): name is [redacted], requiredness is not"
    );
}
