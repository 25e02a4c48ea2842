//! What a request or a response brings along beside its headers.

use http::Extensions;

/// Finds a `T`. Most requests bring nothing along, and then this is a comparison in the caller's own code.
#[inline]
pub(crate) fn extension<T: Send + Sync + 'static>(extensions: &Extensions) -> Option<&T> {
    if extensions.is_empty() {
        None
    } else {
        look_up(extensions)
    }
}

#[inline(never)]
fn look_up<T: Send + Sync + 'static>(extensions: &Extensions) -> Option<&T> {
    extensions.get()
}
