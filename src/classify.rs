//! From an error and the facts to an outcome: types and facts only, never a message's text.

use std::{any::Any, convert::Infallible, error::Error, io};

use http::StatusCode;
use hyper_util::client::legacy;
use tower::load_shed::error::Overloaded;

use crate::{
    argument::InvalidArgument,
    class::{ErrorClass, FaultDomain},
    diagnosis::Diagnosed,
    error::{BoxError, Refused, RetryError, TimeoutError, chain, find, own},
    outcome::{Delivery, Facts, Outcome},
    transport::{
        Failure, LeftBehind, grpc_status, is_connect, is_refused_stream, is_request_body,
        is_unsendable, read,
    },
};

/// Returns how the call failed, or `None` if it did not.
///
/// The first that holds of: a session that ended; 401, 403, 407; a refusal of ours; the caller gave
/// up, or its body failed; a limit of time; the network; JSON-RPC and gRPC; a tool that failed; any
/// other status from 400 up. An error that is none of these is ours:
/// [`ProxyInternal`](ErrorClass::ProxyInternal).
///
/// The error's types decide, wherever in its chain they are; no text is read.
///
/// ```
/// use std::io;
/// use tower_diagnose::{ErrorClass, Facts, FaultDomain, classify};
///
/// let error = io::Error::from(io::ErrorKind::ConnectionRefused);
/// let outcome = classify(Some(&error), &Facts::default()).unwrap();
/// assert_eq!(outcome.class(), ErrorClass::Network);
/// assert_eq!(outcome.domain(), FaultDomain::Upstream);
///
/// let error = io::Error::other("connection refused");
/// let outcome = classify(Some(&error), &Facts::default()).unwrap();
/// assert_eq!(outcome.class(), ErrorClass::ProxyInternal);
///
/// assert_eq!(classify(None, &Facts::default()), None);
/// ```
#[must_use]
pub fn classify(error: Option<&(dyn Error + 'static)>, facts: &Facts) -> Option<Outcome> {
    // Classified already, by a layer that knew more.
    if let Some(diagnosed) = error.and_then(find::<Diagnosed>) {
        return Some(diagnosed.diagnosis().outcome());
    }
    classify_read(error.map(|error| (error, read(error))), facts)
}

/// Classifies an error that was read already, and is no [`Diagnosed`].
pub(crate) fn classify_read(
    failed: Option<(&(dyn Error + 'static), Failure<'_>)>,
    facts: &Facts,
) -> Option<Outcome> {
    use {ErrorClass as Class, FaultDomain as Domain};

    let (error, failure) = failed.unzip();
    let status = facts.last_status;
    let outcome = |class, domain| Some(Outcome::new(class, domain, status));
    match status {
        Some(StatusCode::NOT_FOUND) if facts.mcp_session => {
            return outcome(Class::SessionTerminated, Domain::Upstream);
        }
        Some(
            StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::PROXY_AUTHENTICATION_REQUIRED,
        ) => return outcome(Class::Auth, Domain::Upstream),
        _ => {}
    }
    match failure {
        Some(Failure::Overloaded | Failure::Refused(_)) => {
            return outcome(Class::ProxyPolicy, Domain::Proxy);
        }
        Some(Failure::InvalidArgument(_)) => return outcome(Class::ProxyPolicy, Domain::Client),
        _ if facts.caller_cancelled => return outcome(Class::Cancelled, Domain::Client),
        Some(Failure::RequestBody) => return outcome(Class::Cancelled, Domain::Client),
        Some(Failure::TimedOut(_)) if facts.dispatched => {
            return outcome(Class::Timeout, Domain::Upstream);
        }
        Some(Failure::TimedOut(_)) => return outcome(Class::Timeout, Domain::Proxy),
        Some(Failure::Network(_)) => return outcome(Class::Network, Domain::Upstream),
        Some(Failure::InvalidRequest | Failure::Unknown) | None => {}
    }
    if facts.jsonrpc_error {
        return outcome(Class::Jsonrpc, Domain::Upstream);
    }
    let code = facts.grpc_status.or_else(|| error.and_then(grpc_status));
    if let Some(code) = code.filter(|code| *code != 0) {
        let (class, domain) = of_grpc(code);
        return outcome(class, domain);
    }
    if facts.tool_failure {
        return outcome(Class::ToolError, Domain::Upstream);
    }
    if status.is_some_and(|status| status.as_u16() >= 400) {
        return outcome(Class::Http, Domain::Upstream);
    }
    failure.and_then(|_| outcome(Class::ProxyInternal, Domain::Proxy))
}

/// The [status codes of gRPC](https://grpc.io/docs/guides/status-codes/).
fn of_grpc(code: u32) -> (ErrorClass, FaultDomain) {
    match code {
        1 => (ErrorClass::Cancelled, FaultDomain::Client),
        4 => (ErrorClass::Timeout, FaultDomain::Upstream),
        7 | 16 => (ErrorClass::Auth, FaultDomain::Upstream),
        14 => (ErrorClass::Network, FaultDomain::Upstream),
        _ => (ErrorClass::Jsonrpc, FaultDomain::Upstream),
    }
}

/// Returns whether the request can have reached the server, by the error alone.
///
/// `NotSent` is a proof; where there is none it is `Unknown`. Attempts that were counted, by a
/// [`RetryError`] or a [`Diagnosed`], say it of all of them.
pub(crate) fn delivery(error: &(dyn Error + 'static)) -> Delivery {
    // The outermost level that can tell wins: a body that failed may hold the error of another call.
    chain(error).find_map(of_level).unwrap_or(Delivery::Unknown)
}

fn of_level(error: &(dyn Error + 'static)) -> Option<Delivery> {
    if let Some(error) = own::<RetryError>(error) {
        return Some(error.retried().delivery());
    }
    if let Some(error) = own::<Diagnosed>(error) {
        return Some(error.diagnosis().delivery());
    }
    if is_request_body(error) || own::<LeftBehind>(error).is_some() {
        return Some(Delivery::Unknown);
    }
    let is_proof = own::<Overloaded>(error).is_some()
        || own::<Refused>(error).is_some()
        || own::<InvalidArgument>(error).is_some()
        || is_connect(error)
        || is_unsendable(error)
        || own::<hyper::Error>(error).is_some_and(hyper::Error::is_canceled)
        || own::<h2::Error>(error).is_some_and(is_refused_stream);
    is_proof.then_some(Delivery::NotSent)
}

/// Returns `error` as a `dyn Error` if its type is one that we know, for layers that keep the
/// inner service's error type and cannot ask for a bound.
pub(crate) fn as_error<E: 'static>(error: &E) -> Option<&(dyn Error + 'static)> {
    let any: &dyn Any = error;
    if let Some(error) = any.downcast_ref::<BoxError>() {
        return Some(&**error);
    }
    if let Some(error) = any.downcast_ref::<Box<dyn Error>>() {
        return Some(&**error);
    }
    #[cfg(feature = "axum")]
    if let Some(error) = known::<axum::Error>(any) {
        return Some(error);
    }
    #[cfg(feature = "reqwest")]
    if let Some(error) = known::<reqwest::Error>(any) {
        return Some(error);
    }
    #[cfg(feature = "tonic")]
    if let Some(error) =
        known::<tonic::transport::Error>(any).or_else(|| known::<tonic::Status>(any))
    {
        return Some(error);
    }
    known::<legacy::Error>(any)
        .or_else(|| known::<hyper::Error>(any))
        .or_else(|| known::<h2::Error>(any))
        .or_else(|| known::<io::Error>(any))
        .or_else(|| known::<Diagnosed>(any))
        .or_else(|| known::<RetryError>(any))
        .or_else(|| known::<TimeoutError>(any))
        .or_else(|| known::<Refused>(any))
        .or_else(|| known::<InvalidArgument>(any))
        .or_else(|| known::<Overloaded>(any))
        .or_else(|| known::<tower::timeout::error::Elapsed>(any))
        .or_else(|| known::<tokio::time::error::Elapsed>(any))
        .or_else(|| known::<Infallible>(any))
}

fn known<E: Error + 'static>(error: &dyn Any) -> Option<&(dyn Error + 'static)> {
    error
        .downcast_ref::<E>()
        .map(|error| error as &(dyn Error + 'static))
}
