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
        Other { is_done: bool, other: Other<B> },
    }
}

/// What is not simply passed through. Boxed, so that a good answer is no larger for it.
enum Other<B: Body> {
    /// The trailers may tell of a failure.
    Watched(Pin<Box<Watched<B>>>),
    Peeked(Pin<Box<Peeked<B>>>),
}

pin_project! {
    struct Watched<B> {
        #[pin]
        body: B,
        trailers: Option<Trailers>,
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

    /// Passes `body` through, and shows its trailers to `trailers`.
    pub(super) fn watched(body: B, trailers: Trailers) -> Self {
        let trailers = Some(trailers);
        Self::other(Other::Watched(Box::pin(Watched { body, trailers })))
    }

    pub(super) fn peeked(body: Pin<Box<Peeked<B>>>) -> Self {
        Self::other(Other::Peeked(body))
    }

    fn other(other: Other<B>) -> Self {
        let is_done = false;
        Self {
            state: State::Other { is_done, other },
        }
    }
}

/// What a body answers to a poll.
type Polled<B> = Poll<Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>>;

impl<B: Body> Other<B> {
    #[inline(never)]
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Polled<B> {
        let watched = match self {
            Self::Peeked(body) => return body.as_mut().poll_next(cx),
            Self::Watched(watched) => watched.as_mut().project(),
        };
        let polled = watched.body.poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            if let Some(map) = frame.trailers_ref() {
                if let Some(trailers) = watched.trailers.take() {
                    trailers.came(map);
                }
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Watched(watched) => watched.body.is_end_stream(),
            Self::Peeked(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Watched(watched) => watched.body.size_hint(),
            Self::Peeked(body) => body.size_hint(),
        }
    }
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
            StateProj::Plain { is_done, .. } | StateProj::Other { is_done, .. } if *is_done => {
                return Poll::Ready(None);
            }
            StateProj::Plain { is_done, body } => (is_done, body),
            StateProj::Other { is_done, other } => {
                let polled = other.poll_frame(cx);
                *is_done = matches!(polled, Poll::Ready(None | Some(Err(_))));
                return polled;
            }
        };
        // Handed on arm by arm: a frame that was looked at as a whole is moved twice.
        match body.poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(Ok(frame))),
            Poll::Ready(Some(Err(error))) => {
                *is_done = true;
                Poll::Ready(Some(Err(error)))
            }
            Poll::Ready(None) => {
                *is_done = true;
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Plain { body, .. } => body.is_end_stream(),
            State::Other { other, .. } => other.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            State::Plain { body, .. } => body.size_hint(),
            State::Other { other, .. } => other.size_hint(),
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
