//! Which scripts a body is driven over.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::script::{ScriptedBody, Step};
use crate::backoff::Random;

/// How many steps the scripts have of which all are tried.
const SHORT: usize = 3;

/// How many steps the others have at most, and the end.
const LONG: u64 = 12;

/// A body that can be made again and again.
#[derive(Clone, Debug)]
pub(super) struct Script {
    steps: Vec<Step>,
    knows_length: bool,
    knows_end: bool,
}

impl Script {
    pub(super) fn body(&self) -> ScriptedBody {
        ScriptedBody::new(self.steps.iter().cloned())
            .knows_length(self.knows_length)
            .knows_end(self.knows_end)
    }
}

/// Returns every short script, shortest first, so that the first which fails says most.
pub(super) fn short() -> Vec<Script> {
    let alphabet = [
        Step::Data(Bytes::from_static(b"a")),
        Step::Data(Bytes::new()),
        Step::Pending,
    ];
    let mut beginnings = vec![Vec::new()];
    let mut last = beginnings.clone();
    for _ in 0..SHORT {
        last = last
            .iter()
            .flat_map(|steps: &Vec<Step>| {
                alphabet.iter().map(|step| {
                    let mut steps = steps.clone();
                    steps.push(step.clone());
                    steps
                })
            })
            .collect();
        beginnings.extend(last.iter().cloned());
    }
    let mut all = Vec::new();
    for steps in beginnings {
        for end in [None, Some(Step::Trailers(trailers())), Some(Step::Fail)] {
            for (knows_length, knows_end) in
                [(false, false), (true, false), (false, true), (true, true)]
            {
                let mut steps = steps.clone();
                steps.extend(end.clone());
                all.push(Script {
                    steps,
                    knows_length,
                    knows_end,
                });
            }
        }
    }
    all
}

/// Draws a long script, with waits up to `longest`.
pub(super) fn long(random: &Random, longest: Duration) -> Script {
    let below = |sides: u64| random.draw() % sides;
    let mut steps: Vec<_> = (0..below(LONG + 1))
        .map(|_| match below(9) {
            0 | 1 => Step::Pending,
            2 if !longest.is_zero() => {
                let millis = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
                Step::Wait(Duration::from_millis(below(
                    millis.saturating_add(1).max(1),
                )))
            }
            _ => Step::Data(match below(6) {
                0 => Bytes::new(),
                1 => Bytes::from_static(b"{\"message\":"),
                2 => Bytes::from_static(b" \"no\"}"),
                3 => Bytes::from_static(b"<!doctype html>"),
                4 => Bytes::from_static(&[0xff, 0, 0x1f]),
                _ => Bytes::from(vec![b'x'; usize::try_from(below(40_000)).unwrap_or(1)]),
            }),
        })
        .collect();
    match below(6) {
        0..=2 => {}
        3 => steps.push(Step::Trailers(trailers())),
        4 => steps.extend([Step::Pending, Step::Trailers(trailers())]),
        _ => steps.push(Step::Fail),
    }
    Script {
        steps,
        knows_length: below(2) == 0,
        knows_end: below(2) == 0,
    }
}

fn trailers() -> HeaderMap {
    HeaderMap::from_iter([(
        HeaderName::from_static("grpc-status"),
        HeaderValue::from_static("13"),
    )])
}
