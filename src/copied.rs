//! What is kept in place of a request.

use bytes::Bytes;
use http::{
    Method, Uri,
    uri::{Authority, PathAndQuery, Scheme},
};

use crate::{
    address::Address,
    common::{CommonScheme, Standard},
    endpoint::Endpoint,
    path::is_plain,
    scan,
    text::copy_short,
};

/// The bytes of authority, path and query that a [`Target`](crate::target::Target) keeps in place. What does
/// not fit costs a clone of the URI, which allocates if the URI was never cloned before.
const IN_PLACE: usize = 90;

/// A [`Target`](crate::target::Target) that fits in place: authority, path and query as they came, one after
/// the other.
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
                let authority = self.keep_authority(CommonScheme::of(uri)?, authority.as_str())?;
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
    pub(crate) fn keep(&mut self, method: &Method, uri: &Uri, path: &str) -> Option<()> {
        let authority = match uri.authority() {
            Some(authority) => self.keep_authority(CommonScheme::of(uri)?, authority.as_str())?,
            None => 0,
        };
        self.keep_behind(authority, method, path, false)
    }

    /// Copies a scheme and an authority, into one that has none. Returns where that ends.
    #[inline(always)]
    fn keep_authority(&mut self, scheme: CommonScheme, authority: &str) -> Option<usize> {
        self.scheme = scheme;
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

    /// Of parts that may be printed, if they fit.
    pub(crate) fn printable(method: &Method, scheme: &str, host: &str, path: &str) -> Option<Self> {
        let mut copied = Self::NOTHING;
        let origin = copied.keep_authority(CommonScheme::named(scheme)?, host)?;
        copied.keep_behind(origin, method, path, false)?;
        // Nothing at all would read as the request of which nothing was kept.
        (copied.end > 0).then_some(copied)
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        self.address().endpoint(self.method())
    }

    pub(crate) fn method(&self) -> &'static Method {
        match self.end {
            // Of a request of which nothing was kept.
            0 => &Method::GET,
            _ => self.method.method(),
        }
    }

    pub(crate) fn scheme(&self) -> &'static str {
        self.scheme.as_str()
    }

    /// Returns what stands before the path: the authority.
    pub(crate) fn origin(&self) -> &[u8] {
        let origin = self.bytes.get(..usize::from(self.authority));
        origin.unwrap_or_default()
    }

    /// Returns the path, with the query if that was kept.
    #[inline]
    pub(crate) fn path(&self) -> &[u8] {
        let range = usize::from(self.authority)..usize::from(self.end);
        self.bytes.get(range).unwrap_or_default()
    }

    /// Returns whether these very bytes may be printed: they have a path, and nothing in which there could
    /// be a secret.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        let (authority, path) = (self.origin(), self.path());
        let has_scheme = !matches!(self.scheme, CommonScheme::Absent);
        !path.is_empty()
            && has_scheme != authority.is_empty()
            && !matches!(self.method, Standard::Connect)
            && is_plain(path)
            && !scan::has(authority, b'@')
    }

    pub(crate) fn address(&self) -> Address<'_> {
        // Written from `str`s of these lengths, so it is UTF-8 and the bounds hold.
        let [authority, end] = [self.authority, self.end].map(usize::from);
        let bytes = self.bytes.get(..end).unwrap_or_default();
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        // The authority has no question mark in it.
        let path = match self.is_whole {
            true => scan::find(bytes, b'?', b'?').unwrap_or(end),
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
