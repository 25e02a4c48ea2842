use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{self, CONTENT_TYPE},
};

use super::*;
use crate::{headers::Head, json_phrase::LONGEST};

pub(super) fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()))
        .collect()
}

/// What was extracted, without a loan.
pub(super) struct Said {
    pub(super) message: Option<String>,
    pub(super) code: Option<String>,
    pub(super) kind: Kind,
    pub(super) text: String,
}

pub(super) fn said(
    status: StatusCode,
    labels: Labels<'_>,
    body: &[u8],
    complete: bool,
    rules: &Rules,
) -> Said {
    let made = Made::default();
    let mut extracted = Extracted::default();
    extracted.read(status, labels, body, complete, rules, &made);
    Said {
        message: extracted.answer.message.map(str::to_owned),
        code: extracted.answer.code.map(str::to_owned),
        kind: extracted.kind,
        text: extracted.text.to_owned(),
    }
}

pub(super) fn labelled(content_type: &str, body: impl AsRef<[u8]>) -> Said {
    let headers = headers(&[(CONTENT_TYPE, content_type)]);
    let rules = Rules { plain_text: true };
    said(
        StatusCode::BAD_REQUEST,
        Head::read(&headers, &[], 0).labels,
        body.as_ref(),
        true,
        &rules,
    )
}

#[test]
fn json_is_known_by_label_and_by_sight() {
    for content_type in [
        "application/json",
        "application/json; charset=utf-8",
        "APPLICATION/JSON;charset=\"UTF-8\"",
        "application/vnd.acme.v2+json",
        "Application/Vnd.Acme+JSON; v=2",
        "text/json",
        "application/x-amz-json-1.1",
        "application/x-ndjson",
        "application/problem+json; charset=utf-8",
        "text/plain",
        "text/html",
        "application/xml",
        "application/octet-stream",
        "multipart/mixed; boundary=x",
        "nonsense",
        ";;;",
        "application/json, application/json",
    ] {
        for body in [
            r#"{"detail":"it is gone"}"#,
            " \r\n\t{\"detail\":\"it is gone\"}",
            ")]}',\n{\"detail\":\"it is gone\"}",
            r#"[{"detail":"it is gone"}]"#,
        ] {
            let extracted = labelled(content_type, body);
            assert_eq!(
                extracted.message.as_deref(),
                Some("it is gone"),
                "{content_type} {body}"
            );
            assert!(
                matches!(extracted.kind, Kind::Json | Kind::Plain),
                "{content_type}"
            );
        }
    }
    let unlabelled = said(
        StatusCode::BAD_REQUEST,
        Labels::default(),
        br#"{"detail":"it is gone"}"#,
        true,
        &Rules::default(),
    );
    assert_eq!(unlabelled.message.as_deref(), Some("it is gone"));
}

#[test]
fn html_is_never_shown_whatever_its_label() {
    for body in [
        "<html><body>gone</body></html>",
        "  \n<!DOCTYPE html>\n<title>gone</title>",
        "<!doctype HTML PUBLIC \"x\"><html>gone",
        "\u{feff}<HTML lang=en>gone",
        "<!-- a comment --><html>gone",
        "<!-- a comment that does not end",
        "<?xml version=\"1.0\"?><!DOCTYPE html><html><message>gone</message></html>",
        "<?xml version=\"1.0\"?>\n<html xmlns=\"x\"><message>gone</message></html>",
        "<h1>gone</h1>",
        "<p>gone",
        "<center>gone",
        "<a href=\"x\">gone</a>",
        "<br/>gone",
        "gone\n<html><body>gone</body></html>",
    ] {
        for content_type in [
            "text/html",
            "application/json",
            "text/plain",
            "application/xml",
            "x/y",
        ] {
            let extracted = labelled(content_type, body);
            assert_eq!(extracted.message, None, "{content_type} {body}");
            assert!(
                !matches!(extracted.kind, Kind::Json | Kind::Plain),
                "{content_type} {body}"
            );
        }
        let wide: Vec<u8> = body.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(
            labelled("text/plain; charset=utf-16le", wide).message,
            None,
            "{body}"
        );
    }
    assert_eq!(labelled("text/html", "it is gone").message, None);
}

#[test]
fn html_inside_a_message_is_taken_out() {
    for (message, wanted) in [
        ("limit must be <= 100", Some("limit must be <= 100")),
        ("a < b and b > a", Some("a < b and b > a")),
        (
            "expected Vec<String>, got <nil>",
            Some("expected Vec<String>, got <nil>"),
        ),
        (
            "please <a href='https://idp.example'>sign in</a>.",
            Some("please sign in."),
        ),
        ("line one<br/>line two", Some("line oneline two")),
        (
            "upstream said: <html><body>gone</body></html>",
            Some("upstream said:"),
        ),
        ("<html><body>gone</body></html>", None),
        ("so<ht<b>ml>gone", Some("so")),
        ("<b><b></b></b>", None),
        ("<!DOCTYPE html>\n<p>gone", None),
    ] {
        let body = serde_json::json!({ "message": message }).to_string();
        let extracted = labelled("application/json", body);
        assert_eq!(extracted.message.as_deref(), wanted, "{message}");
    }
}

#[test]
fn html_in_the_names_of_members_is_taken_out() {
    for body in [
        r#"{"errors":{"mail<html>":["is bad"]}}"#,
        r#"{"detail":[{"loc":["body","<html>"],"msg":"is bad"}]}"#,
        r#"{"errors":[{"field":"<html>","code":"bad"}]}"#,
    ] {
        let message = labelled("application/json", body)
            .message
            .unwrap_or_default();
        assert!(!message.contains('<'), "{message}");
    }
}

#[test]
fn plain_text_speaks_only_if_asked_to() {
    let body = "\n  it is gone\n";
    for (content_type, asked, wanted) in [
        ("text/plain", true, Some("it is gone")),
        ("text/plain", false, None),
        ("TEXT/PLAIN; charset=utf-8", true, Some("it is gone")),
        ("application/json", true, Some("it is gone")),
        ("application/json", false, None),
        ("application/octet-stream", true, None),
        ("image/png", true, None),
    ] {
        let headers = headers(&[(CONTENT_TYPE, content_type)]);
        let rules = Rules { plain_text: asked };
        let extracted = said(
            StatusCode::GONE,
            Head::read(&headers, &[], 0).labels,
            body.as_bytes(),
            true,
            &rules,
        );
        assert_eq!(
            extracted.message.as_deref(),
            wanted,
            "{content_type} {asked}"
        );
    }
    assert_eq!(labelled("text/plain", "Bad Request\n").message, None);
    for text in ["[error] it is gone", "{id} is gone", "\"id\" is gone"] {
        assert_eq!(labelled("text/plain", text).message.as_deref(), Some(text));
    }
    assert_eq!(
        labelled("text/plain", "\"it is gone\"\n")
            .message
            .as_deref(),
        Some("it is gone")
    );
    // An excerpt is shown in any case.
    let gone = labelled("text/plain", "it is gone");
    assert_eq!((gone.kind, &*gone.text), (Kind::Plain, "it is gone"));
}

#[test]
fn encoded_bodies_say_nothing_unless_they_are_plain() {
    let json = br#"{"message":"it is gone"}"#;
    for (encoding, body, wanted) in [
        ("gzip", &json[..], Some("it is gone")),
        ("br", json, Some("it is gone")),
        ("identity", json, Some("it is gone")),
        ("gzip", b"\x1f\x8b\x08\x00abc", None),
        ("", b"\x1f\x8b\x08\x00abc", None),
        ("identity", b"\x1f\x8b\x08\x00abc", None),
        ("zstd", b"\x28\xb5\x2f\xfdabc", None),
        ("", b"\x28\xb5\x2f\xfdabc", None),
        ("br", b"\x0b\x05\x80{\"message\"", None),
        ("deflate", b"x\x9c\xab\x56", None),
    ] {
        let mut headers = headers(&[(CONTENT_TYPE, "application/json")]);
        if !encoding.is_empty() {
            headers.insert(header::CONTENT_ENCODING, encoding.parse().unwrap());
        }
        let extracted = said(
            StatusCode::GONE,
            Head::read(&headers, &[], 0).labels,
            body,
            true,
            &Rules::default(),
        );
        assert_eq!(extracted.message.as_deref(), wanted, "{encoding} {body:?}");
        if wanted.is_none() {
            assert_eq!(
                extracted.kind,
                Kind::Omitted("encoded"),
                "{encoding} {body:?}"
            );
        }
    }
}

#[test]
fn the_type_of_an_error_of_aws_may_be_in_a_header() {
    for (header, body, message) in [
        ("ThrottlingException", "", Some("ThrottlingException")),
        (
            "ThrottlingException:http://internal.example/",
            "{}",
            Some("ThrottlingException"),
        ),
        (
            "a.b#Throttling",
            r#"{"message":"slow down"}"#,
            Some("Throttling: slow down"),
        ),
        (
            "Throttling",
            r#"{"__type":"a#Throttling","Message":"slow down"}"#,
            Some("Throttling: slow down"),
        ),
        (
            "no type, I think",
            r#"{"message":"slow down"}"#,
            Some("slow down"),
        ),
    ] {
        let headers = headers(&[(HeaderName::from_static("x-amzn-errortype"), header)]);
        let extracted = said(
            StatusCode::GONE,
            Head::read(&headers, &[], 0).labels,
            body.as_bytes(),
            true,
            &Rules::default(),
        );
        assert_eq!(extracted.message.as_deref(), message, "{header} {body}");
    }
}

#[test]
fn event_streams_and_forms_are_read() {
    let events = "event: error\ndata: {\"error\":{\"message\":\"overloaded\"}}\n\n";
    assert_eq!(
        labelled("text/event-stream", events).message.as_deref(),
        Some("overloaded")
    );
    let text = "event: error\ndata: overloaded\n\n";
    assert_eq!(
        labelled("text/event-stream", text).message.as_deref(),
        Some("overloaded")
    );
    let cut = "data: {\"message\":\"overloaded\",\"x";
    assert_eq!(
        labelled("text/event-stream", cut).message.as_deref(),
        Some("overloaded")
    );
    let second = "data: {}\n\ndata: [DONE]\n\ndata: {\"message\":\"late\"}\n\n";
    assert_eq!(
        labelled("text/event-stream", second).message.as_deref(),
        Some("late")
    );
    let form = "error=invalid_grant&error_description=it+is+gone";
    for label in ["application/x-www-form-urlencoded", "text/plain"] {
        let extracted = labelled(label, form);
        assert_eq!(
            extracted.message.as_deref(),
            Some("invalid_grant: it is gone")
        );
        assert_eq!(extracted.code.as_deref(), Some("invalid_grant"));
    }
}

#[test]
fn a_message_is_bounded() {
    let long = "ä".repeat(20_000);
    for body in [
        format!(r#"{{"message":"{long}"}}"#),
        format!("<e><Message>{long}</Message></e>"),
        long.clone(),
    ] {
        let message = labelled("text/plain", body).message.unwrap();
        assert!(
            (4_000..=LONGEST).contains(&message.len()),
            "{}",
            message.len()
        );
    }
}

#[test]
fn plain_ascii_is_decoded_as_any_other_text() {
    for text in [
        "",
        "{}",
        "a b ~",
        "a\nb",
        "a\0b",
        "\u{7f}",
        "\u{1}\u{2}\u{3}\u{4}",
    ] {
        let made = Made::default();
        let expected = charset::decode(text.as_bytes(), None);
        let found = decoded(text.as_bytes(), None, &made);
        assert_eq!(found, expected.as_deref(), "{text:?}");
    }
}
