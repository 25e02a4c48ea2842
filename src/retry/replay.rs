//! A request that can be sent once more.

use std::{
    error::Error,
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{Request, request::Parts};
use http_body::{Body, Frame, SizeHint};

use super::{
    kept::{Kept, Standing, Step, same, whole},
    snapshot::Head,
};
use crate::{endpoint::Endpoint, error::BoxError, sync::Arc, transport::BodyFailure};

/// The body that the retry layer hands to the service below: the caller's own, of which what was read
/// is remembered, up to the layer's `replay_limit`, so that another attempt can send it again.
///
/// It looks like the body it wraps at every point: the same frames, trailers, errors, size hint and end.
/// The body of a request that is never repeated is passed through and nothing is remembered.
///
/// There is one such body for every attempt. As soon as there is one for the next attempt, that one goes
/// on reading where this one has stopped, and this one fails with a [`Superseded`] if it is still being
/// sent: what it could not finish must not look like a whole body to the server.
pub struct ReplayBody<B> {
    source: Source<B>,
}

enum Source<B> {
    /// Nothing more will come.
    Ended(SizeHint),
    /// Only this attempt reads the body.
    Alone(B),
    /// The attempt with this number reads the body that is kept.
    Kept { kept: Arc<Kept<B>>, attempt: u32 },
}

/// What it takes to send a request once more.
///
/// It holds everything in one block of memory: the request's head, the body and the first frame that was
/// read of it. Dropping it ends the remembering; an attempt that is still sending its body goes on.
pub(crate) struct Replay<B> {
    kept: Arc<Kept<B>>,
}

impl<B: Body> ReplayBody<B> {
    /// Wraps the body of a request that will not be repeated. Costs nothing.
    pub(crate) fn once(body: B) -> Self {
        Self {
            source: Source::Alone(body),
        }
    }
}

impl<B> ReplayBody<B> {
    /// The body of a request that has none.
    pub(crate) fn empty() -> Self {
        Self {
            source: Source::Ended(SizeHint::with_exact(0)),
        }
    }
}

impl<B: Body> Replay<B> {
    /// Keeps the head of a request that may come to be repeated, and will keep up to `limit` bytes of
    /// its body, as they are read.
    #[inline]
    pub(super) fn new(head: Head<'_>, limit: usize) -> Self {
        Self {
            kept: Kept::new(head, limit),
        }
    }

    /// Keeps the body of the request too. For the first attempt, before anything is asked of this.
    #[inline(always)]
    pub(super) fn wrap(&mut self, request: Request<B>) -> Request<ReplayBody<B>> {
        let (head, body) = request.into_parts();
        Request::from_parts(head, self.keep(body))
    }

    #[inline]
    pub(super) fn keep(&mut self, body: B) -> ReplayBody<B> {
        let Some(kept) = Arc::get_mut(&mut self.kept) else {
            return ReplayBody::once(body);
        };
        if body.is_end_stream() {
            kept.put(Err(body.size_hint()));
            return ReplayBody::once(body);
        }
        kept.put(Ok(body));
        let source = Source::Kept {
            kept: Arc::clone(&self.kept),
            attempt: 0,
        };
        ReplayBody { source }
    }
}

impl<B> Replay<B> {
    /// Returns whether the request could be sent once more, were it now.
    pub(crate) fn can_replay(&self) -> bool {
        self.kept.state().is_some_and(|state| state.can_replay())
    }

    /// Returns whether the body is known to have failed by itself.
    pub(super) fn has_failed(&self) -> bool {
        self.kept
            .state()
            .is_none_or(|state| state.standing == Standing::Failed)
    }

    /// Returns whether the latest attempt has begun to read the body.
    pub(super) fn is_read(&self) -> bool {
        self.kept.state().is_some_and(|state| state.is_read())
    }

    /// Returns what the request calls.
    pub(crate) fn endpoint(&self) -> Option<Endpoint> {
        Some(Endpoint::of(&Request::from_parts(self.head()?, ())))
    }

    /// Returns the head of the request, without its extensions.
    pub(crate) fn head(&self) -> Option<Parts> {
        self.kept.restore_head()
    }

    /// Makes the request for the next attempt, without extensions. From here on its body is the only one
    /// that is read.
    ///
    /// `None` if [`Replay::can_replay`] is false. Best made when the service is ready for it: until it is
    /// made, or the layer has decided to repeat, the attempt before may still read past the limit.
    pub(crate) fn request(&self) -> Option<Request<ReplayBody<B>>> {
        let head = self.kept.restore_head()?;
        let source = self.supersede()?;
        Some(Request::from_parts(head, ReplayBody { source }))
    }

    fn supersede(&self) -> Option<Source<B>> {
        let mut state = self.kept.state()?;
        let (attempt, waker) = match state.standing {
            Standing::Keeping => state.supersede(),
            Standing::Empty => return Some(Source::Ended(state.size_hint_at_end())),
            Standing::Overflowed | Standing::Failed | Standing::Closed => return None,
        };
        drop(state);
        // Whoever waited for the body learns that it will not come.
        if let Some(waker) = waker {
            waker.wake();
        }
        Some(Source::Kept {
            kept: Arc::clone(&self.kept),
            attempt,
        })
    }
}

impl<B> Drop for Replay<B> {
    fn drop(&mut self) {
        // An attempt may still be sending its body; as a rule it has done so.
        if Arc::strong_count(&self.kept) > 1 {
            self.close();
        }
    }
}

impl<B> Replay<B> {
    #[inline(never)]
    fn close(&self) {
        if let Some(mut state) = self.kept.state() {
            state.close();
        }
    }
}

impl<B> Body for ReplayBody<B>
where
    B: Body + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            let frame = match &mut self.source {
                Source::Ended(_) => None,
                Source::Alone(body) => ready!(Pin::new(body).poll_frame(cx)).map(|frame| {
                    frame
                        .map(whole)
                        .map_err(|error| BodyFailure::mark(error.into()))
                }),
                Source::Kept { kept, attempt } => {
                    let Some(mut state) = kept.state() else {
                        self.source = Source::Ended(SizeHint::with_exact(0));
                        return Poll::Ready(Some(Err(Superseded { panicked: true }.into())));
                    };
                    let step = ready!(state.poll(*attempt, cx));
                    drop(state);
                    match step {
                        Step::Frame(frame) => Some(Ok(frame)),
                        Step::End => None,
                        Step::Failed(error) => Some(Err(BodyFailure::mark(error.into()))),
                        Step::Superseded => Some(Err(Superseded { panicked: false }.into())),
                        Step::Released(frame, rest) => {
                            self.source = Source::Alone(rest);
                            match frame {
                                Some(frame) => Some(Ok(frame)),
                                None => continue,
                            }
                        }
                    }
                }
            };
            if !matches!(frame, Some(Ok(_))) {
                self.source = Source::Ended(SizeHint::with_exact(0));
            }
            return Poll::Ready(frame);
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Ended(_) => true,
            Source::Alone(body) => body.is_end_stream(),
            Source::Kept { kept, attempt } => kept
                .state()
                .is_some_and(|state| state.is_end_stream(*attempt)),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Ended(hint) => same(hint),
            Source::Alone(body) => body.size_hint(),
            Source::Kept { kept, attempt } => kept
                .state()
                .map_or_else(SizeHint::default, |state| state.size_hint(*attempt)),
        }
    }
}

/// What a layer that follows redirects sends where a body is not wanted.
impl<B: Default> Default for ReplayBody<B> {
    fn default() -> Self {
        Self {
            source: Source::Alone(B::default()),
        }
    }
}

impl<B> fmt::Debug for ReplayBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayBody").finish_non_exhaustive()
    }
}

impl<B> fmt::Debug for Replay<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").finish_non_exhaustive()
    }
}

/// Why the body of an attempt ended before its end, when the caller's own body did not fail.
#[derive(Debug)]
pub struct Superseded {
    panicked: bool,
}

impl fmt::Display for Superseded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.panicked {
            "request body panicked when it was read"
        } else {
            "request body is being read by a later attempt"
        })
    }
}

impl Error for Superseded {}

#[cfg(test)]
#[path = "../../tests/unit/replay.rs"]
mod tests;

#[cfg(test)]
#[path = "../../tests/unit/replay_wire.rs"]
mod wire_tests;
