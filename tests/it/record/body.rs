//! A body that does what it was told.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use tower_diagnose::BoxError;

#[derive(Clone, Debug)]
pub(super) enum Step {
    Data(&'static str),
    Trailers(HeaderMap),
    Fail,
    Wait,
    Panic,
}

#[derive(Debug)]
pub(super) struct Scripted {
    steps: VecDeque<Step>,
    /// Says that it is at its end before it is asked for the next frame.
    tells_end: bool,
    has_ended: bool,
}

impl Scripted {
    pub(super) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            steps: steps.into_iter().collect(),
            tells_end: false,
            has_ended: false,
        }
    }

    pub(super) fn telling_its_end(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            tells_end: true,
            ..Self::new(steps)
        }
    }
}

impl Body for Scripted {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        assert!(!self.has_ended, "polled after its end");
        Poll::Ready(match self.steps.pop_front() {
            Some(Step::Data(data)) => Some(Ok(Frame::data(Bytes::from_static(data.as_bytes())))),
            Some(Step::Trailers(trailers)) => Some(Ok(Frame::trailers(trailers))),
            Some(Step::Fail) => {
                self.has_ended = true;
                Some(Err(io::Error::from(io::ErrorKind::ConnectionReset).into()))
            }
            Some(Step::Wait) => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Some(Step::Panic) => panic!("the body panics"),
            None => {
                self.has_ended = true;
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.tells_end && self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.steps.len() as u64)
    }
}
