use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::Response;
use http_body::Body;
use pin_project_lite::pin_project;

use super::{
    body::ResponseBody,
    recording::{Recording, watch},
};

pin_project! {
    /// The response of a [`Recorder`](super::Recorder) service.
    ///
    /// Dropped before it is ready, also before its first poll, it leaves the record of a cancelled
    /// call.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, E> {
        #[pin]
        state: State<F, E>,
        // Below the state: the inner future is dropped first, and what its layers note then still
        // makes it into the record.
        recording: Option<Recording>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, E> {
        Calling { #[pin] inner: F },
        Refused { error: Option<E> },
    }
}

impl<F, E> ResponseFuture<F, E> {
    pub(super) fn calling(inner: F, recording: Option<Recording>) -> Self {
        Self {
            state: State::Calling { inner },
            recording,
        }
    }

    pub(super) fn refused(error: E, recording: Option<Recording>) -> Self {
        Self {
            state: State::Refused { error: Some(error) },
            recording,
        }
    }
}

impl<F, B, E> Future for ResponseFuture<F, E>
where
    F: Future<Output = Result<Response<B>, E>>,
    B: Body,
    E: 'static,
{
    type Output = Result<Response<ResponseBody<B>>, E>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.as_mut().project();
        match (this.state.project(), &this.recording) {
            // Not recorded: straight through.
            (StateProj::Calling { inner }, None) => match inner.poll(cx) {
                Poll::Ready(Ok(response)) => {
                    Poll::Ready(Ok(response.map(|body| ResponseBody::new(body, None))))
                }
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Pending => Poll::Pending,
            },
            _ => self.poll_recorded(cx),
        }
    }
}

impl<F, B, E> ResponseFuture<F, E>
where
    F: Future<Output = Result<Response<B>, E>>,
    B: Body,
    E: 'static,
{
    #[inline(never)]
    fn poll_recorded(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Response<ResponseBody<B>>, E>> {
        let this = self.project();
        let recording = this.recording;
        let result = match this.state.project() {
            StateProj::Calling { inner } => ready!(watch(recording, || inner.poll(cx))),
            // Polled again after its end, it has nothing more to say.
            StateProj::Refused { error } => match error.take() {
                Some(error) => Err(error),
                None => return Poll::Pending,
            },
        };
        Poll::Ready(match result {
            Ok(response) => {
                let has_ended = watch(recording, || response.body().is_end_stream());
                let recording = recording
                    .take()
                    .and_then(|recording| recording.answered(&response, has_ended));
                Ok(response.map(|body| ResponseBody::new(body, recording)))
            }
            Err(error) => {
                if let Some(recording) = recording.take() {
                    recording.failed(&error);
                }
                Err(error)
            }
        })
    }
}

impl<F, E> fmt::Debug for ResponseFuture<F, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("is_recorded", &self.recording.is_none())
            .finish_non_exhaustive()
    }
}
