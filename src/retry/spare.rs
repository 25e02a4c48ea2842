use std::mem;

use http::{HeaderName, Request, Version};
use http_body::Body;

use super::{
    replay::{Replay, ReplayBody},
    snapshot::Head,
};
use crate::{
    endpoint::{Copied, Endpoint},
    remembered::Remembered,
};

/// What is kept of a request while it is under way, beside its extensions.
pub(crate) enum Spare<B> {
    /// All of it, for the next attempt.
    Whole(Replay<B>),
    /// All of it, where it has neither headers nor a body and its URI is short: no block is needed.
    Short(Copied, Version),
    /// What the errors of a call that cannot be repeated need to say.
    Lean(Remembered),
    /// Nothing: no later attempt and no error of ours can come of it.
    Nothing,
}

impl<B: Body> Spare<B> {
    /// Keeps all of a request, and will keep up to `limit` bytes of its body.
    #[inline(always)]
    pub(super) fn keep_whole(&mut self, request: &Request<B>, limit: usize) {
        if !(has_neither_headers_nor_body(request) && self.keep_short(request)) {
            self.put(Self::Whole(Replay::new(Head::of(request), limit)));
        }
    }

    /// Keeps all of a request that has neither headers nor a body, if its URI is short.
    #[inline(always)]
    fn keep_short<T>(&mut self, request: &Request<T>) -> bool {
        self.put(Self::Short(Copied::NOTHING, request.version()));
        match self {
            Self::Short(copied, _) => copied.keep_whole(request.method(), request.uri()).is_some(),
            _ => false,
        }
    }

    /// Puts something in the place of what has nothing to drop, without a look.
    #[inline(always)]
    fn put(&mut self, kept: Self) {
        mem::forget(mem::replace(self, kept));
    }

    /// Keeps of a request what our errors will need: for a diagnosis, which wants the credentials in
    /// `names` remembered, or for a limit.
    #[inline(always)]
    pub(super) fn keep_lean<T>(
        &mut self,
        request: &Request<T>,
        names: Option<&[HeaderName]>,
        is_limited: bool,
    ) {
        if names.is_none() && !is_limited {
            return;
        }
        self.put(Self::Lean(Remembered::default()));
        let Self::Lean(remembered) = self else {
            return;
        };
        let (method, uri) = (request.method(), request.uri());
        match names {
            Some(names) => remembered.take(method, uri, request.headers(), names),
            None => remembered.target.keep_whole(method, uri),
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
            Self::Short(copied, version) => {
                let mut request = Request::new(ReplayBody::empty());
                (*request.method_mut(), *request.uri_mut()) = copied.restore()?;
                *request.version_mut() = *version;
                Some(request)
            }
            Self::Lean(_) | Self::Nothing => None,
        }
    }

    pub(super) fn endpoint(&self) -> Option<Endpoint> {
        match self {
            Self::Whole(replay) => replay.endpoint(),
            Self::Short(copied, _) => Some(copied.endpoint()),
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
            Self::Short(copied, _) => Remembered::only((*copied).into()),
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
