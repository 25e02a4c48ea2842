//! Plays seeds, soaks, and counts.
//!
//! ```text
//! cargo run --release -p tower-diagnose-chaos -- --seeds 100000 --from 0
//! cargo run --release -p tower-diagnose-chaos -- --seed 42         one seed, with its plan
//! ```
//!
//! Ends with 1 if something did not hold.

use std::{
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use peak_alloc::PeakAlloc;
use tower_diagnose_chaos::{panics, plan::Plan, run};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What all games together may hold at one time, of which each holds a few bodies and buffers.
const MEMORY_LIMIT: usize = 512 << 20;

const USAGE: &str = "usage: --seeds COUNT [--from SEED] | --seed SEED";

fn main() -> ExitCode {
    panics::watch();
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse::<u64>().ok()
    };
    let is_good = if let Some(seed) = number("--seed") {
        replay(seed)
    } else if let Some(count) = number("--seeds") {
        play(number("--from").unwrap_or(0), count)
    } else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn replay(seed: u64) -> bool {
    println!("{:#?}", Plan::of(seed));
    match run::one(seed) {
        Ok(counts) => {
            println!("{counts:?}");
            true
        }
        Err(faults) => {
            print(seed, &faults);
            false
        }
    }
}

fn play(from: u64, count: u64) -> bool {
    let began = Instant::now();
    let played = AtomicU64::new(0);
    let (counts, failures) = run::many(from..from.saturating_add(count), 1, |_| {
        let played = played.fetch_add(1, Ordering::Relaxed) + 1;
        if played % 5_000 == 0 {
            println!("{played} seeds, {:.0?}", began.elapsed());
        }
    });
    for (seed, faults) in &failures {
        print(*seed, faults);
    }
    let peak = MEMORY.peak_usage();
    println!("{counts:?}");
    println!(
        "{} seeds in {:.0?}, {} failed; memory at its peak {} MiB",
        played.into_inner(),
        began.elapsed(),
        failures.len(),
        peak >> 20,
    );
    failures.is_empty() && peak < MEMORY_LIMIT
}

fn print(seed: u64, faults: &[String]) {
    println!("seed {seed} (again: --seed {seed}):");
    for fault in faults {
        println!("  {}", fault.chars().take(1_000).collect::<String>());
    }
}
