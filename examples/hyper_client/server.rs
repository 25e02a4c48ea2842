//! A server that misbehaves in every way that a user meets.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Json, Router,
    http::StatusCode,
    response::{Html, IntoResponse},
    routing::{any, get, post},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Where each kind of misbehaviour listens.
pub(crate) struct Server {
    /// Answers, well or badly.
    pub answers: SocketAddr,
    /// Reads the request and closes the connection.
    pub closes: SocketAddr,
    /// Reads the request and says nothing.
    pub silent: SocketAddr,
    /// Nobody listens here.
    pub refused: SocketAddr,
}

pub(crate) async fn start() -> std::io::Result<Server> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let answers = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router()).await });

    let closes = listen(|mut stream| async move {
        read_head(&mut stream).await;
    })
    .await?;
    let silent = listen(|mut stream| async move {
        read_head(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await?;

    // A port that was ours a moment ago, and is now nobody's.
    let refused = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    Ok(Server {
        answers,
        closes,
        silent,
        refused,
    })
}

fn router() -> Router {
    let busy = Arc::new(AtomicUsize::new(0));
    Router::new()
        .route("/health", get(|| async { "fine" }))
        .route(
            "/comments/resolve",
            post(|| async {
                let body = json!({
                    "statusCode": 400,
                    "message": ["commentId must be a UUID"],
                    "error": "Bad Request",
                });
                (StatusCode::BAD_REQUEST, Json(body))
            }),
        )
        .route(
            "/modules/{id}",
            get(|| async {
                (
                    StatusCode::NOT_FOUND,
                    Json(json!({ "error": { "message": "no such module" } })),
                )
            }),
        )
        .route(
            "/page",
            any(|| async {
                let page = "<html><head><title>502</title></head><body>edge-7</body></html>";
                (StatusCode::BAD_GATEWAY, Html(page))
            }),
        )
        .route(
            "/busy",
            get(move || async move {
                // Every third request finds a free place.
                if busy.fetch_add(1, Ordering::Relaxed) % 3 < 2 {
                    (
                        StatusCode::SERVICE_UNAVAILABLE,
                        Json(json!({ "message": "queue full" })),
                    )
                        .into_response()
                } else {
                    "your turn".into_response()
                }
            }),
        )
}

async fn listen<F, Fut>(handle: F) -> std::io::Result<SocketAddr>
where
    F: Fn(TcpStream) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(handle(stream));
        }
    });
    Ok(address)
}

async fn read_head(stream: &mut TcpStream) {
    let mut read = Vec::new();
    let mut chunk = [0; 1024];
    while !read.windows(4).any(|window| window == b"\r\n\r\n") {
        match stream.read(&mut chunk).await {
            Ok(1..) if read.len() < 64 * 1024 => read.extend_from_slice(&chunk),
            _ => return,
        }
    }
    // Nothing to say; but what is said must not linger.
    let _ = stream.flush().await;
}
