//! Plays many seeds.

use std::{
    ops::Range,
    sync::{
        Arc, Mutex,
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

/// Plays `seeds` on so many threads, and stops after a few failures. `each` hears of every seed played.
pub fn many(seeds: Range<u64>, threads: usize, each: impl Fn(u64) + Sync) -> (Counts, Failures) {
    let shared = Shared {
        next: AtomicU64::new(seeds.start),
        end: seeds.end,
        is_stopped: AtomicBool::new(false),
        total: Mutex::default(),
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| shared.work(&each));
        }
    });
    shared.total.into_inner().expect("nobody panics here")
}

struct Shared {
    next: AtomicU64,
    end: u64,
    is_stopped: AtomicBool,
    total: Mutex<(Counts, Failures)>,
}

impl Shared {
    fn work(&self, each: &(impl Fn(u64) + Sync)) {
        let sockets = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let done = Arc::new(Mutex::new(Vec::new()));
        let mut running = JoinSet::new();
        loop {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed >= self.end || self.is_stopped.load(Ordering::Relaxed) {
                break;
            }
            let plan = Plan::of(seed);
            if plan.in_memory {
                self.note(seed, in_memory(plan), each);
                continue;
            }
            let finished = Arc::clone(&done);
            running.spawn_on(
                async move {
                    let result = play(plan).await;
                    finished.lock().expect("nobody panics here").push((seed, result));
                },
                sockets.handle(),
            );
            if running.len() >= AT_A_TIME {
                sockets.block_on(running.join_next());
            }
            self.note_all(&done, each);
        }
        sockets.block_on(async { while running.join_next().await.is_some() {} });
        self.note_all(&done, each);
    }

    fn note_all(
        &self,
        done: &Mutex<Vec<(u64, Result<Counts, Vec<String>>)>>,
        each: &(impl Fn(u64) + Sync),
    ) {
        let finished = std::mem::take(&mut *done.lock().expect("nobody panics here"));
        for (seed, result) in finished {
            self.note(seed, result, each);
        }
    }

    fn note(
        &self,
        seed: u64,
        result: Result<Counts, Vec<String>>,
        each: &(impl Fn(u64) + Sync),
    ) {
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
