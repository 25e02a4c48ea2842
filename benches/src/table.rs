//! The table: what each case adds to the bare service.

use std::process::ExitCode;

use crate::{
    cases::{OURS, PEERS},
    measure::Case,
    requests::Shape,
};

#[derive(Clone, Copy)]
struct Cost {
    nanoseconds: f64,
    instructions: Option<f64>,
    allocations: f64,
}

impl Cost {
    fn of(case: Case) -> Self {
        Self {
            nanoseconds: case.nanoseconds(),
            instructions: case.instructions(),
            allocations: case.allocations(),
        }
    }

    fn over(self, bare: Self) -> Self {
        Self {
            nanoseconds: self.nanoseconds - bare.nanoseconds,
            instructions: self
                .instructions
                .zip(bare.instructions)
                .map(|(all, bare)| all - bare),
            allocations: self.allocations - bare.allocations,
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
}

pub fn print() -> ExitCode {
    println!("Added over a bare service that is Pending once: ns / instructions / allocations.\n");
    println!(
        "| case | {} | future, bytes |",
        Shape::ALL.map(Shape::name).join(" | ")
    );
    println!("|---|{}--:|", "--:|".repeat(Shape::ALL.len()));
    let bare = Shape::ALL.map(|shape| {
        Cost::of(Case {
            name: "bare",
            shape,
            pending: 1,
        })
    });
    let row = |name: &'static str, costs: [Cost; Shape::ALL.len()]| {
        let case = Case {
            name,
            shape: Shape::H0,
            pending: 1,
        };
        println!(
            "| {name} | {} | {} |",
            costs.map(Cost::cell).join(" | "),
            case.future_bytes()
        );
    };
    row("bare", bare);
    for name in PEERS
        .iter()
        .chain(OURS)
        .copied()
        .filter(|name| *name != "bare")
    {
        let mut costs = bare;
        for (cost, shape) in costs.iter_mut().zip(Shape::ALL) {
            *cost = Cost::of(Case {
                name,
                shape,
                pending: 1,
            })
            .over(*cost);
        }
        row(name, costs);
    }
    ExitCode::SUCCESS
}

/// Prints the bytes of each case's future, over an inner one of four.
pub fn sizes() -> ExitCode {
    for name in PEERS.iter().chain(OURS) {
        let case = Case {
            name,
            shape: Shape::H0,
            pending: 1,
        };
        println!("{name}: {}", case.future_bytes());
    }
    ExitCode::SUCCESS
}
