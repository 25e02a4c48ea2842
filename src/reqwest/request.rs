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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::{HeaderValue, Method, Version, header};
    use proptest::prelude::*;

    use super::*;

    fn request(uri: &str) -> Option<Request<Body>> {
        Request::get(uri).body(Body::from("content")).ok()
    }

    /// What reqwest makes of a URI, or what it says of it.
    fn theirs(uri: &str) -> Option<Result<String, String>> {
        Some(shown(request(uri)?.try_into()))
    }

    fn ours(uri: &str) -> Option<Result<String, String>> {
        Some(shown(convert(request(uri)?)))
    }

    fn shown(request: reqwest::Result<reqwest::Request>) -> Result<String, String> {
        request
            .map(|request| request.url().to_string())
            .map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn a_uri_becomes_the_url_that_reqwest_makes_of_it() {
        let long = |length| format!("http://host/{}", "a".repeat(length - 12));
        for uri in [
            "http://host",
            "http://host?a=b",
            "http://host/?",
            "HTTPS://User:Word@HOST:443/a/../b//c?d=%20&e={f}#g",
            "http://[::1]:80/a|b\"c",
            "http://127.1/\u{e9}",
            "http://host:99999/",
            "http://a b/",
            "http://{host}/",
            "http://user@/",
            "ftp://host/a",
            "other:a",
            "host:80",
            "/relative?a=b",
            "*",
            &long(SHORT - 1),
            &long(SHORT),
            &long(SHORT + 1),
            &format!("{}?{}", long(SHORT - 2), "b"),
        ] {
            assert_eq!(ours(uri), theirs(uri), "{uri}");
        }
    }

    proptest! {
        #[test]
        fn any_uri_becomes_the_url_that_reqwest_makes_of_it(
            uri in "(https?|ftp|a)://([a-z]{0,3}@)?[A-z0-9.-]{1,8}(:[0-9]{1,5})?\
                    (/[a-z./%{}|\"\u{e9}]{0,120}){0,3}([?][a-z?/%'\"]{0,20})?",
        ) {
            prop_assert_eq!(ours(&uri), theirs(&uri));
        }
    }

    #[test]
    fn the_head_and_the_body_come_along() {
        let mut request = request("http://host/a").unwrap();
        *request.method_mut() = Method::PUT;
        *request.version_mut() = Version::HTTP_2;
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        let headers = request.headers().clone();
        let converted = convert(request).unwrap();
        assert_eq!(converted.method(), Method::PUT);
        assert_eq!(converted.version(), Version::HTTP_2);
        assert_eq!(converted.headers(), &headers);
        assert_eq!(converted.body().unwrap().as_bytes(), Some(&b"content"[..]));
    }

    #[test]
    fn the_limit_of_a_request_comes_along() {
        let mut request: reqwest::Request = request("http://host/a").unwrap().try_into().unwrap();
        *request.timeout_mut() = Some(Duration::from_secs(1));
        let converted = convert(request.try_into().unwrap()).unwrap();
        assert_eq!(converted.timeout(), Some(&Duration::from_secs(1)));
    }
}
