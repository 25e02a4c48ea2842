//! A gRPC client of tonic with the stack around its channel, and a server to call.
//!
//! ```text
//! cargo run -p tonic_client
//! ```
//!
//! prints, for each call, the status that the caller gets and what the record of the call says:
//!
//! ```text
//! ann        hello ann
//!            fine, attempts 1
//! nobody     NotFound: there is no one of this name
//!            jsonrpc, fault upstream, attempts 1
//! everybody  DeadlineExceeded: POST /greeter.Greeter/Hello failed: timed out after 300ms (no response from server)
//!            timeout, fault upstream, attempts 1
//!            the write may have been applied: check before repeating it
//! everybody  DeadlineExceeded: POST /greeter.Greeter/Hello failed: timed out after 300ms (no response from server) [2 attempts]
//!            timeout, fault upstream, attempts 2
//! ann        Unavailable: POST /greeter.Greeter/Hello failed: ECONNREFUSED (no response from server) [3 attempts]
//!            network, fault upstream, attempts 3
//! ```
//!
//! The fourth call declares itself idempotent, so that the stack repeats it; the last has nobody to call.

mod greeter;

use std::{error::Error, net::SocketAddr, time::Duration};

use http::uri::PathAndQuery;
use tokio::net::TcpListener;
use tonic::{Request, Status, client::Grpc, transport::Endpoint};
use tower::{Layer, util::MapErr};
use tower_diagnose::{
    ClientStack, DiagnoseLayer, Diagnosed, Idempotency, MaxAttempts, Protocol, RecentCalls,
    TonicService, find,
};

use greeter::Text;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let greets = greeter::serve().await?;
    // A port that was ours a moment ago, and is now nobody's.
    let refused = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    let calls = RecentCalls::new(100);

    hello(&calls, greets, named("ann")).await?;
    hello(&calls, greets, named("nobody")).await?;
    hello(&calls, greets, named("everybody")).await?;
    let mut request = named("everybody");
    request.extensions_mut().insert(Idempotency::Idempotent);
    request.extensions_mut().insert(MaxAttempts(2));
    hello(&calls, greets, request).await?;
    hello(&calls, refused, named("ann")).await
}

fn named(name: &str) -> Request<String> {
    Request::new(name.to_owned())
}

async fn hello(
    calls: &RecentCalls,
    address: SocketAddr,
    request: Request<String>,
) -> Result<(), Box<dyn Error>> {
    let channel = Endpoint::from_shared(format!("http://{address}"))?.connect_lazy();
    let client = ClientStack::new(Duration::from_secs(30))
        .attempt_timeout(Duration::from_millis(300))
        // Finds the status of gRPC in headers and trailers, for the record.
        .diagnose(DiagnoseLayer::new().inspect(Protocol::Grpc))
        .record(calls.clone())
        .layer(TonicService::new(channel));
    // A client of generated code is made of the same: `GreeterClient::new(MapErr::new(…))`.
    let mut client = Grpc::new(MapErr::new(client, Status::from));

    let name = request.get_ref().clone();
    client.ready().await?;
    let path = PathAndQuery::from_static("/greeter.Greeter/Hello");
    let result = client.unary(request, path, Text).await;
    match &result {
        Ok(greeting) => println!("{name:<10} {}", greeting.get_ref()),
        Err(status) => println!("{name:<10} {:?}: {}", status.code(), status.message()),
    }
    if let Some(record) = calls.snapshot().last() {
        let attempts = record.attempts();
        match (record.error_class(), record.fault_domain()) {
            (Some(class), Some(fault)) => {
                println!("{:<10} {class}, fault {fault}, attempts {attempts}", "");
            }
            _ => println!("{:<10} fine, attempts {attempts}", ""),
        }
    }
    // A failure without an answer still has its whole diagnosis below the status.
    let diagnosed = result
        .as_ref()
        .err()
        .and_then(|status| find::<Diagnosed>(status));
    if let Some(diagnosis) = diagnosed.map(Diagnosed::diagnosis) {
        if let (true, Some(hint)) = (diagnosis.is_indeterminate(), diagnosis.hint()) {
            println!("{:<10} {hint}", "");
        }
    }
    Ok(())
}
