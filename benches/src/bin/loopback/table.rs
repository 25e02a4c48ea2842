use std::{process::ExitCode, sync::Arc};

use tower_diagnose_benches::{callgrind, requests::Configured};

use crate::{
    clients::{self, OVER_HYPER, OVER_REQWEST},
    rounds::{self, Rounds, added, median, ratio},
    server::{SERVERS, Server},
};

/// Calls of a run under callgrind.
const CALLS: u64 = 500;

/// A client in all.
struct Row {
    name: &'static str,
    rounds: Rounds,
    /// Instructions and allocations of a call, the client's side alone.
    counts: Option<(f64, f64)>,
    future_bytes: usize,
}

impl Row {
    fn print(&self, bare: &Self) {
        let beside = |of: fn(&Rounds) -> &Vec<f64>| ratio(of(&self.rounds), of(&bare.rounds));
        let (instructions, allocations) = match self.counts {
            Some((instructions, allocations)) => {
                (format!("{instructions:.0}"), format!("{allocations:.1}"))
            }
            None => ("-".to_owned(), "-".to_owned()),
        };
        println!(
            "| {} | {:.1} | {:.3} | {:.1} | {:.2} | {:.0} | {:.3} | {instructions} | {allocations} | {} |",
            self.name,
            median(self.rounds.p50.iter().copied()) / 1_000.0,
            beside(|rounds| &rounds.p50),
            median(self.rounds.p99.iter().copied()) / 1_000.0,
            beside(|rounds| &rounds.p99),
            median(self.rounds.rate.iter().copied()),
            beside(|rounds| &rounds.rate),
            self.future_bytes,
        );
    }
}

pub fn print() -> ExitCode {
    let server = Server::start("bare");
    let names: Vec<&'static str> = [OVER_HYPER, OVER_REQWEST].concat();
    let clients: Vec<(&str, &str)> = names.iter().map(|name| (*name, &*server.base)).collect();
    let rounds = rounds::measure(&clients);
    let rows: Vec<Row> = names
        .into_iter()
        .zip(rounds)
        .map(|(name, rounds)| {
            let arguments = ["case", &server.base, name];
            let counts = callgrind::instructions_and_allocations(&arguments, CALLS);
            Row {
                name,
                rounds,
                counts,
                future_bytes: future_bytes(name, &server.base),
            }
        })
        .collect();
    println!("## Clients\n");
    println!(
        "| client | p50, µs | of bare | p99, µs | of bare | calls/s, 64 at once | of bare \
         | instructions | allocations | future, bytes |"
    );
    println!("|---|{}", "--:|".repeat(9));
    for row in &rows {
        row.print(&rows[0]);
    }
    print_over_reqwest(&rows[OVER_HYPER.len()..]);
    drop(server);
    print_servers();
    ExitCode::SUCCESS
}

fn future_bytes(name: &str, base: &str) -> usize {
    let runtime = crate::runtime();
    let _inside = runtime.enter();
    let client = clients::named(name, Arc::new(Configured::new(base)));
    client.map_or(0, |mut client| client.future_bytes())
}

/// What is added to reqwest, and which part it is of what reqwest's own middleware adds.
fn print_over_reqwest(rows: &[Row]) {
    let [bare, middleware, ours @ ..] = rows else {
        return;
    };
    println!("\n## Added to reqwest\n");
    println!("| client | p50, ns | instructions | allocations | p50, part | instructions, part |");
    println!("|---|{}", "--:|".repeat(5));
    let over = |row: &Row| {
        let counts = row.counts.zip(bare.counts);
        let counts = counts.map(|(row, bare)| (row.0 - bare.0, row.1 - bare.1));
        (added(&row.rounds.p50, &bare.rounds.p50), counts)
    };
    let theirs = over(middleware);
    for row in [middleware].into_iter().chain(ours) {
        let (nanoseconds, counts) = over(row);
        let (instructions, allocations) = counts.unwrap_or((f64::NAN, f64::NAN));
        let part = counts.zip(theirs.1);
        let part = part.map_or(f64::NAN, |(ours, theirs)| ours.0 / theirs.0);
        println!(
            "| {} | {nanoseconds:.0} | {instructions:.0} | {allocations:.1} | {:.2} | {part:.2} |",
            row.name,
            nanoseconds / theirs.0
        );
    }
}

/// The bare client's calls to each of the servers.
fn print_servers() {
    let servers: Vec<Server> = SERVERS.iter().map(|name| Server::start(name)).collect();
    let clients: Vec<(&str, &str)> = servers
        .iter()
        .map(|server| ("bare", &*server.base))
        .collect();
    let all = rounds::measure(&clients);
    println!("\n## Servers\n");
    println!("| server | p50, µs | of bare | calls/s, 64 at once | of bare |");
    println!("|---|{}", "--:|".repeat(4));
    for (name, rounds) in SERVERS.iter().zip(&all) {
        println!(
            "| {name} | {:.1} | {:.3} | {:.0} | {:.3} |",
            median(rounds.p50.iter().copied()) / 1_000.0,
            ratio(&rounds.p50, &all[0].p50),
            median(rounds.rate.iter().copied()),
            ratio(&rounds.rate, &all[0].rate),
        );
    }
}
