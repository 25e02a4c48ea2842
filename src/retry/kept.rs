//! What is remembered of one request, shared by those of its attempts that are still alive.

use std::{
    pin::Pin,
    sync::PoisonError,
    task::{Context, Poll, Waker},
};

use bytes::{Buf, Bytes};
use http::{HeaderMap, request::Parts};
use http_body::{Body, Frame, SizeHint};

use super::snapshot::{Head, Snapshot};
use crate::sync::{Arc, Mutex, MutexGuard};

/// How many frames without any bytes are kept at most.
const EMPTY_FRAMES: usize = 1024;

/// How many bytes of trailers are kept at most.
const TRAILERS_LIMIT: usize = 16 * 1024;

/// The head and the body of a request, in one block of memory.
///
/// The lock belongs to one call. It is held while the caller's body is polled, so that whoever makes the
/// next attempt finds everything that was read.
pub(super) struct Kept<B> {
    state: Mutex<State<B>>,
    head: Snapshot,
}

/// The body, as far as it was read, and the rest of it.
pub(super) struct State<B> {
    /// `None` when there is nothing left to read, or one attempt has it for itself.
    rest: Option<B>,
    pub(super) standing: Standing,
    limit: usize,
    frames: Frames,
    /// The end, if it was read.
    end: Option<Point>,
    /// Which attempt may read. It has had the first `position` frames.
    attempt: u32,
    position: usize,
    /// That attempt has begun to read.
    is_read: bool,
    waker: Option<Waker>,
}

/// What may still become of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// All that was read is remembered.
    Keeping,
    /// There never was anything to read.
    Empty,
    /// More was read than is remembered.
    Overflowed,
    /// It failed by itself.
    Failed,
    /// There will be no further attempt.
    Closed,
}

/// What a body said of itself at one point.
#[derive(Clone)]
struct Point {
    hint: SizeHint,
    is_end: bool,
}

/// What one poll came to.
pub(super) enum Step<B: Body> {
    Frame(Frame<Bytes>),
    End,
    Failed(B::Error),
    /// Another attempt reads the body.
    Superseded,
    /// From here on nothing is remembered: this attempt may have the body for itself.
    Released(Option<Frame<Bytes>>, B),
}

impl<B> Default for Kept<B> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                rest: None,
                standing: Standing::Empty,
                limit: 0,
                frames: Frames::default(),
                end: None,
                attempt: 0,
                position: 0,
                is_read: false,
                waker: None,
            }),
            head: Snapshot::empty(),
        }
    }
}

impl<B> Kept<B> {
    /// Keeps a head. The body is kept when [it is put there](Self::put).
    pub(super) fn new(head: Head<'_>, limit: usize) -> Arc<Self> {
        // `Arc::default` makes it where it stays. `Arc::new` would make it on the stack and copy the
        // whole of it, a kilobyte.
        let mut kept = Arc::<Self>::default();
        // Nobody else has it yet.
        if let Some(Self { state, head: kept }) = Arc::get_mut(&mut kept) {
            let state = state.get_mut().unwrap_or_else(PoisonError::into_inner);
            state.limit = limit;
            kept.fill(head);
        }
        kept
    }

    /// Keeps a body, or, of one that is empty, no more than its size hint.
    #[inline]
    pub(super) fn put(&mut self, body: Result<B, SizeHint>) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        match body {
            Ok(body) => {
                state.standing = Standing::Keeping;
                state.rest = Some(body);
            }
            Err(hint) => state.end = Some(Point { hint, is_end: true }),
        }
    }

    pub(super) fn restore_head(&self) -> Option<Parts> {
        self.head.restore()
    }

    /// Returns the body, unless it panicked when it was polled.
    pub(super) fn state(&self) -> Option<MutexGuard<'_, State<B>>> {
        self.state.lock().ok()
    }
}

impl<B> State<B> {
    pub(super) fn can_replay(&self) -> bool {
        matches!(self.standing, Standing::Keeping | Standing::Empty)
    }

    pub(super) fn is_read(&self) -> bool {
        self.is_read
    }

    /// Lets nobody read but the next attempt, which begins at the first frame. Returns its number, and
    /// whom to tell.
    pub(super) fn supersede(&mut self) -> (u32, Option<Waker>) {
        self.attempt = self.attempt.wrapping_add(1);
        self.position = 0;
        self.is_read = false;
        (self.attempt, self.waker.take())
    }

    /// There will be no further attempt.
    pub(super) fn close(&mut self) {
        if self.standing == Standing::Keeping {
            self.standing = Standing::Closed;
            if self.position == self.frames.len() {
                self.forget();
            }
        }
    }

    pub(super) fn size_hint_at_end(&self) -> SizeHint {
        match &self.end {
            Some(end) => same(&end.hint),
            None => SizeHint::with_exact(0),
        }
    }

    fn forget(&mut self) {
        self.frames = Frames::default();
        self.position = 0;
    }
}

impl<B: Body> State<B> {
    pub(super) fn is_end_stream(&self, attempt: u32) -> bool {
        if attempt != self.attempt || self.position < self.frames.len() {
            return false;
        }
        match (&self.rest, &self.end) {
            (Some(rest), _) => rest.is_end_stream(),
            (None, Some(end)) => end.is_end,
            (None, None) => true,
        }
    }

    pub(super) fn size_hint(&self, attempt: u32) -> SizeHint {
        if attempt != self.attempt {
            return SizeHint::default();
        }
        if let Some(frame) = self.frames.get(self.position) {
            return same(&frame.hint);
        }
        match &self.rest {
            Some(rest) => rest.size_hint(),
            None => self.size_hint_at_end(),
        }
    }
}

impl<B: Body + Unpin> State<B> {
    pub(super) fn poll(&mut self, attempt: u32, cx: &mut Context<'_>) -> Poll<Step<B>> {
        if attempt != self.attempt {
            return Poll::Ready(Step::Superseded);
        }
        self.is_read = true;
        if let Some(frame) = self.frames.get(self.position) {
            self.position += 1;
            return Poll::Ready(Step::Frame(frame.content.to_frame()));
        }
        if self.standing == Standing::Closed {
            self.forget();
            return Poll::Ready(match self.rest.take() {
                Some(rest) => Step::Released(None, rest),
                None => Step::End,
            });
        }
        let Some(rest) = &mut self.rest else {
            return Poll::Ready(Step::End);
        };
        let hint = rest.size_hint();
        if rest.is_end_stream() {
            return Poll::Ready(self.ended(Point { hint, is_end: true }));
        }
        match Pin::new(rest).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(self.read(whole(frame), hint)),
            Poll::Ready(Some(Err(error))) => {
                self.standing = Standing::Failed;
                self.rest = None;
                self.forget();
                Poll::Ready(Step::Failed(error))
            }
            Poll::Ready(None) => Poll::Ready(self.ended(Point {
                hint,
                is_end: false,
            })),
            Poll::Pending => {
                self.wait(cx.waker());
                Poll::Pending
            }
        }
    }

    fn ended(&mut self, end: Point) -> Step<B> {
        self.rest = None;
        self.end = Some(end);
        Step::End
    }

    /// Remembers a frame, before which the body's size hint was `hint`, or forgets them all.
    fn read(&mut self, frame: Frame<Bytes>, hint: SizeHint) -> Step<B> {
        if self.frames.keep(&frame, hint, self.limit) {
            self.position += 1;
            return Step::Frame(frame);
        }
        self.standing = Standing::Overflowed;
        self.forget();
        match self.rest.take() {
            Some(rest) => Step::Released(Some(frame), rest),
            None => Step::Frame(frame),
        }
    }

    fn wait(&mut self, waker: &Waker) {
        match &mut self.waker {
            Some(known) => known.clone_from(waker),
            None => self.waker = Some(waker.clone()),
        }
    }
}

/// The frames that were read. The first one is in place, for most bodies have no other.
#[derive(Default)]
struct Frames {
    first: Option<KeptFrame>,
    more: Vec<KeptFrame>,
    bytes: usize,
    /// How many of them are without bytes.
    empty: usize,
}

struct KeptFrame {
    /// What the body said of its size before this frame.
    hint: SizeHint,
    content: Content,
}

enum Content {
    Data(Bytes),
    Trailers(Box<HeaderMap>),
}

impl Frames {
    fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    fn get(&self, position: usize) -> Option<&KeptFrame> {
        match position.checked_sub(1) {
            None => self.first.as_ref(),
            Some(position) => self.more.get(position),
        }
    }

    /// Returns whether the frame could be kept.
    fn keep(&mut self, frame: &Frame<Bytes>, hint: SizeHint, limit: usize) -> bool {
        let content = if let Some(data) = frame.data_ref() {
            self.bytes = self.bytes.saturating_add(data.len());
            self.empty += usize::from(data.is_empty());
            if self.bytes > limit || self.empty > EMPTY_FRAMES {
                return false;
            }
            Content::Data(data.clone())
        } else if let Some(trailers) = frame.trailers_ref() {
            if size(trailers) > TRAILERS_LIMIT {
                return false;
            }
            self.empty += 1;
            Content::Trailers(Box::new(trailers.clone()))
        } else {
            return false;
        };
        let kept = KeptFrame { hint, content };
        match self.first {
            None => self.first = Some(kept),
            Some(_) => self.more.push(kept),
        }
        true
    }
}

impl Content {
    fn to_frame(&self) -> Frame<Bytes> {
        match self {
            Self::Data(data) => Frame::data(data.clone()),
            Self::Trailers(trailers) => Frame::trailers(HeaderMap::clone(trailers)),
        }
    }
}

#[expect(
    clippy::clone_on_copy,
    reason = "it is not `Copy` before http-body 1.1"
)]
pub(super) fn same(hint: &SizeHint) -> SizeHint {
    hint.clone()
}

/// Makes `Bytes` of a frame's data, without a copy if they are.
pub(super) fn whole<D: Buf>(frame: Frame<D>) -> Frame<Bytes> {
    frame.map_data(|mut data| data.copy_to_bytes(data.remaining()))
}

fn size(trailers: &HeaderMap) -> usize {
    trailers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum()
}
