//! What repeating does to a system in trouble, in virtual time and in memory.
//!
//! ```text
//! cargo run --example retry_storm
//! ```
//!
//! A thousand clients make ten calls a second each. A call passes three tiers of services; every tier
//! repeats what fails below it, and has one budget for all its calls. For thirty seconds the lowest
//! tier does nothing, and what it is asked for meanwhile piles up. The first table shows how many
//! requests that makes of one call, and how soon calls succeed again; the second one when clients that
//! failed at the same moment come back.
//!
//! ```text
//!                                tier 1   tier 2   tier 3     first second           99 %
//! default budget                   1.00     1.00     1.20           11.3 %            2 s
//! default budget, tiers apart      1.20     1.44     1.73            6.2 %            4 s
//! default budget, apart, told      1.00     1.00     1.20           11.2 %            2 s
//! no budget                        1.00     1.00     2.99            0.0 %          never
//! no budget, tiers apart           2.87     8.47    25.29            0.0 %          never
//! naive triple retry               3.00     9.00    27.00            0.0 %          never
//!
//!                                 first     10 %     half     90 %     last        at once
//! full jitter, the default            1       23       99      180      200             68
//! no jitter                         200      200      200      200      200           1000
//! ```
//!
//! Ends with 1 if a budget lets more through than it promises.

mod herd;
mod world;

use std::{pin::Pin, process::ExitCode, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Empty;
use tokio::{runtime::Builder, task::JoinSet, time::sleep_until};
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    Attempt, Jitter, ReplayBody, ResponseExt, RetryError, RetryLayer, StopReason, TimeoutLayer,
    find,
};

use world::{Second, World};

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

/// How long callers of the lowest tier wait for an answer.
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

/// What is between the tiers.
#[derive(Clone, Copy, PartialEq)]
enum Link {
    /// Nothing: they are services in one process.
    Process,
    /// A network, which carries an answer, but not what our layer knows of it.
    Network,
    /// A network; a tier that gave up says so in a header, and the tier above reads it.
    Telling,
}

/// The header by which several public services tell their clients not to try again.
const SHOULD_RETRY: &str = "x-should-retry";

/// One row of the first table.
struct Setup {
    name: &'static str,
    repeat: Repeat,
    link: Link,
    clients: u32,
}

const SETUPS: [Setup; 6] = [
    Setup {
        name: "default budget",
        repeat: Repeat::Default,
        link: Link::Process,
        clients: 1_000,
    },
    Setup {
        name: "default budget, tiers apart",
        repeat: Repeat::Default,
        link: Link::Network,
        clients: 100,
    },
    Setup {
        name: "default budget, apart, told",
        repeat: Repeat::Default,
        link: Link::Telling,
        clients: 1_000,
    },
    // Fewer clients and a smaller server: what matters is the one for the other.
    Setup {
        name: "no budget",
        repeat: Repeat::NoBudget,
        link: Link::Process,
        clients: 10,
    },
    Setup {
        name: "no budget, tiers apart",
        repeat: Repeat::NoBudget,
        link: Link::Network,
        clients: 10,
    },
    Setup {
        name: "naive triple retry",
        repeat: Repeat::Naive,
        link: Link::Network,
        clients: 10,
    },
];

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
        tier = repeating(arriving(tier, number, world, setup.link), setup);
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

/// Counts what arrives at a tier, and carries its answer.
fn arriving(tier: Tier, number: usize, world: &Arc<World>, link: Link) -> Tier {
    let world = Arc::clone(world);
    Arc::new(move || {
        world.note(world.now(), |second| second.arrived[number] += 1);
        let answer = tier();
        Box::pin(async move {
            match link {
                Link::Process => answer.await,
                Link::Network | Link::Telling => Ok(sent(answer.await, link)),
            }
        })
    })
}

/// Makes of an answer what a network carries of it.
fn sent(answer: Answer, link: Link) -> Response<Body> {
    let retried = match &answer {
        Ok(response) => response.retried(),
        Err(error) => find::<RetryError>(&**error).map(RetryError::retried),
    };
    let mut response = answer.unwrap_or_else(|_| unavailable());
    response.extensions_mut().clear();
    let has_given_up = retried.is_some_and(|retried| retried.stop() != StopReason::Succeeded);
    if link == Link::Telling && has_given_up {
        let no = HeaderValue::from_static("false");
        response.headers_mut().insert(SHOULD_RETRY, no);
    }
    response
}

/// Returns whether a tier says that it tried often enough.
fn is_told_not_to(attempt: &Attempt<'_>) -> bool {
    let told = attempt
        .headers()
        .and_then(|headers| headers.get(SHOULD_RETRY));
    told.is_some_and(|told| told == "false")
}

/// Repeats what fails in `tier`; one budget for all who call it.
fn repeating(tier: Tier, setup: &Setup) -> Tier {
    let layer = match setup.repeat {
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
    let layer = match setup.link {
        Link::Telling => {
            layer.retry_if(|attempt| attempt.is_retryable() && !is_told_not_to(attempt))
        }
        Link::Process | Link::Network => layer,
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
    let is_promised = setup.repeat == Repeat::Default && setup.link != Link::Network;
    !is_promised || per_call[2] <= PROMISE
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
        let returns = runtime()
            .expect("a runtime")
            .block_on(herd::returns(jitter));
        herd::print(name, &returns);
    }
    if is_kept {
        ExitCode::SUCCESS
    } else {
        println!("the budget let more than {PROMISE} requests per call through");
        ExitCode::FAILURE
    }
}
