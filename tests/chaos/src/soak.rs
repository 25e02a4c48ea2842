//! Thousands of calls at a time, for as long as one likes, many of them let go of midway.
//!
//! Now and then everybody rests: no call is under way, and the clients have closed their connections.
//! What is held then is what somebody has kept.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    runtime::Builder,
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    caller::{self, End},
    held::Held,
    link::Open,
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

/// How many requests each server remembers.
const ROOM: usize = 2_000;

/// How many rests there are, unless they came too close together.
const RESTS: u32 = 10;

/// How long is called between two rests, at least.
const SHORTEST: Duration = Duration::from_secs(5);

/// How much more may be held than before: buffers of the runtime's.
const SLACK: usize = 4 << 20;

#[derive(Debug, Default)]
struct Tally {
    calls: AtomicU64,
    records: AtomicU64,
    attempts: AtomicU64,
    cancelled: AtomicU64,
    good: AtomicU64,
    under_way: Arc<AtomicUsize>,
}

/// What everybody does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Calls,
    Rests,
    IsOver,
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
    println!("at the start: {before}");
    let tally = Arc::<Tally>::default();
    let (phase, phases) = watch::channel(Phase::Calls);
    let mut worlds = Vec::new();
    let mut workers = JoinSet::new();
    for number in 0..4 {
        let plan = Arc::new(plan(number));
        let counted = Arc::clone(&tally);
        let world = World::start(Arc::clone(&plan), ROOM, move |record| {
            counted.records.fetch_add(1, Ordering::Relaxed);
            if let Some(fault) = texts::of_record(&record).pop() {
                panics::note(number, fault);
            }
        });
        let world = world.await;
        for worker in 0..CONCURRENT {
            let worker = Worker {
                stack: world.stack.clone(),
                plan: Arc::clone(&plan),
                tally: Arc::clone(&tally),
                random: Random::new(number).fork(100 + worker as u64),
                phases: phases.clone(),
            };
            workers.spawn(panics::of_seed(number, worker.work()));
        }
        worlds.push(world);
    }
    let mut faults = rounds(length, &tally, &phase, &worlds, live).await;
    phase.send_replace(Phase::IsOver);
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
    faults.extend(settled(before, &tally, live).await);
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
    plan.pool_idle = Duration::from_secs(1);
    // Or else the client keeps for ever, with its connection, the body of a request that a server stopped
    // to read: hyper has no limit for that, and h2 keeps what is still answered in such a stream.
    plan.patience = Some(Duration::from_secs(5));
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
struct Worker {
    stack: caller::Stack,
    plan: Arc<Plan>,
    tally: Arc<Tally>,
    random: Random,
    phases: watch::Receiver<Phase>,
}

impl Worker {
    async fn work(mut self) -> Vec<String> {
        loop {
            // First, so that nobody who sees that all rest overlooks this one.
            let under_way = Open::count(&self.tally.under_way);
            let phase = *self.phases.borrow_and_update();
            match phase {
                Phase::Calls => {
                    let faults = self.call().await;
                    if !faults.is_empty() {
                        return faults;
                    }
                }
                Phase::Rests => {
                    drop(under_way);
                    if self.phases.changed().await.is_err() {
                        return Vec::new();
                    }
                }
                Phase::IsOver => return Vec::new(),
            }
        }
    }

    async fn call(&mut self) -> Vec<String> {
        let (random, tally) = (&mut self.random, &*self.tally);
        let mut call = random.pick(&self.plan.calls).clone();
        call.caller = Caller {
            patience: random
                .percent(30)
                .then(|| random.time(Duration::from_secs(2))),
            reads: *random.pick(&[0, 100, 300_000]),
            ..call.caller
        };
        let log = Arc::new(CallLog::new(call));
        tally.calls.fetch_add(1, Ordering::Relaxed);
        let told = caller::make(self.stack.clone(), &log).await;
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
        faults
    }
}

/// Lets everybody call and rest in turn until the time is up, and compares one rest with the next.
async fn rounds(
    length: Duration,
    tally: &Tally,
    phase: &watch::Sender<Phase>,
    worlds: &[World],
    live: fn() -> usize,
) -> Vec<String> {
    let began = Instant::now();
    let mut rests: Vec<Held> = Vec::new();
    let mut faults = Vec::new();
    while began.elapsed() < length {
        phase.send_replace(Phase::Calls);
        let in_flight = watch_calls((length / RESTS).max(SHORTEST), live).await;
        phase.send_replace(Phase::Rests);
        while tally.under_way.load(Ordering::SeqCst) > 0 {
            sleep(Duration::from_millis(10)).await;
        }
        for world in worlds {
            faults.extend(world.at_rest().await.err());
        }
        // The servers' tasks see a little later that their connections are closed.
        let least = rests.first().map_or(0, |first| first.tasks);
        let at_rest = Held::settled(live, |held| held.tasks <= least).await;
        let calls = tally.calls.load(Ordering::Relaxed);
        println!(
            "{:>4.0?}: {calls:>9} calls; in flight: {in_flight}; at rest: {at_rest}",
            began.elapsed()
        );
        let records = tally.records.load(Ordering::Relaxed);
        if calls != records {
            faults.push(format!("at rest: {records} records of {calls} calls"));
        }
        rests.push(at_rest);
    }
    // The first round warms up.
    if let [_, warm, .., last] = &rests[..] {
        println!("at rest: first {}; last {last}", rests[0]);
        if last.live > warm.live + SLACK || last.descriptors > warm.descriptors {
            faults.push(format!("at rest: {last} are held, {warm} were"));
        }
    }
    faults
}

/// Returns the most that is held at any full second.
async fn watch_calls(length: Duration, live: fn() -> usize) -> Held {
    let began = Instant::now();
    let mut most = Held::now(live);
    while began.elapsed() < length {
        sleep(Duration::from_secs(1)).await;
        most = most.max(Held::now(live));
    }
    most
}

/// Returns what is not as it was.
async fn settled(before: Held, tally: &Tally, live: fn() -> usize) -> Vec<String> {
    let is_settled =
        |held: &Held| held.descriptors <= before.descriptors && held.tasks <= before.tasks;
    let after = Held::settled(live, is_settled).await;
    println!("at the end: {after}");
    let mut faults = Vec::new();
    if after.live > before.live + SLACK || !is_settled(&after) {
        faults.push(format!("{after} are held, {before} were"));
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
    faults
}
