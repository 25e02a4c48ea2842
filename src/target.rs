//! What a layer remembers of a request in case the call fails.

use std::{borrow::Cow, fmt};

use bytes::Bytes;
use http::{
    Method, Request, Uri,
    uri::{Authority, PathAndQuery, Scheme},
};

use crate::{
    eight,
    endpoint::Endpoint,
    extensions::extension,
    path::{is_plain, redact_path},
    record::PathTemplate,
    text::copy_short,
};

/// What a layer keeps of a request on its way in, so that an [`Endpoint`] can be made if the call
/// fails. Never printed: nothing is redacted before [`Target::into_endpoint`].
///
/// A layer's future carries it, so it is small (96 bytes) and taken by plain copies.
#[derive(Clone)]
pub(crate) struct Target {
    place: Place,
}

/// The bytes of authority, path and query that a [`Target`] keeps in place. What does not fit costs a
/// clone of the URI, which allocates if the URI was never cloned before.
const IN_PLACE: usize = 90;

/// Where a path ends that was taken with its query: in front of the first `?`.
const UNKNOWN: u8 = u8::MAX;

#[derive(Clone)]
enum Place {
    Copied(Copied),
    Cloned {
        method: Standard,
        uri: Uri,
    },
    /// A method of nobody's standard: rare enough for an allocation.
    Boxed(Box<(Method, Uri)>),
}

/// Authority, path and query as they came, one after the other.
#[derive(Clone, Copy)]
struct Copied {
    method: Standard,
    scheme: CommonScheme,
    /// Where the authority ends, the path, and the query, which begins with its `?`.
    authority: u8,
    path: u8,
    query: u8,
    bytes: [u8; IN_PLACE],
}

impl Target {
    /// Of a request of which nothing was kept: reads as `GET /`.
    #[inline]
    pub(crate) const fn nothing() -> Self {
        Self {
            place: Place::Copied(Copied::NOTHING),
        }
    }

    /// Takes the method and the path, and allocates nothing if they are short and the method is of
    /// RFC 9110 or `PATCH`.
    #[inline(always)]
    pub(crate) fn of<B>(request: &Request<B>) -> Self {
        let mut target = Self::nothing();
        target.keep(request.method(), request.uri());
        target
    }

    /// As [`Target::of`], but with the template of the request's extensions in place of the path, if
    /// there is one and it is short.
    #[inline(always)]
    pub(crate) fn templated<B>(request: &Request<B>) -> Self {
        let mut target = Self::nothing();
        target.keep_templated(request);
        target
    }

    /// As [`Target::templated`], written into what is a [`Target::nothing`] so far, where it stays.
    #[inline(always)]
    pub(crate) fn keep_templated<B>(&mut self, request: &Request<B>) {
        if !request.extensions().is_empty() && self.keep_template(request) {
            return;
        }
        self.keep(request.method(), request.uri());
    }

    #[inline(never)]
    fn keep_template<B>(&mut self, request: &Request<B>) -> bool {
        match (
            &mut self.place,
            extension::<PathTemplate>(request.extensions()),
        ) {
            (Place::Copied(copied), Some(template)) => copied
                .keep(request.method(), request.uri(), template.as_str(), false)
                .is_some(),
            _ => false,
        }
    }

    /// As [`Target::of`], written into what is a [`Target::nothing`] so far, where it stays.
    #[inline(always)]
    pub(crate) fn keep(&mut self, method: &Method, uri: &Uri) {
        let kept = match &mut self.place {
            Place::Copied(copied) => copied.keep(method, uri, uri.path(), false),
            Place::Cloned { .. } | Place::Boxed(_) => None,
        };
        if kept.is_none() {
            *self = Self::cloned(method, uri);
        }
    }

    /// As [`Target::keep`], and the query too, for those who must know which secrets were sent.
    #[inline(always)]
    pub(crate) fn keep_whole(&mut self, method: &Method, uri: &Uri) {
        let kept = match &mut self.place {
            Place::Copied(copied) => copied.keep_whole(method, uri),
            Place::Cloned { .. } | Place::Boxed(_) => None,
        };
        if kept.is_none() {
            *self = Self::cloned(method, uri);
        }
    }

    /// Takes method and URI if they fit in place, whole: [`Target::restore`] gives them back.
    #[inline]
    pub(crate) fn in_place(method: &Method, uri: &Uri) -> Option<Self> {
        let mut copied = Copied::NOTHING;
        let place = copied
            .keep_whole(method, uri)
            .map(|()| Place::Copied(copied));
        place.map(|place| Self { place })
    }

    #[cold]
    fn cloned(method: &Method, uri: &Uri) -> Self {
        let uri = uri.clone();
        let place = match Standard::of(method) {
            Some(method) => Place::Cloned { method, uri },
            None => Place::Boxed(Box::new((method.clone(), uri))),
        };
        Self { place }
    }

    /// Gives back the method and the URI, as far as they were kept.
    pub(crate) fn restore(&self) -> Option<(Method, Uri)> {
        let uri = match &self.place {
            Place::Copied(copied) => copied.uri()?,
            Place::Cloned { uri, .. } => uri.clone(),
            Place::Boxed(boxed) => boxed.1.clone(),
        };
        Some((self.method().clone(), uri))
    }

    pub(crate) fn method(&self) -> &Method {
        match &self.place {
            Place::Copied(Copied { method, .. }) | Place::Cloned { method, .. } => method.method(),
            Place::Boxed(boxed) => &boxed.0,
        }
    }

    /// Returns what was called as it was sent, secrets included. Without the query, unless it was kept.
    pub(crate) fn address(&self) -> Address<'_> {
        match &self.place {
            Place::Copied(copied) => copied.address(),
            Place::Cloned { uri, .. } => Address::of(uri),
            Place::Boxed(boxed) => Address::of(&boxed.1),
        }
    }

    /// Makes what may be printed: redacts the path and forgets the rest.
    pub(crate) fn into_endpoint(self) -> Endpoint {
        self.endpoint()
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        self.address().endpoint(self.method())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint().fmt(f)
    }
}

impl Copied {
    const NOTHING: Self = Self {
        method: Standard::Get,
        scheme: CommonScheme::Absent,
        authority: 0,
        path: 1,
        query: 1,
        bytes: {
            let mut bytes = [0; IN_PLACE];
            bytes[0] = b'/';
            bytes
        },
    };

    /// Copies the authority of `uri`, its path and its query, if they fit.
    #[inline(always)]
    fn keep_whole(&mut self, method: &Method, uri: &Uri) -> Option<()> {
        // Both in one, as they were sent.
        let sent = uri.path_and_query().map_or("", |sent| sent.as_str());
        // `http://host?query` has no path, and yet one is shown.
        if sent.as_bytes().first() == Some(&b'?') {
            return None;
        }
        self.keep(method, uri, sent, uri.query().is_some())
    }

    /// Copies the authority of `uri` and a path, in which there may be a query, if they fit.
    #[inline(always)]
    fn keep(&mut self, method: &Method, uri: &Uri, path: &str, has_query: bool) -> Option<()> {
        let method = Standard::of(method)?;
        let scheme = CommonScheme::of(uri)?;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let (place, rest) = self.bytes.split_at_mut_checked(authority.len())?;
        // Most URIs on a server have none, and to copy nothing is a call too.
        if !authority.is_empty() {
            copy_short(place, authority.as_bytes());
        }
        copy_short(rest.get_mut(..path.len())?, path.as_bytes());
        self.method = method;
        self.scheme = scheme;
        // Both are less than `IN_PLACE`.
        self.authority = authority.len() as u8;
        self.query = (authority.len() + path.len()) as u8;
        self.path = if has_query { UNKNOWN } else { self.query };
        Some(())
    }

    fn address(&self) -> Address<'_> {
        // Written from `str`s of these lengths, so it is UTF-8 and the bounds hold.
        let [authority, path, query] = [self.authority, self.path, self.query].map(usize::from);
        let bytes = self.bytes.get(..query).unwrap_or_default();
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let path = match self.path {
            // The authority has no question mark in it.
            UNKNOWN => text.find('?').unwrap_or(query),
            _ => path,
        };
        let sent_path = text.get(authority..path).unwrap_or_default();
        Address {
            scheme: self.scheme.as_str(),
            authority: text.get(..authority).unwrap_or_default(),
            path: sent_path,
            is_odd: !is_plain(sent_path),
            // Behind the question mark, if there is one.
            query: text.get(path + 1..).unwrap_or_default(),
        }
    }

    fn uri(&self) -> Option<Uri> {
        let texts = Bytes::copy_from_slice(self.bytes.get(..usize::from(self.query))?);
        let authority = texts.slice(..usize::from(self.authority));
        let path = texts.slice(usize::from(self.authority)..);
        let mut uri = http::uri::Parts::default();
        uri.scheme = match self.scheme {
            CommonScheme::Absent => None,
            CommonScheme::Http => Some(Scheme::HTTP),
            CommonScheme::Https => Some(Scheme::HTTPS),
        };
        if !authority.is_empty() {
            uri.authority = Some(Authority::from_maybe_shared(authority).ok()?);
        }
        if !path.is_empty() {
            uri.path_and_query = Some(PathAndQuery::from_maybe_shared(path).ok()?);
        }
        Uri::from_parts(uri).ok()
    }
}

/// The parts of a URI as they were sent, each empty where there is none. Never printed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Address<'a> {
    scheme: &'a str,
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
            is_odd: !is_plain(uri.path()),
            query: uri.query().unwrap_or_default(),
        }
    }

    /// Returns what of it may be printed, with the method of the call.
    pub(crate) fn endpoint(&self, method: &Method) -> Endpoint {
        // Neither the userinfo nor, for `CONNECT`, a path that is none.
        let authority = self.authority;
        let host = match eight::has(authority.as_bytes(), b'@') {
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
        let origin = if is_connect || self.scheme.is_empty() || host.is_empty() {
            [""; 3]
        } else {
            [self.scheme, "://", host]
        };
        Endpoint::new(method.clone(), origin, &path)
    }
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
        match uri.scheme() {
            None => Some(Self::Absent),
            Some(scheme) if *scheme == Scheme::HTTP => Some(Self::Http),
            Some(scheme) if *scheme == Scheme::HTTPS => Some(Self::Https),
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
