//! Error bodies as real servers send them, and the line that a person reads for each.

use http::StatusCode;
use tower_diagnose::DiagnoseLayer;

use crate::support::outside::{line, post};

const JSON: &str = "content-type: application/json";

/// Status, headers, body, and what stands after the colon; nothing means the reason phrase.
type Case = (u16, &'static str, &'static [u8], Option<&'static str>);

async fn check(layer: &DiagnoseLayer, cases: &[Case]) {
    let mut wrong = Vec::new();
    for &(status, headers, body, wanted) in cases {
        let reason = StatusCode::from_u16(status).unwrap().canonical_reason();
        let shown = reason.map_or(format!("({status})"), |reason| {
            format!("({status} {reason})")
        });
        let wanted = wanted.or(reason).unwrap_or("no error message");
        let wanted = format!("POST /things failed {shown}: {wanted}");
        let line = line(layer, post("/things?page=2"), status, headers, body).await;
        if line != wanted {
            let body = String::from_utf8_lossy(&body[..body.len().min(300)]);
            wrong.push(format!("{body}\n  wanted {wanted}\n  line   {line}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn json_of_many_frameworks() {
    const PROBLEM: &str = "content-type: application/problem+json";
    check(&DiagnoseLayer::new(), &[
        (403, PROBLEM, br#"{"type":"https://errors.example/out-of-credit","title":"Not enough credit","status":403,"detail":"Balance is 30, the order costs 50.","instance":"/accounts/12/msgs/abc"}"#,
            Some("Balance is 30, the order costs 50.")),
        (403, PROBLEM, br#"{"type":"https://errors.example/out-of-credit","title":"Not enough credit","status":400}"#,
            Some("Not enough credit")),
        (404, PROBLEM, br#"{"type":"about:blank","title":"Not Found","status":404}"#, None),
        (404, PROBLEM, br#"{"type":"about:blank","title":"not found","status":404}"#, None),
        (400, PROBLEM, br#"{"title":"One or more validation errors occurred.","status":400,"errors":{"Name":["The Name field is required."]},"detail":"See errors."}"#,
            Some("Name: The Name field is required.")),
        (400, "content-type: application/json; charset=utf-8", br#"{"statusCode":400,"message":["email must be an email","age must not be less than 18"],"error":"Bad Request"}"#,
            Some("email must be an email; age must not be less than 18")),
        (400, JSON, br#"{"statusCode":400,"message":"email must be an email","error":"Bad Request"}"#, Some("email must be an email")),
        (422, JSON, br#"{"detail":[{"type":"string_too_short","loc":["body","password"],"msg":"String should have at least 12 characters","input":"hunter2-SENTINEL","ctx":{"min_length":12}},{"type":"missing","loc":["query","page"],"msg":"Field required","input":null}]}"#,
            Some("body.password: String should have at least 12 characters; query.page: Field required")),
        (422, JSON, br#"{"detail":[{"loc":["body","items",0,"id"],"msg":"Field required","input":"SENTINEL"}]}"#,
            Some("body.items.0.id: Field required")),
        (500, JSON, br#"{"timestamp":"2026-03-02T10:15:30.123+00:00","status":500,"error":"Internal Server Error","message":"","path":"/orders"}"#, None),
        (500, JSON, br#"{"timestamp":"2026-03-02T10:15:30.123+00:00","status":500,"error":"Internal Server Error","message":"No stock","path":"/orders"}"#, Some("No stock")),
        (400, JSON, br#"{"timestamp":"2026-03-02T10:15:30Z","status":400,"error":"Bad Request","trace":"java.lang.IllegalStateException: x\n\tat a.b.C(D.java:1)","message":"Validation failed for object='order'. Error count: 1","errors":[{"field":"qty","defaultMessage":"must be greater than 0","rejectedValue":-5,"code":"Min"}],"path":"/orders"}"#,
            Some("Validation failed for object='order'. Error count: 1: qty: must be greater than 0")),
        (422, "content-type: application/json; charset=utf-8", br#"{"message":"Validation Failed","errors":[{"resource":"Label","code":"already_exists","field":"name"}],"documentation_url":"https://docs.example/rest","status":"422"}"#,
            Some("Validation Failed: Label.name already_exists")),
        (422, JSON, br#"{"message":"Validation Failed","errors":["Head sha can't be blank"]}"#, Some("Validation Failed: Head sha can't be blank")),
        (422, JSON, br#"{"message":"Validation Failed","errors":[{"resource":"X","code":"custom","message":"No commits between a and b"}]}"#,
            Some("Validation Failed: No commits between a and b")),
        (422, "content-type: application/json; charset=utf-8", br#"{"errors":{"name":["needs a value","is too short"],"base":["order is closed"]}}"#,
            Some("name: needs a value, is too short; base: order is closed")),
        (422, JSON, br#"{"name":["needs a value","is too short"]}"#, Some("name: needs a value, is too short")),
        (422, JSON, br#"{"message":"Crew title needs letters. (and 2 more errors)","errors":{"crew_title":["Crew title needs letters."],"members.0.mail":["Mail is missing.","Mail is malformed."]}}"#,
            Some("Crew title needs letters. (and 2 more errors): members.0.mail: Mail is missing., Mail is malformed.")),
        (401, JSON, br#"{"detail":"Please sign in first."}"#, Some("Please sign in first.")),
        (400, JSON, br#"{"detail":{"message":"no such page"}}"#, Some("no such page")),
        (400, JSON, br#"{"message":{"name":["has already been taken"]}}"#, Some("name: has already been taken")),
        (500, JSON, br#"{"error":true,"message":"disk full"}"#, Some("disk full")),
        (500, JSON, br#"{"error":7,"msg":"disk full"}"#, Some("disk full")),
        (404, JSON, br#"{"message":"No such container: web42"}"#, Some("No such container: web42")),
        (409, JSON, br#"{"Message":"No such lease"}"#, Some("No such lease")),
        (409, JSON, br#"{"errorMessage":"No such lease"}"#, Some("No such lease")),
        (400, JSON, br#"{"errorMessages":[],"errors":{"summary":"You must specify a summary"}}"#, Some("summary: You must specify a summary")),
        (400, JSON, br#"{"errors":{"description":"is too short"}}"#, Some("description: is too short")),
        (400, JSON, br#"{"errors":{"message":"is too short","description":"at least 3"}}"#, Some("is too short")),
        (400, JSON, br#"{"errors":[{"field":"id","message":"is invalid"},{"field":"user","message":"user is unknown"}]}"#,
            Some("id: is invalid; user is unknown")),
        (400, JSON, br#"{"message":"Validation of 2 fields","errors":{"name":["id"],"page":["2 fields"]}}"#,
            Some("Validation of 2 fields: name: id")),
        (409, JSON, br#"{"errorMessages":["No such lease","No such user"],"errors":{}}"#, Some("No such lease; No such user")),
        (409, JSON, br#"{"description":"No such lease"}"#, Some("No such lease")),
        (409, JSON, br#"{"error_description":"No such lease"}"#, Some("No such lease")),
        (409, JSON, br#"{"message":"   ","error":"","detail":"\t","title":"Lease lost"}"#, Some("Lease lost")),
    ]).await;
}

#[tokio::test]
async fn json_of_many_services() {
    check(&DiagnoseLayer::new(), &[
        (429, "content-type: application/json; charset=UTF-8", br#"{"error":{"code":429,"message":"Quota exceeded for zone us-x1.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT","domain":"compute.example"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17s"}]}}"#,
            Some("Quota exceeded for zone us-x1.")),
        (429, JSON, br#"[{"error":{"code":429,"message":"Quota exceeded.","status":"RESOURCE_EXHAUSTED"}}]"#, Some("Quota exceeded.")),
        (429, JSON, br#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}"#, Some("RESOURCE_EXHAUSTED")),
        (400, "content-type: application/json;charset=UTF-8", br#"{"error":"invalid_grant","error_description":"Refresh token has expired","error_uri":"https://idp.example/doc"}"#,
            Some("invalid_grant: Refresh token has expired")),
        (400, JSON, br#"{"error":"invalid_grant"}"#, Some("invalid_grant")),
        (400, "content-type: application/x-www-form-urlencoded", b"error=invalid_grant&error_description=Refresh+token+has%20expired",
            Some("invalid_grant: Refresh token has expired")),
        (401, JSON, br#"{"error":{"message":"Incorrect API key provided: sk-test-SENTINEL. Find your key in the console.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
            Some("Incorrect API key provided: [redacted]. Find your key in the console.")),
        (400, "content-type: application/x-amz-json-1.1", br#"{"__type":"com.example.coral.service#ThrottlingException:http://internal.example/coral/","message":"Rate exceeded"}"#,
            Some("ThrottlingException: Rate exceeded")),
        (400, "content-type: application/x-amz-json-1.0", br#"{"__type":"com.example#ThrottlingException","Message":"Rate exceeded"}"#,
            Some("ThrottlingException: Rate exceeded")),
        (400, "content-type: application/json\nx-amzn-errortype: ThrottlingException:http://internal.example/", br#"{"message":"Rate exceeded"}"#,
            Some("ThrottlingException: Rate exceeded")),
        (400, "content-type: application/x-amz-json-1.1\nx-amzn-errortype: ThrottlingException", b"", Some("ThrottlingException")),
        (409, "content-type: application/json; charset=utf-8", br#"{"error":{"code":"ResourceConflict","message":"The blob is leased.\nRequestId:aa-bb\nTime:2026-01-01T00:00:00Z","target":"blob","innererror":{"code":"LeaseIdMissing"}}}"#,
            Some("The blob is leased. RequestId:aa-bb Time:2026-01-01T00:00:00Z")),
        (400, JSON, br#"{"odata.error":{"code":"Request_BadRequest","message":{"lang":"en","value":"Unsupported filter"}}}"#, Some("Unsupported filter")),
        (409, JSON, br#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"web-1\" already exists","reason":"AlreadyExists","details":{"name":"web-1","kind":"pods","retryAfterSeconds":1},"code":409}"#,
            Some("pods \"web-1\" already exists")),
        (409, "content-type: application/vnd.kubernetes.protobuf", b"k8s\x00\x0a\x0c\x0a\x02v1\x12\x06Status", None),
        (404, JSON, br#"{"error":{"root_cause":[{"type":"index_not_found_exception","reason":"no such index [logs-x]","index":"logs-x"}],"type":"index_not_found_exception","reason":"no such index [logs-x]"},"status":404}"#,
            Some("no such index [logs-x]")),
        (400, "content-type: application/graphql-response+json", br#"{"errors":[{"message":"Cannot query field \"nam\" on type \"User\".","locations":[{"line":1,"column":9}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED","exception":{"stacktrace":["Error: x","  at y"]}}}]}"#,
            Some("Cannot query field \"nam\" on type \"User\".")),
        (400, JSON, br#"{"code":21211,"message":"The 'To' number is not valid.","more_info":"https://docs.example/errors/21211","status":400}"#,
            Some("The 'To' number is not valid.")),
        (400, JSON, br#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Unknown tool: nope","data":{"hint":"use list"}}}"#, Some("Unknown tool: nope")),
        (400, JSON, br#"[{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Unknown tool: nope"}},{"jsonrpc":"2.0","id":4,"result":1}]"#, Some("Unknown tool: nope")),
        (404, JSON, br#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}"#, Some("Session not found")),
        (400, JSON, br#"{"message":"Invalid Form Body","code":50035,"errors":{"embeds":{"0":{"title":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH","message":"Must be 256 or fewer."}]}}}}}"#,
            Some("Invalid Form Body: embeds.0.title: Must be 256 or fewer.")),
        (404, JSON, br#"{"error":"not_found","reason":"missing"}"#, Some("not_found: missing")),
        (400, JSON, br#"{"status":"error","errorType":"bad_data","error":"parse error: unexpected end of input"}"#, Some("parse error: unexpected end of input")),
        (401, JSON, br#"{"fault":{"faultstring":"Invalid ApiKey","detail":{"errorcode":"oauth.v2.InvalidApiKey"}}}"#, Some("Invalid ApiKey")),
        (502, JSON, br#"{"error":{"message":"{\"error\":{\"message\":\"context too long\",\"code\":400}}"}}"#, Some("context too long")),
        (402, JSON, br#"{"error":{"message":"Your card was declined.","type":"card_error","payment_intent":{"client_secret":"pi_SENTINEL","last_payment_error":{"message":"SENTINEL"}}}}"#,
            Some("Your card was declined.")),
    ]).await;
}

#[tokio::test]
async fn other_formats_labels_and_encodings() {
    const GZIP: &[u8] =
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03{\"message\":\"limit must be <= 100\"}";
    check(&DiagnoseLayer::new(), &[
        (403, "content-type: text/xml", b"<ErrorResponse xmlns=\"https://iam.example/doc/\"><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>User is not authorized to perform iam:GetUser</Message></Error><RequestId>r-1</RequestId></ErrorResponse>",
            Some("AccessDenied: User is not authorized to perform iam:GetUser")),
        (403, "content-type: application/xml", b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>SignatureDoesNotMatch</Code><Message>The signature does not match.</Message><AWSAccessKeyId>AKIASENTINEL</AWSAccessKeyId><StringToSign>AWS4-HMAC-SHA256 SENTINEL</StringToSign><SignatureProvided>SENTINEL</SignatureProvided></Error>",
            Some("SignatureDoesNotMatch: The signature does not match.")),
        (403, "content-type: application/xml", b"<Error><Code>Denied</Code><Message>It&apos;s &#60;closed&#x3E; &amp; &quot;locked&quot; &unknown;</Message></Error>",
            Some("Denied: It's <closed> & \"locked\" &unknown;")),
        (500, "content-type: text/xml", b"<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\"><soap:Body><soap:Fault><faultcode>soap:Server</faultcode><faultstring>Order is closed</faultstring></soap:Fault></soap:Body></soap:Envelope>",
            Some("Order is closed")),
        (500, "content-type: application/soap+xml", b"<env:Envelope xmlns:env=\"x\"><env:Body><env:Fault><env:Code><env:Value>env:Sender</env:Value></env:Code><env:Reason><env:Text xml:lang=\"en\">Order is closed</env:Text></env:Reason></env:Fault></env:Body></env:Envelope>",
            Some("Order is closed")),
        (502, "content-type: text/html", b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body bgcolor=\"white\"><h1>502 Bad Gateway</h1><hr>edge-7</body></html>\r\n<!-- pad pad pad -->\r\n", None),
        (521, "content-type: text/html; charset=UTF-8", b"<!DOCTYPE html>\n<!--[if lt IE 7]> <html class=\"no-js ie6\"> <![endif]-->\n<head><title>api.example | 521: Web server is down</title></head><body><span>Ray ID: <strong>9f00</strong></span><span>Your IP: 203.0.113.9</span></body></html>", None),
        (503, JSON, b"<!DOCTYPE html><html><body>{\"message\":\"no\"}</body></html>", None),
        (400, JSON, br#"{"message":"<html><body>Bad</body></html>"}"#, None),
        (401, "content-length: 0", b"", None),
        (401, "www-authenticate: Bearer realm=\"api\", error=\"invalid_token\", error_description=\"The token expired\"", b"", None),
        (500, JSON, b"null", None),
        (500, JSON, b"{}", None),
        (500, JSON, b"[]", None),
        (500, JSON, b"\"\"", None),
        (500, JSON, b"   \n", None),
        (500, JSON, b"false", None),
        (500, JSON, b"0", None),
        (500, "content-type: application/octet-stream", b"\x00\x01\x02\xff\xfe\x07\x08", None),
        (400, "content-type: application/json\ncontent-encoding: gzip", GZIP, None),
        (400, JSON, GZIP, None),
        (400, "content-type: application/json\ncontent-encoding: gzip", br#"{"message":"limit must be <= 100"}"#, Some("limit must be <= 100")),
        (400, JSON, br#"{"message":"limit must be <= 100"}"#, Some("limit must be <= 100")),
        (400, JSON, b"\xEF\xBB\xBF{\"message\":\"bom ok\"}", Some("bom ok")),
        (400, JSON, b"\xFF\xFE{\0\"\0m\0e\0s\0s\0a\0g\0e\0\"\0:\0\"\0w\0i\0d\0e\0\"\0}\0", Some("wide")),
        (400, JSON, b"\xFE\xFF\0{\0\"\0m\0e\0s\0s\0a\0g\0e\0\"\0:\0\"\0w\0i\0d\0e\0\"\0}", Some("wide")),
        (400, "content-type: application/json; charset=iso-8859-1", b"{\"message\":\"caf\xe9 closed\"}", Some("caf\u{e9} closed")),
        (400, JSON, b"{\"message\":\"caf\xe9 closed\"}", Some("caf\u{e9} closed")),
        (400, "content-type: text/plain; charset=utf-8", br#"{"error":"bucket name is invalid"}"#, Some("bucket name is invalid")),
        (400, "", br#"{"error":"bucket name is invalid"}"#, Some("bucket name is invalid")),
        (400, "content-type: text/html", br#"{"error":"bucket name is invalid"}"#, Some("bucket name is invalid")),
        (500, JSON, br#""database is locked""#, Some("database is locked")),
        (400, "content-type: application/vnd.acme.v2+json", br#"{"message":"v2 needs page"}"#, Some("v2 needs page")),
        (400, "content-type: Application/Vnd.Acme.V2+JSON", br#"{"message":"v2 needs page"}"#, Some("v2 needs page")),
        (400, "content-type: text/json", br#"{"message":"v2 needs page"}"#, Some("v2 needs page")),
        (400, "content-type: application/x-ndjson", b"{\"error\":\"model not found\"}\n{\"done\":true}\n", Some("model not found")),
        (400, "content-type: text/event-stream", b"id: 1\rdata: {\rdata: \"error\":\"model not found\"}\r\r", Some("model not found")),
        (400, "content-type: text/event-stream", b"event: error\ndata: {\"error\":{\"message\":\"model not found\"}}\n\n", Some("model not found")),
        (500, "content-type: text/plain", b"upstream pool is empty", None),
        (529, JSON, b"{}", None),
        (529, JSON, br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Some("Overloaded")),
    ]).await;
}

#[tokio::test]
async fn plain_text_is_shown_when_asked_for() {
    let layer = DiagnoseLayer::new().plain_text(true);
    check(
        &layer,
        &[
            (
                500,
                "content-type: text/plain",
                b"upstream pool is empty\n",
                Some("upstream pool is empty"),
            ),
            (
                500,
                "content-type: text/plain",
                b"<html><body>no</body></html>",
                None,
            ),
            (500, "content-type: text/plain", b"a\x00b\x01\x02\x03", None),
            (404, "content-type: text/plain", b"Not Found", None),
            (
                404,
                "content-type: text/plain",
                b"Invalid session ID",
                Some("Invalid session ID"),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn documents_that_are_cut_broken_or_a_bomb() {
    let cut = format!(
        "{{\"message\":\"file exceeds the limit of 10 MB\",\"echo\":\"{}",
        "x".repeat(40_000)
    );
    let deep = "[".repeat(100_000);
    let objects = "{\"error\":".repeat(100_000);
    let cases: &[(u16, &[u8], Option<&str>)] = &[
        (413, cut.as_bytes(), Some("file exceeds the limit of 10 MB")),
        (400, deep.as_bytes(), None),
        (400, objects.as_bytes(), None),
        (400, br#"{"message":"half"#, None),
        (400, br#"{"message":"a b c","detail":"#, Some("a b c")),
        (400, br#"{"message":"a b c",,,}"#, Some("a b c")),
    ];
    for &(status, body, wanted) in cases {
        let line = line(&DiagnoseLayer::new(), post("/things"), status, JSON, body).await;
        let reason = StatusCode::from_u16(status)
            .unwrap()
            .canonical_reason()
            .unwrap();
        let wanted = wanted.unwrap_or(reason);
        assert_eq!(
            line,
            format!("POST /things failed ({status} {reason}): {wanted}")
        );
    }
}
