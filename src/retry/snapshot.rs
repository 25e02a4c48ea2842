//! The head of a request, kept so that it can be sent once more.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Uri, Version,
    request::Parts,
    uri::{Authority, PathAndQuery, Scheme},
};

/// A request's method, URI, version and headers, flat: every text one after the other.
///
/// Cloning a `HeaderMap` that was never cloned allocates for every value in it. Most requests succeed
/// at the first attempt, so nothing is built here that only a second attempt needs.
///
/// Extensions are not kept: they cannot be copied as bytes. Whoever repeats a request clones them, when
/// there are any.
///
/// `H` is where the texts are: an array when the snapshot is made, a slice of unknown length after.
pub(super) struct Snapshot<H: ?Sized = [u8]> {
    version: Version,
    lengths: Lengths,
    /// The texts, if they are too long for `texts`.
    long: Vec<u8>,
    texts: H,
}

/// How long each text of a request's head is. None that is there is empty, save header values.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    method: usize,
    scheme: usize,
    authority: usize,
    path: usize,
    names: usize,
    values: usize,
    /// How many bytes all headers take with their [`Mark`]s.
    headers: usize,
}

impl Lengths {
    pub(super) fn of(head: &Parts) -> Self {
        let uri = &head.uri;
        let headers = head
            .headers
            .iter()
            .map(|(name, value)| Mark::LENGTH + name.as_str().len() + value.len());
        Self {
            method: head.method.as_str().len(),
            scheme: uri.scheme_str().map_or(0, str::len),
            authority: uri
                .authority()
                .map_or(0, |authority| authority.as_str().len()),
            path: path_and_query(uri).len(),
            names: head.headers.keys_len(),
            values: head.headers.len(),
            headers: headers.sum(),
        }
    }

    pub(super) fn total(&self) -> usize {
        self.method + self.scheme + self.authority + self.path + self.headers
    }
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

    fn of(name: &HeaderName, value: &HeaderValue) -> Self {
        let sensitive = u64::from(value.is_sensitive()) * Self::SENSITIVE;
        Self((value.len() as u64) << 17 | sensitive | name.as_str().len() as u64)
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

impl<const N: usize> Snapshot<[u8; N]> {
    /// Makes room for a head of these lengths; [`Snapshot::write`] fills it in.
    pub(super) fn with_room(lengths: Lengths) -> Self {
        let total = lengths.total();
        Self {
            version: Version::default(),
            lengths,
            long: if total > N {
                vec![0; total]
            } else {
                Vec::new()
            },
            texts: [0; N],
        }
    }
}

impl Snapshot {
    /// Copies `head`, whose lengths these are.
    pub(super) fn write(&mut self, head: &Parts) {
        self.version = head.version;
        let place = if self.long.is_empty() {
            &mut self.texts
        } else {
            &mut *self.long
        };
        let mut writer = Writer { place };
        writer.put(head.method.as_str().as_bytes());
        if let Some(scheme) = head.uri.scheme_str() {
            writer.put(scheme.as_bytes());
        }
        if let Some(authority) = head.uri.authority() {
            writer.put(authority.as_str().as_bytes());
        }
        writer.put(path_and_query(&head.uri).as_bytes());
        for (name, value) in &head.headers {
            writer.put(&Mark::of(name, value).0.to_ne_bytes());
            writer.put(name.as_str().as_bytes());
            writer.put(value.as_bytes());
        }
    }

    /// Builds the head anew, without extensions.
    ///
    /// `None` is for what should never be: a part that was made by force and does not pass for what it
    /// is a second time.
    pub(super) fn restore(&self) -> Option<Parts> {
        let texts = if self.long.is_empty() {
            &self.texts
        } else {
            &*self.long
        };
        // One copy, of which the URI and all header values are slices.
        let mut reader = Reader {
            rest: Bytes::copy_from_slice(texts.get(..self.lengths.total())?),
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
        head.version = self.version;
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

struct Writer<'a> {
    place: &'a mut [u8],
}

impl Writer<'_> {
    fn put(&mut self, text: &[u8]) {
        if let Some((here, rest)) = std::mem::take(&mut self.place).split_at_mut_checked(text.len())
        {
            here.copy_from_slice(text);
            self.place = rest;
        }
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
