//! The lowest tier, and what is counted.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::Instant;

use super::{CALLS_PER_SECOND, DOWN, END};

/// How much more the lowest tier could serve than the clients ask for in good times.
const HEADROOM: u32 = 2;

/// How much work may wait in front of it. What nobody waits for any more is served all the same.
const QUEUE: Duration = Duration::from_secs(1);

/// What is counted in each second.
#[derive(Clone, Copy, Default)]
pub(crate) struct Second {
    pub(crate) calls: u32,
    pub(crate) good: u32,
    /// Requests that arrived at each tier, the lowest one last.
    pub(crate) arrived: [u32; 3],
}

pub(crate) struct World {
    pub(crate) start: Instant,
    pub(crate) seconds: Mutex<Vec<Second>>,
    /// What one request costs the lowest tier, and when it will be done with those that it took.
    cost: Duration,
    free_at: Mutex<Instant>,
}

impl World {
    pub(crate) fn new(clients: u32) -> Arc<Self> {
        let start = Instant::now();
        Arc::new(Self {
            start,
            seconds: Mutex::new(vec![Second::default(); END as usize]),
            cost: Duration::from_secs(1) / (clients * CALLS_PER_SECOND * HEADROOM),
            free_at: Mutex::new(start),
        })
    }

    pub(crate) fn note(&self, second: u64, note: impl FnOnce(&mut Second)) {
        if let Some(second) = self.seconds.lock().unwrap().get_mut(second as usize) {
            note(second);
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.start.elapsed().as_secs()
    }

    /// Takes a request for the lowest tier. Returns when it will be answered, if there is room.
    pub(crate) fn take(&self) -> Option<Instant> {
        let now = Instant::now();
        let is_down = DOWN.contains(&(self.now() as u32));
        let end_of_outage = self.start + Duration::from_secs(1) * DOWN.end;
        let mut free_at = self.free_at.lock().unwrap();
        let begins = (*free_at).max(if is_down { end_of_outage } else { now });
        let ahead = begins - if is_down { end_of_outage } else { now };
        if ahead > QUEUE {
            return None;
        }
        *free_at = begins + self.cost;
        Some(*free_at)
    }
}
