//! Thousands of calls to servers that misbehave at random and count what they apply.
//!
//! A longer run: `cargo run --release -p tower-diagnose-chaos -- --calls 20000`.

use crate::support::counting;

const CALLS: u64 = 2_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http1_no_write_is_applied_twice_and_what_is_safe_succeeds() {
    counting::over_http1(CALLS).await.check();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http2_no_write_is_applied_twice_and_what_is_safe_succeeds() {
    counting::over_http2(CALLS).await.check();
}
