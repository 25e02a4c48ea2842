//! What repeating does to a system in trouble, in virtual time and in memory.
//!
//! ```text
//! cargo run --example retry_storm
//! ```
//!
//! A thousand clients make ten calls a second each. A call passes three tiers of services; every tier
//! repeats what fails below it. For thirty seconds the lowest tier does nothing, and what it is asked for
//! meanwhile piles up. The first table shows how many requests that makes of one call, and how soon
//! calls succeed again; the second one when clients that failed at the same moment come back:
//!
//! ```text
//!                                tier 1   tier 2   tier 3     first second           99 %
//! default budget                   1.00     1.00     1.20           11.2 %            2 s
//! no budget                        1.00     1.00     2.99            0.0 %          never
//! ```
//! Ends with 1 if a budget lets more through than it promises.

use std::{
    convert::Infallible,
    pin::Pin,
    process::ExitCode,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use tokio::{
    runtime::Builder,
    task::JoinSet,
    time::{Instant, sleep_until},
};
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{Backoff, Jitter, ReplayBody, RetryLayer, TimeoutLayer};

type Body = Empty<Bytes>;
type Answer = Result<Response<Body>, BoxError>;
/// What calls a tier, as often as it is called.
type Tier = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Answer> + Send>> + Send + Sync>;

/// How long the clients go on, and when the lowest tier does nothing, in seconds.
const END: u32 = 40;
const DOWN: std::ops::Range<u32> = 1..31;
const CALLS_PER_SECOND: u32 = 10;

/// How many places in the period there are to begin at.
const PLACES: u32 = 1_000;

/// How much more the lowest tier could serve than the clients ask for in good times.
const HEADROOM: u32 = 2;

/// How much work may wait in front of it, and how long its callers wait for an answer. What nobody
/// waits for any more is served all the same.
const QUEUE: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_millis(500);

/// What a budget of 20 % may come to, with the reserve and some luck.
const PROMISE: f64 = 1.25;

/// How the tiers repeat.
#[derive(Clone, Copy, PartialEq)]
enum Repeat {
    /// As our layer does.
    Default,
    /// The same, without a budget.
    NoBudget,
    /// Three times, whatever happens, at once.
    Naive,
}

/// One row of the first table.
struct Setup {
    name: &'static str,
    repeat: Repeat,
    /// Between the tiers is a network, which carries an answer, but not what our layer knows of it.
    is_apart: bool,
    clients: u32,
}

const SETUPS: [Setup; 5] = [
    Setup {
        name: "default budget",
        repeat: Repeat::Default,
        is_apart: false,
        clients: 1_000,
    },
    Setup {
        name: "default budget, tiers apart",
        repeat: Repeat::Default,
        is_apart: true,
        clients: 100,
    },
    // Fewer clients and a smaller server: what matters is the one for the other.
    Setup {
        name: "no budget",
        repeat: Repeat::NoBudget,
        is_apart: false,
        clients: 10,
    },
    Setup {
        name: "no budget, tiers apart",
        repeat: Repeat::NoBudget,
        is_apart: true,
        clients: 10,
    },
    Setup {
        name: "naive triple retry",
        repeat: Repeat::Naive,
        is_apart: true,
        clients: 10,
    },
];

/// What is counted in each second.
#[derive(Clone, Copy, Default)]
struct Second {
    calls: u32,
    good: u32,
    /// Requests that arrived at each tier, the lowest one last.
    arrived: [u32; 3],
}

struct World {
    start: Instant,
    seconds: Mutex<Vec<Second>>,
    /// What one request costs the lowest tier, and when it will be done with those that it took.
    cost: Duration,
    free_at: Mutex<Instant>,
}

impl World {
    fn new(clients: u32) -> Arc<Self> {
        let start = Instant::now();
        Arc::new(Self {
            start,
            seconds: Mutex::new(vec![Second::default(); END as usize]),
            cost: Duration::from_secs(1) / (clients * CALLS_PER_SECOND * HEADROOM),
            free_at: Mutex::new(start),
        })
    }

    fn note(&self, second: u64, note: impl FnOnce(&mut Second)) {
        if let Some(second) = self.seconds.lock().unwrap().get_mut(second as usize) {
            note(second);
        }
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_secs()
    }

    /// Takes a request for the lowest tier. Returns when it will be answered, if there is room.
    fn take(&self) -> Option<Instant> {
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

/// The lowest tier, and above it those that call it.
fn tiers(world: &Arc<World>, setup: &Setup) -> Tier {
    let lowest = Arc::clone(world);
    let lowest = service_fn(move |_: Request<Body>| {
        let ready = lowest.take();
        async move {
            match ready {
                Some(at) => sleep_until(at).await,
                None => return Ok::<_, BoxError>(unavailable()),
            }
            Ok(Response::new(Body::new()))
        }
    });
    let lowest = TimeoutLayer::new(PATIENCE).layer(lowest);
    let mut tier = called(lowest.map_response(|response| response.map(|_| Body::new())));
    for number in (0..3).rev() {
        tier = repeating(arriving(tier, number, world, setup.is_apart), setup.repeat);
    }
    tier
}

fn called<S>(service: S) -> Tier
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
    S: Clone + Send + Sync + 'static,
    S::Future: Send,
{
    Arc::new(move || Box::pin(service.clone().oneshot(Request::new(Body::new()))))
}

fn unavailable() -> Response<Body> {
    let mut response = Response::new(Body::new());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
}

/// Counts what arrives at a tier.
fn arriving(tier: Tier, number: usize, world: &Arc<World>, is_apart: bool) -> Tier {
    let world = Arc::clone(world);
    Arc::new(move || {
        world.note(world.now(), |second| second.arrived[number] += 1);
        let answer = tier();
        Box::pin(async move {
            match answer.await {
                Ok(mut response) if is_apart => {
                    response.extensions_mut().clear();
                    Ok(response)
                }
                Err(_) if is_apart => Ok(unavailable()),
                answer => answer,
            }
        })
    })
}

/// Repeats what fails in `tier`; one budget for all who call it.
fn repeating(tier: Tier, repeat: Repeat) -> Tier {
    let layer = match repeat {
        Repeat::Default => RetryLayer::new(),
        Repeat::NoBudget => RetryLayer::new().without_budget(),
        Repeat::Naive => {
            return Arc::new(move || {
                let tier = Arc::clone(&tier);
                Box::pin(async move {
                    let mut attempts = 1;
                    loop {
                        let answer = tier().await;
                        let is_good =
                            matches!(&answer, Ok(response) if response.status().is_success());
                        if is_good || attempts == 3 {
                            return answer;
                        }
                        attempts += 1;
                    }
                })
            });
        }
    };
    // Our layer has a body of its own below it, by which a request can be sent again.
    called(layer.layer(service_fn(move |_: Request<ReplayBody<Body>>| tier())))
}

/// Lets the clients make their calls.
async fn storm(setup: &Setup) -> Vec<Second> {
    let world = World::new(setup.clients);
    let service = tiers(&world, setup);
    let period = Duration::from_secs(1) / CALLS_PER_SECOND;
    let mut clients = JoinSet::new();
    for client in 0..setup.clients {
        let (world, service) = (Arc::clone(&world), Arc::clone(&service));
        clients.spawn(async move {
            // Clients do not march in step: each has a place in the period, and not in their order.
            let begin = world.start + period * (client * 7919 % PLACES) / PLACES;
            let mut calls = JoinSet::new();
            for call in 0..END * CALLS_PER_SECOND {
                sleep_until(begin + period * call).await;
                let (world, service) = (Arc::clone(&world), Arc::clone(&service));
                calls.spawn(async move {
                    let second = world.now();
                    let answer = service().await;
                    let is_good = answer.is_ok_and(|response| response.status().is_success());
                    world.note(second, |second| {
                        second.calls += 1;
                        second.good += u32::from(is_good);
                    });
                });
                while calls.try_join_next().is_some() {}
            }
            calls.join_all().await;
        });
    }
    clients.join_all().await;
    std::mem::take(&mut *world.seconds.lock().unwrap())
}

/// Returns whether the budget kept its promise.
fn print_storm(setup: &Setup, seconds: &[Second]) -> bool {
    let down = &seconds[DOWN.start as usize..DOWN.end as usize];
    let sum = |count: fn(&Second) -> u32| down.iter().map(count).sum::<u32>();
    let calls = f64::from(sum(|second| second.calls));
    let per_call = [
        f64::from(sum(|second| second.arrived[0])) / calls,
        f64::from(sum(|second| second.arrived[1])) / calls,
        f64::from(sum(|second| second.arrived[2])) / calls,
    ];
    let after = &seconds[DOWN.end as usize..END as usize];
    let recovered = after
        .iter()
        .position(|second| f64::from(second.good) >= 0.99 * f64::from(second.calls));
    let first = after[0];
    println!(
        "{:<28} {:>8.2} {:>8.2} {:>8.2} {:>14.1} % {:>14}",
        setup.name,
        per_call[0],
        per_call[1],
        per_call[2],
        100.0 * f64::from(first.good) / f64::from(first.calls),
        recovered.map_or("never".to_owned(), |seconds| format!("{seconds} s")),
    );
    setup.repeat != Repeat::Default || setup.is_apart || per_call[2] <= PROMISE
}

/// Lets clients fail together once, and returns when each of them comes back.
async fn herd(jitter: Jitter) -> Vec<Duration> {
    let start = Instant::now();
    let returns = Arc::new(Mutex::new(Vec::new()));
    let layer = RetryLayer::new().max_attempts(2).without_budget().backoff(
        Backoff::exponential(Duration::from_millis(200), Duration::from_secs(2)).jitter(jitter),
    );
    let mut clients = JoinSet::new();
    for _ in 0..1_000 {
        let returns = Arc::clone(&returns);
        let attempts = Arc::new(AtomicU32::new(0));
        let service = layer.layer(service_fn(move |_: Request<_>| {
            if attempts.fetch_add(1, Ordering::Relaxed) > 0 {
                returns.lock().unwrap().push(start.elapsed());
            }
            async { Ok::<_, Infallible>(unavailable()) }
        }));
        clients.spawn(service.oneshot(Request::new(Body::new())));
    }
    clients.join_all().await;
    let mut returns = std::mem::take(&mut *returns.lock().unwrap());
    returns.sort_unstable();
    returns
}

fn print_herd(name: &str, returns: &[Duration]) {
    let at = |percent: usize| returns[(returns.len() - 1) * percent / 100].as_millis();
    let mut tenths = [0_u32; 300];
    for time in returns {
        tenths[(time.as_millis() / 10).min(299) as usize] += 1;
    }
    println!(
        "{name:<28} {:>8} {:>8} {:>8} {:>8} {:>8} {:>14}",
        at(0),
        at(10),
        at(50),
        at(90),
        at(100),
        tenths.iter().max().unwrap_or(&0),
    );
}

fn main() -> ExitCode {
    let runtime = || {
        Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
    };
    println!(
        "requests per call during the outage, at each tier; calls that succeed in the first second"
    );
    println!("after it; and after how many seconds 99 % do");
    println!(
        "{:<28} {:>8} {:>8} {:>8} {:>16} {:>14}",
        "", "tier 1", "tier 2", "tier 3", "first second", "99 %",
    );
    let mut is_kept = true;
    for setup in &SETUPS {
        let seconds = runtime().expect("a runtime").block_on(storm(setup));
        is_kept &= print_storm(setup, &seconds);
    }
    println!();
    println!(
        "1,000 clients that failed at the same moment come back after, in ms; most within 10 ms"
    );
    println!(
        "{:<28} {:>8} {:>8} {:>8} {:>8} {:>8} {:>14}",
        "", "first", "10 %", "half", "90 %", "last", "at once",
    );
    for (name, jitter) in [
        ("full jitter, the default", Jitter::Full),
        ("no jitter", Jitter::None),
    ] {
        let returns = runtime().expect("a runtime").block_on(herd(jitter));
        print_herd(name, &returns);
    }
    if is_kept {
        ExitCode::SUCCESS
    } else {
        println!("the budget let more than {PROMISE} requests per call through");
        ExitCode::FAILURE
    }
}
