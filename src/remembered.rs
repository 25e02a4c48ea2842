//! What is remembered of a request in case its call fails.

use http::{HeaderMap, HeaderName, Method, Uri};

use crate::{secrets::Sighted, target::Target};

/// What a diagnosis needs to know of a request. Taken on the success path, never printed as it is.
#[derive(Clone)]
pub(crate) struct Remembered {
    pub(crate) target: Target,
    pub(crate) sighted: Sighted,
}

impl Default for Remembered {
    /// Of a request of which nothing is known.
    #[inline(always)]
    fn default() -> Self {
        Self::only(Target::nothing())
    }
}

impl Remembered {
    /// Remembers what was called, and the credentials that were sent: see [`Sighted`].
    #[inline(always)]
    pub(crate) fn of(
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        extra: &[HeaderName],
    ) -> Self {
        let mut remembered = Self::default();
        remembered.take(method, uri, headers, extra);
        remembered
    }

    /// As [`Remembered::of`], in the place of one that knows nothing yet.
    #[inline(always)]
    pub(crate) fn take(
        &mut self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        extra: &[HeaderName],
    ) {
        self.target.keep_whole(method, uri);
        if !headers.is_empty() {
            self.sighted.look(headers, extra);
        }
    }

    /// Remembers no more than what was called.
    #[inline]
    pub(crate) fn only(target: Target) -> Self {
        Self {
            target,
            sighted: Sighted::default(),
        }
    }
}
