//! Bodies as servers really write them, one shape each.

use http::{HeaderMap, StatusCode, header};

use super::{Excerpt, Extracted, Rules, extract};

fn of(status: u16, content_type: &str, body: impl AsRef<[u8]>) -> Extracted {
    let mut headers = HeaderMap::new();
    if !content_type.is_empty() {
        headers.insert(header::CONTENT_TYPE, content_type.parse().unwrap());
    }
    let status = StatusCode::from_u16(status).unwrap();
    extract(status, &headers, body.as_ref(), true, &Rules::default())
}

const JSON: &str = "application/json";

/// Status, content type, body, what a person wants to read.
const SEEN: &[(u16, &str, &str, Option<&str>)] = &[
    (403, "application/problem+json", r#"{"type":"https://errors.example/out-of-credit","title":"Not enough credit","status":403,"detail":"Balance is 30, the order costs 50.","instance":"/accounts/12/msgs/abc"}"#, Some("Balance is 30, the order costs 50.")),
    (403, "application/problem+json", r#"{"type":"https://errors.example/out-of-credit","title":"Not enough credit","status":400}"#, Some("Not enough credit")),
    (404, "application/problem+json", r#"{"type":"about:blank","title":"Not Found","status":404}"#, None),
    (400, "application/json; charset=utf-8", r#"{"statusCode":400,"message":["email must be an email","age must not be less than 18"],"error":"Bad Request"}"#, Some("email must be an email; age must not be less than 18")),
    (400, JSON, r#"{"statusCode":400,"message":[{"property":"email","constraints":{"isEmail":"email must be an email"},"children":[]}],"error":"Bad Request"}"#, Some("email must be an email")),
    (422, JSON, r#"{"detail":[{"type":"string_too_short","loc":["body","password"],"msg":"String should have at least 12 characters","input":"hunter2-SENTINEL","ctx":{"min_length":12}},{"type":"missing","loc":["query","page"],"msg":"Field required","input":null}]}"#, Some("body.password: String should have at least 12 characters; query.page: Field required")),
    (422, JSON, r#"{"detail":[{"loc":["body","items",3,"qty"],"msg":"too many","type":"x"}]}"#, Some("body.items.3.qty: too many")),
    (500, JSON, r#"{"timestamp":"2026-03-02T10:15:30.123+00:00","status":500,"error":"Internal Server Error","message":"","path":"/orders"}"#, None),
    (400, JSON, r#"{"timestamp":"2026-03-02T10:15:30Z","status":400,"error":"Bad Request","trace":"java.lang.IllegalStateException: x\n\tat a.b.C(D.java:1)","message":"Validation failed for object='order'. Error count: 1","errors":[{"field":"qty","defaultMessage":"must be greater than 0","rejectedValue":-5,"code":"Min"}],"path":"/orders"}"#, Some("Validation failed for object='order'. Error count: 1: qty: must be greater than 0")),
    (429, "application/json; charset=UTF-8", r#"{"error":{"code":429,"message":"Quota exceeded for zone us-x1.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT","domain":"compute.example"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17s"}]}}"#, Some("Quota exceeded for zone us-x1.")),
    (429, JSON, r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}"#, Some("RESOURCE_EXHAUSTED")),
    (429, JSON, r#"[{"error":{"code":429,"message":"Quota exceeded.","status":"RESOURCE_EXHAUSTED"}}]"#, Some("Quota exceeded.")),
    (422, "application/json; charset=utf-8", r#"{"message":"Validation Failed","errors":[{"resource":"Label","code":"already_exists","field":"name"}],"documentation_url":"https://docs.example/rest","status":"422"}"#, Some("Validation Failed: Label.name already_exists")),
    (422, JSON, r#"{"message":"Validation Failed","errors":[{"resource":"Label","code":"custom","message":"name is reserved"},"and more"]}"#, Some("Validation Failed: name is reserved; and more")),
    (400, "application/json;charset=UTF-8", r#"{"error":"invalid_grant","error_description":"Refresh token has expired","error_uri":"https://idp.example/doc"}"#, Some("invalid_grant: Refresh token has expired")),
    (400, JSON, r#"{"error":"invalid_grant"}"#, Some("invalid_grant")),
    (401, JSON, r#"{"error":{"message":"Incorrect API key provided: sk-test-x. Find your key in the console.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#, Some("Incorrect API key provided: sk-test-x. Find your key in the console.")),
    (400, "application/x-amz-json-1.1", r#"{"__type":"com.example.coral.service#ThrottlingException:http://internal.example/coral/","message":"Rate exceeded"}"#, Some("ThrottlingException: Rate exceeded")),
    (400, "application/x-amz-json-1.0", r#"{"__type":"ThrottlingException","Message":"Rate exceeded"}"#, Some("ThrottlingException: Rate exceeded")),
    (400, "application/x-amz-json-1.0", r#"{"code":"ThrottlingException","message":"Rate exceeded"}"#, Some("ThrottlingException: Rate exceeded")),
    (400, "application/x-amz-json-1.0", r#"{"__type":"a#ThrottlingException"}"#, Some("ThrottlingException")),
    (403, "text/xml", r#"<ErrorResponse xmlns="https://iam.example/doc/"><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>User is not authorized to perform iam:GetUser</Message></Error><RequestId>r-1</RequestId></ErrorResponse>"#, Some("AccessDenied: User is not authorized to perform iam:GetUser")),
    (403, "application/xml", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>SignatureDoesNotMatch</Code><Message>The signature does not match.</Message><AWSAccessKeyId>AKIASENTINEL</AWSAccessKeyId><StringToSign>AWS4-HMAC-SHA256 SENTINEL</StringToSign><SignatureProvided>SENTINEL</SignatureProvided></Error>", Some("SignatureDoesNotMatch: The signature does not match.")),
    (409, JSON, r#"{"error":{"code":"ResourceConflict","message":"The blob is leased.\nRequestId:aa-bb\nTime:2026-01-01T00:00:00Z","target":"blob","innererror":{"code":"LeaseIdMissing"}}}"#, Some("The blob is leased.\nRequestId:aa-bb\nTime:2026-01-01T00:00:00Z")),
    (409, JSON, r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"web-1\" already exists","reason":"AlreadyExists","details":{"name":"web-1","kind":"pods","retryAfterSeconds":1},"code":409}"#, Some("pods \"web-1\" already exists")),
    (404, JSON, r#"{"message":"No such container: web42"}"#, Some("No such container: web42")),
    (404, JSON, r#"{"error":{"root_cause":[{"type":"index_not_found_exception","reason":"no such index [logs-x]","index":"logs-x"}],"type":"index_not_found_exception","reason":"no such index [logs-x]"},"status":404}"#, Some("no such index [logs-x]")),
    (404, JSON, r#"{"error":"alias [x] missing","status":404}"#, Some("alias [x] missing")),
    (400, "application/graphql-response+json", r#"{"errors":[{"message":"Cannot query field \"nam\" on type \"User\".","locations":[{"line":1,"column":9}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED","exception":{"stacktrace":["Error: x","  at y"]}}}]}"#, Some("Cannot query field \"nam\" on type \"User\".")),
    (422, JSON, r#"{"errors":{"name":["needs a value","is too short"],"base":["order is closed"]}}"#, Some("name: needs a value, is too short; base: order is closed")),
    (422, JSON, r#"{"name":["needs a value"],"title":["is too short"]}"#, Some("name: needs a value; title: is too short")),
    (422, JSON, r#"{"message":"Crew title needs letters. (and 2 more errors)","errors":{"crew_title":["Crew title needs letters."],"members.0.mail":["Mail is missing.","Mail is malformed."]}}"#, Some("Crew title needs letters. (and 2 more errors): members.0.mail: Mail is missing., Mail is malformed.")),
    (401, JSON, r#"{"detail":"Please sign in first."}"#, Some("Please sign in first.")),
    (400, JSON, r#"{"code":21211,"message":"The 'To' number is not valid.","more_info":"https://docs.example/errors/21211","status":400}"#, Some("The 'To' number is not valid.")),
    (400, JSON, r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Unknown tool: nope","data":{"hint":"use list"}}}"#, Some("Unknown tool: nope")),
    (404, JSON, r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}"#, Some("Session not found")),
    (400, JSON, r#"{"message":"Invalid Form Body","code":50035,"errors":{"embeds":{"0":{"title":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH","message":"Must be 256 or fewer."}]}}}}}"#, Some("Invalid Form Body: embeds.0.title: Must be 256 or fewer.")),
    (502, "text/html", "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body bgcolor=\"white\"><h1>502 Bad Gateway</h1><hr>edge-7</body></html>\r\n<!-- pad pad pad -->\r\n", None),
    (521, "text/html; charset=UTF-8", "<!DOCTYPE html>\n<!--[if lt IE 7]> <html class=\"no-js ie6\"> <![endif]-->\n<head><title>api.example | 521: Web server is down</title></head><body><span>Your IP: 203.0.113.9</span></body></html>", None),
    (503, JSON, "<!DOCTYPE html><html><body>x</body></html>", None),
    (401, "", "", None),
    (500, JSON, "null", None),
    (500, JSON, "{}", None),
    (500, JSON, "[]", None),
    (500, JSON, "\"\"", None),
    (500, JSON, "   \n", None),
    (500, JSON, "false", None),
    (500, JSON, "0", None),
    (400, JSON, "\u{feff}{\"message\":\"bom ok\"}", Some("bom ok")),
    (400, "text/plain; charset=utf-8", r#"{"error":"bucket name is invalid"}"#, Some("bucket name is invalid")),
    (500, JSON, r#""database is locked""#, Some("database is locked")),
    (400, "application/vnd.acme.v2+json", r#"{"message":"v2 needs page"}"#, Some("v2 needs page")),
    (400, "application/x-ndjson", "{\"error\":\"model not found\"}\n{\"done\":true}\n", Some("model not found")),
    (413, JSON, r#"{"message":"file exceeds the limit of 10 MB","echo":"xxxxxxxx"#, Some("file exceeds the limit of 10 MB")),
    (413, JSON, r#"{"message":"file exceeds the limit of 10 MB \u00"#, None),
    (400, JSON, r#"{"message":{"name":["has already been taken"]}}"#, Some("name: has already been taken")),
    (500, JSON, r#"{"error":true,"message":"disk full"}"#, Some("disk full")),
    (502, JSON, r#"{"error":{"message":"{\"error\":{\"message\":\"context too long\",\"code\":400}}"}}"#, Some("context too long")),
    (404, JSON, r#"{"error":"not_found","reason":"missing"}"#, Some("not_found: missing")),
    (400, JSON, r#"{"status":"error","errorType":"bad_data","error":"parse error: unexpected end of input"}"#, Some("parse error: unexpected end of input")),
    (401, JSON, r#"{"fault":{"faultstring":"Invalid ApiKey","detail":{"errorcode":"oauth.v2.InvalidApiKey"}}}"#, Some("Invalid ApiKey")),
    (302, "text/html", r#"<a href="https://idp.example/login?state=SENTINEL">Found</a>"#, None),
];

#[test]
fn says_what_a_person_wants_to_read() {
    let mut wrong = String::new();
    for (status, content_type, body, wanted) in SEEN {
        let extracted = of(*status, content_type, body);
        if extracted.message.as_deref() != *wanted {
            wrong.push_str(&format!("{body}\n  wanted {wanted:?}\n  got    {:?}\n", extracted.message));
        }
        let shown = format!("{:?}{:?}{:?}", extracted.message, extracted.code, extracted.text);
        if shown.contains("SENTINEL") {
            wrong.push_str(&format!("{body}\n  shows {shown}\n"));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn codes_are_the_servers_own() {
    for (content_type, body, code) in [
        (JSON, r#"{"error":{"message":"m","type":"t","code":"invalid_api_key"}}"#, Some("invalid_api_key")),
        (JSON, r#"{"error":{"message":"m","type":"rate_limit_error"}}"#, Some("rate_limit_error")),
        (JSON, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Some("overloaded_error")),
        (JSON, r#"{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}"#, Some("INVALID_ARGUMENT")),
        (JSON, r#"{"error":{"code":-32602,"message":"m"}}"#, Some("-32602")),
        (JSON, r#"{"error":"invalid_grant","error_description":"d"}"#, Some("invalid_grant")),
        (JSON, r#"{"error":"invalid_grant"}"#, None),
        (JSON, r#"{"code":21211,"message":"m","status":400}"#, Some("21211")),
        (JSON, r#"{"code":400,"message":"m"}"#, None),
        (JSON, r#"{"code":"400","message":"m"}"#, None),
        (JSON, r#"{"code":"E7","message":"m"}"#, Some("E7")),
        (JSON, r#"{"errors":[{"code":"A1","message":"m"}]}"#, Some("A1")),
        (JSON, r#"{"errors":[{"message":"m","extensions":{"code":"BAD_USER_INPUT"}}]}"#, Some("BAD_USER_INPUT")),
        ("application/problem+json", r#"{"type":"https://errors.example/out-of-credit?x=1","title":"t"}"#, Some("out-of-credit")),
        ("application/problem+json", r#"{"type":"about:blank","title":"t"}"#, None),
        ("application/problem+json", r#"{"type":"https://tools.example/html/rfc9110#section-15.5.1","title":"t"}"#, None),
        ("application/x-amz-json-1.1", r#"{"__type":"a#Throttling","message":"m"}"#, Some("Throttling")),
        ("application/xml", "<Error><Code>NoSuchKey</Code><Message>m</Message></Error>", Some("NoSuchKey")),
    ] {
        assert_eq!(of(400, content_type, body).code.as_deref(), code, "{body}");
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
    assert_eq!(of(400, JSON, latin).message.as_deref(), Some("Straße fehlt"));
    let binary = of(500, "application/octet-stream", [0, 1, 2, 255, 254]);
    assert_eq!(binary.message, None);
    assert_eq!(binary.text, Excerpt::Omitted("binary"));
}

#[test]
fn a_nesting_bomb_says_nothing() {
    for bomb in ["[".repeat(100_000), "{\"error\":".repeat(100_000), "{\"a\":[".repeat(50_000)] {
        assert_eq!(of(400, JSON, bomb).message, None);
    }
}
