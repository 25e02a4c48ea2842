//! What the retry layer tells of itself in events.
//!
//! In a program of their own, and one test at a time: while a thread meets an event for the first time, a
//! subscriber that another one adds is passed over, and is never shown that event.

use std::{
    future::pending,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{
    Backoff, BoxError, Idempotency, NoRetry, ReplayBody, RetryBudget, RetryLayer,
};
use tracing::{Level, subscriber::set_default};

static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// What a subscriber wrote.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn subscriber(&self, level: Level) -> impl tracing::Subscriber + Send + Sync + use<> {
        let log = self.clone();
        tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .with_writer(move || log.clone())
            .finish()
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn quick() -> RetryLayer {
    RetryLayer::new()
        .without_budget()
        .backoff(Backoff::exponential(
            Duration::from_secs(1),
            Duration::from_secs(8),
        ))
}

fn request(method: &str) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri("http://host.example/orders?id=7")
        .body(Full::from("hello"))
        .unwrap()
}

/// Calls a service that reads the request, is busy, and asks to wait if there is something to say of that; with a wait of
/// nothing it never answers.
async fn call(layer: &RetryLayer, request: Request<Full<Bytes>>, wait: Option<&'static str>) {
    let busy = service_fn(
        move |request: Request<ReplayBody<Full<Bytes>>>| async move {
            request.into_body().collect().await?;
            let response = Response::builder().status(503);
            let response = match wait {
                Some("") => pending().await,
                Some(wait) => response.header("retry-after", wait),
                None => response,
            };
            Ok::<_, BoxError>(response.body(Full::<Bytes>::default())?)
        },
    );
    let _ = layer.layer(busy).oneshot(request).await;
}

#[tokio::test(start_paused = true)]
async fn an_event_names_the_reason_and_nothing_secret() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let short = || quick().total_limit(Duration::from_millis(500));
    let mut forbidden = request("GET");
    forbidden.extensions_mut().insert(NoRetry);
    for (layer, request, wait, reason) in [
        (quick(), request("POST"), None, "not idempotent"),
        (quick(), request("GET"), None, "attempts used up"),
        (quick(), forbidden, None, "forbidden"),
        (
            quick(),
            request("GET"),
            Some("31"),
            "retry-after beyond the limit",
        ),
        (
            quick().replay_limit(0),
            request("PUT"),
            None,
            "body not replayable",
        ),
        (
            quick().budget(RetryBudget::new(0, 0, 0)),
            request("GET"),
            None,
            "budget exhausted",
        ),
        (
            short(),
            request("GET"),
            Some("1"),
            "would pass the total limit",
        ),
        (short(), request("GET"), Some(""), "total limit reached"),
    ] {
        let log = Log::default();
        let guard = set_default(log.subscriber(Level::DEBUG));
        call(&layer, request, wait).await;
        drop(guard);
        let text = log.text();
        assert!(text.contains(reason), "{reason}: {text}");
        // Of a call that is never repeated the layer keeps nothing.
        let is_named = reason == "forbidden" || text.contains("/orders");
        assert!(is_named, "{reason}: {text}");
        assert_eq!(
            text.matches("retrying").count(),
            match reason {
                "attempts used up" => 2,
                _ => 0,
            }
        );
        for secret in ["host.example", "id=7", "hello"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn only_declared_warns_once() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let layer = quick().only_declared(true);
    let log = Log::default();
    let guard = set_default(log.subscriber(Level::WARN));
    for _ in 0..2 {
        call(&layer, request("GET"), None).await;
    }
    let mut declared = request("GET");
    declared.extensions_mut().insert(Idempotency::Safe);
    call(&layer, declared, None).await;
    drop(guard);

    let text = log.text();
    assert_eq!(text.matches("WARN").count(), 1, "{text}");
    assert!(text.contains("GET /orders"), "{text}");
    for secret in ["host.example", "id=7"] {
        assert!(!text.contains(secret), "{text}");
    }
}
