use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::watch::Watch;
use crate::{error::BoxError, rare::Rare};

/// The body of a response from [`Timeout`](super::Timeout).
pub type ResponseBody<B> = TimeoutBody<B>;

/// The body of a request that went through [`RequestBodyTimeout`](super::RequestBodyTimeout).
pub type RequestBody<B> = TimeoutBody<B>;

pin_project! {
    /// A body that fails with a [`TimeoutError`](crate::TimeoutError) if its reader has to wait too
    /// long, and is the inner body in everything else: frames, trailers, size, end.
    ///
    /// After an error it ends.
    #[derive(Debug)]
    pub struct TimeoutBody<B> {
        #[pin]
        inner: B,
        // In a block of its own, so that all other responses are not the larger to move for it.
        watch: Rare<Pin<Box<Watch>>>,
        ended: bool,
    }
}

impl<B> TimeoutBody<B> {
    #[inline]
    pub(super) fn unwatched(inner: B) -> Self {
        Self {
            inner,
            watch: Rare::NONE,
            ended: false,
        }
    }

    pub(super) fn watched(inner: B, watch: Watch) -> Self {
        Self {
            inner,
            watch: Rare::new(Box::pin(watch)),
            ended: false,
        }
    }
}

impl<B> Body for TimeoutBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.project();
        if *this.ended {
            return Poll::Ready(None);
        }
        // What is there is handed out, however late. Arm by arm: a frame that is kept for what follows is
        // moved three times instead of once.
        match this.inner.poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) if this.watch.is_none() => Poll::Ready(Some(Ok(frame))),
            Poll::Ready(Some(Ok(frame))) => {
                answered(this.watch);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                *this.ended = true;
                Poll::Ready(Some(Err(error.into())))
            }
            Poll::Ready(None) => {
                *this.ended = true;
                Poll::Ready(None)
            }
            Poll::Pending => {
                if this.watch.is_some() {
                    let error = ready!(poll_expired(this.watch, cx));
                    *this.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Pending
            }
        }
    }

    #[inline]
    fn is_end_stream(&self) -> bool {
        self.ended || self.inner.is_end_stream()
    }

    #[inline]
    fn size_hint(&self) -> SizeHint {
        if self.ended {
            return SizeHint::with_exact(0);
        }
        self.inner.size_hint()
    }
}

/// The reader of a body asked and something was there.
#[inline(never)]
fn answered(watch: &mut Option<Pin<Box<Watch>>>) {
    if let Some(watch) = watch {
        watch.as_mut().answered();
    }
}

/// The reader of a body asked and has to wait: completes once it has waited too long.
#[inline(never)]
fn poll_expired(watch: &mut Option<Pin<Box<Watch>>>, cx: &mut Context<'_>) -> Poll<BoxError> {
    match watch {
        Some(watch) => watch.as_mut().poll_expired(cx).map(Into::into),
        None => Poll::Pending,
    }
}

impl<B: Default> Default for TimeoutBody<B> {
    fn default() -> Self {
        Self::unwatched(B::default())
    }
}
