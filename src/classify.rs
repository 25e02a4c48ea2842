//! From an error and the facts to an outcome: types and facts only, never a message's text.

use std::error::Error;

use crate::outcome::{Delivery, Facts, Outcome};

/// Returns how the call failed, or `None` if it did not.
#[must_use]
pub fn classify(error: Option<&(dyn Error + 'static)>, facts: &Facts) -> Option<Outcome> {
    use crate::class::{ErrorClass, FaultDomain};
    if let Some(error) = error {
        let (class, domain) = if crate::error::is_timeout(error) {
            (
                ErrorClass::Timeout,
                if facts.dispatched {
                    FaultDomain::Upstream
                } else {
                    FaultDomain::Proxy
                },
            )
        } else if crate::error::find::<crate::error::Refused>(error).is_some() {
            (ErrorClass::ProxyPolicy, FaultDomain::Proxy)
        } else {
            (ErrorClass::Network, FaultDomain::Upstream)
        };
        return Some(Outcome::new(class, domain, None));
    }
    let status = facts.last_status.filter(|status| status.as_u16() >= 400)?;
    Some(Outcome::new(
        ErrorClass::Http,
        FaultDomain::Upstream,
        Some(status),
    ))
}

/// Returns whether the request can have reached the server, by the error alone: `NotSent` or `Unknown`.
pub(crate) fn delivery(error: &(dyn Error + 'static)) -> Delivery {
    if crate::error::find::<crate::error::Refused>(error).is_some() {
        return Delivery::NotSent;
    }
    Delivery::Unknown
}

/// Returns `error` as a `dyn Error` if its type is one that we know, for layers that keep the
/// inner service's error type and cannot ask for a bound.
pub(crate) fn as_error<E: 'static>(error: &E) -> Option<&(dyn Error + 'static)> {
    use std::any::Any;
    let error: &dyn Any = error;
    error
        .downcast_ref::<crate::error::BoxError>()
        .map(|error| &**error as _)
}
