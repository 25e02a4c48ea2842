//! Bodies as servers really write them, one shape each.

use http::{HeaderMap, StatusCode, header};

use super::{
    Kind, Rules,
    tests::{Said, said},
};
use crate::{headers::Head, json_mask::mask};

fn of(status: u16, content_type: &str, body: impl AsRef<[u8]>) -> Said {
    let mut headers = HeaderMap::new();
    if !content_type.is_empty() {
        headers.insert(header::CONTENT_TYPE, content_type.parse().unwrap());
    }
    let status = StatusCode::from_u16(status).unwrap();
    said(
        status,
        Head::read(&headers, &[], 0).labels,
        body.as_ref(),
        true,
        &Rules::default(),
    )
}

const JSON: &str = "application/json";

/// Reads `## name | status | content type`, a body, `=> the message`; the name may be left out.
fn cases(text: &str) -> impl Iterator<Item = (&str, u16, &str, &str, Option<String>)> {
    text.split("## ").skip(1).map(|case| {
        let (head, rest) = case.split_once('\n').unwrap();
        let (body, wanted) = rest.rsplit_once("\n=> ").unwrap();
        let mut head = head.rsplitn(3, " | ");
        let content_type = head.next().unwrap();
        let status = head.next().unwrap().parse().unwrap();
        let wanted = Some(wanted.trim_end()).filter(|wanted| *wanted != "(none)");
        let wanted = wanted.map(|wanted| {
            let lines = wanted.replace("\\n", "\n").replace("\\r", "\r");
            lines.replace("\\t", "\t")
        });
        (
            head.next().unwrap_or_default(),
            status,
            content_type.trim(),
            body,
            wanted,
        )
    })
}

fn check(text: &str, at_least: usize) {
    let mut wrong = String::new();
    let (mut right, mut all) = (0, 0);
    for (name, status, content_type, body, wanted) in cases(text) {
        let extracted = of(status, content_type, body);
        let (masked, _) = mask(&extracted.text, usize::MAX);
        let shown = format!("{:?}{:?}{masked:?}", extracted.message, extracted.code);
        all += 1;
        if extracted.message.as_deref() != wanted.as_deref() || shown.contains("SENTINEL") {
            wrong.push_str(&format!(
                "{name} {body}\n  wanted {wanted:?}\n  got    {shown}\n"
            ));
        } else {
            right += 1;
        }
    }
    assert!(wrong.is_empty(), "{right} of {all} right\n{wrong}");
    assert!(all >= at_least, "{all}");
}

#[test]
fn says_what_a_person_wants_to_read_of_every_shape() {
    check(include_str!("bodies/shapes.txt"), 60);
}

#[test]
fn says_what_a_person_wants_to_read_of_services() {
    check(include_str!("bodies/services.txt"), 110);
}

#[test]
fn says_what_a_person_wants_to_read_of_rarer_kinds() {
    check(include_str!("bodies/rarer.txt"), 42);
}

#[test]
fn says_what_a_person_wants_to_read_of_systems() {
    check(include_str!("bodies/systems.txt"), 31);
}

#[test]
fn codes_are_the_servers_own() {
    for (content_type, body, code) in [
        (
            JSON,
            r#"{"error":{"message":"m","type":"t","code":"invalid_api_key"}}"#,
            Some("invalid_api_key"),
        ),
        (
            JSON,
            r#"{"error":{"message":"m","type":"rate_limit_error"}}"#,
            Some("rate_limit_error"),
        ),
        (
            JSON,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Some("overloaded_error"),
        ),
        (
            JSON,
            r#"{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}"#,
            Some("INVALID_ARGUMENT"),
        ),
        (
            JSON,
            r#"{"error":{"code":-32602,"message":"m"}}"#,
            Some("-32602"),
        ),
        (
            JSON,
            r#"{"error":"invalid_grant","error_description":"d"}"#,
            Some("invalid_grant"),
        ),
        (
            JSON,
            r#"{"error":"not_found","message":"m"}"#,
            Some("not_found"),
        ),
        (JSON, r#"{"error":"invalid_grant"}"#, Some("invalid_grant")),
        (
            JSON,
            r#"{"error":{"code":400,"status":"INVALID_ARGUMENT"}}"#,
            Some("INVALID_ARGUMENT"),
        ),
        (JSON, r#"{"errors":[{"code":"missing"}]}"#, Some("missing")),
        (JSON, r#"[{"errorCode":"MISSING"}]"#, Some("MISSING")),
        (
            "application/x-amz-json-1.1",
            r#"{"__type":"a#Throttling"}"#,
            Some("Throttling"),
        ),
        (
            "application/xml",
            "<Error><Code>NoSuchKey</Code></Error>",
            Some("NoSuchKey"),
        ),
        (
            JSON,
            r#"{"code":21211,"message":"m","status":400}"#,
            Some("21211"),
        ),
        (JSON, r#"{"code":400,"message":"m"}"#, None),
        (
            JSON,
            r#"{"id":"not_found","message":"m"}"#,
            Some("not_found"),
        ),
        (JSON, r#"{"id":"8c1f-77d0","message":"m"}"#, None),
        (JSON, r#"{"code":"400","message":"m"}"#, None),
        (JSON, r#"{"code":"E7","message":"m"}"#, Some("E7")),
        (
            JSON,
            r#"{"errors":[{"code":"A1","message":"m"}]}"#,
            Some("A1"),
        ),
        (
            JSON,
            r#"{"errors":[{"message":"m","extensions":{"code":"BAD_USER_INPUT"}}]}"#,
            Some("BAD_USER_INPUT"),
        ),
        (
            JSON,
            r#"{"errors":[{"code":6003,"message":"m","error_chain":[{"code":6111,"message":"n"}]}]}"#,
            Some("6003"),
        ),
        (
            "application/scim+json",
            r#"{"scimType":"uniqueness","detail":"d","status":"409"}"#,
            Some("uniqueness"),
        ),
        (
            "application/problem+json",
            r#"{"type":"https://errors.example/out-of-credit?x=1","title":"t"}"#,
            Some("out-of-credit"),
        ),
        (
            "application/problem+json",
            r#"{"type":"about:blank","title":"t"}"#,
            None,
        ),
        (
            "application/problem+json",
            r#"{"type":"https://tools.example/html/rfc9110#section-15.5.1","title":"t"}"#,
            None,
        ),
        (
            "application/x-amz-json-1.1",
            r#"{"__type":"a#Throttling","message":"m"}"#,
            Some("Throttling"),
        ),
        (
            "application/xml",
            "<Error><Code>NoSuchKey</Code><Message>m</Message></Error>",
            Some("NoSuchKey"),
        ),
    ] {
        assert_eq!(of(400, content_type, body).code.as_deref(), code, "{body}");
    }
}

#[test]
fn the_reason_in_small_letters_is_a_code() {
    for body in [
        r#"{"error":"conflict","reason":"it has changed"}"#,
        r#"{"error":"conflict","message":"it has changed"}"#,
        r#"{"error":"conflict"}"#,
    ] {
        let code = of(409, JSON, body).code;
        assert_eq!(code.as_deref(), Some("conflict"), "{body}");
    }
}

#[test]
fn bodies_in_other_encodings() {
    let wide: Vec<u8> = "\u{feff}{\"message\":\"wide\"}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(of(400, JSON, &wide).message.as_deref(), Some("wide"));
    let latin = b"{\"message\":\"Stra\xdfe fehlt\"}";
    assert_eq!(
        of(400, JSON, latin).message.as_deref(),
        Some("Straße fehlt")
    );
    let binary = of(500, "application/octet-stream", [0, 1, 2, 255, 254]);
    assert_eq!(binary.message, None);
    assert_eq!(binary.kind, Kind::Omitted("binary"));
}

#[test]
fn a_nesting_bomb_says_nothing() {
    for bomb in [
        "[".repeat(100_000),
        "{\"error\":".repeat(100_000),
        "{\"a\":[".repeat(50_000),
    ] {
        assert_eq!(of(400, JSON, bomb).message, None);
    }
}
