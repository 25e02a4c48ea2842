//! `cargo bench -p tower-diagnose-benches` times every layer, stack and peer over every shape of request
//! with Criterion, and every way of telling of a failing answer; words after `--` choose cases:
//! `-- 'client stack/pending'`, `-- 'failing/json/'`.

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use tower_diagnose_benches::{
    cases::{OURS, PEERS},
    failing::{self, BODIES, WAYS},
    measure::Case,
    requests::Shape,
};

fn cases(criterion: &mut Criterion) {
    for name in PEERS.iter().chain(OURS) {
        for (pending, what) in [(1, "pending"), (0, "ready")] {
            for shape in Shape::ALL {
                let case = Case {
                    name,
                    shape,
                    pending,
                };
                let id = format!("{name}/{what}/{}", shape.name());
                criterion.bench_function(&id, |bencher| {
                    case.drive(|drive| {
                        bencher.iter_custom(|calls| {
                            let started = tokio::time::Instant::now();
                            drive(calls);
                            started.elapsed()
                        });
                    });
                });
            }
        }
    }
}

fn failures(criterion: &mut Criterion) {
    for body in BODIES {
        for way in WAYS {
            let Some(mut told) = failing::told(way, body) else {
                continue;
            };
            criterion.bench_function(&format!("failing/{body}/{way}"), |bencher| {
                bencher.iter(|| told(1));
            });
        }
    }
}

criterion_group! {
    name = time;
    // Some three hundred cases: a second each.
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500));
    targets = cases, failures
}
criterion_main!(time);
