use std::{
    collections::VecDeque,
    fmt,
    io::IoSlice,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Buf;
use http::{HeaderMap, response::Parts};
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
        reader: Option<Reader>,
        // The rest of the response, here so that it needs no place in the future of a good call.
        head: Option<Parts>,
        // Who waits for the trailers. In a block of its own: it is larger than all else, and of a body that
        // is read ahead there is none.
        trailers: Option<Box<Trailers>>,
    }
}

/// What a body gives at a time: a frame, an error, or its end.
type Item<B> = Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>;

/// One result of `poll_frame`, and what the body said of itself just before.
struct Seen<B: Body> {
    item: Item<B>,
    size_hint: SizeHint,
    is_end_stream: bool,
}

/// What is needed only until the response is handed on.
struct Reader {
    cap: usize,
    limit: Duration,
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
    /// Prepares to read at most `cap` bytes, and to wait for them no longer than `limit`.
    pub(super) fn new(head: Parts, body: B, cap: usize, limit: Duration) -> Self {
        Self {
            body,
            first: None,
            more: VecDeque::new(),
            reader: Some(Reader {
                cap,
                limit,
                timer: None,
                settled: None,
                bytes: 0,
                frames: 0,
                fed: 0,
                is_complete: false,
                has_gap: false,
            }),
            head: Some(head),
            trailers: None,
        }
    }

    /// Reads nothing ahead, and shows what comes at the end to `trailers`.
    pub(super) fn watched(body: B, trailers: Box<Trailers>) -> Self {
        Self {
            body,
            first: None,
            more: VecDeque::new(),
            reader: None,
            head: None,
            trailers: Some(trailers),
        }
    }

    /// Reads ahead until there is nothing more to gain.
    pub(super) fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let Some(reader) = this.reader else {
            return Poll::Ready(());
        };
        while !reader.has_enough() {
            let size_hint = this.body.size_hint();
            let is_end_stream = this.body.is_end_stream();
            if is_end_stream {
                reader.is_complete = true;
                break;
            }
            let last = this.more.back().or(this.first.as_ref());
            if let (Some(seen), Some(head)) = (last, this.head.as_ref()) {
                reader.feed(seen, &head.headers);
                if reader.is_settled() {
                    break;
                }
            }
            let Poll::Ready(item) = this.body.as_mut().poll_frame(cx) else {
                ready!(reader.poll_limit(cx));
                break;
            };
            let is_last = !matches!(item, Some(Ok(_)));
            reader.note(&item);
            let seen = Seen {
                item,
                size_hint,
                is_end_stream,
            };
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

    /// Shows what was read, and gives back the head of the response. Forgets what was needed for
    /// reading; there is nothing the second time.
    pub(super) fn finish<R>(
        self: Pin<&mut Self>,
        show: impl FnOnce(&mut Parts, &Prefix<'_>) -> R,
    ) -> Option<(Parts, R)> {
        let this = self.project();
        let mut head = this.head.take()?;
        let reader = this.reader.as_ref()?;
        let seen = || this.first.iter().chain(this.more.iter());
        let frames = || seen().filter_map(|seen| seen.item.as_ref()?.as_ref().ok()?.data_ref());

        let mut joined = Vec::new();
        let mut only = frames();
        let bytes = match (only.next(), only.next()) {
            (None, _) => &[],
            (Some(data), None) if data.chunk().len() == data.remaining() => data.chunk(),
            _ => {
                joined.reserve_exact(reader.bytes.min(reader.cap));
                for data in frames() {
                    let room = reader.cap.saturating_sub(joined.len());
                    pieces(data, room, |piece| joined.extend_from_slice(piece));
                }
                &joined[..]
            }
        };
        let bytes = bytes.get(..reader.cap).unwrap_or(bytes);
        let remaining = this.body.size_hint().exact().unwrap_or_default();
        let read: u64 = frames().map(|data| data.remaining() as u64).sum();
        let prefix = Prefix {
            bytes,
            is_complete: (reader.is_complete || reader.is_settled()) && read == bytes.len() as u64,
            unread: remaining.saturating_add(read.saturating_sub(bytes.len() as u64)),
        };
        let shown = show(&mut head, &prefix);
        *this.reader = None;
        Some((head, shown))
    }

    /// Hands on what was read, then the rest. The inner body is never polled after its end.
    #[inline(never)]
    pub(super) fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Item<B>> {
        let this = self.project();
        if let Some(seen) = this.first.take().or_else(|| this.more.pop_front()) {
            return Poll::Ready(seen.item);
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
        match self.next() {
            Some(seen) => seen.is_end_stream,
            None => self.body.is_end_stream(),
        }
    }
}

impl Reader {
    fn has_enough(&self) -> bool {
        self.bytes >= self.cap || self.frames >= FRAMES || self.has_gap
    }

    fn note<D: Buf, E>(&mut self, item: &Option<Result<Frame<D>, E>>) {
        self.frames += 1;
        match item {
            None => self.is_complete = true,
            Some(Ok(frame)) => match frame.data_ref() {
                Some(data) => {
                    self.has_gap = pieces(data, data.remaining(), |_| {}) < data.remaining();
                    self.bytes = self.bytes.saturating_add(data.remaining());
                }
                // Trailers: no data follows.
                None => self.is_complete = true,
            },
            Some(Err(_)) => {}
        }
    }

    fn is_settled(&self) -> bool {
        self.settled.as_ref().is_some_and(Settled::is_settled)
    }

    /// Looks at the last frame, once, for whether more need to be read.
    fn feed<B: Body>(&mut self, seen: &Seen<B>, headers: &HeaderMap) {
        if self.fed == self.frames {
            return;
        }
        self.fed = self.frames;
        if let Some(Ok(frame)) = &seen.item {
            if let Some(data) = frame.data_ref() {
                let settled = self.settled.get_or_insert_with(|| Settled::new(headers));
                pieces(data, self.cap, |piece| settled.feed(piece));
            }
        }
    }

    /// Is ready when the body has kept us waiting for too long.
    fn poll_limit(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.limit.is_zero() {
            return Poll::Ready(());
        }
        let limit = self.limit;
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
