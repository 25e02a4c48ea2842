//! Cases by turns, round after round, so that all of them meet the same noise.

use std::{sync::Arc, time::Duration};

use tower_diagnose_benches::requests::Configured;

use crate::{call::Client, clients, runtime};

const ROUNDS: usize = 40;

/// Calls of a round, one after the other.
const CALLS: u64 = 1_000;

/// Tasks that call at once, and the calls of each in a round.
const TASKS: u64 = 64;
const CALLS_OF_A_TASK: u64 = 50;

/// What one client's rounds showed, in the order of the rounds.
#[derive(Default)]
pub struct Rounds {
    /// The median of a round, in nanoseconds.
    pub p50: Vec<f64>,
    pub p99: Vec<f64>,
    /// Calls of a second with [`TASKS`] at once.
    pub rate: Vec<f64>,
}

/// Measures clients, each given by its name and the server that it calls.
pub fn measure(clients: &[(&str, &str)]) -> Vec<Rounds> {
    let runtime = runtime();
    let _inside = runtime.enter();
    let mut clients: Vec<Box<dyn Client>> = clients
        .iter()
        .map(|(name, base)| {
            let configured = Arc::new(Configured::new(base));
            clients::named(name, configured).expect("every row has a client")
        })
        .collect();
    let mut all: Vec<Rounds> = clients.iter().map(|_| Rounds::default()).collect();
    for client in &mut clients {
        client.at_once(&runtime, TASKS, 10);
        client.one_by_one(&runtime, CALLS);
    }
    for round in 0..ROUNDS {
        // Another one is first in every round.
        for turn in 0..clients.len() {
            let index = (round + turn) % clients.len();
            let (client, rounds) = (&mut clients[index], &mut all[index]);
            let mut took = client.one_by_one(&runtime, CALLS);
            took.sort_unstable();
            rounds.p50.push(part(&took, 0.50));
            rounds.p99.push(part(&took, 0.99));
            let took = client.at_once(&runtime, TASKS, CALLS_OF_A_TASK);
            let calls = (TASKS * CALLS_OF_A_TASK) as f64;
            rounds.rate.push(calls / took.as_secs_f64());
        }
    }
    all
}

/// What so large a part of the sorted durations is not above.
fn part(sorted: &[Duration], part: f64) -> f64 {
    let index = (sorted.len() as f64 * part) as usize;
    sorted
        .get(index)
        .map_or(f64::NAN, |took| took.as_nanos() as f64)
}

pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The median of the rounds' ratios: each round is compared with the same round of the other.
pub fn ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    median(ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs))
}

/// The median of what the rounds are above the other's.
pub fn added(ours: &[f64], theirs: &[f64]) -> f64 {
    median(ours.iter().zip(theirs).map(|(ours, theirs)| ours - theirs))
}
