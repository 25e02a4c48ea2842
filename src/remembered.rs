//! What is remembered of a request in case its call fails.

use http::{HeaderMap, HeaderName, Method, Uri};

use crate::{
    secrets::{Secrets, Sighted},
    target::Target,
};

/// What a diagnosis needs to know of a request. Taken on the success path, never printed as it is.
#[derive(Clone)]
pub(crate) struct Remembered {
    pub(crate) target: Target,
    pub(crate) secrets: Secrets,
    pub(crate) has_mcp_session: bool,
}

impl Default for Remembered {
    /// Of a request of which nothing is known.
    fn default() -> Self {
        Self::only(Target::with_query(&Method::GET, &Uri::default()))
    }
}

impl Remembered {
    /// Remembers what was called, and the credentials that were sent: see [`Secrets`].
    #[inline]
    pub(crate) fn of(
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        extra: &[HeaderName],
    ) -> Self {
        let target = Target::with_query(method, uri);
        if headers.is_empty() {
            return Self::only(target);
        }
        let sighted = Sighted::in_headers(headers, extra);
        Self {
            target,
            secrets: Secrets::remember(headers, extra, sighted.size),
            has_mcp_session: sighted.has_mcp_session,
        }
    }

    /// Remembers no more than what was called.
    #[inline]
    pub(crate) fn only(target: Target) -> Self {
        Self {
            target,
            secrets: Secrets::default(),
            has_mcp_session: false,
        }
    }
}
