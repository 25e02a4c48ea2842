//! What a layer remembers of a request in case the call fails.

use std::fmt;

use bytes::Bytes;
use http::{
    Method, Request, Uri,
    uri::{Authority, PathAndQuery, Scheme},
};

use crate::{
    address::Address,
    common::{CommonScheme, Standard},
    eight,
    endpoint::Endpoint,
    extensions::extension,
    path::is_plain,
    rare::Rare,
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
pub(crate) const IN_PLACE: usize = 90;

#[derive(Clone)]
enum Place {
    Copied(Copied),
    Whole(Rare<Whole>),
}

/// What does not fit in place. Apart, so that there is next to nothing to drop where it fits.
#[derive(Clone)]
enum Whole {
    Cloned {
        method: Standard,
        uri: Uri,
    },
    /// A method of nobody's standard: rare enough for an allocation.
    Boxed(Box<(Method, Uri)>),
}

impl Whole {
    fn method(&self) -> &Method {
        match self {
            Self::Cloned { method, .. } => method.method(),
            Self::Boxed(boxed) => &boxed.0,
        }
    }

    fn uri(&self) -> &Uri {
        match self {
            Self::Cloned { uri, .. } => uri,
            Self::Boxed(boxed) => &boxed.1,
        }
    }
}

/// A [`Target`] that fits in place: authority, path and query as they came, one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Copied {
    method: Standard,
    scheme: CommonScheme,
    /// Where the authority ends, and where all of it does.
    authority: u8,
    end: u8,
    /// Whether the query, if there is one, begins at the first `?`. Looked for when it is wanted.
    is_whole: bool,
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

    /// As [`Target::of`], and the query too, for those who must know which secrets were sent.
    #[inline(always)]
    pub(crate) fn whole<B>(request: &Request<B>) -> Self {
        let mut target = Self::nothing();
        target.keep_whole(request.method(), request.uri());
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
            // A blank one would leave nothing that says that a request was kept.
            (Place::Copied(copied), Some(template)) if !template.as_str().is_empty() => copied
                .keep(request.method(), request.uri(), template.as_str())
                .is_some(),
            _ => false,
        }
    }

    /// As [`Target::of`], written into what is a [`Target::nothing`] so far, where it stays. The query too
    /// if it fits, since that is cheaper than to find out where it begins.
    #[inline(always)]
    pub(crate) fn keep(&mut self, method: &Method, uri: &Uri) {
        if !self.keep_in_place(method, uri) {
            self.keep_path(method, uri);
        }
    }

    /// As [`Target::keep`], without the query.
    #[cold]
    #[inline(never)]
    fn keep_path(&mut self, method: &Method, uri: &Uri) {
        let kept = match &mut self.place {
            Place::Copied(copied) => copied.keep(method, uri, uri.path()),
            Place::Whole(_) => None,
        };
        if kept.is_none() {
            *self = Self::cloned(method, uri);
        }
    }

    /// As [`Target::keep`], and the query too, for those who must know which secrets were sent.
    #[inline(always)]
    pub(crate) fn keep_whole(&mut self, method: &Method, uri: &Uri) {
        if !self.keep_in_place(method, uri) {
            *self = Self::cloned(method, uri);
        }
    }

    /// As [`Target::keep_whole`], but only if it fits in place. Returns whether it does.
    #[inline(always)]
    pub(crate) fn keep_in_place(&mut self, method: &Method, uri: &Uri) -> bool {
        match &mut self.place {
            Place::Copied(copied) => copied.keep_whole(method, uri).is_some(),
            Place::Whole(_) => false,
        }
    }

    #[cold]
    fn cloned(method: &Method, uri: &Uri) -> Self {
        let uri = uri.clone();
        let whole = match Standard::of(method) {
            Some(method) => Whole::Cloned { method, uri },
            None => Whole::Boxed(Box::new((method.clone(), uri))),
        };
        Self {
            place: Place::Whole(Rare::new(whole)),
        }
    }

    pub(crate) fn method(&self) -> &Method {
        match &self.place {
            Place::Copied(copied) => copied.method(),
            Place::Whole(whole) => whole.as_ref().map_or(&Method::GET, Whole::method),
        }
    }

    /// Returns what was called as it was sent, secrets included. Without the query, unless it was kept.
    pub(crate) fn address(&self) -> Address<'_> {
        match &self.place {
            Place::Copied(copied) => copied.address(),
            Place::Whole(whole) => whole
                .as_ref()
                .map_or_else(Address::default, |whole| Address::of(whole.uri())),
        }
    }

    /// Makes what may be printed: redacts the path and forgets the rest.
    pub(crate) fn into_endpoint(self) -> Endpoint {
        self.endpoint()
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        self.plain_endpoint()
            .unwrap_or_else(|| self.address().endpoint(self.method()))
    }

    /// Returns the endpoint of a URL in which there is nothing that must not be printed, as in most.
    #[inline]
    pub(crate) fn plain_endpoint(&self) -> Option<Endpoint> {
        match &self.place {
            Place::Copied(copied) => copied.plain_endpoint(),
            Place::Whole(_) => None,
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint().fmt(f)
    }
}

impl From<Copied> for Target {
    fn from(copied: Copied) -> Self {
        Self {
            place: Place::Copied(copied),
        }
    }
}

impl Copied {
    /// All zeros, which are the cheapest to write.
    pub(crate) const NOTHING: Self = Self {
        method: Standard::Options,
        scheme: CommonScheme::Absent,
        authority: 0,
        end: 0,
        is_whole: false,
        bytes: [0; IN_PLACE],
    };

    /// Copies the authority of `uri`, its path and its query, if they fit: [`Copied::restore`] gives them
    /// back.
    #[inline(always)]
    pub(crate) fn keep_whole(&mut self, method: &Method, uri: &Uri) -> Option<()> {
        // Two ways for good: where there is no authority, the path comes first and all is known by then.
        match uri.authority() {
            Some(authority) => {
                let authority = self.keep_authority(uri, authority.as_str())?;
                self.keep_sent(authority, method, uri)
            }
            None => self.keep_sent(0, method, uri),
        }
    }

    /// Copies the path and the query behind the authority, if they fit.
    #[inline(always)]
    fn keep_sent(&mut self, authority: usize, method: &Method, uri: &Uri) -> Option<()> {
        // Both in one, as they were sent.
        let sent = uri.path_and_query().map_or("", |sent| sent.as_str());
        // `http://host?query` has no path, and yet one is shown.
        if sent.as_bytes().first() == Some(&b'?') {
            return None;
        }
        self.keep_behind(authority, method, sent, true)
    }

    /// Copies the authority of `uri` and a path, if they fit.
    #[inline(always)]
    fn keep(&mut self, method: &Method, uri: &Uri, path: &str) -> Option<()> {
        let authority = match uri.authority() {
            Some(authority) => self.keep_authority(uri, authority.as_str())?,
            None => 0,
        };
        self.keep_behind(authority, method, path, false)
    }

    /// Copies the scheme and the authority of `uri`, into one that has none. Returns where that ends.
    #[inline(always)]
    fn keep_authority(&mut self, uri: &Uri, authority: &str) -> Option<usize> {
        self.scheme = CommonScheme::of(uri)?;
        let place = self.bytes.get_mut(..authority.len())?;
        copy_short(place, authority.as_bytes());
        // Less than `IN_PLACE`.
        self.authority = authority.len() as u8;
        Some(authority.len())
    }

    /// Copies a path behind the authority, with its query if that `is_whole`, if it fits.
    #[inline(always)]
    fn keep_behind(
        &mut self,
        authority: usize,
        method: &Method,
        path: &str,
        is_whole: bool,
    ) -> Option<()> {
        let method = Standard::of(method)?;
        let place = self.bytes.get_mut(authority..)?.get_mut(..path.len())?;
        copy_short(place, path.as_bytes());
        self.method = method;
        // Less than `IN_PLACE`.
        self.end = (authority + path.len()) as u8;
        self.is_whole = is_whole;
        Some(())
    }

    /// Gives back the method and the URI, if they were kept whole.
    pub(crate) fn restore(&self) -> Option<(Method, Uri)> {
        Some((self.method().clone(), self.uri()?))
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        self.address().endpoint(self.method())
    }

    fn method(&self) -> &Method {
        match self.end {
            // Of a request of which nothing was kept.
            0 => &Method::GET,
            _ => self.method.method(),
        }
    }

    /// Returns the endpoint if it is these very bytes: they have a path, and nothing in which there could
    /// be a secret.
    #[inline]
    fn plain_endpoint(&self) -> Option<Endpoint> {
        let sent = self.bytes.get(..usize::from(self.end))?;
        let (authority, path) = sent.split_at_checked(usize::from(self.authority))?;
        let has_scheme = !matches!(self.scheme, CommonScheme::Absent);
        let is_plain = !path.is_empty()
            && has_scheme != authority.is_empty()
            && !matches!(self.method, Standard::Connect)
            && !eight::has(authority, b'@')
            && !eight::has(path, b'?')
            && is_plain(path);
        is_plain.then(|| {
            let method = self.method.method().clone();
            Endpoint::in_place(method, self.scheme, self.authority, self.end, self.bytes)
        })
    }

    fn address(&self) -> Address<'_> {
        // Written from `str`s of these lengths, so it is UTF-8 and the bounds hold.
        let [authority, end] = [self.authority, self.end].map(usize::from);
        let bytes = self.bytes.get(..end).unwrap_or_default();
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        // The authority has no question mark in it.
        let path = match self.is_whole {
            true => eight::find(bytes, b'?', b'?').unwrap_or(end),
            false => end,
        };
        let sent_path = match text {
            // Of a request of which nothing was kept.
            "" => "/",
            _ => text.get(authority..path).unwrap_or_default(),
        };
        Address {
            scheme: self.scheme.as_str(),
            authority: text.get(..authority).unwrap_or_default(),
            path: sent_path,
            is_odd: !is_plain(sent_path.as_bytes()),
            // Behind the question mark, if there is one.
            query: text.get(path + 1..).unwrap_or_default(),
        }
    }

    fn uri(&self) -> Option<Uri> {
        let texts = Bytes::copy_from_slice(self.bytes.get(..usize::from(self.end))?);
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
