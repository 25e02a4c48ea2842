//! What the process holds: memory, descriptors, tasks.

use std::{fmt, fs, time::Duration};

use tokio::{runtime::Handle, time::sleep};

/// What the process holds at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// What is allocated, in bytes.
    pub live: usize,
    /// What the system has given, in bytes.
    pub resident: usize,
    pub descriptors: usize,
    pub tasks: usize,
}

impl Held {
    /// Returns what is held now. `live` tells how many bytes are allocated.
    pub fn now(live: fn() -> usize) -> Self {
        let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages = statm.split(' ').nth(1);
        let pages = pages.and_then(|pages| pages.parse::<usize>().ok());
        Self {
            live: live(),
            resident: pages.unwrap_or_default() * 4096,
            descriptors: fs::read_dir("/proc/self/fd").map_or(0, Iterator::count),
            tasks: Handle::current().metrics().num_alive_tasks(),
        }
    }

    /// Returns what is held once `is_settled`, or after ten seconds.
    pub async fn settled(live: fn() -> usize, is_settled: impl Fn(&Self) -> bool) -> Self {
        let mut held = Self::now(live);
        for _ in 0..200 {
            if is_settled(&held) {
                break;
            }
            sleep(Duration::from_millis(50)).await;
            held = Self::now(live);
        }
        held
    }

    /// Returns the larger of each.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            live: self.live.max(other.live),
            resident: self.resident.max(other.resident),
            descriptors: self.descriptors.max(other.descriptors),
            tasks: self.tasks.max(other.tasks),
        }
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.1} MiB live, {} MiB resident, {} descriptors, {} tasks",
            self.live as f64 / f64::from(1 << 20),
            self.resident >> 20,
            self.descriptors,
            self.tasks
        )
    }
}
