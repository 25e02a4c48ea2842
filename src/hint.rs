//! What to do about a failure.

use std::{borrow::Cow, time::Duration};

use http::StatusCode;

use crate::{
    class::{ErrorClass, FaultDomain},
    outcome::Outcome,
};

/// Returns what to do about a failure, in one sentence.
///
/// `indeterminate` is a write that may have been applied: that comes first, since repeating it could
/// do harm. `retry_after` is how long the server asked to wait; `cause` is what [`cause`](crate::cause)
/// says of a failure without an answer; `code` is the server's own.
pub(crate) fn hint(
    outcome: Outcome,
    indeterminate: bool,
    retry_after: Option<Duration>,
    cause: Option<&str>,
    code: Option<&str>,
) -> Option<Cow<'static, str>> {
    if indeterminate {
        return Some("the write may have been applied: check before repeating it".into());
    }
    let (class, domain, status) = (outcome.class(), outcome.domain(), outcome.status());
    let text = match (class, domain) {
        (ErrorClass::Auth | ErrorClass::Http, _) => return Some(answered(outcome, retry_after)),
        (ErrorClass::Timeout, FaultDomain::Proxy) => {
            "the timeout ran out before anything was sent: raise it, or send fewer calls at once"
        }
        (ErrorClass::Timeout, _) => "raise the timeout or check that the server is reachable",
        (ErrorClass::Network, _) if cause == Some("ENOTFOUND") => {
            "check the name of the host, or the resolver if the name is right"
        }
        (ErrorClass::Network, _) => {
            "if transient, retry once; persistent means unreachable or overloaded"
        }
        (ErrorClass::Jsonrpc, _) => return Some(reported(code, retry_after)),
        (ErrorClass::ToolError, _) => {
            "the tool ran and failed: change its arguments before calling it again"
        }
        (ErrorClass::SessionTerminated, _) => "the session has ended: start a new one",
        (ErrorClass::ProxyPolicy, FaultDomain::Client) => "correct the argument: nothing was sent",
        (ErrorClass::ProxyPolicy, _) => {
            "nothing was sent: our own side refused, so slow down and try again later"
        }
        (ErrorClass::Cancelled, _) if cause == Some("request body failed") => {
            "check what the request's body is read from: it failed while it was sent"
        }
        (ErrorClass::Cancelled, _) => "the caller gave up: nothing to mend here",
        (ErrorClass::ProxyInternal, _) => match status {
            Some(_) => return Some(answered(outcome, retry_after)),
            None if cause == Some("invalid request") => {
                "check the url: it needs a scheme that the client speaks and a host"
            }
            None => "our own side failed, see its logs",
        },
    };
    Some(text.into())
}

/// What to do about a failure that was reported behind a good status, by its code: those of gRPC, of
/// [JSON-RPC](https://www.jsonrpc.org/specification#error_object), and what servers of GraphQL call theirs.
fn reported(code: Option<&str>, retry_after: Option<Duration>) -> Cow<'static, str> {
    let text = match code {
        Some("UNKNOWN" | "INTERNAL" | "DATA_LOSS" | "INTERNAL_SERVER_ERROR" | "-32603") => {
            "the server failed, see its logs"
        }
        Some("RESOURCE_EXHAUSTED") => return slow_down(retry_after),
        Some("UNIMPLEMENTED" | "-32601") => "the server does not implement this: check the request",
        Some("ABORTED" | "FAILED_PRECONDITION" | "ALREADY_EXISTS") => {
            "check the request against the present state: it has changed meanwhile"
        }
        Some("NOT_FOUND") => "check the id or path",
        _ => "check the request: the server understood it and refused",
    };
    text.into()
}

/// What to do about an answer, by its status.
fn answered(outcome: Outcome, retry_after: Option<Duration>) -> Cow<'static, str> {
    let Some(status) = outcome.status() else {
        return "check the credentials".into();
    };
    let text = match status {
        StatusCode::UNAUTHORIZED => "check the credentials",
        StatusCode::FORBIDDEN => "check the credentials and what they allow",
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => "check the credentials for the proxy",
        StatusCode::NOT_FOUND | StatusCode::GONE => "check the id or path",
        StatusCode::METHOD_NOT_ALLOWED => "check the request: its method or its path",
        StatusCode::NOT_ACCEPTABLE => "check the request: its accept header",
        StatusCode::REQUEST_TIMEOUT => {
            "the server waited too long for the request: send it faster, or retry once"
        }
        StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => {
            "check the request against the present state: it has changed meanwhile"
        }
        StatusCode::PAYLOAD_TOO_LARGE => "check the request: its body is too large",
        StatusCode::URI_TOO_LONG => "check the request: its url is too long",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "check the request: its content type",
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            "check the request: its headers are too large"
        }
        StatusCode::TOO_MANY_REQUESTS => return slow_down(retry_after),
        StatusCode::NOT_IMPLEMENTED => "the server does not implement this: check the request",
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => {
            "the server behind the gateway failed, see its logs"
        }
        StatusCode::SERVICE_UNAVAILABLE => return unavailable(retry_after),
        status if status.is_server_error() => match outcome.domain() {
            FaultDomain::Proxy => "this service failed, see its logs",
            FaultDomain::Upstream | FaultDomain::Client => "the server failed, see its logs",
        },
        status if status.is_client_error() => "check the request",
        status if status.is_redirection() => {
            "check the request: the server points elsewhere, to a login perhaps"
        }
        // An answer of gRPC, whose status is in it.
        _ if outcome.class() == ErrorClass::Auth => "check the credentials",
        _ => "see the server's logs",
    };
    text.into()
}

fn slow_down(retry_after: Option<Duration>) -> Cow<'static, str> {
    match wait(retry_after) {
        Some(wait) => format!("slow down: wait {wait:?} before the next request").into(),
        None => "slow down: wait before the next request".into(),
    }
}

fn unavailable(retry_after: Option<Duration>) -> Cow<'static, str> {
    match wait(retry_after) {
        Some(wait) => format!("the server failed for now: wait {wait:?}, or see its logs").into(),
        None => "the server failed for now: retry later, or see its logs".into(),
    }
}

/// A wait beyond what a duration can hold is not worth a number; of any other, nobody wants to read the
/// nanoseconds that a date leaves.
fn wait(retry_after: Option<Duration>) -> Option<Duration> {
    let wait = retry_after.filter(|wait| *wait < Duration::MAX)?;
    let beyond = wait.subsec_nanos() % 1_000_000;
    let up = Duration::from_nanos(u64::from((1_000_000 - beyond) % 1_000_000));
    Some(wait.saturating_add(up))
}

#[cfg(test)]
#[path = "../tests/unit/hint.rs"]
mod tests;
