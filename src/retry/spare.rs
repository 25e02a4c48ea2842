use http::{Extensions, HeaderName, Request, Version};
use http_body::Body;

use super::{
    replay::{Replay, ReplayBody},
    snapshot::Head,
};
use crate::{
    endpoint::{Endpoint, Target},
    remembered::Remembered,
};

/// What is kept of a request while it is under way.
pub(super) enum Spare<B> {
    /// All of it, for the next attempt.
    Whole {
        replay: Replay<B>,
        extensions: Extensions,
    },
    /// All of it, where it has neither headers nor a body and its URI is short: no block is needed.
    Short {
        target: Target,
        version: Version,
        extensions: Extensions,
    },
    /// What the errors of a call that cannot be repeated need to say.
    Lean(Remembered),
    /// Nothing: no later attempt and no error of ours can come of it.
    Nothing,
}

impl<B: Body> Spare<B> {
    /// Keeps all of a request; of its body, when that is [wrapped](Self::wrap), up to `limit` bytes.
    ///
    /// Its extensions are copied only if it `is_extended`: the recorder alone is put back by whoever
    /// has it.
    #[inline]
    pub(super) fn whole(request: &Request<B>, limit: usize, is_extended: bool) -> Self {
        let extensions = match is_extended {
            true => request.extensions().clone(),
            false => Extensions::new(),
        };
        if has_neither_headers_nor_body(request) {
            if let Some(target) = Target::in_place(request.method(), request.uri()) {
                return Self::Short {
                    target,
                    version: request.version(),
                    extensions,
                };
            }
        }
        Self::Whole {
            replay: Replay::new(Head::of(request), limit),
            extensions,
        }
    }

    /// Keeps of a request what our errors will need: for a diagnosis, which wants the credentials in
    /// `names` remembered, or for a limit.
    #[inline]
    pub(super) fn lean(
        request: &Request<B>,
        names: Option<&[HeaderName]>,
        is_limited: bool,
    ) -> Self {
        match names {
            Some(names) => Self::Lean(Remembered::of(
                request.method(),
                request.uri(),
                request.headers(),
                names,
            )),
            None if is_limited => {
                let mut remembered = Remembered::default();
                remembered.target.take(request.method(), request.uri());
                Self::Lean(remembered)
            }
            None => Self::Nothing,
        }
    }
}

impl<B> Spare<B> {
    /// Returns whether there may be another attempt at all.
    #[inline]
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::Whole { .. } | Self::Short { .. })
    }

    /// Returns whether the request could be sent once more, were it now.
    pub(super) fn can_replay(&self) -> bool {
        match self {
            Self::Whole { replay, .. } => replay.can_replay(),
            Self::Short { .. } => true,
            Self::Lean(_) | Self::Nothing => false,
        }
    }

    /// Makes the request of the next attempt. From then on the attempt before reads no more of the body.
    pub(super) fn request(&self) -> Option<Request<ReplayBody<B>>> {
        let (mut request, extensions) = match self {
            Self::Whole { replay, extensions } => (replay.request()?, extensions),
            Self::Short {
                target,
                version,
                extensions,
            } => {
                let mut request = Request::new(ReplayBody::empty());
                (*request.method_mut(), *request.uri_mut()) = target.restore()?;
                *request.version_mut() = *version;
                (request, extensions)
            }
            Self::Lean(_) | Self::Nothing => return None,
        };
        *request.extensions_mut() = clone_of(extensions);
        Some(request)
    }

    pub(super) fn endpoint(&self) -> Option<Endpoint> {
        match self {
            Self::Whole { replay, .. } => replay.endpoint(),
            Self::Short { target, .. } => Some(target.endpoint()),
            Self::Lean(remembered) => Some(remembered.target.endpoint()),
            Self::Nothing => None,
        }
    }

    /// Returns what a diagnosis needs to know of the request; see [`Remembered::of`]. `None` where nothing
    /// was kept.
    pub(super) fn remembered(&self, names: &[HeaderName]) -> Option<Remembered> {
        Some(match self {
            Self::Whole { replay, .. } => {
                let head = replay.head()?;
                Remembered::of(&head.method, &head.uri, &head.headers, names)
            }
            Self::Short { target, .. } => Remembered::only(target.clone()),
            Self::Lean(remembered) => remembered.clone(),
            Self::Nothing => return None,
        })
    }
}

#[inline]
fn has_neither_headers_nor_body<B: Body>(request: &Request<B>) -> bool {
    let body = request.body();
    request.headers().is_empty() && body.is_end_stream() && body.size_hint().exact() == Some(0)
}

/// Spares the copying where there is nothing to copy, as in most requests.
#[inline]
fn clone_of(extensions: &Extensions) -> Extensions {
    if extensions.is_empty() {
        Extensions::new()
    } else {
        extensions.clone()
    }
}
