//! Failures that come with a good status: JSON-RPC, MCP, GraphQL, Slack, gRPC.
