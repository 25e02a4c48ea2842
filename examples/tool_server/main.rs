//! A server of an agent's tools, whose failures the agent can act on.
//!
//! ```text
//! cargo run --example tool_server               calls its tools, prints, ends
//! cargo run --example tool_server -- serve      stays: POST http://127.0.0.1:3002/call
//! ```
//!
//! The first form prints what the agent reads, and how many calls and logins the API behind has seen:
//!
//! ```text
//! get_comment, three at once with a session that has ended
//!   {"text":"ship it"} {"text":"ship it"} {"text":"ship it"}
//!   the API saw 6 calls and 1 login
//! resolve_comment with half an id
//!   resolve_comment: commentId must be a full UUID of 36 characters like 123e4567-e89b-12d3-a456-426614174000, got 8 characters
//!   client, proxy_policy, hint: correct the argument: nothing was sent
//!   the API saw 0 calls and 0 logins
//! get_comment of one that is not there
//!   POST /rpc failed (200 OK): no such comment
//!   http, jsonrpc, hint: check the request: the server understood it and refused
//!   the API saw 1 call and 0 logins
//! reply_to_comment, and the API dies
//!   POST /rpc failed: connection closed before a response (no response from server)
//!   network, network, indeterminate, hint: the write may have been applied: check before repeating it
//!   the API saw 1 call and 0 logins
//! export_comments, which this account may not
//!   POST /rpc failed (401 Unauthorized): this account may not do that
//!   http, auth, hint: check the credentials
//!   the API saw 2 calls and 1 login
//! list_comments, while the API is ill
//!   POST /rpc failed (503 Service Unavailable): the index is being rebuilt [3 attempts]
//!   http, http, hint: the server failed for now: retry later, or see its logs
//!   the API saw 3 calls and 0 logins
//! list_comments again
//!   POST /rpc failed: circuit open (not sent)
//!   client, proxy_policy, hint: nothing was sent: our own side refused, so slow down and try again later
//!   the API saw 0 calls and 0 logins
//! ```

mod api;
mod breaker;
mod session;
mod tools;

use std::sync::atomic::{AtomicU32, Ordering};

use axum::{Json, Router, extract::State, routing::post};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tower::BoxError;

use api::Seen;
use tools::Tools;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let (api, seen) = api::start().await?;
    // The token of a session that has ended meanwhile.
    let tools = Tools::new(&format!("http://{api}"), "stale")?;
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve(tools).await;
    }
    // The API dies where it is told to; that needs no report of its own.
    std::panic::set_hook(Box::new(|_| {}));

    let whole = json!({ "commentId": "123e4567-e89b-12d3-a456-426614174000" });
    let missing = json!({ "commentId": "00000000-e89b-12d3-a456-426614174000" });
    let half = json!({ "commentId": "123e4567" });

    println!("get_comment, three at once with a session that has ended");
    let get = || tools.call("get_comment", &whole);
    let (first, second, third) = tokio::join!(get(), get(), get());
    let texts = [first, second, third].map(|result| match result {
        Ok(text) | Err(text) => text.to_string(),
    });
    println!("  {}", texts.join(" "));
    tell(&seen);
    for (title, tool, arguments) in [
        ("resolve_comment with half an id", "resolve_comment", &half),
        (
            "get_comment of one that is not there",
            "get_comment",
            &missing,
        ),
        (
            "reply_to_comment, and the API dies",
            "reply_to_comment",
            &whole,
        ),
        (
            "export_comments, which this account may not",
            "export_comments",
            &whole,
        ),
        (
            "list_comments, while the API is ill",
            "list_comments",
            &whole,
        ),
        ("list_comments again", "list_comments", &whole),
    ] {
        println!("{title}");
        match tools.call(tool, arguments).await {
            Ok(result) => println!("  {result}"),
            Err(failure) => explain(&failure),
        }
        tell(&seen);
    }
    Ok(())
}

/// Prints of a failure what an agent goes by.
fn explain(failure: &Value) {
    let text = |name: &str| failure[name].as_str().unwrap_or_default();
    let indeterminate = match failure["indeterminate"] {
        Value::Bool(true) => ", indeterminate",
        _ => "",
    };
    println!("  {}", text("message"));
    let (kind, class, hint) = (text("error"), text("errorClass"), text("hint"));
    println!("  {kind}, {class}{indeterminate}, hint: {hint}");
}

/// Prints what the API has seen since the last time.
fn tell(seen: &Seen) {
    let count = |number: &AtomicU32, one: &str| match number.swap(0, Ordering::Relaxed) {
        1 => format!("1 {one}"),
        many => format!("{many} {one}s"),
    };
    let (calls, logins) = (count(&seen.calls, "call"), count(&seen.logins, "login"));
    println!("  the API saw {calls} and {logins}");
}

/// Serves the tools until it is stopped.
async fn serve(tools: Tools) -> Result<(), BoxError> {
    let listener = TcpListener::bind("127.0.0.1:3002").await?;
    println!("http://{}/call", listener.local_addr()?);
    let app = Router::new().route("/call", post(call)).with_state(tools);
    Ok(axum::serve(listener, app).await?)
}

/// `{"tool": …, "arguments": …}` in; out comes what a model reads. A failing tool is no failing request.
async fn call(State(tools): State<Tools>, Json(call): Json<Value>) -> Json<Value> {
    let tool = call["tool"].as_str().unwrap_or_default();
    Json(match tools.call(tool, &call["arguments"]).await {
        Ok(result) => json!({ "isError": false, "content": result }),
        Err(failure) => json!({ "isError": true, "content": failure }),
    })
}
