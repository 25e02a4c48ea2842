use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::peeked::{Peeked, Polled};

pin_project! {
    /// A response's body, handed on as it came: frames, trailers, errors and hints.
    ///
    /// The body of a good answer is passed through; what was read of a failing one comes first, in the
    /// frames that it came in.
    #[must_use = "bodies do nothing unless polled"]
    pub struct ResponseBody<B>
    where
        B: Body,
    {
        #[pin]
        state: State<B>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<B>
    where
        B: Body,
    {
        // Whether the end has come lies beside the tag, and takes no room of its own.
        Plain { is_done: bool, #[pin] body: B },
        Peeked { is_done: bool, body: Pin<Box<Peeked<B>>> },
    }
}

impl<B: Body> ResponseBody<B> {
    #[inline]
    pub(crate) fn plain(body: B) -> Self {
        let is_done = false;
        Self {
            state: State::Plain { is_done, body },
        }
    }

    pub(super) fn peeked(body: Pin<Box<Peeked<B>>>) -> Self {
        let is_done = false;
        Self {
            state: State::Peeked { is_done, body },
        }
    }
}

#[inline(always)]
fn is_end<B: Body>(polled: &Polled<B>) -> bool {
    matches!(polled, Poll::Ready(None | Some(Err(_))))
}

/// Polls `body`, and notes its end. By itself, so that the frame is written where the caller wants it and
/// not moved again: a move waits for the copy that was made of the frame before.
#[inline(always)]
fn poll_through<B: Body>(body: Pin<&mut B>, is_done: &mut bool, cx: &mut Context<'_>) -> Polled<B> {
    let polled = body.poll_frame(cx);
    if is_end::<B>(&polled) {
        *is_done = true;
    }
    polled
}

impl<B: Body> Body for ResponseBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let (is_done, body) = match self.project().state.project() {
            StateProj::Plain { is_done, .. } | StateProj::Peeked { is_done, .. } if *is_done => {
                return Poll::Ready(None);
            }
            StateProj::Plain { is_done, body } => (is_done, body),
            StateProj::Peeked { is_done, body } => {
                if !body.is_passing() {
                    let polled = body.as_mut().poll_next(cx);
                    *is_done = is_end::<B>(&polled);
                    return polled;
                }
                (is_done, body.as_mut().rest())
            }
        };
        poll_through(body, is_done, cx)
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Plain { body, .. } => body.is_end_stream(),
            State::Peeked { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            State::Plain { body, .. } => body.size_hint(),
            State::Peeked { body, .. } => body.size_hint(),
        }
    }
}

/// Names the form and shows nothing of what is inside.
impl<B: Body> fmt::Debug for ResponseBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody").finish_non_exhaustive()
    }
}

impl<B: Body + Default> Default for ResponseBody<B> {
    fn default() -> Self {
        Self::plain(B::default())
    }
}
