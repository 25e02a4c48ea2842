use http::StatusCode;

use super::*;

fn message(text: &str) -> Option<String> {
    let made = Made::default();
    let answer = read(text, false, StatusCode::BAD_REQUEST, &made);
    answer.message.map(str::to_owned)
}

fn problem(text: &str) -> Option<String> {
    let made = Made::default();
    let answer = read(text, true, StatusCode::BAD_REQUEST, &made);
    answer.message.map(str::to_owned)
}

fn check(table: &[(&str, Option<&str>)]) {
    for (text, wanted) in table {
        assert_eq!(message(text).as_deref(), *wanted, "{text}");
    }
}

/// Members that hold the text, in the order in which they are asked.
const NAMES: [&str; 12] = [
    "message",
    "error",
    "error_description",
    "errorMessages",
    "errors",
    "detail",
    "title",
    "reason",
    "msg",
    "Message",
    "errorMessage",
    "description",
];

#[test]
fn every_member_may_hold_its_text_in_every_form() {
    for name in NAMES {
        for (value, wanted) in [
            (r#""the text""#, Some("the text")),
            (r#"["one","two"]"#, Some("one; two")),
            (r#"["one","one"]"#, Some("one")),
            (r#"["one",null,7,""," two "]"#, Some("one; two")),
            (r#"[{"message":"one"},{"msg":"two"}]"#, Some("one; two")),
            (r#"[{"detail":"one"}]"#, Some("one")),
            (r#"[{"title":"one"}]"#, Some("one")),
            (r#"[{"reason":"one"}]"#, Some("one")),
            (r#"[{"defaultMessage":"one"}]"#, Some("one")),
            (
                r#"[{"loc":["body","a",0],"msg":"one"}]"#,
                Some("body.a.0: one"),
            ),
            (r#"{"message":"one"}"#, Some("one")),
            (r#"{"lang":"en","value":"one"}"#, Some("one")),
            (r#"{"value":"one","lang":"en"}"#, Some("one")),
            (r#"{"name":["one","two"]}"#, Some("name: one, two")),
            (
                r#"{"name":["one"],"age":["two"]}"#,
                Some("name: one; age: two"),
            ),
        ] {
            let text = format!(r#"{{"{name}":{value}}}"#);
            assert_eq!(message(&text).as_deref(), wanted, "{text}");
        }
    }
}

#[test]
fn what_says_nothing_gives_way_to_the_next() {
    for pair in NAMES.windows(2) {
        let [name, next] = pair else { continue };
        for value in [
            "null",
            "true",
            "7",
            "-1.5e300",
            r#""""#,
            r#"" \n ""#,
            r#""null""#,
            r#""[object Object]""#,
            r#""Bad Request""#,
            r#""bad request""#,
            r#""400 Bad Request""#,
            "{}",
            "[]",
            "[null]",
            r#"[""]"#,
            r#"{"a":null}"#,
            r#""<html><body>gone</body></html>""#,
            r#""{}""#,
        ] {
            let text = format!(r#"{{"{name}":{value},"{next}":"the text"}}"#);
            assert_eq!(message(&text).as_deref(), Some("the text"), "{text}");
        }
    }
}

#[test]
fn the_first_in_order_wins_wherever_it_stands() {
    for (at, name) in NAMES.iter().enumerate() {
        for later in NAMES.iter().skip(at + 1) {
            if *later == "errors" || *name == "errors" && *later == "detail" {
                continue;
            }
            let text = format!(r#"{{"{later}":"it is later","{name}":"it is first"}}"#);
            assert_eq!(message(&text).as_deref(), Some("it is first"), "{text}");
        }
    }
}

#[test]
fn of_a_duplicated_member_the_first_that_says_something_wins() {
    check(&[
        (r#"{"message":"one","message":"two"}"#, Some("one")),
        (r#"{"message":"","message":"two"}"#, Some("two")),
        (
            r#"{"message":null,"message":"two","message":"three"}"#,
            Some("two"),
        ),
        (
            r#"{"error":{"message":"one"},"error":{"message":"two"}}"#,
            Some("one"),
        ),
        (r#"{"error":{},"error":{"message":"two"}}"#, Some("two")),
    ]);
}

#[test]
fn a_bare_code_is_joined_with_the_text_beside_it() {
    check(&[
        (
            r#"{"error":"invalid_grant","error_description":"token expired"}"#,
            Some("invalid_grant: token expired"),
        ),
        (
            r#"{"error_description":"token expired","error":"invalid_grant"}"#,
            Some("invalid_grant: token expired"),
        ),
        (
            r#"{"error":"not_found","reason":"missing"}"#,
            Some("not_found: missing"),
        ),
        (
            r#"{"error":"not_found","detail":"no such order"}"#,
            Some("not_found: no such order"),
        ),
        (
            r#"{"error":"not_found","message":"no such order"}"#,
            Some("no such order"),
        ),
        (
            r#"{"error":"not_found","errors":["a","b"]}"#,
            Some("not_found: a; b"),
        ),
        (
            r#"{"error":"E1","error_description":"E1: it is gone"}"#,
            Some("E1: it is gone"),
        ),
        (
            r#"{"error":"it is gone","reason":"missing"}"#,
            Some("it is gone"),
        ),
        (
            r#"{"error":"Bad Request","reason":"missing"}"#,
            Some("missing"),
        ),
        (r#"{"error":"not_found"}"#, Some("not_found")),
        (
            r#"{"error":{"error":"not_found","reason":"missing"}}"#,
            Some("not_found: missing"),
        ),
    ]);
}

#[test]
fn a_heading_is_followed_by_the_details_that_it_does_not_hold() {
    check(&[
        (
            r#"{"message":"Failed","errors":["a is bad"]}"#,
            Some("Failed: a is bad"),
        ),
        (
            r#"{"errors":["a is bad"],"message":"Failed"}"#,
            Some("Failed: a is bad"),
        ),
        (
            r#"{"message":"Failed","details":["a is bad","b is bad"]}"#,
            Some("Failed: a is bad; b is bad"),
        ),
        (
            r#"{"message":"Failed","details":"a is bad"}"#,
            Some("Failed: a is bad"),
        ),
        (
            r#"{"message":"Failed: a is bad","details":["a is bad."]}"#,
            Some("Failed: a is bad"),
        ),
        (
            r#"{"message":"Failed: a is bad","errors":["a is bad","b is bad"]}"#,
            Some("Failed: a is bad: b is bad"),
        ),
        (
            r#"{"message":"It failed.","errors":["a is bad"]}"#,
            Some("It failed. a is bad"),
        ),
        (
            r#"{"message":"Failed","errors":{"a":["is bad","is odd"],"b":"is bad"}}"#,
            Some("Failed: a: is bad, is odd; b: is bad"),
        ),
        (r#"{"message":"Failed","errors":[]}"#, Some("Failed")),
        (
            r#"{"message":"Failed","errors":null,"details":{}}"#,
            Some("Failed"),
        ),
        (
            r#"{"message":"Failed","details":{"kind":"pods","name":"web","count":2}}"#,
            Some("Failed"),
        ),
        (
            r#"{"error":{"message":"Failed","details":[{"message":"a is bad","target":"a"}]}}"#,
            Some("Failed: a is bad"),
        ),
        (
            r#"{"error":{"message":"Failed"},"errors":["a is bad"]}"#,
            Some("Failed: a is bad"),
        ),
        (
            r#"{"message":"Bad Request","errors":["a is bad"]}"#,
            Some("a is bad"),
        ),
        (
            r#"{"message":"Failed","errors":[{"field":"a","code":"missing"}]}"#,
            Some("Failed: a missing"),
        ),
        (
            r#"{"message":"Failed","errors":[{"code":"missing"}]}"#,
            Some("Failed"),
        ),
        (r#"{"errors":[{"code":"missing"}]}"#, Some("missing")),
    ]);
}

#[test]
fn details_by_name_are_texts_if_they_are_sentences_and_nothing_else() {
    check(&[
        (
            r#"{"message":"Failed","details":{"mail":"is not valid","age":"is too low"}}"#,
            Some("Failed: mail: is not valid; age: is too low"),
        ),
        (
            r#"{"message":"Failed","details":{"name":"is not valid"}}"#,
            Some("Failed: name: is not valid"),
        ),
        (
            r#"{"message":"Failed","details":{"mail":["is not valid","is odd"]}}"#,
            Some("Failed: mail: is not valid, is odd"),
        ),
        (
            r#"{"message":"Failed","details":{"mail":"is not valid","count":2}}"#,
            Some("Failed"),
        ),
        (
            r#"{"message":"Failed","details":{"mail":"is not valid","id":"web-1x9"}}"#,
            Some("Failed: mail: is not valid"),
        ),
        (
            r#"{"message":"Failed","details":{"host":"web-1","note":"was sent so"}}"#,
            Some("Failed"),
        ),
        (
            r#"{"message":"Failed","details":{"reason":"disk is full"}}"#,
            Some("Failed: disk is full"),
        ),
        (
            r#"{"message":"Failed","fields":{"mail":"what was sent"}}"#,
            Some("Failed"),
        ),
    ]);
}

#[test]
fn a_problem_asks_errors_then_detail_then_title() {
    for (text, wanted) in [
        (
            r#"{"title":"t","detail":"d","errors":{"a":["is bad"]}}"#,
            Some("a: is bad"),
        ),
        (
            r##"{"title":"t","errors":[{"detail":"is bad","pointer":"#/a/b"}]}"##,
            Some("a.b: is bad"),
        ),
        (r#"{"title":"t","detail":"d","errors":{}}"#, Some("d")),
        (r#"{"title":"t","detail":"d","message":"m"}"#, Some("d")),
        (r#"{"title":"t","detail":""}"#, Some("t")),
        (
            r#"{"title":"t","invalid-params":[{"name":"age","reason":"must be positive"}]}"#,
            Some("t: age: must be positive"),
        ),
        (r#"{"title":"Bad Request","message":"m"}"#, Some("m")),
        (r#"{"type":"about:blank","title":"Bad Request"}"#, None),
    ] {
        assert_eq!(problem(text).as_deref(), wanted, "{text}");
    }
}

#[test]
fn never_looks_where_the_request_is_echoed() {
    for name in [
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
        for value in [
            r#""SECRET""#,
            r#"["SECRET"]"#,
            r#"{"message":"SECRET"}"#,
            r#"{"error":{"message":"SECRET"},"errors":["SECRET"]}"#,
        ] {
            for text in [
                format!(r#"{{"{name}":{value}}}"#),
                format!(r#"{{"error":{{"{name}":{value}}}}}"#),
                format!(r#"{{"errors":[{{"{name}":{value},"field":"a"}}]}}"#),
                format!(r#"{{"errors":{{"{name}":{value}}}}}"#),
                format!(r#"{{"message":{{"{name}":{value}}}}}"#),
            ] {
                assert_eq!(message(&text), None, "{text}");
            }
        }
    }
}

#[test]
fn other_documents() {
    check(&[
        (r#""just a text""#, Some("just a text")),
        (r#"["a","b"]"#, Some("a; b")),
        (r#"[{"message":"a"},{"message":"b"}]"#, Some("a")),
        (r#"[{},{"message":"b"}]"#, Some("b")),
        (r#"[[{"message":"too deep"}]]"#, None),
        (
            r#"[{"loc":["body","a"],"msg":"is bad","type":"t"}]"#,
            Some("body.a: is bad"),
        ),
        (r#"[{"errorCode":"GONE"}]"#, Some("GONE")),
        (
            r#"{"name":["is blank"],"non_field_errors":["odd"]}"#,
            Some("name: is blank; non_field_errors: odd"),
        ),
        (
            r#"{"name":["is blank"],"status":422}"#,
            Some("name: is blank"),
        ),
        (r#"{"name":["is blank"],"plan":"what was sent"}"#, None),
        (r#"{"fault":{"faultstring":"it broke"}}"#, Some("it broke")),
        (
            r#"{"odata.error":{"message":{"lang":"en","value":"gone"}}}"#,
            Some("gone"),
        ),
        (
            r#"{"error":{"status":"NOT_FOUND","code":404}}"#,
            Some("NOT_FOUND"),
        ),
        (r#"{"status":"NOT_FOUND"}"#, None),
        (r#"{"code":"rate_limited"}"#, Some("rate_limited")),
        (r#"{"error":{"code":"rate_limited"}}"#, Some("rate_limited")),
        (
            r#"{"error":{"reason":"all failed","caused_by":{"reason":"disk is full"}}}"#,
            Some("all failed: disk is full"),
        ),
        (
            r#"{"data":{"title":"a post","message":"of data"}}"#,
            Some("of data"),
        ),
        (r#"{"data":{"title":"a post"}}"#, None),
    ]);
}
