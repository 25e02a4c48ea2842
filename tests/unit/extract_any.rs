//! Laws that hold for any body and any label.

use http::{
    HeaderName,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};
use proptest::prelude::*;

use super::{
    tests::{Said, headers, labelled, said},
    *,
};
use crate::{headers::Head, json_phrase::LONGEST};

/// Pieces of which error bodies are made, so that random ones are worth reading.
fn body() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(":"),
        Just(","),
        Just("\""),
        Just("\\"),
        Just("\"message\":"),
        Just("\"error\":"),
        Just("\"errors\":"),
        Just("\"details\":"),
        Just("\"code\":"),
        Just("\"field\":"),
        Just("\"loc\":"),
        Just("\"detail\":"),
        Just("\"a\":"),
        Just("\"some text\""),
        Just("\"{\\\"message\\\":\\\"in\\\"}\""),
        Just("7"),
        Just("null"),
        Just("<html>"),
        Just("<Error>"),
        Just("<Message>"),
        Just("</Message>"),
        Just("&lt;html>"),
        Just("data: "),
        Just("\n"),
        Just("error="),
        Just("&"),
        Just("%3Chtml%3E"),
        Just("é"),
        Just(" "),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn label_of() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "application/json",
        "application/problem+json",
        "application/x-amz-json-1.1",
        "text/html",
        "text/plain",
        "text/event-stream",
        "application/xml",
        "application/x-www-form-urlencoded",
        "text/plain; charset=utf-16",
        "application/json; charset=latin1",
        "",
    ])
}

fn is_sound(extracted: &Said) -> Result<(), TestCaseError> {
    if let Some(message) = &extracted.message {
        prop_assert!(message.len() <= LONGEST);
        prop_assert!(!message.trim().is_empty());
        prop_assert!(!html::is_html(message), "{message}");
        prop_assert!(!message.to_ascii_lowercase().contains("<html"), "{message}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>, label in label_of(), complete: bool) {
        let headers = headers(&[(CONTENT_TYPE, label)]);
        let rules = Rules { plain_text: true };
        is_sound(&said(StatusCode::BAD_REQUEST, Head::read(&headers, &[], 0).labels, &bytes, complete, &rules))?;
    }

    #[test]
    fn any_label_is_survived(label in "[ -~]{0,30}", encoding in "[ -~]{0,9}", body in body()) {
        let headers = headers(&[(CONTENT_TYPE, &label), (CONTENT_ENCODING, &encoding), (HeaderName::from_static("x-amzn-errortype"), &label)]);
        is_sound(&said(StatusCode::BAD_REQUEST, Head::read(&headers, &[], 0).labels, body.as_bytes(), false, &Rules::default()))?;
    }

    #[test]
    fn any_body_is_sound(body in body(), label in label_of()) {
        is_sound(&labelled(label, body))?;
    }

    #[test]
    fn a_cut_document_says_nothing_or_the_same(
        text in "[a-z]{1,8} [a-z<>é\"\\\\\n]{1,12}",
        shape in prop::sample::select(vec![
            r#"{"a":{"b":[1,2]},"message":@,"c":"d"}"#,
            r#"{"error":{"code":7,"message":@,"x":[{"y":null}]},"z":1}"#,
            r#"{"detail":[{"msg":@,"type":"t"}]}"#,
            r#"[{"fault":{"faultstring":@}}]"#,
            r#"{"errors":[@]}"#,
            "@",
        ]),
        at in 0.0..1.0,
    ) {
        let body = shape.replace('@', &serde_json::to_string(&text).unwrap());
        let whole = labelled("application/json", &body).message;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a test's position")]
        let end = (body.len() as f64 * at) as usize;
        let headers = headers(&[(CONTENT_TYPE, "application/json")]);
        let cut = said(StatusCode::BAD_REQUEST, Head::read(&headers, &[], 0).labels, &body.as_bytes()[..end], false, &Rules::default());
        prop_assert!(cut.message.is_none() || cut.message == whole, "{:?} {:?}", cut.message, whole);
    }
}
