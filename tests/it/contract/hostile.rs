//! Texts and names that were made to do harm.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Uri};
use http_body_util::{Empty, Full};
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tower_diagnose::{DiagnoseLayer, Endpoint, Refused, ResponseExt};

use super::shared::{JSON, diagnosis, everything};
use crate::support::outside::{diagnosed, get, line, post, response};

fn clean(text: &str) {
    for character in text.chars() {
        let bidi = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}');
        let ends = matches!(character, '\u{2028}' | '\u{2029}');
        assert!(!character.is_control() && !bidi && !ends, "{text:?}");
    }
}

#[tokio::test]
async fn paths_and_methods_of_any_bytes_are_one_line() {
    for path in [
        "/a\u{202e}b",
        "/a\u{2028}b",
        "/a\u{85}b",
        "/\u{9b}31mb",
        "/\u{1f980}",
        "/e\u{301}",
    ] {
        let Ok(uri) = Uri::try_from(path) else {
            continue;
        };
        let request = Request::get(uri).body(()).unwrap();
        clean(&Endpoint::of(&request).to_string());
        clean(&line(&DiagnoseLayer::new(), request, 404, "", b"").await);
    }
    for length in [20, 200, 5000] {
        let method = Method::from_bytes("M".repeat(length).as_bytes()).unwrap();
        let request = Request::builder()
            .method(method)
            .uri("/a/b")
            .body(())
            .unwrap();
        let line = line(&DiagnoseLayer::new(), request, 404, "", b"").await;
        assert!(line.chars().count() <= 300, "{}", line.len());
        assert!(line.contains("(404 Not Found)"), "{line}");
    }
    let path: String = "/\u{1f980}".repeat(200);
    if let Ok(uri) = Uri::try_from(path) {
        let line = line(
            &DiagnoseLayer::new(),
            Request::get(uri).body(()).unwrap(),
            404,
            "",
            b"",
        )
        .await;
        assert_eq!(line.split(' ').nth(1).unwrap().chars().count(), 120);
    }
    for target in ["user:SENTINEL@h.example:443", "u@h.example:443"] {
        let Ok(uri) = Uri::try_from(target) else {
            continue;
        };
        let request = Request::builder()
            .method(Method::CONNECT)
            .uri(uri)
            .body(())
            .unwrap();
        let line = line(&DiagnoseLayer::new(), request, 404, "", b"").await;
        assert!(line.starts_with("CONNECT h.example:443 failed"), "{line}");
    }
}

#[tokio::test]
async fn what_hooks_and_refusals_say_is_one_line_too() {
    let hostile = format!("a\r\nb\u{1b}[31m{}", "c".repeat(5000));
    let text = hostile.clone();
    let layer = DiagnoseLayer::new().path_with(move |_| Some(text.clone()));
    let shown = line(&layer, get("/a"), 404, "", b"").await;
    clean(&shown);
    assert!(
        shown.chars().count() <= 300 && shown.ends_with(" failed (404 Not Found): Not Found"),
        "{shown}"
    );

    let text = hostile.clone();
    let inner = service_fn(|_: Request<()>| {
        std::future::ready(Err::<http::Response<Empty<Bytes>>, BoxError>(
            Refused::new(text.clone()).into(),
        ))
    });
    let error = DiagnoseLayer::new()
        .layer(inner)
        .oneshot(get("/a"))
        .await
        .unwrap_err();
    clean(&error.to_string());
    assert!(error.to_string().chars().count() <= 300);
    assert!(error.to_string().ends_with(" (not sent)"), "{error}");
}

#[tokio::test]
async fn caps_of_any_size() {
    let body = format!("{{\"message\":\"{}\"}}", "\u{1f980}x".repeat(3000));
    for line_cap in [0, 1, 2, 10, 40, 300, usize::MAX] {
        for excerpt_cap in [0, 1, 7, usize::MAX] {
            for body_cap in [0, 1, 2, 13, 16, usize::MAX] {
                let layer = DiagnoseLayer::new()
                    .line_cap(line_cap)
                    .excerpt_cap(excerpt_cap)
                    .body_cap(body_cap);
                let found =
                    diagnosis(&layer, post("/things/and/things"), JSON, body.as_bytes()).await;
                if line_cap >= 60 {
                    assert!(found.to_string().chars().count() <= line_cap);
                }
                if excerpt_cap < 100 {
                    let excerpt = found.excerpt().unwrap_or_default();
                    assert!(excerpt.chars().count() <= excerpt_cap + 40, "{excerpt}");
                }
                everything(&found);
            }
        }
    }
}

#[tokio::test]
async fn headers_that_are_a_flood_or_a_lie() {
    let long = "r".repeat(60_000);
    for (headers, body) in [
        (
            format!("{JSON}\nx-request-id: {long}"),
            br#"{"message":"a"}"#.as_slice(),
        ),
        (
            format!("{JSON}\nx-request-id: \u{1f980}\u{202e}x"),
            br#"{"message":"a"}"#,
        ),
        (
            format!("{JSON}\ncontent-length: 99999999999999999999"),
            br#"{"message":"a"}"#,
        ),
        (format!("{JSON}\ncontent-length: 3"), br#"{"message":"a"}"#),
        (format!("{JSON}\ncontent-length: -1"), br#"{"message":"a"}"#),
        (
            format!("{JSON}\ncontent-type: text/html"),
            br#"{"message":"a"}"#,
        ),
        ("content-type: \u{1f980}".to_owned(), br#"{"message":"a"}"#),
        (
            "content-type: ;;;charset=utf-16;;=".to_owned(),
            br#"{"message":"a"}"#,
        ),
        (
            format!("content-type: application/{long}+json"),
            br#"{"message":"a"}"#,
        ),
        (
            (0..1000).map(|n| format!("x-h{n}: {n}\n")).collect(),
            br#"{"message":"a"}"#,
        ),
    ] {
        let found = diagnosis(&DiagnoseLayer::new(), get("/a"), headers.trim_end(), body).await;
        assert_eq!(
            found.to_string(),
            "GET /a failed (400 Bad Request): a",
            "{}",
            &headers[..headers.len().min(60)]
        );
        if let Some(id) = found.request_id() {
            clean(id);
            assert!(id.chars().count() <= 300, "{}", id.len());
        }
        for text in everything(&found) {
            assert!(text.len() < 20_000, "{}", text.len());
        }
    }
}

#[tokio::test]
async fn html_is_never_shown() {
    let layer = DiagnoseLayer::new().plain_text(true);
    for (headers, body) in [
        (
            "content-type: application/xml",
            "<Error><Code>X</Code><Message>&lt;html&gt;&lt;body&gt;SENTINEL&lt;/body&gt;&lt;/html&gt;</Message></Error>",
        ),
        (
            JSON,
            r#"{"message":"upstream said: <html><head><title>SENTINEL</title></head></html>"}"#,
        ),
        (
            JSON,
            r#"{"error":{"message":"<!DOCTYPE html><p>SENTINEL</p>"}}"#,
        ),
        (
            JSON,
            r#"{"message":"\u003chtml\u003eSENTINEL\u003c/html\u003e"}"#,
        ),
        (JSON, r#""<html>SENTINEL</html>""#),
        (
            JSON,
            r#"{"message":"refused <script src=a>SENTINEL</script> <STYLE>SENTINEL</STYLE>"}"#,
        ),
        ("content-type: text/plain", "   \n <HTML>SENTINEL</HTML>"),
        (
            "content-type: text/plain",
            "502: <html><body>SENTINEL</body></html>",
        ),
        (
            "content-type: text/plain",
            "\u{feff}<!doctype HTML>SENTINEL",
        ),
        (
            "content-type: text/plain",
            "<!-- a --> <!DOCTYPE html>SENTINEL",
        ),
        (
            "content-type: application/xhtml+xml",
            "<?xml version=\"1.0\"?><html xmlns=\"x\"><body>SENTINEL</body></html>",
        ),
        ("content-type: text/html", "SENTINEL"),
        ("content-type: text/html", "<h1>SENTINEL</h1>"),
    ] {
        let found = diagnosis(&layer, get("/a"), headers, body.as_bytes()).await;
        let line = found.to_string();
        assert!(!line.to_lowercase().contains("<html"), "{line}");
        assert!(!line.contains("SENTINEL"), "{line}");
        assert!(
            line.starts_with("GET /a failed (400 Bad Request): "),
            "{line}"
        );
    }
}

#[tokio::test]
async fn documents_of_strange_shapes() {
    for (headers, body, wanted) in [
        (
            JSON,
            r#"{"mess\u0061ge":"escaped key"}"#,
            Some("escaped key"),
        ),
        (JSON, r#"{"message":"a\ud800b"}"#, Some("a\u{fffd}b")),
        (JSON, r#"{"message":"\ud83e\udd80"}"#, Some("\u{1f980}")),
        (
            JSON,
            r#"{"a":1e999999,"b":-0,"message":"numbers"}"#,
            Some("numbers"),
        ),
        (JSON, r#"{"message":"first","message":"second"}"#, None),
        (JSON, "\u{feff}  {\"message\":\"a\"}  trailing", Some("a")),
        (
            JSON,
            r#"{"message":null,"error":null,"detail":"d"}"#,
            Some("d"),
        ),
        (
            "content-type: application/xml",
            "<!DOCTYPE a [<!ENTITY b \"SENTINEL\"><!ENTITY c \"&b;&b;\">]><Error><Code>X</Code><Message>&c;</Message></Error>",
            None,
        ),
        (
            "content-type: application/xml",
            "<Error><Code>X</Code><Message><![CDATA[a & b]]></Message></Error>",
            Some("X: a & b"),
        ),
        (
            "content-type: application/xml",
            "<a:Error xmlns:a='x'><a:Code>X</a:Code><!-- c --><a:Message>m</a:Message></a:Error>",
            Some("X: m"),
        ),
        (
            "content-type: text/event-stream",
            ": ping\r\nid: 1\r\nevent: error\r\ndata:{\"message\":\r\ndata: \"a\"}\r\n\r\n",
            Some("a"),
        ),
    ] {
        let line = line(
            &DiagnoseLayer::new(),
            get("/a"),
            400,
            headers,
            body.as_bytes(),
        )
        .await;
        assert!(!line.contains("SENTINEL"), "{line}");
        if let Some(wanted) = wanted {
            assert_eq!(
                line,
                format!("GET /a failed (400 Bad Request): {wanted}"),
                "{body}"
            );
        }
    }
    let long = Duration::from_secs(1);
    let layer = DiagnoseLayer::new().peek_timeout(long);
    let answer = response(
        429,
        "retry-after: 99999999999999999999999",
        Full::<Bytes>::default(),
    );
    let found = diagnosed(&layer, get("/a"), answer).await.unwrap();
    assert_eq!(found.retry_after(), Some(Duration::MAX));
    assert!(
        !found.hint().unwrap().contains("18446744073709551615"),
        "{:?}",
        found.hint()
    );
    serde_json::to_value(found.payload("tool")).unwrap();
    let none = response(200, "", Full::<Bytes>::default());
    assert!(none.diagnosis().is_none());
}
