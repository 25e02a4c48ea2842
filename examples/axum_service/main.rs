//! An axum service whose failures say what they are, with a page of its recent calls.
//!
//! ```text
//! cargo run --example axum_service --features axum              asks itself, prints, ends
//! cargo run --example axum_service --features axum -- serve     stays at http://127.0.0.1:3000
//! ```
//!
//! The first form prints what its callers read, one of whom does not wait for the answer, and then what the
//! page of the calls knows of it:
//!
//! ```text
//! GET /orders/7              200 {"id":7}
//! GET /orders/9              404 {"message":"no order 9"}
//! GET /stock                 500 {"message":"the index is being rebuilt"}
//! GET /reports               503 GET /reports failed: timed out after 300ms
//! GET /exports (and gone)
//!
//! GET /debug/calls
//!   GET /orders/{id}         200
//!   GET /orders/{id}         404  http, fault client
//!   GET /stock               500  http, fault proxy
//!   GET /reports                  timeout, fault proxy
//!   GET /exports                  cancelled, fault client
//! ```

use std::{error::Error, net::SocketAddr, time::Duration};

use axum::{Json, Router, extract::Path, http::StatusCode, response::IntoResponse, routing::get};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle, time::sleep};
use tower_diagnose::{RecentCalls, ServerStack};

type AnyError = Box<dyn Error + Send + Sync>;
type Http = Client<HttpConnector, Empty<Bytes>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AnyError> {
    let serves = std::env::args().nth(1).as_deref() == Some("serve");
    let listener = TcpListener::bind(if serves {
        "127.0.0.1:3000"
    } else {
        "127.0.0.1:0"
    })
    .await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(async move { axum::serve(listener, app()).await });
    if serves {
        println!("http://{address}/debug/calls.html shows the calls of http://{address}/orders/7");
        return Ok(server.await??);
    }
    ask(address).await
}

fn app() -> Router {
    let calls = RecentCalls::new(1000);
    Router::new()
        .route("/orders/{id}", get(order))
        .route("/stock", get(stock))
        .route("/reports", get(report))
        .route("/exports", get(report))
        // One line: problems for callers, a log for people, a record of every call.
        .layer(ServerStack::new(Duration::from_millis(300)).record(calls.clone()))
        // Below the layer, so that looking at the calls is none of them. Not for strangers.
        .nest("/debug", calls.router())
}

async fn order(Path(id): Path<u32>) -> Result<Json<Value>, impl IntoResponse> {
    if id == 9 {
        return Err(failure(StatusCode::NOT_FOUND, "no order 9"));
    }
    Ok(Json(json!({ "id": id })))
}

async fn stock() -> impl IntoResponse {
    failure(
        StatusCode::INTERNAL_SERVER_ERROR,
        "the index is being rebuilt",
    )
}

async fn report() -> &'static str {
    sleep(Duration::from_secs(60)).await;
    "a long report"
}

fn failure(status: StatusCode, message: &str) -> impl IntoResponse + use<> {
    (status, Json(json!({ "message": message })))
}

async fn ask(address: SocketAddr) -> Result<(), AnyError> {
    let http: Http = Client::builder(TokioExecutor::new()).build_http();
    for path in ["/orders/7", "/orders/9", "/stock", "/reports"] {
        let (status, body) = fetch(&http, address, path).await?;
        // A problem says it all in its detail; what handlers answered is printed as it is.
        let said = body["detail"]
            .as_str()
            .map_or_else(|| body.to_string(), str::to_owned);
        println!("{:<26} {} {said}", format!("GET {path}"), status.as_u16());
    }
    give_up(address).await?;
    println!("GET /exports (and gone)");

    println!("\nGET /debug/calls");
    let (_, calls) = fetch(&http, address, "/debug/calls").await?;
    for call in calls.as_array().into_iter().flatten().rev() {
        let text = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
        let status = call["status"]
            .as_u64()
            .map_or(String::new(), |status| status.to_string());
        let failure = match text("error_class") {
            class if class.is_empty() => class,
            class => format!("{class}, fault {}", text("fault_domain")),
        };
        let line = format!("  {:<24} {status:<4} {failure}", text("endpoint"));
        println!("{}", line.trim_end());
    }
    Ok(())
}

async fn fetch(
    http: &Http,
    address: SocketAddr,
    path: &str,
) -> Result<(StatusCode, Value), AnyError> {
    let response = http.get(format!("http://{address}{path}").parse()?).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    Ok((status, serde_json::from_slice(&body)?))
}

/// Asks for something slow, and leaves before it comes.
async fn give_up(address: SocketAddr) -> Result<(), AnyError> {
    let http: Http = Client::builder(TokioExecutor::new()).build_http();
    let answer = http.get(format!("http://{address}/exports").parse()?);
    let call: JoinHandle<_> = tokio::spawn(answer);
    sleep(Duration::from_millis(100)).await;
    call.abort();
    // The server sees the connection close, and makes its record.
    drop(http);
    sleep(Duration::from_millis(50)).await;
    Ok(())
}
