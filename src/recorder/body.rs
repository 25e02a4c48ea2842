use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::{guards::watch, recording::Recording};

pin_project! {
    /// The body of a response whose call is being recorded.
    ///
    /// The record is made when the body has been read to its end, has failed, or is dropped.
    pub struct ResponseBody<B> {
        #[pin]
        inner: B,
        // Taken when the record has been made, or was made at the head.
        recording: Option<Recording>,
        has_ended: bool,
    }
}

/// What a body answers to a poll.
type Polled<B> = Poll<Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>>;

impl<B> ResponseBody<B> {
    #[inline]
    pub(crate) fn unrecorded(inner: B) -> Self {
        Self::recorded(inner, None)
    }

    #[inline]
    pub(super) fn recorded(inner: B, recording: Option<Recording>) -> Self {
        Self {
            inner,
            recording,
            has_ended: false,
        }
    }
}

impl<B> Body for ResponseBody<B>
where
    B: Body,
    B::Error: 'static,
{
    type Data = B::Data;
    type Error = B::Error;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if self.recording.is_some() {
            return self.poll_recorded(cx);
        }
        let this = self.project();
        if *this.has_ended {
            return Poll::Ready(None);
        }
        // Handed on arm by arm: a frame that was looked at as a whole is moved twice.
        match this.inner.poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(Ok(frame))),
            Poll::Ready(Some(Err(error))) => {
                *this.has_ended = true;
                Poll::Ready(Some(Err(error)))
            }
            Poll::Ready(None) => {
                *this.has_ended = true;
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl<B> ResponseBody<B>
where
    B: Body,
    B::Error: 'static,
{
    #[inline]
    fn poll_recorded(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled<B> {
        let mut this = self.project();
        let polled = ready!(watch(this.recording, || this.inner.as_mut().poll_frame(cx)));
        *this.has_ended = !matches!(polled, Some(Ok(_)));
        // Of a body whose length is known, many readers never ask for what comes after the end.
        let is_last =
            matches!(polled, Some(Ok(_))) && watch(this.recording, || this.inner.is_end_stream());
        if let (Some(recording), Some(Ok(frame))) = (this.recording.as_mut(), &polled) {
            recording.read(frame.data_ref().map_or(0, Buf::remaining));
            if !is_last && !frame.is_trailers() {
                return Poll::Ready(polled);
            }
        }
        if let Some(recording) = this.recording {
            match &polled {
                Some(Ok(frame)) => recording.completed(frame.trailers_ref()),
                Some(Err(error)) => recording.body_failed(error),
                None => recording.completed(None),
            }
            *this.recording = None;
        }
        Poll::Ready(polled)
    }
}

impl<B> fmt::Debug for ResponseBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody")
            .field("is_recorded", &self.recording.is_none())
            .finish_non_exhaustive()
    }
}

impl<B: Default> Default for ResponseBody<B> {
    fn default() -> Self {
        Self::unrecorded(B::default())
    }
}
