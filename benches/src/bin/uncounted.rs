//! `cargo run --release -p tower-diagnose-benches --bin uncounted -- json` prints the times of one failing
//! answer as `failing json` of the tables does, in a program whose allocator counts nothing.

use std::process::ExitCode;

use tower_diagnose_benches::failing;

fn main() -> ExitCode {
    match std::env::args().nth(1) {
        Some(body) => failing::print_times(&body),
        None => ExitCode::from(2),
    }
}
