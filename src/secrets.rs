//! Which secrets a request sent, remembered in one block.

use http::{HeaderMap, HeaderName, header};

#[derive(Clone)]
pub(crate) struct Secrets(pub(crate) Option<Box<str>>);

impl Secrets {
    pub(crate) fn of(headers: &HeaderMap, _extra_names: &[HeaderName]) -> Self {
        if headers.is_empty() {
            return Self(None);
        }
        Self(
            headers
                .get(header::AUTHORIZATION)
                .and_then(|value| value.to_str().ok())
                .map(|value| value.split(' ').next_back().unwrap_or_default().into()),
        )
    }
}
