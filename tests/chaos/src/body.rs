//! Request bodies by plan.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};
use tower_diagnose::BoxError;

use crate::random::Random;

/// What the body of a request is like.
#[derive(Clone, Debug)]
pub struct BodyPlan {
    /// How many bytes it would have if it did not fail.
    pub length: usize,
    /// In pieces of so many bytes.
    pub piece: usize,
    /// Whether it says how long it is.
    pub is_sized: bool,
    /// How long it waits before each piece.
    pub pause: Option<Duration>,
    /// After how many bytes it fails.
    pub fails_at: Option<usize>,
    pub has_trailers: bool,
}

impl BodyPlan {
    pub(crate) fn of(random: &mut Random, longest_pause: Duration) -> Self {
        let length = match random.below(10) {
            0..3 => 0,
            3..6 => random.below(100),
            6..8 => random.below(5_000),
            8 => random.below(70_000),
            _ => random.below(300_000),
        } as usize;
        let is_sized = random.percent(60);
        Self {
            length,
            piece: (1 + random.index(length.max(1))).max(length / 50),
            is_sized,
            pause: (length > 0 && random.percent(15)).then(|| random.time(longest_pause)),
            fails_at: (length > 0 && random.percent(6)).then(|| random.index(length)),
            has_trailers: !is_sized && random.percent(20),
        }
    }

    /// Returns the byte at `position` in the body of call number `call`.
    #[must_use]
    pub fn byte(call: usize, position: usize) -> u8 {
        (call * 31 + position * 7 + position / 251) as u8
    }

    /// Returns whether a body like this ends at once.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0 && !self.has_trailers
    }
}

/// A body that follows its plan.
#[derive(Debug)]
pub struct PlannedBody {
    plan: BodyPlan,
    call: usize,
    given: usize,
    pause: Option<Pin<Box<Sleep>>>,
    is_over: bool,
}

impl PlannedBody {
    /// Creates the body of call number `call`.
    #[must_use]
    pub fn new(plan: BodyPlan, call: usize) -> Self {
        Self {
            plan,
            call,
            given: 0,
            pause: None,
            is_over: false,
        }
    }
}

impl Body for PlannedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        assert!(!self.is_over, "a body was polled after its end");
        let left = self.plan.length - self.given;
        if let (Some(pause), true) = (self.plan.pause, left > 0) {
            let pause = self.pause.get_or_insert_with(|| Box::pin(sleep(pause)));
            if pause.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.pause = None;
        }
        let mut length = left.min(self.plan.piece);
        if let Some(at) = self.plan.fails_at {
            length = length.min(at - self.given);
            if length == 0 {
                self.is_over = true;
                return Poll::Ready(Some(Err("the caller's body broke".into())));
            }
        }
        if length > 0 {
            let from = self.given;
            self.given += length;
            let data: Vec<u8> = (from..self.given)
                .map(|position| BodyPlan::byte(self.call, position))
                .collect();
            return Poll::Ready(Some(Ok(Frame::data(data.into()))));
        }
        if std::mem::take(&mut self.plan.has_trailers) {
            let trailers = HeaderMap::from_iter([(
                HeaderName::from_static("x-checksum"),
                HeaderValue::from_static("SENTINEL-trailer"),
            )]);
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        self.is_over = true;
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.plan.is_sized && self.given == self.plan.length
    }

    fn size_hint(&self) -> SizeHint {
        if self.plan.is_sized {
            SizeHint::with_exact((self.plan.length - self.given) as u64)
        } else {
            SizeHint::default()
        }
    }
}
