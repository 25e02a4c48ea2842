//! A reverse proxy that tells the upstream's fault from its own and from its caller's.
//!
//! ```text
//! cargo run --example reverse_proxy               calls itself, prints, ends
//! cargo run --example reverse_proxy -- serve      stays at http://127.0.0.1:3001; /random is worth a load
//! ```
//!
//! The first form prints what the caller gets and, indented, what the records of both sides say:
//!
//! ```text
//! GET  /fine        200 fine
//!                   front fine; back fine, attempts 1
//! POST /echo        200 1048576 bytes
//!                   front fine; back fine, attempts 1
//! GET  /fails       500 {"message":"the index is being rebuilt"}
//!                   front http, fault upstream; back http, fault upstream, attempts 3
//! GET  /resets      502 GET /resets failed: ECONNRESET (no response from server) [3 attempts]
//!                   front network, fault upstream; back network, fault upstream, attempts 3
//! POST /stalls      504 POST /stalls failed: timed out after 300ms (no response from server)
//!                   front timeout, fault upstream; back timeout, fault upstream, attempts 1
//! GET  /own         500
//!                   front http, fault proxy
//! POST /reads       (the caller's body breaks off)
//!                   front cancelled, fault client; back cancelled, fault client, attempts 1
//! GET  /upgrade     101 and back came: one two three
//!                   front fine; back fine, attempts 1
//! ```

mod ask;
mod proxy;
mod upstream;

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{Json, Router, routing::get};
use serde_json::json;
use tokio::{net::TcpListener, runtime::Handle};
use tower_diagnose::{CallRecord, RecentCalls};

type AnyError = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let (upstream, counts) = upstream::start().await?;
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve(upstream.to_string(), counts).await;
    }
    let (front, back) = (RecentCalls::new(100), RecentCalls::new(100));
    let app = proxy::proxy(upstream.to_string().parse()?, front.clone(), back.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, app).await });
    ask::everything(address, &front, &back).await
}

/// Proxies until it is stopped, and tells at `/counts` what there is of everything.
async fn serve(upstream: String, counts: Arc<upstream::Counts>) -> Result<(), AnyError> {
    let records: Arc<[AtomicU64; 2]> = Arc::default();
    let counting = |side: usize| {
        let records = Arc::clone(&records);
        move |_: CallRecord| {
            records[side].fetch_add(1, Ordering::Relaxed);
        }
    };
    let app = proxy::proxy(upstream.parse()?, counting(0), counting(1));
    let tell = async move || {
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Json(json!({
            "records_front": count(&records[0]),
            "records_back": count(&records[1]),
            "upstream_requests": count(&counts.requests),
            "upstream_connections": count(&counts.connections),
            "tasks": Handle::current().metrics().num_alive_tasks(),
        }))
    };
    // Around the proxy, so that asking for the counts is no call.
    let app = Router::new()
        .route("/counts", get(tell))
        .fallback_service(app);
    let listener = TcpListener::bind("127.0.0.1:3001").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
