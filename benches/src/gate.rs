//! Fails when a layer got dearer: instructions and allocations of our own cases, never time.

use std::{collections::BTreeMap, fmt::Write, fs, path::PathBuf, process::ExitCode};

use crate::{cases::OURS, measure::Case, parallel, requests::Shape, scaling};

/// How many per cent a case may add before it fails, and how many instructions at least. Counts do not
/// depend on the machine's speed or load, but on the compiler, and a little on the C library, whose
/// `memcpy` and allocator differ from version to version and from processor to processor.
const TOLERANCE: f64 = 5.0;
const TOLERATED: f64 = 40.0;

/// Calls of a run under callgrind.
const CALLS: u64 = 200;

/// Returns whether a case is worth the time: credentials change only what a diagnosis remembers, and
/// what some cases are made of is in others.
fn is_gated(name: &str, shape: Shape) -> bool {
    match name {
        "recorder" | "respond" | "client stack, attempt limit" => false,
        "bare" | "diagnose" | "client stack" => true,
        _ => shape != Shape::Auth,
    }
}

fn baseline() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("baseline.txt")
}

/// One line a case: name, shape, added instructions, added allocations.
fn measured() -> Option<BTreeMap<String, (f64, f64)>> {
    let case = |name, shape| Case {
        name,
        shape,
        pending: 1,
    };
    let mut cases = Vec::new();
    for shape in Shape::TABLED {
        let names = ["bare"].iter().chain(OURS);
        let names = names.filter(|name| is_gated(name, shape));
        cases.extend(names.map(|name| case(*name, shape)));
    }
    // Allocations are those of the whole process, so that nothing may run beside.
    let allocations: Vec<f64> = cases.iter().map(|case| case.allocations()).collect();
    let instructions = parallel::map(&cases, |case| case.instructions(CALLS));
    let mut rows = BTreeMap::new();
    let mut bare = (0.0, 0.0);
    for ((case, instructions), allocations) in cases.iter().zip(instructions).zip(allocations) {
        let instructions = instructions?;
        if case.name == "bare" {
            bare = (instructions, allocations);
            continue;
        }
        let key = format!("{} | {}", case.name, case.shape.name());
        rows.insert(key, (instructions - bare.0, allocations - bare.1));
    }
    Some(rows)
}

#[must_use]
pub fn write() -> ExitCode {
    let Some(rows) = measured() else {
        eprintln!("valgrind is not installed");
        return ExitCode::FAILURE;
    };
    let mut text = String::from("# case | shape | instructions added | allocations added\n");
    for (key, (instructions, allocations)) in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{key} | {instructions:.0} | {allocations:.2}");
    }
    match fs::write(baseline(), text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write the baseline: {error}");
            ExitCode::FAILURE
        }
    }
}

#[must_use]
pub fn check() -> ExitCode {
    let Some(rows) = measured() else {
        eprintln!("valgrind is not installed");
        return ExitCode::FAILURE;
    };
    let text = fs::read_to_string(baseline()).unwrap_or_default();
    let allowed: BTreeMap<String, (f64, f64)> = text.lines().filter_map(parse).collect();
    let mut dearer = 0;
    for (key, (instructions, allocations)) in &rows {
        let Some((may, may_allocate)) = allowed.get(key) else {
            println!("{key}: not in the baseline");
            dearer += 1;
            continue;
        };
        let limit = may + (may.abs() * TOLERANCE / 100.0).max(TOLERATED);
        if *instructions > limit || *allocations > may_allocate + 0.01 {
            println!(
                "{key}: {instructions:.0} instructions and {allocations:.2} allocations, \
                 was {may:.0} and {may_allocate:.2}"
            );
            dearer += 1;
        }
    }
    println!(
        "{} cases measured, {dearer} dearer than the baseline allows",
        rows.len()
    );
    let Some(bent) = scaling::bent() else {
        eprintln!("a run that was to show growth failed");
        return ExitCode::FAILURE;
    };
    for growth in &bent {
        println!("no line any more: {growth}");
    }
    if dearer == 0 && bent.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn parse(line: &str) -> Option<(String, (f64, f64))> {
    let fields: Vec<&str> = line.split(" | ").collect();
    match fields.as_slice() {
        [name, shape, instructions, allocations] => Some((
            format!("{name} | {shape}"),
            (instructions.parse().ok()?, allocations.parse().ok()?),
        )),
        _ => None,
    }
}
