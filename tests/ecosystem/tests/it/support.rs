//! Servers on loopback, and what was recorded of them.

use std::net::SocketAddr;

use axum::Router;
use tokio::net::TcpListener;
use tower_diagnose::{CallRecord, RecentCalls};

/// Serves an app for as long as the test runs.
pub(crate) async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

/// Returns the one record that there is.
pub(crate) fn only(calls: &RecentCalls) -> CallRecord {
    let mut records = calls.snapshot();
    assert_eq!(records.len(), 1, "{records:?}");
    records.remove(0)
}
