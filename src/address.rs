//! A URI in parts, as it was sent.

use std::borrow::Cow;

use http::{Method, Uri};

use crate::{
    endpoint::Endpoint,
    path::{is_plain, redact_path},
    scan,
};

/// The parts of a URI as they were sent, each empty where there is none. Never printed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Address<'a> {
    pub(crate) scheme: &'a str,
    /// With the userinfo.
    pub(crate) authority: &'a str,
    pub(crate) path: &'a str,
    /// Whether a segment of the path may be a secret.
    pub(crate) is_odd: bool,
    pub(crate) query: &'a str,
}

impl<'a> Address<'a> {
    pub(crate) fn of(uri: &'a Uri) -> Self {
        Self {
            scheme: uri.scheme_str().unwrap_or_default(),
            authority: uri.authority().map_or("", |authority| authority.as_str()),
            path: uri.path(),
            is_odd: !is_plain(uri.path().as_bytes()),
            query: uri.query().unwrap_or_default(),
        }
    }

    /// Returns whether it has no part in which there could be a secret.
    pub(crate) fn is_nothing(&self) -> bool {
        self.authority.is_empty() && self.query.is_empty() && !self.is_odd
    }

    /// Returns what of it may be printed, with the method of the call.
    pub(crate) fn endpoint(&self, method: &Method) -> Endpoint {
        // Neither the userinfo nor, for `CONNECT`, a path that is none.
        let authority = self.authority;
        let host = match scan::has(authority.as_bytes(), b'@') {
            true => authority
                .rsplit_once('@')
                .map_or(authority, |(_, host)| host),
            false => authority,
        };
        let is_connect = method == Method::CONNECT && !host.is_empty();
        let path = match is_connect {
            true => redact_path(host),
            false if self.is_odd => redact_path(self.path),
            false => Cow::Borrowed(self.path),
        };
        let (scheme, host) = match is_connect || self.scheme.is_empty() || host.is_empty() {
            true => ("", ""),
            false => (self.scheme, host),
        };
        Endpoint::new(method.clone(), scheme, host, &path)
    }
}
