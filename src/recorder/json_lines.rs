use std::{
    fmt,
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use crate::record::{CallRecord, RecordSink};

/// How many more records are written before the writer is flushed.
const BATCH: usize = 255;

/// Writes one line of JSON per record, from a thread of its own.
///
/// The call pays for putting the record into a queue, never for writing it. When the queue is full
/// the record is dropped; how many were, [`dropped`](Self::dropped) says, and so does a line of its
/// own, `{"dropped_records":17}`, as soon as there is room again. A line that could not be written
/// counts as dropped too, and the next one is tried.
///
/// A clone is another handle on the same queue. When the last handle is gone, what is queued is
/// still written and the thread ends; call [`flush`](Self::flush) before the process does.
///
/// ```
/// use std::{io, time::Duration};
/// use tower_diagnose::{JsonLines, RecorderLayer};
///
/// # fn main() -> io::Result<()> {
/// let lines = JsonLines::new(io::stderr(), 1024)?;
/// let layer = RecorderLayer::new(lines.clone());
/// # drop(layer);
/// assert!(lines.flush(Duration::from_secs(1)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct JsonLines {
    // Above the counts, so that the thread's end of the queue closes first.
    queue: SyncSender<CallRecord>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    queued: AtomicU64,
    dropped: AtomicU64,
    /// Of those queued, how many have been dealt with.
    done: Mutex<u64>,
    progress: Condvar,
}

impl JsonLines {
    /// Writes to `writer` what waits in a queue of at most `capacity` records, which is allocated at
    /// once. At least 1, at most 65,536.
    ///
    /// # Errors
    ///
    /// The system's, if it will not start a thread.
    pub fn new(writer: impl Write + Send + 'static, capacity: usize) -> io::Result<Self> {
        let (queue, records) = sync_channel(capacity.clamp(1, 65_536));
        let counts = Arc::new(Counts::default());
        let lines = Lines {
            writer,
            counts: Arc::clone(&counts),
            buffer: Vec::new(),
            reported: 0,
            is_broken: false,
        };
        thread::Builder::new()
            .name("tower-diagnose-lines".to_owned())
            .spawn(move || lines.run(&records))?;
        Ok(Self { queue, counts })
    }

    /// Returns how many records were dropped so far, because the queue was full or the writer failed.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.counts.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all that was queued before is written, for at most `limit`; returns whether it is.
    ///
    /// Blocks the thread: not for use inside an async task.
    pub fn flush(&self, limit: Duration) -> bool {
        let until = self.counts.queued.load(Ordering::Acquire);
        let done = self.counts.done.lock();
        let done = done.unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .counts
            .progress
            .wait_timeout_while(done, limit, |done| *done < until);
        *waited.unwrap_or_else(PoisonError::into_inner).0 >= until
    }
}

impl RecordSink for JsonLines {
    fn record(&self, record: CallRecord) {
        let count = match self.queue.try_send(record) {
            Ok(()) => &self.counts.queued,
            Err(_) => &self.counts.dropped,
        };
        count.fetch_add(1, Ordering::Release);
    }
}

impl Counts {
    fn finish(&self, records: u64) {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) += records;
        self.progress.notify_all();
    }
}

impl fmt::Debug for JsonLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLines")
            .field("dropped", &self.dropped())
            .finish_non_exhaustive()
    }
}

/// The thread's side.
struct Lines<W> {
    writer: W,
    counts: Arc<Counts>,
    buffer: Vec<u8>,
    /// How many dropped records have been written about.
    reported: u64,
    /// The last line may stand there in part.
    is_broken: bool,
}

impl<W: Write> Lines<W> {
    fn run(mut self, records: &Receiver<CallRecord>) {
        while let Ok(first) = records.recv() {
            let mut finished = 1;
            self.write(&first);
            // Bounded, so that under steady load the writer is flushed now and then.
            for record in records.try_iter().take(BATCH) {
                self.write(&record);
                finished += 1;
            }
            self.report();
            self.attempt(W::flush);
            self.counts.finish(finished);
        }
    }

    fn write(&mut self, record: &CallRecord) {
        self.report();
        self.buffer.clear();
        let is_written = serde_json::to_writer(&mut self.buffer, record).is_ok() && self.line();
        if !is_written {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn report(&mut self) {
        let dropped = self.counts.dropped.load(Ordering::Relaxed);
        if dropped > self.reported {
            self.buffer.clear();
            let count = dropped - self.reported;
            self.buffer
                .extend_from_slice(format!("{{\"dropped_records\":{count}}}").as_bytes());
            if self.line() {
                self.reported = dropped;
            }
        }
    }

    /// Writes the buffer as a line.
    fn line(&mut self) -> bool {
        self.buffer.push(b'\n');
        if self.is_broken {
            self.buffer.insert(0, b'\n');
        }
        let buffer = std::mem::take(&mut self.buffer);
        let is_written = self.attempt(|writer| writer.write_all(&buffer));
        self.is_broken = !is_written;
        self.buffer = buffer;
        is_written
    }

    /// Runs the writer's code; a panic there is a failure like any other.
    fn attempt(&mut self, run: impl FnOnce(&mut W) -> io::Result<()>) -> bool {
        let writer = &mut self.writer;
        matches!(catch_unwind(AssertUnwindSafe(|| run(writer))), Ok(Ok(())))
    }
}
