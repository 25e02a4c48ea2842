//! Who was called: the method and the path, and nothing that must not be printed.

use std::fmt;

use http::{Method, Request};
use serde::{Serialize, Serializer};

use crate::{
    scan,
    text::{one_line, write_cut},
};

pub(crate) use crate::{copied::Copied, target::Target};

/// How many characters of a path are printed before it is cut.
const PATH_CAP: usize = 120;

/// A method and a path, safe to print.
///
/// `{}` is `GET /api/modules`; `{:#}` is the absolute URL, where it is known, without userinfo and
/// query. Path segments that look like secrets read `[redacted]` in every form. `CONNECT` has the
/// target's `host:port` as its path.
#[derive(Clone)]
pub struct Endpoint {
    stored: Stored,
}

/// What does not fit in place costs an allocation.
#[derive(Clone)]
enum Stored {
    /// Of these, everything may be printed.
    InPlace(Copied),
    /// The method, and the scheme, the host and the path.
    Heap(Box<(Method, [Box<str>; 3])>),
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
        let stored = match Copied::printable(&method, scheme, host, path) {
            Some(copied) => Stored::InPlace(copied),
            None => Stored::Heap(Box::new((method, [scheme, host, path].map(Box::from)))),
        };
        Self { stored }
    }

    /// Returns the method.
    #[must_use]
    pub fn method(&self) -> &Method {
        match &self.stored {
            Stored::InPlace(copied) => copied.method(),
            Stored::Heap(parts) => &parts.0,
        }
    }

    /// Returns the path, or the route template that replaced it; for `CONNECT` the `host:port`.
    #[must_use]
    pub fn path(&self) -> &str {
        text(self.path_bytes())
    }

    /// Returns the same endpoint under another path, a route template for instance.
    #[must_use]
    pub fn with_path(&self, path: &str) -> Self {
        let [scheme, host, _] = self.parts();
        Self::new(self.method().clone(), scheme, host, path)
    }

    #[inline]
    pub(crate) fn path_bytes(&self) -> &[u8] {
        match &self.stored {
            Stored::InPlace(copied) => copied.path(),
            Stored::Heap(parts) => parts.1[2].as_bytes(),
        }
    }

    /// Returns the scheme, the host and the path.
    fn parts(&self) -> [&str; 3] {
        match &self.stored {
            Stored::InPlace(copied) => {
                let [host, path] = [copied.origin(), copied.path()].map(text);
                [copied.scheme(), host, path]
            }
            Stored::Heap(parts) => parts.1.each_ref().map(|part| &**part),
        }
    }

    /// Returns the absolute URL without userinfo and query, if the request had one.
    fn url(&self) -> Option<String> {
        let [scheme, host, path] = self.parts();
        (!host.is_empty()).then(|| [scheme, "://", host, path].concat())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let url = self.url();
            return f.write_str(&one_line(url.as_deref().unwrap_or(self.path())));
        }
        f.write_str(self.method().as_str())?;
        f.write_str(" ")?;
        let path = self.path();
        // A path of printable ASCII needs no copy; what else there is goes through the sanitizer.
        if scan::is_graphic(path.as_bytes()) {
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

/// Of what may be printed as it is.
impl From<Copied> for Endpoint {
    #[inline]
    fn from(copied: Copied) -> Self {
        Self {
            stored: Stored::InPlace(copied),
        }
    }
}

/// Returns what was written from a `str` of the same length, and so is UTF-8.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

impl PartialEq for Endpoint {
    fn eq(&self, other: &Self) -> bool {
        self.method() == other.method() && self.parts() == other.parts()
    }
}

impl Eq for Endpoint {}

impl std::hash::Hash for Endpoint {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.method().hash(state);
        self.parts().hash(state);
    }
}

#[cfg(test)]
#[path = "../tests/unit/endpoint.rs"]
mod tests;
