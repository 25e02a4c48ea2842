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
    guards::{Watch, watch},
    recording::Recording,
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

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let inner = || match this.state.project() {
            StateProj::Calling { inner } => inner.poll(cx),
            // Polled again after its end, it has nothing more to say.
            StateProj::Refused { error } => match error.take() {
                Some(error) => Poll::Ready(Err(error)),
                None => Poll::Pending,
            },
        };
        if this.recording.is_some() {
            return recorded(this.recording, inner);
        }
        Poll::Ready(match ready!(inner()) {
            Ok(response) => Ok(response.map(ResponseBody::unrecorded)),
            Err(error) => Err(error),
        })
    }
}

/// Polls for the response of a call that is being recorded.
///
/// Always in the caller's own code, where the response is moved twice less: 80 instructions.
#[inline(always)]
pub(crate) fn recorded<B, E>(
    recording: &mut Option<Recording>,
    poll: impl FnOnce() -> Poll<Result<Response<B>, E>>,
) -> Poll<Result<Response<ResponseBody<B>>, E>>
where
    B: Body,
    E: 'static,
{
    if let Some(recording) = recording {
        recording.poll_began();
    }
    let polled = watch(recording, poll);
    // Looked at where it lies: a response is large, and is moved once only.
    match &polled {
        Poll::Pending => {
            if let Some(recording) = recording {
                recording.poll_ended();
            }
            return Poll::Pending;
        }
        Poll::Ready(Ok(response)) => {
            let has_ended = watch(recording, || response.body().is_end_stream());
            recording.take_if(|recording| !recording.answered(response, has_ended));
        }
        Poll::Ready(Err(error)) => Watch::over(recording).failed(error),
    }
    polled.map_ok(|response| response.map(|body| ResponseBody::recorded(body, recording.take())))
}

impl<F, E> fmt::Debug for ResponseFuture<F, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("is_recorded", &self.recording.is_none())
            .finish_non_exhaustive()
    }
}
