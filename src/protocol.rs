//! Failures that come with status 200.

/// A protocol whose failures come with status 200.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// JSON-RPC 2.0.
    JsonRpc,
    /// The Model Context Protocol.
    Mcp,
    /// GraphQL over HTTP.
    GraphQl,
    /// Slack's Web API.
    Slack,
    /// gRPC.
    Grpc,
}
