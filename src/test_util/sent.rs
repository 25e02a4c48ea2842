//! The request's body on its way out.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::{error::BoxError, transport::BodyFailure};

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
            let failure = BodyFailure::mark("the body of the request was made to fail".into());
            return Poll::Ready(Some(Err(failure)));
        }
        let frame = this.inner.poll_frame(cx);
        frame.map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        !self.fails && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.fails {
            return SizeHint::default();
        }
        self.inner.size_hint()
    }
}
