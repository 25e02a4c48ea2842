use http::{Extensions, Request};
use http_body::Body;

use super::replay::{Replay, ReplayBody};
use crate::endpoint::{Endpoint, Target};

/// What is kept of a request while it is under way.
pub(super) enum Spare<B> {
    /// All of it, for the next attempt.
    Whole {
        replay: Replay<B>,
        extensions: Extensions,
    },
    /// As much as a `TimeoutError` says.
    Target(Target),
    /// Nothing: no later attempt and no error of ours can come of it.
    Nothing,
}

impl<B: Body> Spare<B> {
    /// Keeps all of a request, with up to `limit` bytes of its body.
    pub(super) fn whole(request: Request<B>, limit: usize) -> (Self, Request<ReplayBody<B>>) {
        let (head, body) = request.into_parts();
        let (body, replay) = ReplayBody::kept(&head, body, limit);
        let spare = Self::Whole {
            replay,
            extensions: clone_of(&head.extensions),
        };
        (spare, Request::from_parts(head, body))
    }
}

impl<B> Spare<B> {
    /// Returns whether the request could be sent once more, were it now.
    pub(super) fn can_replay(&self) -> bool {
        match self {
            Self::Whole { replay, .. } => replay.can_replay(),
            Self::Target(_) | Self::Nothing => false,
        }
    }

    /// Lets the attempt before read no more of the body, so that it can still be replayed after a wait.
    /// Returns whether it can.
    pub(super) fn claim(&self) -> bool {
        match self {
            Self::Whole { replay, .. } => replay.claim(),
            Self::Target(_) | Self::Nothing => false,
        }
    }

    /// Makes the request of the next attempt.
    pub(super) fn request(&self) -> Option<Request<ReplayBody<B>>> {
        let Self::Whole { replay, extensions } = self else {
            return None;
        };
        let mut request = replay.request()?;
        *request.extensions_mut() = clone_of(extensions);
        Some(request)
    }

    pub(super) fn endpoint(&self) -> Option<Endpoint> {
        match self {
            Self::Whole { replay, .. } => replay.endpoint(),
            Self::Target(target) => Some(target.endpoint()),
            Self::Nothing => None,
        }
    }
}

/// Spares the copying where there is nothing to copy, as in most requests.
fn clone_of(extensions: &Extensions) -> Extensions {
    if extensions.is_empty() {
        Extensions::new()
    } else {
        extensions.clone()
    }
}
