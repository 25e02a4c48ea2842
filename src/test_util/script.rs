use std::{
    collections::VecDeque,
    error::Error,
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// What a [`ScriptedBody`] does next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// A frame of data.
    Data(Bytes),
    /// Trailers.
    Trailers(HeaderMap),
    /// It fails, with a [`ScriptError`], and is over.
    Fail,
    /// It is not ready once, and wakes whoever asked at once.
    Pending,
    /// It is not ready for so long, by tokio's clock.
    Wait(Duration),
}

/// A body that follows a script, and panics when it is polled after its end.
///
/// ```
/// use bytes::Bytes;
/// use http_body_util::BodyExt;
/// use tower_diagnose::test_util::{ScriptedBody, Step};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let steps = [Step::Data(Bytes::from("half")), Step::Pending, Step::Fail];
/// let mut body = ScriptedBody::new(steps);
/// assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "half");
/// assert!(body.frame().await.unwrap().is_err());
/// # }
/// ```
#[derive(Debug)]
pub struct ScriptedBody {
    steps: VecDeque<Step>,
    knows_length: bool,
    knows_end: bool,
    waiting: Option<Pin<Box<Sleep>>>,
    is_over: bool,
}

impl ScriptedBody {
    /// Creates a body that takes these steps and then ends. It knows neither its length nor its end
    /// beforehand.
    #[must_use]
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            steps: steps.into_iter().collect(),
            knows_length: false,
            knows_end: false,
            waiting: None,
            is_over: false,
        }
    }

    /// Sets whether `size_hint` tells how many bytes are left.
    #[must_use]
    pub fn knows_length(mut self, knows: bool) -> Self {
        self.knows_length = knows;
        self
    }

    /// Sets whether `is_end_stream` tells that nothing more will come.
    #[must_use]
    pub fn knows_end(mut self, knows: bool) -> Self {
        self.knows_end = knows;
        self
    }
}

impl Body for ScriptedBody {
    type Data = Bytes;
    type Error = ScriptError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ScriptError>>> {
        assert!(!self.is_over, "polled after its end");
        if let Some(waiting) = &mut self.waiting {
            ready!(waiting.as_mut().poll(cx));
            self.waiting = None;
        }
        Poll::Ready(match self.steps.pop_front() {
            Some(Step::Pending) => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Some(Step::Wait(wait)) => {
                self.waiting = Some(Box::pin(sleep(wait)));
                return self.poll_frame(cx);
            }
            Some(Step::Data(data)) => Some(Ok(Frame::data(data))),
            Some(Step::Trailers(trailers)) => Some(Ok(Frame::trailers(trailers))),
            Some(Step::Fail) => {
                self.is_over = true;
                Some(Err(ScriptError))
            }
            None => {
                self.is_over = true;
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        let goes_on = |step: &Step| !matches!(step, Step::Pending | Step::Wait(_));
        self.knows_end && !self.steps.iter().any(goes_on)
    }

    fn size_hint(&self) -> SizeHint {
        if !self.knows_length {
            return SizeHint::default();
        }
        let lengths = self.steps.iter().map(|step| match step {
            Step::Data(data) => u64::try_from(data.len()).unwrap_or(u64::MAX),
            _ => 0,
        });
        SizeHint::with_exact(lengths.fold(0, u64::saturating_add))
    }
}

/// The error of a [`ScriptedBody`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptError;

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the script says so")
    }
}

impl Error for ScriptError {}
