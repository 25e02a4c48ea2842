//! A reqwest client with the stack around it, against a server that misbehaves.
//!
//! ```text
//! cargo run -p reqwest_client
//! ```
//!
//! prints what reqwest says of each failure, and what the stack says:
//!
//! ```text
//! reqwest  HTTP status client error (400 Bad Request) for url (http://127.0.0.1:46399/orders?key=not-for-your-eyes)
//! stack    POST /orders failed (400 Bad Request): sku: must not be empty
//!
//! reqwest  error sending request for url (http://127.0.0.1:38257/stock?key=not-for-your-eyes)
//! stack    GET /stock failed: ECONNREFUSED (no response from server) [3 attempts]
//!
//! reqwest  error sending request for url (http://127.0.0.1:46399/slow?key=not-for-your-eyes)
//! stack    POST /slow failed: timed out after 300ms (no response from server)
//!          the write may have been applied: check before repeating it
//!
//! reqwest  200 OK
//! stack    200 OK [2 attempts]
//! ```
//!
//! The two things that reqwest does by itself and that the stack would not see are switched off below.

use std::{
    error::Error,
    net::SocketAddr,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use axum::{
    Json, Router,
    http::StatusCode,
    response::IntoResponse,
    routing::{get, post},
};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::json;
use tokio::net::TcpListener;
use tower::{Layer, Service, ServiceExt};
use tower_diagnose::{ClientStack, Diagnosed, ReqwestService, ResponseExt};

const LIMIT: Duration = Duration::from_millis(300);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let answers = serve().await?;
    // A port that was ours a moment ago, and is now nobody's.
    let refused = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;

    let client = reqwest::Client::builder()
        // A redirect that reqwest follows is part of one attempt, under the first path. As an answer,
        // it is the caller's to follow.
        .redirect(reqwest::redirect::Policy::none())
        // What reqwest repeats is not counted; the stack repeats what is safe to repeat.
        .retry(reqwest::retry::never())
        // No `timeout`: the stack's limit is told in the line, reqwest's cannot be.
        .build()?;
    let mut stack = ClientStack::new(Duration::from_secs(30))
        .attempt_timeout(LIMIT)
        .layer(ReqwestService::new(client.clone()));

    for (method, address, path) in [
        (Method::POST, answers, "/orders"),
        (Method::GET, refused, "/stock"),
        (Method::POST, answers, "/slow"),
        (Method::GET, answers, "/busy"),
    ] {
        let url = format!("http://{address}{path}?key=not-for-your-eyes");
        println!("reqwest  {}", plain(&client, method.clone(), &url).await);
        let request = Request::builder().method(method).uri(url);
        match through(&mut stack, request.body(Full::from("{}"))?).await {
            Ok(line) => println!("stack    {line}\n"),
            Err(lines) => println!("stack    {lines}\n"),
        }
    }
    Ok(())
}

/// What reqwest gives its user to read.
async fn plain(client: &reqwest::Client, method: Method, url: &str) -> String {
    let answer = client
        .request(method, url)
        .timeout(LIMIT)
        .body("{}")
        .send()
        .await;
    match answer.and_then(reqwest::Response::error_for_status) {
        Ok(response) => response.status().to_string(),
        Err(error) => error.to_string(),
    }
}

/// What the stack gives its user to read.
async fn through<S, B>(stack: &mut S, request: Request<Full<Bytes>>) -> Result<String, String>
where
    S: Service<Request<Full<Bytes>>, Response = http::Response<B>, Error = Diagnosed>,
    B: http_body::Body,
{
    let answer = async { stack.ready().await?.call(request).await };
    let response = answer.await.map_err(|error| {
        let diagnosis = error.diagnosis();
        match diagnosis.hint() {
            Some(hint) if diagnosis.is_indeterminate() => format!("{diagnosis}\n         {hint}"),
            _ => diagnosis.to_string(),
        }
    })?;
    if let Some(diagnosis) = response.diagnosis() {
        return Err(diagnosis.to_string());
    }
    let attempts = response.retried().map_or(1, |retried| retried.attempts());
    let line = format!("{} [{attempts} attempts]", response.status());
    // Read to its end, so that the connection can be used again.
    let _ = response.into_body().collect().await;
    Ok(line)
}

async fn serve() -> std::io::Result<SocketAddr> {
    static BUSY: AtomicU32 = AtomicU32::new(1);
    let app = Router::new()
        .route(
            "/orders",
            post(async || {
                let body = Json(json!({ "errors": { "sku": ["must not be empty"] } }));
                (StatusCode::BAD_REQUEST, body)
            }),
        )
        .route("/slow", post(async || std::future::pending::<()>().await))
        .route(
            "/busy",
            get(async || {
                // Every second request finds a free place.
                if BUSY.fetch_add(1, Ordering::Relaxed) & 1 == 0 {
                    return StatusCode::SERVICE_UNAVAILABLE.into_response();
                }
                "your turn".into_response()
            }),
        );
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(address)
}
