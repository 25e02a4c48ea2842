//! Request bodies that do what a test needs.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A body of `remaining` bytes, in frames of 16 KiB, that ends, fails or stalls after them.
#[derive(Debug)]
pub struct Synthetic {
    remaining: u64,
    declared: Option<u64>,
    end: End,
}

#[derive(Debug)]
enum End {
    Good,
    Fails(Option<BoxError>),
    Stalls,
}

impl Synthetic {
    /// A body of so many bytes and known length.
    pub fn of(length: u64) -> Self {
        Self {
            remaining: length,
            declared: Some(length),
            end: End::Good,
        }
    }

    /// A body that says `declared` and gives `length`.
    pub fn lying(declared: u64, length: u64) -> Self {
        Self {
            remaining: length,
            declared: Some(declared),
            end: End::Good,
        }
    }

    /// A body of unknown length that fails after so many bytes.
    pub fn failing(after: u64, error: impl Into<BoxError>) -> Self {
        Self {
            remaining: after,
            declared: None,
            end: End::Fails(Some(error.into())),
        }
    }

    /// A body of unknown length that gives so many bytes and then nothing, for ever.
    pub fn stalling(after: u64) -> Self {
        Self {
            remaining: after,
            declared: None,
            end: End::Stalls,
        }
    }
}

impl Body for Synthetic {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        static CHUNK: [u8; 16 * 1024] = [b'a'; 16 * 1024];

        if self.remaining > 0 {
            let length =
                usize::try_from(self.remaining).map_or(CHUNK.len(), |n| n.min(CHUNK.len()));
            self.remaining -= length as u64;
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&CHUNK[..length])))));
        }
        match &mut self.end {
            End::Good => Poll::Ready(None),
            End::Fails(error) => Poll::Ready(error.take().map(Err)),
            End::Stalls => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.remaining == 0 && self.declared == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.declared
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
