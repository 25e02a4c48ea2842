//! The table: what each case adds to the bare service, and what that is beside its peers.

use std::process::ExitCode;

use crate::{
    cases::{OURS, PEERS},
    measure::Case,
    requests::Shape,
};

/// Of which peer's cost each of our cases is given as a part.
const RATIOS: &[(&str, &str)] = &[
    ("client stack", "by hand"),
    ("client stack, sent only", "by hand"),
    ("client stack, recorded", "by hand"),
    ("client stack", "resilience stack"),
    ("timeout", "tower timeout"),
    ("timeout", "plain timeout, named"),
    ("diagnose", "tower-http trace"),
    ("retry", "tower retry, budget"),
    ("retry, sent only", "tower retry, budget"),
    ("recorder and dispatch", "tower-http trace"),
    ("recorder and dispatch", "plain record and dispatch"),
];

#[derive(Clone, Copy)]
struct Cost {
    nanoseconds: f64,
    instructions: Option<f64>,
    allocations: f64,
}

impl Cost {
    /// Of a case in all.
    fn of(case: Case) -> Self {
        Self {
            nanoseconds: case.nanoseconds_beside(case).0,
            instructions: case.instructions(500),
            allocations: case.allocations(),
        }
    }

    /// Of what a case adds to the bare service.
    fn added(case: Case, bare: &Self) -> Self {
        let name = "bare";
        let (with, without) = case.nanoseconds_beside(Case { name, ..case });
        let instructions = case.instructions(500).zip(bare.instructions);
        Self {
            nanoseconds: with - without,
            instructions: instructions.map(|(all, bare)| all - bare),
            allocations: case.allocations() - bare.allocations,
        }
    }

    fn cell(self) -> String {
        let instructions = self
            .instructions
            .map_or("-".to_owned(), |count| format!("{count:.0}"));
        format!(
            "{:.0} / {instructions} / {:.1}",
            self.nanoseconds, self.allocations
        )
    }

    /// Time and instructions as parts of a peer's.
    fn beside(self, peer: Self) -> String {
        let instructions = self
            .instructions
            .zip(peer.instructions)
            .map_or("-".to_owned(), |(ours, theirs)| {
                format!("{:.2}", ours / theirs)
            });
        format!(
            "{:.2} / {instructions}",
            self.nanoseconds / peer.nanoseconds
        )
    }
}

const SHAPES: usize = Shape::TABLED.len();

/// The rows of one table.
struct Table(Vec<(&'static str, [Cost; SHAPES])>);

impl Table {
    /// Measures every case over a service that is Pending `pending` times. The first row is that
    /// service, the others are what is added to it.
    fn measure(pending: u32) -> Self {
        let mut rows: Vec<(&str, [Cost; SHAPES])> = Vec::new();
        for name in PEERS.iter().chain(OURS).copied() {
            let case = |shape| Case {
                name,
                shape,
                pending,
            };
            let costs = match rows.first() {
                None => Shape::TABLED.map(|shape| Cost::of(case(shape))),
                Some((_, bare)) => {
                    let mut costs = *bare;
                    for (cost, shape) in costs.iter_mut().zip(Shape::TABLED) {
                        *cost = Cost::added(case(shape), cost);
                    }
                    costs
                }
            };
            rows.push((name, costs));
        }
        Self(rows)
    }

    fn print(&self) {
        header(&["case"], &["future, bytes"]);
        for (name, costs) in &self.0 {
            println!(
                "| {name} | {} | {} |",
                costs.map(Cost::cell).join(" | "),
                future_bytes(name)
            );
        }
    }

    fn print_ratios(&self) {
        header(&["case", "beside"], &[]);
        let costs = |name: &str| self.0.iter().find(|row| row.0 == name).map(|row| row.1);
        for (ours, theirs) in RATIOS {
            if let Some((own, peer)) = costs(ours).zip(costs(theirs)) {
                let cells: Vec<String> = own
                    .iter()
                    .zip(peer)
                    .map(|(own, peer)| own.beside(peer))
                    .collect();
                println!("| {ours} | {theirs} | {} |", cells.join(" | "));
            }
        }
    }
}

/// Prints the head of a table with a column for each shape between others.
fn header(before: &[&str], after: &[&str]) {
    let shapes = Shape::TABLED.map(Shape::name);
    let columns = [before, &shapes, after].concat();
    println!("| {} |", columns.join(" | "));
    let numbers = columns.len() - before.len();
    println!("|{}{}", "---|".repeat(before.len()), "--:|".repeat(numbers));
}

fn future_bytes(name: &'static str) -> usize {
    let case = Case {
        name,
        shape: Shape::H0,
        pending: 1,
    };
    case.future_bytes()
}

pub fn print() -> ExitCode {
    for (pending, what) in [(1, "Pending once"), (0, "ready at once")] {
        println!("## A service that is {what}\n");
        println!(
            "The bare service in all, and what is added to it: ns / instructions / allocations.\n"
        );
        let table = Table::measure(pending);
        table.print();
        println!("\nAs a part of what the peer adds: time / instructions.\n");
        table.print_ratios();
        println!();
    }
    ExitCode::SUCCESS
}

/// Prints the bytes of each case's future, over an inner one of four.
pub fn sizes() -> ExitCode {
    for name in PEERS.iter().chain(OURS) {
        println!("{name}: {}", future_bytes(name));
    }
    ExitCode::SUCCESS
}
