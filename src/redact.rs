//! Secrets out of texts.

use std::borrow::Cow;

use http::Uri;

use crate::secrets::Secrets;

pub(crate) fn scrub<'a>(text: &'a str, secrets: &Secrets, _uri: Option<&Uri>) -> Cow<'a, str> {
    match &secrets.0 {
        Some(secret) if text.contains(&**secret) => text.replace(&**secret, "[redacted]").into(),
        _ => text.into(),
    }
}
