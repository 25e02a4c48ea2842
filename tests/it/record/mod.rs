//! Every call has one record, and the record is right.

mod body;
mod dispatched;
mod endings;
#[cfg(feature = "metrics")]
mod metrics;
mod nested;
#[cfg(feature = "axum")]
mod page;
mod panics;
mod sinks;
mod stack;
mod storm;
mod wire;

use tower_diagnose::{CallRecord, RecentCalls};

/// The one record that there is.
#[track_caller]
fn only(calls: &RecentCalls) -> CallRecord {
    let mut records = calls.snapshot();
    assert_eq!(calls.total(), 1, "{records:#?}");
    records.remove(0)
}
