//! A body that does as told, and how to watch a body.

use std::{
    collections::VecDeque,
    error::Error,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

/// What a scripted body does at one poll.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Pend,
    Data(Vec<u8>),
    Trailers(HeaderMap),
    Fail,
    Panic,
}

/// A body that does as told, and insists on not being polled after its end.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) acts: VecDeque<Act>,
    pub(super) knows_size: bool,
    pub(super) knows_end: bool,
    pub(super) over: bool,
    /// Held by everything that comes of this body.
    pub(super) held: Arc<()>,
}

#[derive(Debug)]
pub(super) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broken")
    }
}

impl Error for Broken {}

struct Owned(
    Vec<u8>,
    #[expect(dead_code, reason = "counted, not read")] Arc<()>,
);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Script {
    pub(super) fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        Self {
            acts: acts.into_iter().collect(),
            knows_size: true,
            knows_end: true,
            over: false,
            held: Arc::new(()),
        }
    }

    pub(super) fn of(data: &[&str]) -> Self {
        Self::new(data.iter().map(|data| Act::Data(data.as_bytes().to_vec())))
    }

    pub(super) fn holders(&self) -> usize {
        Arc::strong_count(&self.held)
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        assert!(!self.over, "polled after its end");
        let next = match self.acts.pop_front() {
            Some(Act::Pend) => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Some(Act::Data(data)) => {
                let data = Owned(data, Arc::clone(&self.held));
                Some(Ok(Frame::data(Bytes::from_owner(data))))
            }
            Some(Act::Trailers(trailers)) => Some(Ok(Frame::trailers(trailers))),
            Some(Act::Fail) => Some(Err(Broken)),
            Some(Act::Panic) => panic!("as told"),
            None => None,
        };
        self.over = !matches!(next, Some(Ok(_)));
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.knows_end && self.acts.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if !self.knows_size {
            return SizeHint::default();
        }
        let sizes = self.acts.iter().map(|act| match act {
            Act::Data(data) => data.len() as u64,
            _ => 0,
        });
        SizeHint::with_exact(sizes.sum())
    }
}

/// Everything that can be seen of a body before and at one poll.
#[derive(Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) is_end: bool,
    pub(super) lower: u64,
    pub(super) upper: Option<u64>,
    pub(super) frame: String,
    pub(super) bytes: usize,
}

pub(super) fn look<B: Body<Data = Bytes> + Unpin>(body: &mut B, cx: &mut Context<'_>) -> Poll<Seen>
where
    B::Error: fmt::Display,
{
    let (is_end, hint) = (body.is_end_stream(), body.size_hint());
    Pin::new(body).poll_frame(cx).map(|frame| {
        let (frame, bytes) = match frame {
            None => ("end".to_owned(), 0),
            Some(Ok(frame)) => (format!("{frame:?}"), frame.data_ref().map_or(0, Bytes::len)),
            Some(Err(error)) => (error.to_string(), 0),
        };
        Seen {
            is_end,
            lower: hint.lower(),
            upper: hint.upper(),
            frame,
            bytes,
        }
    })
}

/// Reads up to so many frames, and says whether it came to the end.
pub(super) fn read<B: Body<Data = Bytes> + Unpin>(body: &mut B, frames: usize) -> (Vec<Seen>, bool)
where
    B::Error: fmt::Display,
{
    let mut cx = Context::from_waker(Waker::noop());
    let mut all = Vec::new();
    while all.len() < frames {
        if let Poll::Ready(seen) = look(body, &mut cx) {
            let is_over = !seen.frame.starts_with("Frame");
            all.push(seen);
            if is_over {
                return (all, true);
            }
        }
    }
    (all, false)
}

pub(super) fn all<B: Body<Data = Bytes> + Unpin>(mut body: B) -> Vec<Seen>
where
    B::Error: fmt::Display,
{
    read(&mut body, usize::MAX).0
}

pub(super) fn trailers(value: &'static str) -> Act {
    Act::Trailers(HeaderMap::from_iter([(
        http::header::ETAG,
        http::HeaderValue::from_static(value),
    )]))
}
