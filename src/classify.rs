//! From an error and the facts to an outcome: types and facts only, never a message's text.

use std::error::Error;

use crate::outcome::{Delivery, Facts, Outcome};

/// Returns how the call failed, or `None` if it did not.
#[must_use]
pub fn classify(error: Option<&(dyn Error + 'static)>, facts: &Facts) -> Option<Outcome> {
    let _ = (error, facts);
    None
}

/// Returns whether the request can have reached the server, by the error alone: `NotSent` or `Unknown`.
pub(crate) fn delivery(error: &(dyn Error + 'static)) -> Delivery {
    let _ = error;
    Delivery::Unknown
}

/// Returns `error` as a `dyn Error` if its type is one that we know, for layers that keep the
/// inner service's error type and cannot ask for a bound.
pub(crate) fn as_error<E: 'static>(error: &E) -> Option<&(dyn Error + 'static)> {
    let _ = error;
    None
}
