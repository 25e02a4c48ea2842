use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::{peeked::Peeked, trailers::Trailers};

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
        is_done: bool,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<B>
    where
        B: Body,
    {
        Plain { #[pin] body: B },
        Watched { #[pin] body: B, trailers: Option<Box<Trailers>> },
        Peeked { body: Pin<Box<Peeked<B>>> },
    }
}

impl<B: Body> ResponseBody<B> {
    #[inline]
    pub(crate) fn plain(body: B) -> Self {
        Self::new(State::Plain { body })
    }

    /// Passes `body` through, and shows its trailers to `trailers`.
    pub(super) fn watched(body: B, trailers: Option<Box<Trailers>>) -> Self {
        Self::new(State::Watched { body, trailers })
    }

    pub(super) fn peeked(body: Pin<Box<Peeked<B>>>) -> Self {
        Self::new(State::Peeked { body })
    }

    fn new(state: State<B>) -> Self {
        Self {
            state,
            is_done: false,
        }
    }
}

/// What a body answers to a poll.
type Polled<B> = Poll<Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>>;

impl<B: Body> ResponseBody<B> {
    /// Polls a body that is not simply passed through.
    #[inline(never)]
    fn poll_other(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled<B> {
        let this = self.project();
        let polled = match this.state.project() {
            StateProj::Plain { body } => body.poll_frame(cx),
            StateProj::Peeked { body } => body.as_mut().poll_next(cx),
            StateProj::Watched { body, trailers } => {
                let polled = body.poll_frame(cx);
                if let Poll::Ready(Some(Ok(frame))) = &polled {
                    if let Some(map) = frame.trailers_ref() {
                        if let Some(trailers) = trailers.take() {
                            trailers.came(map);
                        }
                    }
                }
                polled
            }
        };
        *this.is_done = matches!(polled, Poll::Ready(None | Some(Err(_))));
        polled
    }
}

/// Polls `body`, and notes its end. By itself, so that the frame is written where the caller wants it and
/// not moved again.
#[inline(always)]
fn poll_through<B: Body>(body: Pin<&mut B>, is_done: &mut bool, cx: &mut Context<'_>) -> Polled<B> {
    let polled = body.poll_frame(cx);
    if let Poll::Ready(None | Some(Err(_))) = &polled {
        *is_done = true;
    }
    polled
}

impl<B: Body> Body for ResponseBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    #[inline]
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.as_mut().project();
        if *this.is_done {
            return Poll::Ready(None);
        }
        let rest = match this.state.project() {
            StateProj::Plain { body } => Some(body),
            StateProj::Peeked { body } => body.as_mut().rest(),
            StateProj::Watched { .. } => None,
        };
        let Some(body) = rest else {
            return self.poll_other(cx);
        };
        poll_through(body, this.is_done, cx)
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Plain { body } | State::Watched { body, .. } => body.is_end_stream(),
            State::Peeked { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            State::Plain { body } | State::Watched { body, .. } => body.size_hint(),
            State::Peeked { body } => body.size_hint(),
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
