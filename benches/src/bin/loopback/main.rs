//! `cargo run --release -p tower-diagnose-benches --features loopback --bin loopback` prints what the
//! stacks cost on real sockets: a client and a server, each one thread of its own process, on one
//! processor, HTTP/1 with kept connections.
//!
//! No allocator counts here, since counting makes every block dearer: allocations are read off
//! callgrind's profile.

mod call;
mod clients;
mod rounds;
mod server;
mod table;

use std::{
    process::{Command, ExitCode, Stdio},
    sync::Arc,
};

use tower_diagnose_benches::requests::Configured;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => {
            if !pin() {
                println!("Not bound to one processor: `taskset` could not do it.\n");
            }
            table::print()
        }
        ["server", name] => server::run(name),
        ["case", base, name, calls] => run_case(base, name, calls),
        _ => {
            eprintln!("usage: [case BASE NAME CALLS | server NAME]");
            ExitCode::from(2)
        }
    }
}

/// Binds this process, and with it the servers that it starts, to the first processor.
fn pin() -> bool {
    let own = std::process::id().to_string();
    let status = Command::new("taskset")
        .args(["-c", "-p", "0", &own])
        .stdout(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// What a run under callgrind executes: the client's side alone.
fn run_case(base: &str, name: &str, calls: &str) -> ExitCode {
    let runtime = runtime();
    let _inside = runtime.enter();
    let client = clients::named(name, Arc::new(Configured::new(base)));
    let (Some(mut client), Ok(calls)) = (client, calls.parse()) else {
        return ExitCode::from(2);
    };
    // The connection is there, and what grows has grown.
    client.one_by_one(&runtime, 100);
    client.one_by_one(&runtime, calls);
    ExitCode::SUCCESS
}
