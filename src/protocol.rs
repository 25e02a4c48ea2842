//! Failures that come with a good status: JSON-RPC, MCP, GraphQL, Slack, gRPC.
//!
//! Pure functions over headers and a whole small body. What decides whether a body may be looked into
//! at all is here too: a stream never is.

use std::borrow::Cow;

use http::{
    HeaderMap, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};

use crate::{
    charset, grpc, json, json_lexer::Lexer, json_made::Made, json_phrase, names::names,
    protocol_found::Found, sse,
};

/// A protocol whose failures may come with status 200.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Protocol {
    /// [JSON-RPC 2.0](https://www.jsonrpc.org/specification): an `error` member, in batches too.
    JsonRpc,
    /// [Model Context Protocol](https://modelcontextprotocol.io): a tool's result with `isError`, and
    /// errors of JSON-RPC, which carries it.
    Mcp,
    /// [GraphQL](https://spec.graphql.org): `errors`, beside partial data too.
    GraphQl,
    /// Slack's Web API: `"ok": false`.
    Slack,
    /// [gRPC](https://grpc.io): `grpc-status` in headers or trailers, and in the body of gRPC-Web.
    Grpc,
}

names!(Protocol, "a protocol", {
    JsonRpc => "jsonrpc",
    Mcp => "mcp",
    GraphQl => "graphql",
    Slack => "slack",
    Grpc => "grpc",
});

/// A set of protocols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Protocols(u8);

impl Protocols {
    #[must_use]
    pub(crate) const fn with(self, protocol: Protocol) -> Self {
        Self(self.0 | 1 << protocol as u8)
    }

    pub(crate) const fn contains(self, protocol: Protocol) -> bool {
        self.0 & 1 << protocol as u8 != 0
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What a body may be, by its label.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Json,
    Events,
    GrpcWeb,
    GrpcWebText,
}

/// Returns whether a body of this label can hold a failure of one of `protocols`.
///
/// The caller sees to the length: it must be known and small.
pub(crate) fn is_labelled(protocols: Protocols, headers: &HeaderMap) -> bool {
    if protocols.is_empty() || is_encoded(headers) {
        return false;
    }
    let has = |protocol| protocols.contains(protocol);
    match kind(headers) {
        Some(Kind::Json) => {
            has(Protocol::JsonRpc)
                || has(Protocol::Mcp)
                || has(Protocol::GraphQl)
                || has(Protocol::Slack)
        }
        Some(Kind::Events) => has(Protocol::JsonRpc) || has(Protocol::Mcp),
        Some(Kind::GrpcWeb | Kind::GrpcWebText) => has(Protocol::Grpc),
        None => false,
    }
}

/// Returns the failure in the whole body of a response with a good status, if it holds one.
pub(crate) fn inspect(protocols: Protocols, headers: &HeaderMap, body: &[u8]) -> Option<Found> {
    if !is_labelled(protocols, headers) {
        return None;
    }
    match kind(headers)? {
        Kind::Json => {
            let text = charset::decode(body, None)?;
            in_json(protocols, text.trim_start())
        }
        Kind::Events => {
            let text = charset::decode(body, None)?;
            sse::events(&text).find_map(|data| in_json(protocols, data.trim_start()))
        }
        Kind::GrpcWeb => grpc::in_frames(body),
        Kind::GrpcWebText => grpc::in_text(body),
    }
}

fn is_encoded(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_ENCODING)
        .is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

fn kind(headers: &HeaderMap) -> Option<Kind> {
    let content_type = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let (_, subtype) = essence.split_once('/')?;
    let starts = |prefix: &str| {
        subtype
            .get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let suffix = subtype.rsplit(['+', '-']).next().unwrap_or_default();
    if starts("grpc-web-text") {
        Some(Kind::GrpcWebText)
    } else if starts("grpc-web") {
        Some(Kind::GrpcWeb)
    } else if subtype.eq_ignore_ascii_case("event-stream") {
        Some(Kind::Events)
    } else if suffix.eq_ignore_ascii_case("json") && !starts("grpc") || starts("json-rpc") {
        // A stream of values is not one value of known length.
        (!starts("x-ndjson")).then_some(Kind::Json)
    } else {
        None
    }
}

/// Looks for what each protocol says, the surest first.
fn in_json(protocols: Protocols, text: &str) -> Option<Found> {
    let made = Made::default();
    let mut lexer = Lexer::new(text, &made);
    let rpc = protocols.contains(Protocol::JsonRpc) || protocols.contains(Protocol::Mcp);
    match lexer.peek()? {
        b'{' => in_object(protocols, text, &mut lexer),
        // A batch is as good as its worst part.
        b'[' if rpc => {
            lexer.open();
            while lexer.element() {
                let start = lexer.position();
                if lexer.peek() != Some(b'{') {
                    lexer.skip();
                    continue;
                }
                let part = text.get(start..).unwrap_or_default();
                if let Some(found) = in_object(protocols, part, &mut lexer) {
                    return Some(found);
                }
            }
            None
        }
        _ => None,
    }
}

/// What the members of an answer say.
#[derive(Default)]
struct Members {
    /// It is an answer of JSON-RPC: it says so, or has an id.
    rpc: bool,
    /// `error` is there and not null.
    error: bool,
    error_is_text: bool,
    tool_failed: bool,
    tool_text: Option<String>,
    /// `errors` is a list that is not empty.
    errors: bool,
    not_ok: bool,
    needed: Option<String>,
}

/// Looks into the object at which `lexer` stands and with which `text` begins; passes over it.
fn in_object(protocols: Protocols, text: &str, lexer: &mut Lexer<'_>) -> Option<Found> {
    let members = members(lexer);
    let has = |protocol| protocols.contains(protocol);
    let made = Made::default();
    let error = || Found::error(json::read(text, false, StatusCode::OK, &made));
    if (has(Protocol::JsonRpc) || has(Protocol::Mcp)) && members.rpc && members.error {
        return Some(error());
    }
    if has(Protocol::Mcp) && members.tool_failed {
        return Some(Found {
            message: members.tool_text.and_then(tool_message),
            tool_failure: true,
            ..Found::default()
        });
    }
    if has(Protocol::GraphQl) && members.errors {
        return Some(Found::error(json::read_graphql(text, &made)));
    }
    if has(Protocol::Slack) && members.not_ok && (members.error_is_text || !members.error) {
        let mut found = error();
        if let (Some(message), Some(needed)) = (&mut found.message, members.needed) {
            // `missing_scope` alone does not say which.
            found.code.get_or_insert_with(|| message.clone());
            message.push_str(": needed ");
            message.push_str(&needed);
        }
        return Some(found);
    }
    None
}

fn members(lexer: &mut Lexer<'_>) -> Members {
    let mut members = Members::default();
    lexer.open();
    while let Some(key) = lexer.key() {
        match (key, lexer.peek()) {
            ("jsonrpc" | "id", Some(_)) => {
                members.rpc = true;
                lexer.skip();
            }
            ("error", Some(first)) => {
                members.error |= first != b'n' && first != b'f';
                members.error_is_text |= first == b'"';
                lexer.skip();
            }
            ("errors", Some(b'[')) => {
                lexer.open();
                while lexer.element() {
                    members.errors = true;
                    lexer.skip();
                }
            }
            ("ok", Some(b't' | b'f')) => members.not_ok |= lexer.scalar() == "false",
            ("needed", Some(b'"')) => members.needed = lexer.string().map(str::to_owned),
            ("result", Some(b'{')) => tool_result(&mut members, lexer),
            _ => lexer.skip(),
        }
    }
    members
}

/// Reads the result of a tool: whether it failed, and the texts of its content.
fn tool_result(members: &mut Members, lexer: &mut Lexer<'_>) {
    let mut text = String::new();
    lexer.open();
    while let Some(key) = lexer.key() {
        match (key, lexer.peek()) {
            ("isError", Some(b't')) => members.tool_failed |= lexer.scalar() == "true",
            ("content", Some(b'[')) => {
                lexer.open();
                while lexer.element() {
                    if lexer.peek() == Some(b'{') {
                        tool_content(&mut text, lexer);
                    } else {
                        lexer.skip();
                    }
                }
            }
            _ => lexer.skip(),
        }
    }
    members.tool_text = Some(text).filter(|text| !text.trim().is_empty());
}

/// Returns what the text of a tool says, of JSON only its message.
fn tool_message(text: String) -> Option<String> {
    let inner = text.trim_start().starts_with(['{', '[']);
    let made = Made::default();
    let inner = inner.then(|| json::read(&text, false, StatusCode::OK, &made).message);
    match inner.flatten() {
        Some(message) => Some(message.to_owned()),
        None => json_phrase::clean(&text, StatusCode::OK).map(Cow::into_owned),
    }
}

fn tool_content(text: &mut String, lexer: &mut Lexer<'_>) {
    lexer.open();
    while let Some(key) = lexer.key() {
        match (key, lexer.peek()) {
            ("text", Some(b'"')) => {
                if let Some(part) = lexer.string().filter(|_| text.len() < 4096) {
                    if !text.is_empty() {
                        text.push_str("; ");
                    }
                    text.push_str(part.trim());
                }
            }
            _ => lexer.skip(),
        }
    }
}

#[cfg(test)]
#[path = "../tests/unit/protocol.rs"]
mod tests;
