//! The request's body on its way out.

use std::{
    error::Error,
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::error::BoxError;

pin_project! {
    /// The caller's body, or, if it is to fail, one that does so at once.
    #[derive(Debug)]
    pub(super) struct SentBody<B> {
        #[pin]
        inner: B,
        fails: bool,
    }
}

impl<B> SentBody<B> {
    pub(super) fn new(inner: B, fails: bool) -> Self {
        Self { inner, fails }
    }
}

impl<B> Body for SentBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let this = self.project();
        if *this.fails {
            return Poll::Ready(Some(Err(MadeToFail.into())));
        }
        let frame = this.inner.poll_frame(cx);
        frame.map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        !self.fails && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.fails {
            // A body that might be empty hyper does not even ask for, below a GET.
            return SizeHint::with_exact(1);
        }
        self.inner.size_hint()
    }
}

/// The failure of a body that stands for the caller's.
///
/// A type of its own: of a bare text `RetryLayer`, outside, could not know that it came from a body.
#[derive(Debug)]
struct MadeToFail;

impl fmt::Display for MadeToFail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body of the request was made to fail")
    }
}

impl Error for MadeToFail {}
