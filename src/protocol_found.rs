//! A failure behind a good status, as it was found.

use crate::{json::Answer, outcome::Facts};

/// A failure that was found behind a good status. The message is raw, as that of
/// [`extract`](crate::extract::extract).
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) message: Option<String>,
    pub(crate) code: Option<String>,
    /// An error of JSON-RPC, GraphQL or Slack.
    pub(crate) jsonrpc_error: bool,
    /// A tool ran and said that it failed.
    pub(crate) tool_failure: bool,
    pub(crate) grpc_status: Option<u32>,
}

impl Found {
    /// Adds to `facts` what was found.
    pub(crate) fn note(&self, facts: &mut Facts) {
        facts.jsonrpc_error |= self.jsonrpc_error;
        facts.tool_failure |= self.tool_failure;
        facts.grpc_status = self.grpc_status.or(facts.grpc_status);
    }

    /// Makes an error of JSON-RPC, GraphQL or Slack.
    pub(crate) fn error(answer: Answer<'_>) -> Self {
        Self {
            message: answer.message.map(str::to_owned),
            code: answer.code.map(str::to_owned),
            jsonrpc_error: true,
            ..Self::default()
        }
    }
}
