//! What was sent, and comes back in other words, half cut, or in a `Debug` text.

use std::{io, time::Duration};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use http_body_util::{Empty, Full};
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tower_diagnose::{
    ClientStack, DiagnoseLayer, RecentCalls, ResponseExt, RetryError, RetryLayer,
};

use super::shared::{JSON, diagnosis, everything};
use crate::support::{
    outside::{
        Step::{Data, Stall},
        diagnosed, get, response, steps,
    },
    scripted::{Reply, Scripted},
};

#[tokio::test]
async fn sent_secrets_in_other_spellings() {
    let key = "Zm9v+YmFy/MTIzNDU2Nzg5MA==";
    let request = || {
        Request::get("https://h.example/a?token=p%40ssw0rd%2F99&plain=plus+secret+words")
            .header("x-api-key", key)
            .body(())
            .unwrap()
    };
    let layer = DiagnoseLayer::new().excerpt_cap(5000).plain_text(true);
    for (headers, body) in [
        (JSON, format!(r#"{{"message":"no key {key} here"}}"#)),
        (
            JSON,
            format!(r#"{{"message":"no key {} here"}}"#, key.replace('/', r"\/")),
        ),
        (
            JSON,
            format!(
                r#"{{"message":"no key {} here"}}"#,
                key.replace('+', r"\u002B")
            ),
        ),
        (
            JSON,
            format!(
                r#"{{"message":"no key {} here"}}"#,
                key.replace('=', r"\u003d")
            ),
        ),
        (JSON, format!(r#"{{"message":"key={key}"}}"#)),
        (
            JSON,
            r#"{"message":"no ?key=Zm9v%2BYmFy%2FMTIzNDU2Nzg5MA%3D%3D or Zm9v%2bYmFy%2fMTIzNDU2Nzg5MA%3d%3d"}"#.to_owned(),
        ),
        (
            JSON,
            r#"{"message":"in 'Zm9v%2BYmFy/MTIzNDU2Nzg5MA%3D%3D'"}"#.to_owned(),
        ),
        (
            JSON,
            format!(r#"{{"message":"a","echo":"{}"}}"#, key.replace('/', r"\/")),
        ),
        (JSON, format!(r#"{{"message":"'{key}'","echo":["{key}"]}}"#)),
        ("content-type: text/plain", format!("no key {key}")),
        (
            "content-type: application/xml",
            format!("<Error><Code>X</Code><Message>no key {key}</Message></Error>"),
        ),
    ] {
        let found = diagnosis(&layer, request(), headers, body.as_bytes()).await;
        for text in everything(&found) {
            assert!(!text.contains("YmFy"), "{body}\n{text}");
        }
    }
    for echoed in ["p@ssw0rd/99", "p%40ssw0rd%2F99", r"p@ssw0rd\/99"] {
        let body = format!(r#"{{"message":"bad token {echoed}"}}"#);
        let found = diagnosis(&layer, request(), JSON, body.as_bytes()).await;
        for text in everything(&found) {
            assert!(!text.contains("ssw0rd"), "{echoed}\n{text}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_the_cut_goes_through_is_not_half_shown() {
    let key = "SENTINEL0123456789abcdef";
    let request = || {
        Request::get("/a")
            .header("x-api-key", key)
            .body(())
            .unwrap()
    };
    let text = format!("no such key {key}, sorry");
    for cap in 1..=text.len() {
        let layer = DiagnoseLayer::new()
            .body_cap(cap)
            .plain_text(true)
            .excerpt_cap(5000);
        let found = diagnosis(
            &layer,
            request(),
            "content-type: text/plain",
            text.as_bytes(),
        )
        .await;
        for text in everything(&found) {
            assert!(!text.contains("SENTINEL0"), "{cap} {text}");
        }
        // The same when the rest does not come in time.
        let (now, _) = text.split_at(cap);
        let body = steps([
            Data(Box::leak(now.to_owned().into_boxed_str()).as_bytes()),
            Stall,
        ]);
        let layer = DiagnoseLayer::new().plain_text(true).excerpt_cap(5000);
        let answer = response(400, "content-type: text/plain", body);
        let found = diagnosed(&layer, request(), answer).await.unwrap();
        for text in everything(&found) {
            assert!(!text.contains("SENTINEL0"), "{cap} {text}");
        }
    }
    for length in 3900..4200 {
        let body = format!("{{\"message\":\"{} {key}\"}}", "x".repeat(length));
        let layer = DiagnoseLayer::new().line_cap(10_000).excerpt_cap(10_000);
        let found = diagnosis(&layer, request(), JSON, body.as_bytes()).await;
        for text in everything(&found) {
            assert!(!text.contains("SENTINEL0"), "{length}");
        }
    }
}

#[tokio::test]
async fn debug_texts_hold_no_secret() {
    let inner = service_fn(|_: Request<()>| {
        let error: BoxError = io::Error::other("https://u:SENTINEL@h.example/?k=SENTINEL").into();
        std::future::ready(Err::<http::Response<Empty<Bytes>>, BoxError>(error))
    });
    let request = Request::get("https://h.example/a?k=SENTINEL")
        .header("authorization", "Bearer SENTINEL")
        .body(())
        .unwrap();
    let error = DiagnoseLayer::new()
        .layer(inner)
        .oneshot(request)
        .await
        .unwrap_err();
    let retried = RetryLayer::new()
        .max_attempts(1)
        .layer(service_fn(|_| {
            let text = "https://u:SENTINEL@h.example/?k=SENTINEL";
            let error = io::Error::new(io::ErrorKind::ConnectionReset, text);
            std::future::ready(Err::<http::Response<Empty<Bytes>>, _>(error))
        }))
        .oneshot(Request::new(Empty::<Bytes>::new()))
        .await
        .unwrap_err();
    assert!(retried.is::<RetryError>());
    for text in [
        error.to_string(),
        format!("{error:?}"),
        format!("{error:#?}"),
        format!("{error:#}"),
        format!("{retried:?}"),
        format!("{retried:#?}"),
    ] {
        assert!(
            !text.contains("SENTINEL") && !text.contains("h.example"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn what_looks_like_a_credential_goes_wherever_it_came_from() {
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5NXgL0n3I9PlFUP0THsR8U";
    for (text, shown) in [
        (
            "no Bearer abcdef0123456789 here",
            "no Bearer [redacted] here",
        ),
        (
            "no Basic dXNlcjpwYXNzd29yZA== here",
            "no Basic [redacted] here",
        ),
        ("no sk-proj-abcdef0123456789 here", "no [redacted] here"),
        ("no AKIAIOSFODNN7EXAMPLE here", "no [redacted] here"),
        (&format!("no {jwt} here"), "no [redacted] here"),
        (
            "see https://me:pw123456@h.example/p?q=1#f now",
            "see https://h.example/p now",
        ),
        (
            "see https://h.example/p?sig=abcdefgh now",
            "see https://h.example/p now",
        ),
        ("a basic error of the bearer", "a basic error of the bearer"),
        ("task-force and risk-free", "task-force and risk-free"),
    ] {
        let body = format!("{{\"message\":\"{text}\"}}");
        let found = diagnosis(&DiagnoseLayer::new(), get("/a"), JSON, body.as_bytes()).await;
        assert_eq!(
            found.to_string(),
            format!("GET /a failed (400 Bad Request): {shown}")
        );
    }
}

#[tokio::test]
async fn a_header_is_a_credential_by_name_by_mark_or_by_choice() {
    let told = async |layer: DiagnoseLayer, name: &'static str, is_marked: bool| {
        let mut value = HeaderValue::from_static("violet-harbour-9");
        value.set_sensitive(is_marked);
        let request = Request::get("/a").header(name, value).body(()).unwrap();
        let body = br#"{"message":"no violet-harbour-9 here"}"#;
        let found = diagnosis(&layer, request, JSON, body).await;
        !found.to_string().contains("violet")
    };
    for name in [
        "authorization",
        "proxy-authorization",
        "cookie",
        "x-api-key",
        "x-amz-security-token",
        "x-auth-token",
    ] {
        assert!(told(DiagnoseLayer::new(), name, false).await, "{name}");
    }
    assert!(!told(DiagnoseLayer::new(), "x-colour", false).await);
    assert!(told(DiagnoseLayer::new(), "x-colour", true).await);
    let chosen = DiagnoseLayer::new().redact_header(HeaderName::from_static("x-colour"));
    assert!(told(chosen, "x-colour", false).await);
}

#[tokio::test]
async fn members_that_echo_or_hold_internals_are_not_looked_into() {
    for key in [
        "input",
        "ctx",
        "body",
        "request",
        "payment_intent",
        "source",
        "stack",
        "trace",
        "stackTrace",
        "exception",
        "debug",
        "config",
        "headers",
        "rejectedValue",
        "innererror",
    ] {
        for body in [
            format!(r#"{{"{key}":{{"message":"SENTINEL"}}}}"#),
            format!(r#"{{"{key}":"SENTINEL"}}"#),
            format!(r#"{{"{key}":["SENTINEL"]}}"#),
            format!(r#"{{"error":{{"{key}":{{"message":"SENTINEL"}}}}}}"#),
            format!(r#"{{"errors":[{{"{key}":"SENTINEL"}}]}}"#),
            format!(r#"{{"errors":{{"{key}":["SENTINEL"]}},"detail":[{{"{key}":"SENTINEL"}}]}}"#),
            format!(r#"[{{"{key}":{{"detail":"SENTINEL"}}}}]"#),
        ] {
            let found = diagnosis(&DiagnoseLayer::new(), get("/a"), JSON, body.as_bytes()).await;
            for text in everything(&found) {
                assert!(!text.contains("SENTINEL"), "{body}\n{text}");
            }
        }
    }
}

#[tokio::test]
async fn a_secret_in_the_path_is_nowhere() {
    let calls = RecentCalls::new(4);
    let inner = Scripted::new([Reply::With(
        404,
        &[("content-type", "application/json")],
        br#"{"message":"cannot POST /bot123456:AAF-SENTINELSENTINELSENTINEL99/sendMessage"}"#,
    )]);
    let path = "http://h.example/bot123456:AAF-SENTINELSENTINELSENTINEL99/sendMessage";
    let request = Request::post(path).body(Full::<Bytes>::default()).unwrap();
    let service = ClientStack::new(Duration::from_secs(1))
        .record(calls.clone())
        .layer(inner);
    let answer = service.oneshot(request).await.unwrap();
    let diagnosis = answer.diagnosis().unwrap().clone();
    drop(answer);
    let record = &calls.snapshot()[0];
    let mut texts = everything(&diagnosis);
    texts.extend([
        format!("{record:?}"),
        serde_json::to_string(record).unwrap(),
        format!("{:#}", diagnosis.endpoint()),
        format!("{:?}", diagnosis.endpoint()),
    ]);
    for text in texts {
        assert!(!text.contains("SENTINEL"), "{text}");
    }
    assert_eq!(diagnosis.endpoint().path(), "/bot[redacted]/sendMessage");
}

#[tokio::test]
async fn of_a_document_only_its_words_are_shown() {
    for (headers, body, words) in [
        (
            "content-type: application/xml",
            "<?xml version=\"1.0\"?>\n<Error><Code>SignatureDoesNotMatch</Code><Message>The signature does not match.</Message><AWSAccessKeyId>AKIASENTINEL</AWSAccessKeyId><StringToSign>AWS4-HMAC-SHA256 SENTINEL</StringToSign><SignatureProvided>SENTINEL</SignatureProvided></Error>",
            "SignatureDoesNotMatch: The signature does not match.",
        ),
        (
            JSON,
            r#"{"error":{"message":"Your card was declined.","type":"card_error","payment_intent":{"client_secret":"pi_1_secret_SENTINEL","last_payment_error":{"message":"SENTINEL"}}}}"#,
            "Your card was declined.",
        ),
        (
            JSON,
            r#"{"detail":[{"type":"string_too_short","loc":["body","password"],"msg":"String should have at least 12 characters","input":"hunter2-SENTINEL","ctx":{"given":"SENTINEL"}}]}"#,
            "body.password: String should have at least 12 characters",
        ),
        (
            JSON,
            r#"{"message":"Validation failed","errors":[{"field":"number","defaultMessage":"is no card","rejectedValue":"SENTINEL"}],"body":{"pin":"SENTINEL"}}"#,
            "Validation failed: number: is no card",
        ),
    ] {
        let found = diagnosis(&DiagnoseLayer::new(), get("/a"), headers, body.as_bytes()).await;
        assert_eq!(
            found.to_string(),
            format!("GET /a failed (400 Bad Request): {words}")
        );
        for text in everything(&found) {
            assert!(!text.contains("SENTINEL"), "{body}\n{text}");
        }
    }
}
