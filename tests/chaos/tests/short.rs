//! A few hundred seeds: what a change breaks, it most likely breaks here.

use tower_diagnose_chaos::{logs, panics, run};

#[test]
fn nothing_breaks_whatever_the_server_does() {
    panics::watch();
    logs::watch();
    let (counts, failures) = run::many(0..1_500, 1, |_| {});
    assert!(failures.is_empty(), "{failures:#?}");
    // The games were played, and neither all won nor all lost.
    assert!(
        counts.calls > 2_000 && counts.attempts > counts.calls,
        "{counts:?}"
    );
    assert!(counts.good > 50 && counts.network > 50, "{counts:?}");
}
