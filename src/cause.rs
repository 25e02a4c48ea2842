//! The cause of a transport failure, in a few words of ours.

use std::{borrow::Cow, error::Error};

/// Returns what stands between `failed: ` and the bracket of the line.
pub(crate) fn cause(error: &(dyn Error + 'static)) -> Cow<'static, str> {
    let _ = error;
    Cow::Borrowed("internal error")
}
