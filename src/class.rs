//! What kind of failure it was, and whose.

use crate::names::names;

/// The kind of a failure.
///
/// The names are stable; new kinds may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The connection could not be made, or broke.
    Network,
    /// A limit of time ran out.
    Timeout,
    /// The server answered with a failing status.
    Http,
    /// The server answered with a failure of a protocol carried by HTTP (JSON-RPC, gRPC, GraphQL, Slack).
    Jsonrpc,
    /// A tool ran on the server and said that it failed.
    ToolError,
    /// The session that the request belonged to has ended.
    SessionTerminated,
    /// The server asks for credentials, or for others.
    Auth,
    /// Our own side refused: overload, a limit, a breaker, an invalid argument.
    ProxyPolicy,
    /// Our own side failed in a way that no other class describes.
    ProxyInternal,
    /// The caller gave up, or its request body failed.
    Cancelled,
}

names!(ErrorClass, "an error class", {
    Network => "network",
    Timeout => "timeout",
    Http => "http",
    Jsonrpc => "jsonrpc",
    ToolError => "tool_error",
    SessionTerminated => "session_terminated",
    Auth => "auth",
    ProxyPolicy => "proxy_policy",
    ProxyInternal => "proxy_internal",
    Cancelled => "cancelled",
});

/// Whose fault a failure was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FaultDomain {
    /// The server called, or the network to it.
    Upstream,
    /// Our own side: the program that these layers run in, whether it calls others or is called. A handler
    /// that fails or is too slow, a breaker or a limit that refused.
    Proxy,
    /// The caller of that program: it gave up, or what it sent is wrong.
    Client,
}

names!(FaultDomain, "a fault domain", {
    Upstream => "upstream",
    Proxy => "proxy",
    Client => "client",
});

/// The coarse class that an audit log keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AuditClass {
    /// The upstream could not be reached, or said that it cannot serve (502, 503, 504).
    UpstreamUnavailable,
    /// The upstream did not answer in time.
    UpstreamTimeout,
    /// The upstream answered with an error.
    UpstreamError,
    /// The caller's input was refused.
    Validation,
    /// Our own side failed.
    Internal,
    /// The caller gave up.
    Cancelled,
}

names!(AuditClass, "an audit class", {
    UpstreamUnavailable => "upstream_unavailable",
    UpstreamTimeout => "upstream_timeout",
    UpstreamError => "upstream_error",
    Validation => "validation",
    Internal => "internal",
    Cancelled => "cancelled",
});
