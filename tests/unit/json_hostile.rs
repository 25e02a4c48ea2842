//! Documents that are cut, broken, nested into themselves, or far too large.

use http::StatusCode;

use super::*;

fn message(text: &str) -> Option<String> {
    let made = Made::default();
    let answer = read(text, false, StatusCode::BAD_REQUEST, &made);
    answer.message.map(str::to_owned)
}

fn check(table: &[(&str, Option<&str>)]) {
    for (text, wanted) in table {
        assert_eq!(message(text).as_deref(), *wanted, "{text}");
    }
}

#[test]
fn json_in_a_string_is_read_two_levels_deep() {
    check(&[
        (r#"{"message":"{\"message\":\"one\"}"}"#, Some("one")),
        (r#"{"message":"[{\"message\":\"one\"}]"}"#, Some("one")),
        (
            r#"{"error":"{\"error\":{\"message\":\"{\\\"detail\\\":\\\"two\\\"}\"}}"}"#,
            Some("two"),
        ),
        (r#"{"message":"{\"a\":1}","title":"next"}"#, Some("next")),
        (r#"{"message":"{\"mess","title":"next"}"#, Some("next")),
        (
            r#"{"message":"{name} is unknown"}"#,
            Some("{name} is unknown"),
        ),
        (
            r#"{"message":"[redacted] is unknown"}"#,
            Some("[redacted] is unknown"),
        ),
    ]);
    let mut deep = r#""{\"message\":\"end\"}""#.to_owned();
    for _ in 0..4 {
        let inner = serde_json::to_string(&format!(r#"{{"message":{deep}}}"#)).unwrap();
        deep = inner;
    }
    assert_eq!(message(&format!(r#"{{"message":{deep}}}"#)), None);
}

#[test]
fn a_cut_or_broken_document_says_what_was_complete() {
    check(&[
        (r#"{"message":"whole","echo":"xxx"#, Some("whole")),
        (r#"{"message":"who"#, None),
        (r#"{"message":"who\u00"#, None),
        (r#"{"error":{"message":"whole","da"#, Some("whole")),
        (r#"{"errors":[{"message":"one"},{"mess"#, Some("one")),
        (r#"{"errors":{"name":["one","tw"#, Some("name: one")),
        (
            r#"{"detail":[{"msg":"one","loc":["body","#,
            Some("body: one"),
        ),
        (r#"{"message":"whole" "error" 7}"#, Some("whole")),
        (r#"{"message":"whole",,}"#, Some("whole")),
        (r#"{"message":"whole"]"#, Some("whole")),
        (r#"{"a":NaN,"message":"after"}"#, Some("after")),
        ("{\"message\":\"two\nlines\"}", Some("two\nlines")),
        (
            r#"{"message":"half \ud83d pair"}"#,
            Some("half \u{fffd} pair"),
        ),
        (r#"{"message":"odd \q escape"}"#, Some("odd q escape")),
        ("{", None),
        ("", None),
        ("}", None),
        ("{\"message\"", None),
        ("{\"message\":", None),
    ]);
}

#[test]
fn hostile_width_is_bounded() {
    let wide = format!(r#"{{"errors":[{}]}}"#, r#""some text","#.repeat(5_000));
    assert_eq!(message(&wide).as_deref(), Some("some text"));
    let many: Vec<String> = (0..5_000).map(|n| format!(r#""text {n}""#)).collect();
    let many = message(&format!(r#"{{"errors":[{}]}}"#, many.join(","))).unwrap();
    assert!(many.ends_with("text 98; text 99"), "{many}");
    let long = format!(r#"{{"errors":["{}"]}}"#, "\\n a".repeat(50_000));
    assert!(message(&long).unwrap().len() < 5_000);
    let keys: String = (0..5_000).map(|n| format!(r#""{n}":[["x"]],"#)).collect();
    let escaped = format!(
        r#"{{{}"message":"no such thing"}}"#,
        r#""\n":1,"#.repeat(50_000)
    );
    let made = Made::default();
    let answer = read(&escaped, false, StatusCode::BAD_REQUEST, &made);
    assert_eq!(answer.message, Some("no such thing"));
    assert!(made.is_full() && made.len() < 5_000, "{made:?}");
    assert!(message(&format!("{{{keys}")).unwrap().len() < 1_000);
}
