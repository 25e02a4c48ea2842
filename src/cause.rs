//! The cause of a transport failure, in a few words of ours.

use std::{borrow::Cow, error::Error};

use crate::{
    classify::delivery,
    html,
    outcome::Delivery,
    text::one_line,
    transport::{Failure, Fault, Limit, read},
};

/// Returns what stands between `failed: ` and the bracket of the line.
///
/// A POSIX or resolver code where one is known, else a phrase; never the text of a library, which
/// may hold a host.
pub(crate) fn cause(error: &(dyn Error + 'static)) -> Cow<'static, str> {
    cause_of(&read(error))
}

/// Returns the same of an error that was read already.
pub(crate) fn cause_of(failure: &Failure<'_>) -> Cow<'static, str> {
    Cow::Borrowed(match *failure {
        Failure::Overloaded => "service overloaded",
        Failure::Refused(refused) => return Cow::Owned(refusal(refused.reason())),
        Failure::InvalidArgument(argument) => return Cow::Owned(argument.to_string()),
        Failure::RequestBody => "request body failed",
        Failure::TimedOut(Limit::Known(limit)) => {
            return Cow::Owned(format!("timed out after {limit:?}"));
        }
        Failure::TimedOut(Limit::Unknown) => "timed out",
        Failure::TimedOut(Limit::System) => "ETIMEDOUT",
        Failure::InvalidRequest => "invalid request",
        Failure::Network(Fault::Code(code)) => code,
        Failure::Network(Fault::Closed) => "connection closed before a response",
        Failure::Network(Fault::Tls) => "TLS handshake failed",
        Failure::Network(Fault::StreamRefused) => "stream refused",
        Failure::Network(Fault::InvalidResponse) => "invalid response",
        Failure::Network(Fault::Other) => "network error",
        Failure::Unknown => "internal error",
    })
}

/// Returns the words of a refusal, which may repeat those of a server: of a page, nothing is shown.
fn refusal(reason: &str) -> String {
    let stripped = html::strip(reason);
    let words = one_line(stripped.as_deref().unwrap_or(reason));
    if words.is_empty() {
        return "refused".to_owned();
    }
    words.into_owned()
}

/// Returns whether our own side refused before anything left: the line ends `(not sent)`.
pub(crate) fn is_refusal(error: &(dyn Error + 'static)) -> bool {
    // An earlier attempt may have got further than the last one.
    refuses(&read(error)) && delivery(error) == Delivery::NotSent
}

/// Returns whether our own side refused.
pub(crate) fn refuses(failure: &Failure<'_>) -> bool {
    matches!(
        failure,
        Failure::Overloaded
            | Failure::Refused(_)
            | Failure::InvalidArgument(_)
            | Failure::InvalidRequest
    )
}
