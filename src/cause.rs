//! The words for a failure without an answer.

use std::{borrow::Cow, error::Error};

use crate::error::{Refused, TimeoutError, find};

pub(crate) fn cause(error: &(dyn Error + 'static)) -> Cow<'static, str> {
    if let Some(error) = find::<TimeoutError>(error) {
        return format!("timed out after {:?}", error.limit()).into();
    }
    if let Some(error) = find::<Refused>(error) {
        return error.reason().to_owned().into();
    }
    "network error".into()
}

pub(crate) fn is_refusal(error: &(dyn Error + 'static)) -> bool {
    find::<Refused>(error).is_some()
}
