//! What a layer remembers of a request in case the call fails.

use std::fmt;

use http::{Method, Request, Uri};

use crate::{
    address::Address, common::Standard, copied::Copied, endpoint::Endpoint, extensions::extension,
    rare::Rare, record::PathTemplate,
};

/// What a layer keeps of a request on its way in, so that an [`Endpoint`] can be made if the call
/// fails. Never printed: nothing is redacted before [`Target::into_endpoint`].
///
/// A layer's future carries it, so it is small (96 bytes) and taken by plain copies.
#[derive(Clone)]
pub(crate) struct Target {
    place: Place,
}

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
        let plain = self.plain().map(|plain| Endpoint::from(*plain));
        plain.unwrap_or_else(|| self.address().endpoint(self.method()))
    }

    /// Returns what was called if it is kept in place and there is nothing in it that must not be printed:
    /// then it is an [`Endpoint`] as it is, as most are.
    #[inline]
    pub(crate) fn plain(&self) -> Option<&Copied> {
        match &self.place {
            Place::Copied(copied) if copied.is_plain() => Some(copied),
            _ => None,
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
