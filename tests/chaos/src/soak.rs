//! Thousands of calls at a time, for as long as one likes, many of them let go of midway.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    runtime::Builder,
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    caller::{self, End},
    panics,
    plan::{Caller, Plan},
    random::Random,
    settings::{Budget, Hook},
    tap::CallLog,
    texts,
    world::World,
};

/// How many calls are under way in each world.
const CONCURRENT: usize = 600;

/// How many different calls a world knows.
const CALLS: usize = 300;

/// How much more memory the process may use at the end than after it has warmed up, beside a tenth.
const SLACK: u64 = 16 << 20;

/// How much more may be allocated when all is over than before it began: buffers of the runtime's.
const LEFT: usize = 4 << 20;

#[derive(Debug, Default)]
struct Tally {
    calls: AtomicU64,
    records: AtomicU64,
    attempts: AtomicU64,
    cancelled: AtomicU64,
    good: AtomicU64,
    is_over: AtomicBool,
}

/// What the process holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Of the system, and of that what is in use; in bytes.
    memory: u64,
    live: usize,
    descriptors: usize,
    tasks: usize,
}

impl Held {
    fn now(live: fn() -> usize) -> Self {
        let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages = statm
            .split(' ')
            .nth(1)
            .and_then(|pages| pages.parse::<u64>().ok());
        Self {
            memory: pages.unwrap_or_default() * 4096,
            live: live(),
            descriptors: fs::read_dir("/proc/self/fd").map_or(0, Iterator::count),
            tasks: tokio::runtime::Handle::current()
                .metrics()
                .num_alive_tasks(),
        }
    }
}

/// Soaks for so long, and returns what does not hold. `live` tells how many bytes are allocated.
#[must_use]
pub fn soak(length: Duration, live: fn() -> usize) -> Vec<String> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async move {
        // By itself, so that it counts no task of its own.
        tokio::spawn(run(length, live))
            .await
            .unwrap_or_else(|error| vec![error.to_string()])
    })
}

async fn run(length: Duration, live: fn() -> usize) -> Vec<String> {
    let before = Held::now(live);
    println!("at the start: {before:?}");
    let tally = Arc::<Tally>::default();
    let mut worlds = Vec::new();
    let mut workers = JoinSet::new();
    for number in 0..4 {
        let plan = Arc::new(plan(number));
        let counted = Arc::clone(&tally);
        let world = World::start(Arc::clone(&plan), 20_000, move |record| {
            counted.records.fetch_add(1, Ordering::Relaxed);
            if let Some(fault) = texts::of_record(&record).pop() {
                panics::note(number, fault);
            }
        });
        let world = world.await;
        for worker in 0..CONCURRENT {
            let random = Random::new(number).fork(100 + worker as u64);
            let calling = work(
                world.stack.clone(),
                Arc::clone(&plan),
                Arc::clone(&tally),
                random,
            );
            workers.spawn(panics::of_seed(number, calling));
        }
        worlds.push(world);
    }
    let memory = watch(length, &tally, live).await;
    tally.is_over.store(true, Ordering::Relaxed);
    let mut faults = Vec::new();
    while let Some(ended) = workers.join_next().await {
        match ended {
            Ok(found) => faults.extend(found),
            Err(error) => faults.push(error.to_string()),
        }
    }
    for world in worlds {
        let (server, left) = world.end().await;
        faults.extend(server.ledger.faults());
        faults.extend(left.err());
    }
    for number in 0..4 {
        faults.extend(panics::take(number));
    }
    faults.extend(settled(before, &tally, &memory, live).await);
    faults
}

/// A world in which most calls go well, and none takes long.
fn plan(number: u64) -> Plan {
    let limit = Duration::from_secs(10);
    let mut plan = Plan::of_size(number, CALLS, limit);
    plan.in_memory = false;
    plan.http2 = number % 2 == 1;
    plan.faults = 10;
    plan.pools = true;
    plan.longest_delay = Duration::from_millis(20);
    let settings = &mut plan.settings;
    settings.total = limit;
    settings.attempt = Some(limit / 2);
    settings.max_attempts = 3;
    settings.hook = Hook::None;
    settings.budget = if number < 2 {
        Budget::Default
    } else {
        Budget::None
    };
    plan
}

/// Makes one call after another.
async fn work(
    stack: caller::Stack,
    plan: Arc<Plan>,
    tally: Arc<Tally>,
    mut random: Random,
) -> Vec<String> {
    while !tally.is_over.load(Ordering::Relaxed) {
        let mut call = random.pick(&plan.calls).clone();
        call.caller = Caller {
            patience: random
                .percent(30)
                .then(|| random.time(Duration::from_secs(2))),
            reads: *random.pick(&[0, 100, 300_000]),
            ..call.caller
        };
        let log = Arc::new(CallLog::new(call));
        tally.calls.fetch_add(1, Ordering::Relaxed);
        let told = caller::make(stack.clone(), &log).await;
        let attempts = log.attempts().len() as u64;
        tally.attempts.fetch_add(attempts, Ordering::Relaxed);
        match &told.end {
            End::Cancelled => tally.cancelled.fetch_add(1, Ordering::Relaxed),
            End::Answered(head) if head.status.as_u16() < 400 => {
                tally.good.fetch_add(1, Ordering::Relaxed)
            }
            _ => 0,
        };
        let mut faults = log.faults();
        if let Some(diagnosis) = &told.diagnosis {
            faults.extend(texts::of_diagnosis(diagnosis));
        }
        if !faults.is_empty() {
            return faults;
        }
    }
    Vec::new()
}

/// Looks at the memory, every second, until the time is up.
async fn watch(length: Duration, tally: &Tally, live: fn() -> usize) -> Vec<u64> {
    let began = Instant::now();
    let mut memory = Vec::new();
    while began.elapsed() < length {
        sleep(Duration::from_secs(1)).await;
        let held = Held::now(live);
        memory.push(held.memory);
        if memory.len() % 10 == 0 {
            println!(
                "{:>4.0?}: {:>9} calls, {} MiB of which {} live, {} descriptors, {} tasks",
                began.elapsed(),
                tally.calls.load(Ordering::Relaxed),
                held.memory >> 20,
                held.live >> 20,
                held.descriptors,
                held.tasks,
            );
        }
    }
    memory
}

/// Returns what is not as it was.
async fn settled(before: Held, tally: &Tally, memory: &[u64], live: fn() -> usize) -> Vec<String> {
    let mut after = Held::now(live);
    for _ in 0..200 {
        if after.descriptors <= before.descriptors && after.tasks <= before.tasks {
            break;
        }
        sleep(Duration::from_millis(50)).await;
        after = Held::now(live);
    }
    println!("at the end: {after:?}");
    let mut faults = Vec::new();
    if after.live > before.live + LEFT {
        faults.push(format!(
            "{} bytes are live, {} were",
            after.live, before.live
        ));
    }
    if after.descriptors > before.descriptors || after.tasks > before.tasks {
        faults.push(format!("{after:?} are held, {before:?} were"));
    }
    let [calls, records, attempts, cancelled, good] = [
        &tally.calls,
        &tally.records,
        &tally.attempts,
        &tally.cancelled,
        &tally.good,
    ]
    .map(|count| count.load(Ordering::Relaxed));
    println!(
        "{calls} calls, {records} records, {attempts} attempts, {good} good, {cancelled} cancelled"
    );
    if calls != records {
        faults.push(format!("{records} records of {calls} calls"));
    }
    let mean = |part: &[u64]| part.iter().sum::<u64>() / part.len().max(1) as u64;
    let tenth = memory.len() / 10;
    let warm = mean(&memory[memory.len() / 5..][..tenth]);
    let last = mean(&memory[memory.len() - tenth..]);
    println!(
        "memory: {} MiB when warm, {} MiB in the end",
        warm >> 20,
        last >> 20
    );
    if last > warm + warm / 10 + SLACK {
        faults.push(format!("memory grew from {warm} to {last} bytes"));
    }
    faults
}
