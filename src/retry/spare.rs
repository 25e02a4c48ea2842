use http::{HeaderName, Request, Version};
use http_body::Body;

use super::{
    replay::{Replay, ReplayBody},
    snapshot::Head,
};
use crate::{
    endpoint::{Endpoint, Target},
    remembered::Remembered,
};

/// What is kept of a request while it is under way, beside its extensions.
pub(super) enum Spare<B> {
    /// All of it, for the next attempt.
    Whole(Replay<B>),
    /// All of it, where it has neither headers nor a body and its URI is short: no block is needed.
    Short(Target, Version),
    /// What the errors of a call that cannot be repeated need to say.
    Lean(Remembered),
    /// Nothing: no later attempt and no error of ours can come of it.
    Nothing,
}

impl<B: Body> Spare<B> {
    /// Keeps all of a request, and will keep up to `limit` bytes of its body.
    #[inline]
    pub(super) fn whole(request: &Request<B>, limit: usize) -> Self {
        if has_neither_headers_nor_body(request) {
            if let Some(target) = Target::in_place(request.method(), request.uri()) {
                return Self::Short(target, request.version());
            }
        }
        Self::Whole(Replay::new(Head::of(request), limit))
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
                remembered
                    .target
                    .keep_whole(request.method(), request.uri());
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
        matches!(self, Self::Whole(_) | Self::Short(..))
    }

    /// Returns whether the request could be sent once more, were it now.
    pub(super) fn can_replay(&self) -> bool {
        match self {
            Self::Whole(replay) => replay.can_replay(),
            Self::Short(..) => true,
            Self::Lean(_) | Self::Nothing => false,
        }
    }

    /// Returns whether the request's body is known to have failed by itself.
    pub(super) fn has_failed(&self) -> bool {
        match self {
            Self::Whole(replay) => replay.has_failed(),
            Self::Short(..) | Self::Lean(_) | Self::Nothing => false,
        }
    }

    /// Returns whether it is known that the latest attempt has begun to read the request's body.
    pub(super) fn is_read(&self) -> bool {
        match self {
            Self::Whole(replay) => replay.is_read(),
            Self::Short(..) | Self::Lean(_) | Self::Nothing => false,
        }
    }

    /// Makes the request of the next attempt, without extensions. From then on the attempt before reads
    /// no more of the body.
    pub(super) fn request(&self) -> Option<Request<ReplayBody<B>>> {
        match self {
            Self::Whole(replay) => replay.request(),
            Self::Short(target, version) => {
                let mut request = Request::new(ReplayBody::empty());
                (*request.method_mut(), *request.uri_mut()) = target.restore()?;
                *request.version_mut() = *version;
                Some(request)
            }
            Self::Lean(_) | Self::Nothing => None,
        }
    }

    pub(super) fn endpoint(&self) -> Option<Endpoint> {
        match self {
            Self::Whole(replay) => replay.endpoint(),
            Self::Short(target, _) => Some(target.endpoint()),
            Self::Lean(remembered) => Some(remembered.target.endpoint()),
            Self::Nothing => None,
        }
    }

    /// Returns what a diagnosis needs to know of the request; see [`Remembered::of`]. `None` where nothing
    /// was kept.
    pub(super) fn remembered(&self, names: &[HeaderName]) -> Option<Remembered> {
        Some(match self {
            Self::Whole(replay) => {
                let head = replay.head()?;
                Remembered::of(&head.method, &head.uri, &head.headers, names)
            }
            Self::Short(target, _) => Remembered::only(target.clone()),
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
