//! The API that the tools call: JSON-RPC over HTTP, behind a login.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What has reached it.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) calls: AtomicU32,
    pub(crate) logins: AtomicU32,
}

pub(crate) async fn start() -> std::io::Result<(SocketAddr, Arc<Seen>)> {
    let seen = Arc::new(Seen::default());
    let app = Router::new()
        .route("/login", post(login))
        .route("/rpc", post(rpc))
        .with_state(Arc::clone(&seen));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok((address, seen))
}

async fn login(State(seen): State<Arc<Seen>>) -> Json<Value> {
    seen.logins.fetch_add(1, Ordering::Relaxed);
    // Slow enough that other calls meet the old token meanwhile.
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    Json(json!({ "token": "fresh" }))
}

async fn rpc(State(seen): State<Arc<Seen>>, head: HeaderMap, Json(call): Json<Value>) -> Response {
    seen.calls.fetch_add(1, Ordering::Relaxed);
    let method = call["method"].as_str().unwrap_or_default();
    let is_let_in = head
        .get(AUTHORIZATION)
        .is_some_and(|value| value == "Bearer fresh");
    if !is_let_in || method == "comments.export" {
        let body = json!({ "error": { "message": "this account may not do that" } });
        return (StatusCode::UNAUTHORIZED, Json(body)).into_response();
    }
    let result = match method {
        "comments.get"
            if call["params"]["id"]
                .as_str()
                .is_some_and(|id| id.starts_with('0')) =>
        {
            let error = json!({ "code": -32004, "message": "no such comment" });
            return Json(json!({ "jsonrpc": "2.0", "id": 1, "error": error })).into_response();
        }
        "comments.get" => json!({ "text": "ship it" }),
        "comments.resolve" | "comments.delete" => json!({ "done": true }),
        // Writes it, and dies before it can say so.
        "comments.create" => panic!("out of memory"),
        _ => {
            let body = json!({ "message": "the index is being rebuilt" });
            return (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response();
        }
    };
    Json(json!({ "jsonrpc": "2.0", "id": 1, "result": result })).into_response()
}
