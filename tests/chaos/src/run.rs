//! Plays many seeds.

use std::{
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use tokio::{runtime, task::JoinSet};

use crate::{
    plan::Plan,
    play::{Counts, play},
};

/// How many seeds one thread plays at a time over sockets.
const AT_A_TIME: usize = 24;

/// The seeds that failed, and what of each.
pub type Failures = Vec<(u64, Vec<String>)>;

/// Plays one seed by itself.
///
/// # Errors
///
/// What does not hold.
pub fn one(seed: u64) -> Result<Counts, Vec<String>> {
    let plan = Plan::of(seed);
    if plan.in_memory {
        return in_memory(plan);
    }
    runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(play(plan))
}

fn in_memory(plan: Plan) -> Result<Counts, Vec<String>> {
    runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime")
        .block_on(play(plan))
}

/// Plays `seeds` on so many threads for either kind, and stops after a few failures. `each` hears of
/// every seed played.
pub fn many(seeds: Range<u64>, threads: usize, each: impl Fn(u64) + Sync) -> (Counts, Failures) {
    let shared = Shared {
        // A game in memory lets nothing else happen on its thread, and over sockets time is real.
        next: [AtomicU64::new(seeds.start), AtomicU64::new(seeds.start)],
        end: seeds.end,
        is_stopped: AtomicBool::new(false),
        total: Mutex::default(),
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| shared.in_memory(&each));
            scope.spawn(|| shared.over_sockets(&each));
        }
    });
    shared.total.into_inner().expect("nobody panics here")
}

struct Shared {
    next: [AtomicU64; 2],
    end: u64,
    is_stopped: AtomicBool,
    total: Mutex<(Counts, Failures)>,
}

impl Shared {
    /// Returns the next plan of a kind.
    fn next(&self, in_memory: bool) -> Option<Plan> {
        while !self.is_stopped.load(Ordering::Relaxed) {
            let seed = self.next[usize::from(in_memory)].fetch_add(1, Ordering::Relaxed);
            if seed >= self.end {
                break;
            }
            let plan = Plan::of(seed);
            if plan.in_memory == in_memory {
                return Some(plan);
            }
        }
        None
    }

    fn in_memory(&self, each: &(impl Fn(u64) + Sync)) {
        while let Some(plan) = self.next(true) {
            self.note(plan.seed, in_memory(plan), each);
        }
    }

    fn over_sockets(&self, each: &(impl Fn(u64) + Sync)) {
        let sockets = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        sockets.block_on(async {
            let mut running = JoinSet::new();
            loop {
                if running.len() < AT_A_TIME {
                    if let Some(plan) = self.next(false) {
                        running.spawn(async move { (plan.seed, play(plan).await) });
                        continue;
                    }
                }
                match running.join_next().await {
                    Some(Ok((seed, result))) => self.note(seed, result, each),
                    Some(Err(error)) => self.note(u64::MAX, Err(vec![error.to_string()]), each),
                    None => return,
                }
            }
        });
    }

    fn note(&self, seed: u64, result: Result<Counts, Vec<String>>, each: &(impl Fn(u64) + Sync)) {
        let mut total = self.total.lock().expect("nobody panics here");
        match result {
            Ok(counts) => total.0.add(counts),
            Err(faults) => {
                total.1.push((seed, faults));
                if total.1.len() >= 10 {
                    self.is_stopped.store(true, Ordering::Relaxed);
                }
            }
        }
        drop(total);
        each(seed);
    }
}
