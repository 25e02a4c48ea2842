//! What a layer remembers of a request in case the call fails.

use std::fmt;

use http::{Method, Request, Uri};

use crate::{endpoint::Endpoint, path::redact_path, record::PathTemplate};

/// What a layer keeps of a request on its way in, so that an [`Endpoint`] can be made if the call
/// fails. Never printed: nothing is redacted before [`Target::into_endpoint`].
///
/// A layer's future carries it, so it is small (96 bytes) and taken by plain copies.
#[derive(Clone)]
pub(crate) struct Target {
    place: Place,
}

/// The bytes of authority and path that a [`Target`] keeps in place. What does not fit costs a clone
/// of the URI, which allocates if the URI was never cloned before.
const TARGET_IN_PLACE: usize = 91;

#[derive(Clone)]
enum Place {
    /// Authority and path as they came, one after the other.
    Copied {
        method: Standard,
        scheme: CommonScheme,
        authority: u8,
        len: u8,
        bytes: [u8; TARGET_IN_PLACE],
    },
    Cloned {
        method: Standard,
        uri: Uri,
    },
    /// A method of nobody's standard: rare enough for an allocation.
    Boxed(Box<(Method, Uri)>),
}

impl Target {
    /// Takes the method and the path, and allocates nothing if they are short and the method is of
    /// RFC 9110 or `PATCH`.
    pub(crate) fn of<B>(request: &Request<B>) -> Self {
        Self {
            place: copy(request.method(), request.uri(), request.uri().path())
                .unwrap_or_else(|| Place::cloned(request.method(), request.uri())),
        }
    }

    /// As [`Target::of`], but with the template of the request's extensions in place of the path, if
    /// there is one and it is short.
    pub(crate) fn templated<B>(request: &Request<B>) -> Self {
        request
            .extensions()
            .get::<PathTemplate>()
            .and_then(|template| copy(request.method(), request.uri(), template.as_str()))
            .map_or_else(|| Self::of(request), |place| Self { place })
    }

    /// As [`Target::of`], but keeps the userinfo and the query too, for those who must know which
    /// secrets were sent.
    pub(crate) fn with_secrets<B>(request: &Request<B>) -> Self {
        let uri = request.uri();
        let has_userinfo = uri
            .authority()
            .is_some_and(|authority| authority.as_str().bytes().any(|byte| byte == b'@'));
        if uri.query().is_some() || has_userinfo {
            return Self {
                place: Place::cloned(request.method(), uri),
            };
        }
        Self::of(request)
    }

    /// Returns the URI, if it was kept whole.
    pub(crate) fn uri(&self) -> Option<&Uri> {
        match &self.place {
            Place::Copied { .. } => None,
            Place::Cloned { uri, .. } => Some(uri),
            Place::Boxed(boxed) => Some(&boxed.1),
        }
    }

    pub(crate) fn method(&self) -> &Method {
        match &self.place {
            Place::Copied { method, .. } | Place::Cloned { method, .. } => method.method(),
            Place::Boxed(boxed) => &boxed.0,
        }
    }

    /// Returns the path as it was sent, secrets included.
    pub(crate) fn sent_path(&self) -> &str {
        self.parts().2
    }

    /// Makes what may be printed: redacts the path and forgets the rest.
    pub(crate) fn into_endpoint(self) -> Endpoint {
        self.endpoint()
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        let method = self.method();
        let (scheme, authority, path) = self.parts();
        // Neither the userinfo nor, for `CONNECT`, a path that is none.
        let userinfo = authority.bytes().rposition(|byte| byte == b'@');
        let host = userinfo
            .and_then(|at| authority.get(at + 1..))
            .unwrap_or(authority);
        let is_connect = method == Method::CONNECT && !host.is_empty();
        let path = redact_path(if is_connect { host } else { path });
        let origin = if is_connect || scheme.is_empty() || host.is_empty() {
            [""; 3]
        } else {
            [scheme, "://", host]
        };
        Endpoint::new(method.clone(), origin, &path)
    }

    /// Returns scheme, authority and path; empty where there is none.
    fn parts(&self) -> (&str, &str, &str) {
        match &self.place {
            Place::Copied {
                scheme,
                authority,
                len,
                bytes,
                ..
            } => {
                // Written from two `str`s of these lengths, so it is UTF-8 and the bounds hold.
                let text = bytes.get(..usize::from(*len)).unwrap_or_default();
                let text = std::str::from_utf8(text).unwrap_or_default();
                let (authority, path) = text
                    .split_at_checked(usize::from(*authority))
                    .unwrap_or_default();
                (scheme.as_str(), authority, path)
            }
            Place::Cloned { uri, .. } => parts_of(uri),
            Place::Boxed(boxed) => parts_of(&boxed.1),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint().fmt(f)
    }
}

impl Place {
    fn cloned(method: &Method, uri: &Uri) -> Self {
        match Standard::of(method) {
            Some(method) => Self::Cloned {
                method,
                uri: uri.clone(),
            },
            None => Self::Boxed(Box::new((method.clone(), uri.clone()))),
        }
    }
}

/// Copies the authority of `uri` and a path in place, if they fit.
fn copy(method: &Method, uri: &Uri, path: &str) -> Option<Place> {
    let method = Standard::of(method)?;
    let scheme = CommonScheme::of(uri)?;
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let len = authority.len().checked_add(path.len())?;
    let mut bytes = [0; TARGET_IN_PLACE];
    bytes
        .get_mut(..authority.len())?
        .copy_from_slice(authority.as_bytes());
    bytes
        .get_mut(authority.len()..len)?
        .copy_from_slice(path.as_bytes());
    Some(Place::Copied {
        method,
        scheme,
        authority: u8::try_from(authority.len()).ok()?,
        len: u8::try_from(len).ok()?,
        bytes,
    })
}

fn parts_of(uri: &Uri) -> (&str, &str, &str) {
    (
        uri.scheme_str().unwrap_or_default(),
        uri.authority().map_or("", |authority| authority.as_str()),
        uri.path(),
    )
}

/// A method that has a name in RFC 9110 or RFC 5789, in one byte instead of the 24 of a [`Method`].
#[derive(Clone, Copy)]
enum Standard {
    Get,
    Post,
    Put,
    Delete,
    Head,
    Options,
    Connect,
    Patch,
    Trace,
}

impl Standard {
    fn of(method: &Method) -> Option<Self> {
        Some(match *method {
            Method::GET => Self::Get,
            Method::POST => Self::Post,
            Method::PUT => Self::Put,
            Method::DELETE => Self::Delete,
            Method::HEAD => Self::Head,
            Method::OPTIONS => Self::Options,
            Method::CONNECT => Self::Connect,
            Method::PATCH => Self::Patch,
            Method::TRACE => Self::Trace,
            _ => return None,
        })
    }

    fn method(self) -> &'static Method {
        match self {
            Self::Get => &Method::GET,
            Self::Post => &Method::POST,
            Self::Put => &Method::PUT,
            Self::Delete => &Method::DELETE,
            Self::Head => &Method::HEAD,
            Self::Options => &Method::OPTIONS,
            Self::Connect => &Method::CONNECT,
            Self::Patch => &Method::PATCH,
            Self::Trace => &Method::TRACE,
        }
    }
}

/// A scheme that most URIs have, in one byte.
#[derive(Clone, Copy)]
enum CommonScheme {
    Absent,
    Http,
    Https,
}

impl CommonScheme {
    fn of(uri: &Uri) -> Option<Self> {
        match uri.scheme_str() {
            None => Some(Self::Absent),
            Some("http") => Some(Self::Http),
            Some("https") => Some(Self::Https),
            Some(_) => None,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "",
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}
