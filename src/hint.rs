//! What to do about a failure.

use std::{borrow::Cow, time::Duration};

use crate::outcome::Outcome;

pub(crate) fn hint(
    _outcome: Outcome,
    indeterminate: bool,
    _retry_after: Option<Duration>,
) -> Option<Cow<'static, str>> {
    Some(
        if indeterminate {
            "it may have been applied: check before repeating"
        } else {
            "check the request"
        }
        .into(),
    )
}
