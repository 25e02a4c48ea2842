//! Plays seeds, soaks, and counts.
//!
//! ```text
//! cargo run --release -p tower-diagnose-chaos -- --seeds 100000 --from 0
//! cargo run --release -p tower-diagnose-chaos -- --seed 42           one seed, with its plan
//! cargo run --release -p tower-diagnose-chaos -- --calls 20000       calls that the server counts
//! cargo run --release -p tower-diagnose-chaos -- --soak 600          so many seconds of calls
//! ```
//!
//! Ends with 1 if something did not hold.

use std::{
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use peak_alloc::PeakAlloc;
use tokio::time::Instant;
use tower_diagnose_chaos::{logs, panics, plan::Plan, run, soak, support::counting};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What all games together may hold at one time, of which each holds a few bodies and buffers.
const MEMORY_LIMIT: usize = 512 << 20;

const USAGE: &str =
    "usage: --seeds COUNT [--from SEED] | --seed SEED | --calls COUNT | --soak SECONDS";

fn main() -> ExitCode {
    panics::watch();
    logs::watch();
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse::<u64>().ok()
    };
    let is_good = if let Some(seed) = number("--seed") {
        replay(seed)
    } else if let Some(count) = number("--seeds") {
        play(number("--from").unwrap_or(0), count)
    } else if let Some(calls) = number("--calls") {
        count(calls);
        true
    } else if let Some(seconds) = number("--soak") {
        let faults = soak::soak(Duration::from_secs(seconds), || MEMORY.current_usage());
        for fault in &faults {
            println!("{fault}");
        }
        faults.is_empty()
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

/// Makes half of the calls over either version of HTTP; panics if something does not add up.
fn count(calls: u64) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    for (name, tally) in [
        ("HTTP/1", runtime.block_on(counting::over_http1(calls / 2))),
        ("HTTP/2", runtime.block_on(counting::over_http2(calls / 2))),
    ] {
        println!("{name}: {tally:?}");
        tally.check();
        let of_safe = 100.0 * (tally.safe - tally.safe_failures) as f64 / tally.safe as f64;
        println!("{of_safe:.3} % of the calls that can be repeated succeeded");
    }
}

fn print(seed: u64, faults: &[String]) {
    println!("seed {seed} (again: --seed {seed}):");
    for fault in faults {
        println!("  {}", fault.chars().take(1_000).collect::<String>());
    }
}
