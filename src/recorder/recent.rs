use std::{
    fmt, mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::filter::CallFilter;
use crate::record::{CallRecord, RecordSink};

/// More records than this are not kept, whatever was asked for.
const MAX_CAPACITY: usize = 1 << 20;

/// Keeps the most recent records in memory.
///
/// A clone is another handle on the same records. Each place of the ring has its own lock, held while
/// a pointer is put there or copied from it: calls that end at the same time do not wait for one
/// another, and a reader holds nobody up.
#[derive(Clone)]
pub struct RecentCalls {
    ring: Arc<Ring>,
}

struct Ring {
    next: AtomicU64,
    places: Box<[Mutex<Place>]>,
}

/// A record and its number, by which the records are in order.
type Place = Option<(u64, Arc<CallRecord>)>;

impl RecentCalls {
    /// Keeps at most `capacity` records, and never more than 1,048,576. 0 keeps none.
    ///
    /// The places are allocated at once, 32 bytes each; a record takes some 500 bytes.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let places = (0..capacity.min(MAX_CAPACITY)).map(|_| Mutex::default());
        Self {
            ring: Arc::new(Ring {
                next: AtomicU64::new(0),
                places: places.collect(),
            }),
        }
    }

    /// Returns the records, oldest first: in the order in which the calls ended.
    #[must_use]
    pub fn snapshot(&self) -> Vec<CallRecord> {
        let records = self.ring.pointers();
        records.iter().map(|record| (**record).clone()).collect()
    }

    /// Returns the records that pass `filter`, newest first.
    #[must_use]
    pub fn matching(&self, filter: &CallFilter) -> Vec<CallRecord> {
        self.newest(filter)
            .map(|record| (*record).clone())
            .collect()
    }

    pub(super) fn newest(&self, filter: &CallFilter) -> impl Iterator<Item = Arc<CallRecord>> {
        self.ring
            .pointers()
            .into_iter()
            .rev()
            .filter(|record| filter.matches(record))
            .take(filter.most())
    }

    /// Returns how many calls were recorded since the beginning, those no longer kept included.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ring.next.load(Ordering::Relaxed)
    }
}

impl Ring {
    fn push(&self, record: CallRecord) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let place = number
            .checked_rem(self.places.len() as u64)
            .and_then(|place| self.places.get(usize::try_from(place).ok()?));
        let Some(place) = place else { return };
        let mut record = Some((number, Arc::new(record)));
        let mut place = lock(place);
        // One that took its number a whole round ago and comes only now is too late.
        if place.as_ref().is_none_or(|(there, _)| *there < number) {
            mem::swap(&mut *place, &mut record);
        }
        // Unlocked before what was there is dropped.
        drop(place);
    }

    fn pointers(&self) -> Vec<Arc<CallRecord>> {
        let mut records: Vec<_> = self
            .places
            .iter()
            .filter_map(|place| lock(place).clone())
            .collect();
        records.sort_unstable_by_key(|(number, _)| *number);
        records.into_iter().map(|(_, record)| record).collect()
    }
}

fn lock(place: &Mutex<Place>) -> MutexGuard<'_, Place> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RecordSink for RecentCalls {
    fn record(&self, record: CallRecord) {
        self.ring.push(record);
    }
}

impl fmt::Debug for RecentCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecentCalls")
            .field("capacity", &self.ring.places.len())
            .field("total", &self.total())
            .finish()
    }
}
