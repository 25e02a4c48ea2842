//! `cargo run --release -p tower-diagnose-benches` prints what every layer adds to a bare service,
//! beside its peers: nanoseconds, instructions (callgrind, if valgrind is there), allocations, bytes of
//! the future.
//!
//! `-- failing` prints what a failing answer costs, beside the naive way of telling it.
//!
//! `-- sizes` prints the bytes of the futures alone.
//!
//! `-- gate` compares instructions and allocations with `benches/baseline.txt` and fails when a case
//! got dearer; `-- gate --write` writes that file. `-- case NAME SHAPE PENDING CALLS` runs one case.

mod bare;
mod cases;
mod failing;
mod gate;
mod measure;
mod peers;
mod requests;
mod table;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => table::print(),
        ["sizes"] => table::sizes(),
        ["failing"] => failing::print(),
        ["failing", way, body, calls] => failing::run_case(way, body, calls),
        ["gate"] => gate::check(),
        ["gate", "--write"] => gate::write(),
        ["case", name, shape, pending, calls] => measure::run_case(name, shape, pending, calls),
        _ => {
            eprintln!("usage: [sizes | failing | gate [--write] | case NAME SHAPE PENDING CALLS]");
            ExitCode::from(2)
        }
    }
}
