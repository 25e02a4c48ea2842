use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// How many bytes a frame has at most, as a client over a socket hands them out.
pub const FRAME: usize = 16 * 1024;

/// A body of static bytes in frames.
#[derive(Clone)]
pub struct Framed(pub Bytes);

impl Body for Framed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.0.is_empty() {
            return Poll::Ready(None);
        }
        let len = self.0.len().min(FRAME);
        Poll::Ready(Some(Ok(Frame::data(self.0.split_to(len)))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}
