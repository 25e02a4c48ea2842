use http::{HeaderMap, HeaderValue, header};
use proptest::prelude::*;

use super::*;
use crate::outcome::Facts;

const ALL: [Protocol; 5] = [
    Protocol::JsonRpc,
    Protocol::Mcp,
    Protocol::GraphQl,
    Protocol::Slack,
    Protocol::Grpc,
];

fn labelled(content_type: &str) -> HeaderMap {
    HeaderMap::from_iter([(header::CONTENT_TYPE, content_type.parse().unwrap())])
}

fn only(protocol: Protocol) -> Protocols {
    Protocols::default().with(protocol)
}

fn found(protocol: Protocol, content_type: &str, body: &str) -> Option<Found> {
    inspect(only(protocol), &labelled(content_type), body.as_bytes())
}

const JSON: &str = "application/json";

#[test]
fn names_are_read_back() {
    for protocol in ALL {
        assert_eq!(protocol.as_str().parse(), Ok(protocol));
    }
}

#[test]
fn failures_behind_a_good_status_are_found() {
    use Protocol::{GraphQl, JsonRpc, Mcp, Slack};
    for (protocol, body, message) in [
        (
            JsonRpc,
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Unknown tool: nope","data":{"hint":"x"}}}"#,
            Some("Unknown tool: nope"),
        ),
        (
            JsonRpc,
            r#"{"result":null,"error":{"code":-8,"message":"old style"},"id":"x"}"#,
            Some("old style"),
        ),
        (
            JsonRpc,
            r#"[{"jsonrpc":"2.0","id":1,"result":7},{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"second"}},{"jsonrpc":"2.0","id":3,"result":[]}]"#,
            Some("second"),
        ),
        (
            JsonRpc,
            r#"{"jsonrpc":"2.0","id":1,"result":{"error":{"message":"not this"}}}"#,
            None,
        ),
        (
            JsonRpc,
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":null}"#,
            None,
        ),
        (JsonRpc, r#"{"error":{"message":"no rpc"}}"#, None),
        (JsonRpc, r#"{"errors":[{"message":"graphql"}]}"#, None),
        (
            Mcp,
            r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}"#,
            Some("Session not found"),
        ),
        (
            Mcp,
            r#"{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"Invalid date: must be in the future"}],"isError":true}}"#,
            Some("Invalid date: must be in the future"),
        ),
        (
            Mcp,
            r#"{"jsonrpc":"2.0","id":4,"result":{"isError":true,"content":[{"type":"text","text":"one"},{"type":"image","data":"AAAA"},{"type":"text","text":"two"}]}}"#,
            Some("one; two"),
        ),
        (
            Mcp,
            r#"{"jsonrpc":"2.0","id":4,"result":{"isError":true,"content":[{"type":"text","text":"{\"error\":{\"message\":\"inner\"}}"}]}}"#,
            Some("inner"),
        ),
        (
            Mcp,
            r#"{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"fine"}],"isError":false}}"#,
            None,
        ),
        (
            Mcp,
            r#"{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"isError: true"}]}}"#,
            None,
        ),
        (
            GraphQl,
            r#"{"errors":[{"message":"it is hidden","path":["user",0,"mail"]}]}"#,
            Some("it is hidden"),
        ),
        (
            GraphQl,
            r#"{"data":{"user":null},"errors":[{"message":"no such user","path":["user"]}]}"#,
            Some("no such user"),
        ),
        (
            GraphQl,
            r#"{"errors":[{"message":"a"},{"message":"b"}],"data":null}"#,
            Some("a; b"),
        ),
        (
            GraphQl,
            r#"{"data":{"errors":[{"message":"a field"}]}}"#,
            None,
        ),
        (GraphQl, r#"{"data":{},"errors":[]}"#, None),
        (
            Slack,
            r#"{"ok":false,"error":"missing_scope","needed":"chat:write","response_metadata":{"messages":["[ERROR] x"]}}"#,
            Some("missing_scope: needed chat:write"),
        ),
        (
            Slack,
            r#"{"ok":false,"error":"channel_not_found"}"#,
            Some("channel_not_found"),
        ),
        (Slack, r#"{"ok":true,"error":"not this"}"#, None),
        (Slack, r#"{"message":{"ok":false},"ok":true}"#, None),
    ] {
        let found = found(protocol, JSON, body);
        let is_failure = message.is_some();
        assert_eq!(found.is_some(), is_failure, "{body}");
        if let Some(found) = found {
            assert_eq!(found.message.as_deref(), message, "{body}");
            assert_ne!(found.tool_failure, found.jsonrpc_error, "{body}");
        }
    }
}

#[test]
fn codes_come_along() {
    let code = |protocol, body| found(protocol, JSON, body).and_then(|found| found.code);
    let rpc = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m"}}"#;
    assert_eq!(code(Protocol::JsonRpc, rpc).as_deref(), Some("-32602"));
    let graphql = r#"{"errors":[{"message":"m","extensions":{"code":"UNAUTHENTICATED"}}]}"#;
    assert_eq!(
        code(Protocol::GraphQl, graphql).as_deref(),
        Some("UNAUTHENTICATED")
    );
    let slack = r#"{"ok":false,"error":"missing_scope","needed":"a:b"}"#;
    assert_eq!(
        code(Protocol::Slack, slack).as_deref(),
        Some("missing_scope")
    );
}

#[test]
fn a_failed_tool_is_told_from_a_failed_call() {
    let body = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"isError\":true,\"content\":[]}}\n\n";
    let tool = found(Protocol::Mcp, "text/event-stream", body).unwrap();
    assert!(tool.tool_failure && !tool.jsonrpc_error);
    assert_eq!(tool.message, None);
    let mut facts = Facts::default();
    tool.note(&mut facts);
    assert!(facts.tool_failure && !facts.jsonrpc_error);

    let frame = b"\x80\x00\x00\x00\x0fgrpc-status:16\r\n".as_slice();
    let headers = labelled("application/grpc-web+proto");
    let web = inspect(only(Protocol::Grpc), &headers, frame).unwrap();
    web.note(&mut facts);
    assert_eq!(facts.grpc_status, Some(16));
}

#[test]
fn only_bodies_of_the_protocols_kind_are_looked_into() {
    for (protocol, content_type, looked) in [
        (Protocol::JsonRpc, JSON, true),
        (Protocol::JsonRpc, "Application/JSON; charset=utf-8", true),
        (Protocol::JsonRpc, "application/json-rpc", true),
        (Protocol::JsonRpc, "text/html", false),
        (Protocol::JsonRpc, "application/x-ndjson", false),
        (Protocol::JsonRpc, "json", false),
        (Protocol::Mcp, "text/event-stream", true),
        (Protocol::Slack, "text/event-stream", false),
        (Protocol::GraphQl, "application/graphql-response+json", true),
        (Protocol::Slack, JSON, true),
        (Protocol::Grpc, JSON, false),
        (Protocol::Grpc, "application/grpc", false),
        (Protocol::Grpc, "application/grpc+json", false),
        (Protocol::JsonRpc, "application/grpc+json", false),
        (Protocol::Grpc, "application/grpc-web+proto", true),
        (Protocol::Grpc, "application/grpc-web-text", true),
    ] {
        let headers = labelled(content_type);
        let looks = is_labelled(only(protocol), &headers);
        assert_eq!(looks, looked, "{protocol} {content_type}");
        assert!(!is_labelled(Protocols::default(), &headers));
    }
    let mut headers = labelled(JSON);
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    assert!(!is_labelled(only(Protocol::JsonRpc), &headers));
    headers.insert(
        header::CONTENT_ENCODING,
        HeaderValue::from_static("identity"),
    );
    assert!(is_labelled(only(Protocol::JsonRpc), &headers));
}

proptest! {
    #[test]
    fn never_panics(body: Vec<u8>, label in 0_usize..4) {
        let labels = [JSON, "text/event-stream", "application/grpc-web", "application/grpc-web-text"];
        let all = ALL.into_iter().fold(Protocols::default(), Protocols::with);
        let _ = inspect(all, &labelled(labels[label]), &body);
    }
}
