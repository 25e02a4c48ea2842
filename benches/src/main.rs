//! `cargo run --release -p tower-diagnose-benches` prints what every layer adds to a bare service,
//! beside its peers: nanoseconds, instructions (callgrind, if valgrind is there), allocations, bytes of
//! the future.
//!
//! `-- failing` prints what a failing answer costs, beside the naive way of telling it; `-- scaling` how
//! the cost grows with the calls at once, the headers and the bytes of the bodies; `-- sizes` the bytes
//! of the futures alone.
//!
//! `-- gate` compares instructions and allocations with `benches/baseline.txt` and fails when a case
//! got dearer or its growth is no longer a line; `-- gate --write` writes that file.
//! `-- case NAME SHAPE PENDING CALLS` runs one case.

use std::process::ExitCode;

use tower_diagnose_benches::{failing, gate, measure, scaling, table};

#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => table::print(),
        ["sizes"] => table::sizes(),
        ["failing"] => failing::print(),
        ["failing", body] => failing::print_times(body),
        ["failing", way, body, calls] => failing::run_case(way, body, calls),
        ["scaling"] => scaling::print(),
        ["scaling", axis, name, size, calls] => scaling::run_case(axis, name, size, calls),
        ["gate"] => gate::check(),
        ["gate", "--write"] => gate::write(),
        ["case", name, shape, pending, calls] => measure::run_case(name, shape, pending, calls),
        _ => {
            eprintln!(
                "usage: [failing [BODY] | scaling | sizes | gate [--write] | case NAME SHAPE PENDING CALLS]\n\
                 over sockets: cargo run --release -p {} --features loopback --bin loopback",
                env!("CARGO_PKG_NAME")
            );
            ExitCode::from(2)
        }
    }
}
