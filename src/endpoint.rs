//! Who was called: the method and the path, and nothing that must not be printed.

use std::fmt;

use http::{Method, Request, Uri, uri::Scheme};
use serde::{Serialize, Serializer};

use crate::{
    path::redact_path,
    text::{one_line, write_cut},
};

/// How many characters of a path are printed before it is cut.
const PATH_CAP: usize = 120;

/// A method and a path, safe to print.
///
/// `{}` is `GET /api/modules`; `{:#}` is the absolute URL, where it is known, without userinfo and
/// query. Path segments that look like secrets read `[redacted]` in every form. `CONNECT` has the
/// target's `host:port` as its path.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    method: Method,
    target: Stored,
}

impl Endpoint {
    /// Captures the endpoint of `request` as the caller wrote it.
    #[must_use]
    pub fn of<B>(request: &Request<B>) -> Self {
        Target::of(request).into_endpoint()
    }

    /// Returns the method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Returns the path, or the route template that replaced it; for `CONNECT` the `host:port`.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.path()
    }

    /// Returns the same endpoint under another path, a route template for instance.
    #[must_use]
    pub fn with_path(&self, path: &str) -> Self {
        let (origin, _) = self.target.split();
        let mut text = String::with_capacity(origin.len() + path.len());
        text.push_str(origin);
        text.push_str(path);
        Self {
            method: self.method.clone(),
            target: Stored::of(&text, origin.len()),
        }
    }

    /// Returns the absolute URL without userinfo and query, if the request had one.
    pub(crate) fn url(&self) -> Option<&str> {
        let (origin, _) = self.target.split();
        (!origin.is_empty()).then(|| self.target.as_str())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f.write_str(&one_line(self.url().unwrap_or(self.path())));
        }
        f.write_str(self.method.as_str())?;
        f.write_str(" ")?;
        let path = self.path();
        // A path of printable ASCII needs no copy; what else there is goes through the sanitizer.
        if path.bytes().all(|byte| byte.is_ascii_graphic()) {
            write_cut(f, path, PATH_CAP)
        } else {
            write_cut(f, &one_line(path), PATH_CAP)
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Endpoint")
            .field(&format_args!("{self}"))
            .finish()
    }
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The bytes that an endpoint keeps in place. Four fifths of the URLs of an API fit; what does not
/// fit costs an allocation, and only for a request whose URI was never cloned.
const IN_PLACE: usize = 86;

/// An origin (`http://host:port`, or nothing) and a path, in one text.
#[derive(Clone)]
enum Stored {
    InPlace {
        len: u8,
        origin: u8,
        bytes: [u8; IN_PLACE],
    },
    Heap {
        origin: usize,
        text: Box<str>,
    },
}

impl Stored {
    fn of(text: &str, origin: usize) -> Self {
        let mut bytes = [0; IN_PLACE];
        match (
            bytes.get_mut(..text.len()),
            u8::try_from(text.len()),
            u8::try_from(origin),
        ) {
            (Some(place), Ok(len), Ok(origin)) => {
                place.copy_from_slice(text.as_bytes());
                Self::InPlace { len, origin, bytes }
            }
            _ => Self::Heap {
                origin,
                text: text.into(),
            },
        }
    }

    fn as_str(&self) -> &str {
        match self {
            // Written from a `str` of the same length, so it is UTF-8.
            Self::InPlace { len, bytes, .. } => {
                str::from_utf8(&bytes[..usize::from(*len)]).unwrap_or_default()
            }
            Self::Heap { text, .. } => text,
        }
    }

    fn split(&self) -> (&str, &str) {
        let origin = match self {
            Self::InPlace { origin, .. } => usize::from(*origin),
            Self::Heap { origin, .. } => *origin,
        };
        self.as_str().split_at(origin)
    }

    fn path(&self) -> &str {
        self.split().1
    }
}

impl PartialEq for Stored {
    fn eq(&self, other: &Self) -> bool {
        self.split() == other.split()
    }
}

impl Eq for Stored {}

impl std::hash::Hash for Stored {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.split().hash(state);
    }
}

/// What a layer keeps of a request on its way in, so that an [`Endpoint`] can be made if the call
/// fails. Cheap to take; never printed.
#[derive(Clone)]
pub(crate) struct Target {
    method: Method,
    place: Place,
}

#[derive(Clone)]
enum Place {
    Copied(Stored),
    Cloned(Uri),
}

impl Target {
    /// Takes the method and the path, and allocates nothing if they are short.
    pub(crate) fn of<B>(request: &Request<B>) -> Self {
        let uri = request.uri();
        let place = match copy(request.method(), uri) {
            Some(stored) => Place::Copied(stored),
            None => Place::Cloned(uri.clone()),
        };
        Self {
            method: request.method().clone(),
            place,
        }
    }

    /// As [`Target::of`], but keeps the userinfo and the query too, for those who must know which
    /// secrets were sent.
    ///
    /// An absolute URI is kept whole too: its parts share one block already, so that a clone costs less
    /// than a copy.
    pub(crate) fn with_secrets<B>(request: &Request<B>) -> Self {
        let uri = request.uri();
        if uri.authority().is_some() || uri.query().is_some() {
            return Self {
                method: request.method().clone(),
                place: Place::Cloned(uri.clone()),
            };
        }
        Self::of(request)
    }

    /// Returns the URI, if it was kept whole.
    pub(crate) fn uri(&self) -> Option<&Uri> {
        match &self.place {
            Place::Copied(_) => None,
            Place::Cloned(uri) => Some(uri),
        }
    }

    pub(crate) fn method(&self) -> &Method {
        &self.method
    }

    /// Returns the path as it was sent, secrets included.
    pub(crate) fn sent_path(&self) -> &str {
        match &self.place {
            Place::Copied(stored) => stored.path(),
            Place::Cloned(uri) => path_of(&self.method, uri),
        }
    }

    /// Makes what may be printed: redacts the path and forgets the rest.
    pub(crate) fn into_endpoint(self) -> Endpoint {
        let target = match self.place {
            Place::Copied(stored) => match redact_path(stored.path()) {
                std::borrow::Cow::Borrowed(_) => stored,
                std::borrow::Cow::Owned(path) => {
                    let origin = stored.split().0;
                    Stored::of(&[origin, &path].concat(), origin.len())
                }
            },
            Place::Cloned(uri) => {
                let mut text = origin_of(&self.method, &uri);
                let origin = text.len();
                text.push_str(&redact_path(path_of(&self.method, &uri)));
                Stored::of(&text, origin)
            }
        };
        Endpoint {
            method: self.method,
            target,
        }
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        self.clone().into_endpoint()
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint().fmt(f)
    }
}

/// Returns the authority without userinfo.
fn host_and_port(uri: &Uri) -> &str {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host)
}

fn path_of<'a>(method: &Method, uri: &'a Uri) -> &'a str {
    if method == Method::CONNECT && uri.authority().is_some() {
        host_and_port(uri)
    } else {
        uri.path()
    }
}

fn origin_of(method: &Method, uri: &Uri) -> String {
    match (uri.scheme(), uri.authority()) {
        (Some(scheme), Some(_)) if method != Method::CONNECT => {
            [scheme.as_str(), "://", host_and_port(uri)].concat()
        }
        _ => String::new(),
    }
}

/// Copies origin and path in place, if they fit.
fn copy(method: &Method, uri: &Uri) -> Option<Stored> {
    let mut bytes = [0; IN_PLACE];
    let mut len = 0;
    let mut push = |text: &str| {
        let place = bytes.get_mut(len..len + text.len())?;
        place.copy_from_slice(text.as_bytes());
        len += text.len();
        Some(())
    };
    let mut origin = 0;
    if method != Method::CONNECT {
        if let (Some(scheme), Some(_)) = (uri.scheme(), uri.authority()) {
            let host = host_and_port(uri);
            push(scheme_text(scheme))?;
            push("://")?;
            push(host)?;
            origin = scheme_text(scheme).len() + 3 + host.len();
        }
    }
    push(path_of(method, uri))?;
    Some(Stored::InPlace {
        len: u8::try_from(len).ok()?,
        origin: u8::try_from(origin).ok()?,
        bytes,
    })
}

fn scheme_text(scheme: &Scheme) -> &str {
    scheme.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(method: &str, uri: &str) -> Endpoint {
        Endpoint::of(&Request::builder().method(method).uri(uri).body(()).unwrap())
    }

    #[test]
    fn prints_method_and_path_and_never_the_rest() {
        let long = format!("http://h/{}", "a/".repeat(100));
        for (method, uri, short, url) in [
            (
                "GET",
                "/api/modules?key=1",
                "GET /api/modules",
                "/api/modules",
            ),
            ("GET", "http://u:p@h:1/a?b#c", "GET /a", "http://h:1/a"),
            ("POST", "https://h", "POST /", "https://h/"),
            ("OPTIONS", "*", "OPTIONS *", "*"),
            ("CONNECT", "u:p@h:443", "CONNECT h:443", "h:443"),
            (
                "GET",
                "/bot1:abc/x",
                "GET /bot[redacted]/x",
                "/bot[redacted]/x",
            ),
            (
                "GET",
                &long,
                &format!("GET /{}a/a/a/a/…", "a/".repeat(55)),
                &long,
            ),
        ] {
            let endpoint = endpoint(method, uri);
            assert_eq!(endpoint.to_string(), short, "{uri}");
            assert_eq!(format!("{endpoint:#}"), url, "{uri}");
        }
    }

    #[test]
    fn a_template_replaces_the_path_and_keeps_the_origin() {
        let endpoint = endpoint("GET", "http://h:1/users/42").with_path("/users/{id}");
        assert_eq!(endpoint.to_string(), "GET /users/{id}");
        assert_eq!(format!("{endpoint:#}"), "http://h:1/users/{id}");
    }

    #[test]
    fn how_it_is_stored_does_not_show() {
        let uri = "http://host.example/a/path?with=query";
        let request = Request::builder().uri(uri).body(()).unwrap();
        let copied = Target::of(&request).into_endpoint();
        let cloned = Target::with_secrets(&request).into_endpoint();
        assert_eq!(copied, cloned);
        assert_eq!(
            format!("{copied:#} {copied}"),
            format!("{cloned:#} {cloned}")
        );
    }
}
