//! Who was called: the method and the path, and nothing that must not be printed.

use std::fmt;

use http::{Method, Request};
use serde::{Serialize, Serializer};

use crate::{
    eight,
    text::{copy_short, one_line, write_cut},
};

pub(crate) use crate::target::Target;
use crate::target::{CommonScheme, IN_PLACE};

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

    /// Creates an endpoint of parts that may be printed: the scheme and the `host:port` of an origin,
    /// which may be empty both, and a path. Allocates nothing if they are short.
    pub(crate) fn new(method: Method, scheme: &str, host: &str, path: &str) -> Self {
        Self {
            method,
            target: Stored::of(scheme, host, path),
        }
    }

    /// As [`Endpoint::new`], of parts that are in one place already: the host up to `host`, then the path
    /// up to `end`.
    #[inline]
    pub(crate) fn in_place(
        method: Method,
        scheme: CommonScheme,
        host: u8,
        end: u8,
        bytes: [u8; IN_PLACE],
    ) -> Self {
        Self {
            method,
            target: Stored::InPlace {
                scheme,
                host,
                end,
                bytes,
            },
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
        let [scheme, host, _] = self.target.parts();
        Self::new(self.method.clone(), scheme, host, path)
    }

    /// Returns the absolute URL without userinfo and query, if the request had one.
    fn url(&self) -> Option<String> {
        let [scheme, host, path] = self.target.parts();
        (!host.is_empty()).then(|| [scheme, "://", host, path].concat())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let url = self.url();
            return f.write_str(&one_line(url.as_deref().unwrap_or(self.path())));
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

/// An origin, or nothing, and a path. What does not fit in place costs an allocation.
#[derive(Clone)]
enum Stored {
    /// The host and the path, one after the other. What is behind the path means nothing.
    InPlace {
        scheme: CommonScheme,
        host: u8,
        end: u8,
        bytes: [u8; IN_PLACE],
    },
    Heap(Box<[Box<str>; 3]>),
}

impl Stored {
    fn of(scheme: &str, host: &str, path: &str) -> Self {
        let in_place = CommonScheme::named(scheme)
            .and_then(|scheme| Self::in_place(scheme, host.as_bytes(), path.as_bytes()));
        in_place.unwrap_or_else(|| Self::Heap(Box::new([scheme, host, path].map(Box::from))))
    }

    fn in_place(scheme: CommonScheme, host: &[u8], path: &[u8]) -> Option<Self> {
        let mut bytes = [0; IN_PLACE];
        let (place, rest) = bytes.split_at_mut_checked(host.len())?;
        copy_short(place, host);
        copy_short(rest.get_mut(..path.len())?, path);
        Some(Self::InPlace {
            scheme,
            host: u8::try_from(host.len()).ok()?,
            end: u8::try_from(host.len() + path.len()).ok()?,
            bytes,
        })
    }

    /// Returns the scheme, the host and the path.
    fn parts(&self) -> [&str; 3] {
        match self {
            Self::InPlace {
                scheme,
                host,
                bytes,
                ..
            } => {
                let host = bytes.get(..usize::from(*host)).unwrap_or_default();
                [scheme.as_str(), text(host), self.path()]
            }
            Self::Heap(parts) => parts.each_ref().map(|part| &**part),
        }
    }

    fn path(&self) -> &str {
        match self {
            Self::InPlace {
                host, end, bytes, ..
            } => {
                let path = bytes.get(usize::from(*host)..usize::from(*end));
                text(path.unwrap_or_default())
            }
            Self::Heap(parts) => &parts[2],
        }
    }
}

/// Returns what was written from a `str` of the same length, and so is UTF-8.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

impl PartialEq for Stored {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Stored {}

impl std::hash::Hash for Stored {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

#[cfg(test)]
#[path = "../tests/unit/endpoint.rs"]
mod tests;
