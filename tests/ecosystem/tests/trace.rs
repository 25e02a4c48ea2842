//! What tower-http's `Trace` logs beside us. A program of its own: a thread that has no subscriber may
//! switch events off for all.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Json, Router, body::Body, routing::get};
use http::{Request, StatusCode};
use serde_json::json;
use tower::{ServiceBuilder, ServiceExt};
use tower_diagnose::ServerStack;
use tower_http::trace::TraceLayer;
use tracing_subscriber::fmt::MakeWriter;

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn trace_logs_the_query_and_we_do_not() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
        .with_writer(log.clone())
        .with_ansi(false)
        .finish();
    let _guard = tracing_subscriber::util::SubscriberInitExt::set_default(subscriber);
    let fails = async || {
        let body = Json(json!({"message": "the index is broken"}));
        (StatusCode::INTERNAL_SERVER_ERROR, body)
    };
    let app = Router::new().route("/fails", get(fails)).layer(
        ServiceBuilder::new()
            .layer(TraceLayer::new_for_http())
            .layer(ServerStack::new(Duration::from_secs(2))),
    );
    let request = Request::get("/fails?key=secret-9")
        .body(Body::empty())
        .unwrap();
    drop(app.oneshot(request).await.unwrap());
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();

    let of = |target: &str| {
        log.lines()
            .filter(|line| line.contains(target))
            .collect::<Vec<_>>()
    };
    let theirs = of(" tower_http::trace");
    assert!(
        theirs
            .iter()
            .any(|line| line.contains("/fails?key=secret-9")),
        "{log}"
    );
    // What the span around it says is the subscriber's to print; the event is ours.
    let ours = of(" tower_diagnose: ");
    let [line] = ours.as_slice() else {
        panic!("one event of ours is due: {log}")
    };
    let (_, event) = line.split_once(" tower_diagnose: ").unwrap();
    assert!(
        event.starts_with("GET /fails failed (500 Internal Server Error): the index is broken"),
        "{event}"
    );
    assert!(!event.contains("secret-9"), "{event}");
}
