//! The head of a request, kept so that it can be sent once more.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version,
    request::Parts,
    uri::{Authority, PathAndQuery, Scheme},
};

use crate::text::copy_short;

/// How many bytes of texts are kept in place: ten headers of an API's client, say. Together with a
/// body's state this stays within a kilobyte, up to which allocators are fast.
const IN_PLACE: usize = 704;

/// A request's method, URI, version and headers, flat: every text one after the other.
///
/// Cloning a `HeaderMap` that was never cloned allocates for every value in it. Most requests succeed
/// at the first attempt, so nothing is built here that only a second attempt needs.
///
/// Extensions are not kept: they cannot be copied as bytes. Whoever repeats a request clones them, when
/// there are any.
pub(super) struct Snapshot {
    lengths: Lengths,
    /// The texts, if they fit. `None` until they are written, so that a new snapshot is made without
    /// touching their place.
    texts: Option<[u8; IN_PLACE]>,
    /// The texts, if they do not fit in place.
    long: Vec<u8>,
}

/// The head of a request, without its extensions, wherever it is.
#[derive(Clone, Copy)]
pub(super) struct Head<'a> {
    pub(super) method: &'a Method,
    pub(super) uri: &'a Uri,
    pub(super) version: Version,
    pub(super) headers: &'a HeaderMap,
}

impl<'a> Head<'a> {
    pub(super) fn of<B>(request: &'a Request<B>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            version: request.version(),
            headers: request.headers(),
        }
    }
}

/// How much of the texts is what. Nothing that is there is empty, save header values.
#[derive(Clone, Copy, Default)]
struct Lengths {
    version: Version,
    method: usize,
    scheme: usize,
    authority: usize,
    path: usize,
    names: usize,
    values: usize,
    total: usize,
}

/// Copies all texts of `head` to the front of `place`, if they are not too long.
#[inline(always)]
fn write(head: Head<'_>, place: &mut [u8], lengths: &mut Lengths) -> Option<()> {
    let room = place.len();
    let method = head.method.as_str();
    let scheme = head.uri.scheme_str().unwrap_or_default();
    let authority = head.uri.authority();
    let authority = authority.map_or("", |authority| authority.as_str());
    let path = path_and_query(head.uri);
    lengths.version = head.version;
    lengths.method = method.len();
    lengths.scheme = scheme.len();
    lengths.authority = authority.len();
    lengths.path = path.len();
    lengths.names = head.headers.keys_len();
    lengths.values = head.headers.len();
    let place = put(place, method)?;
    let place = put(place, scheme)?;
    let place = put(place, authority)?;
    let place = put(place, path)?;
    lengths.total = room - write_headers(head.headers, place)?;
    Some(())
}

/// Copies all headers to the front of `place`, if they are not too long. Returns how much of it is left.
///
/// Apart, because the loop then has every register to itself: 9 instructions a header.
#[inline(never)]
fn write_headers(headers: &HeaderMap, mut place: &mut [u8]) -> Option<usize> {
    for (name, value) in headers {
        let is_sensitive = value.is_sensitive();
        let (name, value) = (name.as_str().as_bytes(), value.as_bytes());
        let mark = Mark::new(name.len(), value.len(), is_sensitive);
        let (mark_place, rest) = place.split_first_chunk_mut()?;
        let (name_place, rest) = rest.split_at_mut_checked(name.len())?;
        let (value_place, rest) = rest.split_at_mut_checked(value.len())?;
        *mark_place = mark.0.to_ne_bytes();
        copy_short(name_place, name);
        copy_short(value_place, value);
        place = rest;
    }
    Some(place.len())
}

#[inline]
fn put<'a>(place: &'a mut [u8], text: &str) -> Option<&'a mut [u8]> {
    let (here, rest) = place.split_at_mut_checked(text.len())?;
    copy_short(here, text.as_bytes());
    Some(rest)
}

/// Returns what a URI has of a path and a query: nothing, if it has neither, not even a slash.
fn path_and_query(uri: &Uri) -> &str {
    match uri.path_and_query() {
        Some(both) if !uri.path().is_empty() => both.as_str(),
        _ => "",
    }
}

/// What stands before each header: the length of its value, whether it is sensitive, and the length of
/// its name, which is under 2^16.
struct Mark(u64);

impl Mark {
    const LENGTH: usize = size_of::<u64>();
    const SENSITIVE: u64 = 1 << 16;

    fn new(name: usize, value: usize, is_sensitive: bool) -> Self {
        let sensitive = u64::from(is_sensitive) << Self::SENSITIVE.trailing_zeros();
        Self((value as u64) << 17 | sensitive | name as u64)
    }

    fn name_length(&self) -> usize {
        usize::from(self.0 as u16)
    }

    fn value_length(&self) -> usize {
        usize::try_from(self.0 >> 17).unwrap_or(usize::MAX)
    }

    fn is_sensitive(&self) -> bool {
        self.0 & Self::SENSITIVE != 0
    }
}

fn length(head: Head<'_>) -> usize {
    let uri = head.uri;
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| Mark::LENGTH + name.as_str().len() + value.len());
    head.method.as_str().len()
        + uri.scheme_str().map_or(0, str::len)
        + uri
            .authority()
            .map_or(0, |authority| authority.as_str().len())
        + path_and_query(uri).len()
        + headers.sum::<usize>()
}

impl Snapshot {
    /// Creates one of nothing, to be filled where it stands.
    #[inline]
    pub(super) fn empty() -> Self {
        Self {
            lengths: Lengths::default(),
            texts: None,
            long: Vec::new(),
        }
    }

    /// Copies `head`.
    #[inline(always)]
    pub(super) fn fill(&mut self, head: Head<'_>) {
        let texts = self.texts.insert([0; IN_PLACE]);
        if write(head, texts, &mut self.lengths).is_none() {
            self.fill_long(head);
        }
    }

    #[cold]
    fn fill_long(&mut self, head: Head<'_>) {
        self.long = vec![0; length(head)];
        // As long as it has to be, so that it is written whole.
        let _ = write(head, &mut self.long, &mut self.lengths);
    }

    /// Builds the head anew, without extensions.
    ///
    /// `None` is for what should never be: a part that was made by force and does not pass for what it
    /// is a second time.
    pub(super) fn restore(&self) -> Option<Parts> {
        let texts = match &self.texts {
            Some(texts) if self.long.is_empty() => &texts[..],
            _ => &self.long,
        };
        // One copy, of which the URI and all header values are slices.
        let mut reader = Reader {
            rest: Bytes::copy_from_slice(texts.get(..self.lengths.total)?),
        };
        let method = Method::from_bytes(&reader.take(self.lengths.method)?).ok()?;
        let uri = self.uri(&mut reader)?;
        let mut headers = HeaderMap::try_with_capacity(self.lengths.names).ok()?;
        for _ in 0..self.lengths.values {
            let (name, value) = reader.header()?;
            headers.try_append(name, value).ok()?;
        }

        let mut head = http::Request::new(()).into_parts().0;
        head.method = method;
        head.uri = uri;
        head.version = self.lengths.version;
        head.headers = headers;
        Some(head)
    }

    fn uri(&self, reader: &mut Reader) -> Option<Uri> {
        let mut uri = http::uri::Parts::default();
        if self.lengths.scheme > 0 {
            let scheme = reader.take(self.lengths.scheme)?;
            uri.scheme = Some(Scheme::try_from(&*scheme).ok()?);
        }
        if self.lengths.authority > 0 {
            let authority = reader.take(self.lengths.authority)?;
            uri.authority = Some(Authority::from_maybe_shared(authority).ok()?);
        }
        if self.lengths.path > 0 {
            let path = reader.take(self.lengths.path)?;
            uri.path_and_query = Some(PathAndQuery::from_maybe_shared(path).ok()?);
        }
        Uri::from_parts(uri).ok()
    }
}

struct Reader {
    rest: Bytes,
}

impl Reader {
    fn take(&mut self, length: usize) -> Option<Bytes> {
        (length <= self.rest.len()).then(|| self.rest.split_to(length))
    }

    fn header(&mut self) -> Option<(HeaderName, HeaderValue)> {
        let mark = self.take(Mark::LENGTH)?;
        let mark = Mark(u64::from_ne_bytes(mark.as_ref().try_into().ok()?));
        let name = HeaderName::from_bytes(&self.take(mark.name_length())?).ok()?;
        let value = self.take(mark.value_length())?;
        let mut value = HeaderValue::from_maybe_shared(value).ok()?;
        value.set_sensitive(mark.is_sensitive());
        Some((name, value))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/snapshot.rs"]
mod tests;
