use std::{
    collections::VecDeque,
    fmt,
    io::IoSlice,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Buf;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};

use super::{settled::Settled, trailers::Trailers};

/// How many frames are held at most: a body that comes byte by byte must not cost a frame's worth of
/// memory for each.
const FRAMES: usize = 512;
/// How many pieces of one frame are looked at.
const PIECES: usize = 16;

pin_project! {
    /// A body whose beginning was read ahead of its consumer, or whose end is watched. What was read is
    /// handed on first, as it came, and the hints are those that the body gave at the same place.
    pub(super) struct Peeked<B>
    where
        B: Body,
    {
        #[pin]
        body: B,
        first: Option<Seen<B>>,
        more: VecDeque<Seen<B>>,
        // Who waits for the trailers.
        trailers: Option<Box<Trailers>>,
    }
}

/// What a body answers to a poll: a frame, an error, or its end.
pub(super) type Polled<B> = Poll<Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>>;

/// What `poll_frame` has given when it was ready, and what the body said of itself just before.
struct Seen<B: Body> {
    polled: Polled<B>,
    size_hint: SizeHint,
}

impl<B: Body> Seen<B> {
    fn data(&self) -> Option<&B::Data> {
        match &self.polled {
            Poll::Ready(Some(Ok(frame))) => frame.data_ref(),
            _ => None,
        }
    }
}

/// How much is read ahead, and how long the body may take for it.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) cap: usize,
    pub(super) time: Duration,
}

/// What is needed only until the response is handed on.
#[derive(Default)]
pub(super) struct Reader {
    timer: Option<Pin<Box<Sleep>>>,
    /// Made when there is more than one frame: the last one tells by itself.
    settled: Option<Settled>,
    bytes: usize,
    frames: usize,
    /// How many of the frames were looked at.
    fed: usize,
    /// All there is was read.
    is_complete: bool,
    /// A frame did not show all of its bytes: what follows would not join on.
    has_gap: bool,
}

/// What was read of a body.
#[derive(Debug)]
pub(super) struct Prefix<'a> {
    pub(super) bytes: &'a [u8],
    /// The body ends here.
    pub(super) is_complete: bool,
    /// How many bytes there are beyond, if that is known.
    pub(super) unread: u64,
}

impl Prefix<'_> {
    /// Of a body that is not read.
    pub(super) const EMPTY: Self = Self {
        bytes: &[],
        is_complete: true,
        unread: 0,
    };
}

impl<B: Body> Peeked<B> {
    /// Of a body of which nothing was read so far.
    #[inline(always)]
    pub(super) fn new(body: B) -> Self {
        Self {
            body,
            first: None,
            more: VecDeque::new(),
            trailers: None,
        }
    }

    /// Reads nothing ahead, and shows what comes at the end to `trailers`.
    pub(super) fn watched(body: B, trailers: Trailers) -> Self {
        Self {
            trailers: Some(Box::new(trailers)),
            ..Self::new(body)
        }
    }

    /// Reads ahead until there is nothing more to gain.
    pub(super) fn poll_read(
        self: Pin<&mut Self>,
        reader: &mut Reader,
        cx: &mut Context<'_>,
        headers: &HeaderMap,
        limits: Limits,
    ) -> Poll<()> {
        let mut this = self.project();
        while !reader.has_enough(limits.cap) {
            if this.body.is_end_stream() {
                reader.is_complete = true;
                break;
            }
            if let Some(seen) = this.more.back().or(this.first.as_ref()) {
                reader.feed(seen, headers, limits.cap);
                if reader.is_settled() {
                    break;
                }
            }
            let size_hint = this.body.size_hint();
            let polled = this.body.as_mut().poll_frame(cx);
            if polled.is_pending() {
                ready!(reader.poll_limit(cx, limits.time));
                break;
            }
            let is_last = !matches!(polled, Poll::Ready(Some(Ok(_))));
            reader.note(&polled);
            let seen = Seen { polled, size_hint };
            if this.first.is_none() && this.more.is_empty() {
                *this.first = Some(seen);
            } else {
                this.more.push_back(seen);
            }
            if is_last {
                break;
            }
        }
        reader.timer = None;
        Poll::Ready(())
    }

    /// Shows what was read.
    #[inline(always)]
    pub(super) fn show<R>(
        &self,
        reader: &Reader,
        cap: usize,
        show: impl FnOnce(&Prefix<'_>) -> R,
    ) -> R {
        let joined;
        let (bytes, read) = match self.only() {
            Some(bytes) => (bytes, bytes.len() as u64),
            None => {
                let read;
                (joined, read) = self.joined(reader.bytes.min(cap));
                (&joined[..], read)
            }
        };
        let bytes = bytes.get(..cap).unwrap_or(bytes);
        let remaining = self.body.size_hint().exact().unwrap_or_default();
        let is_complete = reader.is_complete || reader.is_settled();
        show(&Prefix {
            bytes,
            is_complete: is_complete && read == bytes.len() as u64,
            unread: remaining.saturating_add(read.saturating_sub(bytes.len() as u64)),
        })
    }

    /// Returns the bytes of the only frame that was read, if they are in one piece.
    fn only(&self) -> Option<&[u8]> {
        let first = self.first.as_ref().filter(|_| self.more.is_empty());
        let data = first.and_then(Seen::data)?;
        (data.chunk().len() == data.remaining()).then(|| data.chunk())
    }

    /// Returns the first `cap` bytes of all frames, and how many they have.
    #[inline(never)]
    fn joined(&self, cap: usize) -> (Vec<u8>, u64) {
        let frames = || self.first.iter().chain(&self.more).filter_map(Seen::data);
        let mut joined = Vec::new();
        joined.reserve_exact(cap);
        for data in frames() {
            let room = cap.saturating_sub(joined.len());
            pieces(data, room, |piece| joined.extend_from_slice(piece));
        }
        (joined, frames().map(|data| data.remaining() as u64).sum())
    }

    /// Hands on what was read, then the rest. The inner body is never polled after its end.
    #[inline(never)]
    pub(super) fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled<B> {
        let this = self.project();
        if let Some(seen) = this.first {
            // In one move to where it is wanted.
            let polled = mem::replace(&mut seen.polled, Poll::Pending);
            *this.first = None;
            return polled;
        }
        if let Some(seen) = this.more.pop_front() {
            return seen.polled;
        }
        let polled = this.body.poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            if let Some(map) = frame.trailers_ref() {
                if let Some(trailers) = this.trailers.take() {
                    trailers.came(map);
                }
            }
        }
        polled
    }

    /// Returns whether all that was read is handed on, and nobody waits for the rest.
    #[inline]
    pub(super) fn is_passing(&self) -> bool {
        self.first.is_none() && self.more.is_empty() && self.trailers.is_none()
    }

    /// The body behind what was read.
    #[inline]
    pub(super) fn rest(self: Pin<&mut Self>) -> Pin<&mut B> {
        self.project().body
    }

    fn next(&self) -> Option<&Seen<B>> {
        self.first.as_ref().or_else(|| self.more.front())
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        match self.next() {
            Some(seen) => seen.size_hint,
            None => self.body.size_hint(),
        }
    }

    pub(super) fn is_end_stream(&self) -> bool {
        // A body that says it is at its end is not polled.
        self.next().is_none() && self.body.is_end_stream()
    }
}

impl Reader {
    fn has_enough(&self, cap: usize) -> bool {
        self.bytes >= cap || self.frames >= FRAMES || self.has_gap
    }

    fn note<D: Buf, E>(&mut self, polled: &Poll<Option<Result<Frame<D>, E>>>) {
        self.frames += 1;
        match polled {
            Poll::Ready(None) => self.is_complete = true,
            Poll::Ready(Some(Ok(frame))) => match frame.data_ref() {
                Some(data) => {
                    self.has_gap = pieces(data, data.remaining(), |_| {}) < data.remaining();
                    self.bytes = self.bytes.saturating_add(data.remaining());
                }
                // Trailers: no data follows.
                None => self.is_complete = true,
            },
            Poll::Ready(Some(Err(_))) | Poll::Pending => {}
        }
    }

    fn is_settled(&self) -> bool {
        self.settled.as_ref().is_some_and(Settled::is_settled)
    }

    /// Looks at the last frame, once, for whether more need to be read.
    fn feed<B: Body>(&mut self, seen: &Seen<B>, headers: &HeaderMap, cap: usize) {
        if self.fed == self.frames {
            return;
        }
        self.fed = self.frames;
        if let Some(data) = seen.data() {
            let settled = self.settled.get_or_insert_with(|| Settled::new(headers));
            pieces(data, cap, |piece| settled.feed(piece));
        }
    }

    /// Is ready when the body has kept us waiting for too long.
    fn poll_limit(&mut self, cx: &mut Context<'_>, limit: Duration) -> Poll<()> {
        if limit.is_zero() {
            return Poll::Ready(());
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(limit)));
        timer.as_mut().poll(cx)
    }
}

/// Shows the bytes of a buffer, `room` of them at most, without consuming it. Returns how many.
fn pieces(data: &impl Buf, room: usize, mut show: impl FnMut(&[u8])) -> usize {
    let mut seen = 0;
    let mut piece = |bytes: &[u8]| {
        let bytes = bytes.get(..room - seen).unwrap_or(bytes);
        seen += bytes.len();
        show(bytes);
    };
    if data.chunk().len() == data.remaining() {
        piece(data.chunk());
    } else {
        let mut slices = [IoSlice::new(&[]); PIECES];
        let count = data.chunks_vectored(&mut slices);
        slices.iter().take(count).for_each(|slice| piece(slice));
    }
    seen
}

impl<B: Body> fmt::Debug for Peeked<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peeked").finish_non_exhaustive()
    }
}
