//! Who was called: the method and the path, and nothing that must not be printed.

use std::fmt;

use http::{Method, Request};
use serde::{Serialize, Serializer};

use crate::{
    eight,
    text::{copy_short, one_line, write_cut},
};

pub(crate) use crate::target::{Copied, Target};

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

    /// Creates an endpoint of parts that may be printed: those of an origin, `http`, `://` and
    /// `host:port`, which may be empty, and a path. Allocates nothing if they are short.
    pub(crate) fn new(method: Method, origin: [&str; 3], path: &str) -> Self {
        Self {
            method,
            target: Stored::of(origin, path),
        }
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
        Self::new(self.method.clone(), [self.target.split().0, "", ""], path)
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
        if eight::is_graphic(path.as_bytes()) {
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
    fn of(origin: [&str; 3], path: &str) -> Self {
        let [scheme, separator, host] = origin;
        let parts = [scheme, separator, host, path];
        let origin = origin.iter().map(|part| part.len()).sum();
        Self::in_place(&parts, origin).unwrap_or_else(|| Self::Heap {
            origin,
            text: parts.concat().into(),
        })
    }

    fn in_place(parts: &[&str], origin: usize) -> Option<Self> {
        let mut bytes = [0; IN_PLACE];
        let mut len = 0;
        for part in parts {
            let end = len + part.len();
            copy_short(bytes.get_mut(len..end)?, part.as_bytes());
            len = end;
        }
        Some(Self::InPlace {
            len: u8::try_from(len).ok()?,
            origin: u8::try_from(origin).ok()?,
            bytes,
        })
    }

    fn as_str(&self) -> &str {
        match self {
            // Written from a `str` of the same length, so it is UTF-8.
            Self::InPlace { len, bytes, .. } => {
                let text = bytes.get(..usize::from(*len)).unwrap_or_default();
                std::str::from_utf8(text).unwrap_or_default()
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
        match self {
            // As above: it is a `str` of its own.
            Self::InPlace { len, origin, bytes } => {
                let path = bytes.get(usize::from(*origin)..usize::from(*len));
                std::str::from_utf8(path.unwrap_or_default()).unwrap_or_default()
            }
            Self::Heap { .. } => self.split().1,
        }
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

#[cfg(test)]
#[path = "../tests/unit/endpoint.rs"]
mod tests;
