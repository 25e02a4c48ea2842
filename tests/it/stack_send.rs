//! A client's stack without tower's traits in scope.

use std::{future::pending, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio::time::sleep;
use tower::{BoxError, Layer, limit::ConcurrencyLimitLayer, service_fn};
use tower_diagnose::{ClientStack, ReplayBody};

type Sent = Request<ReplayBody<Full<Bytes>>>;

fn get(path: &str) -> Request<Full<Bytes>> {
    Request::get(path).body(Full::default()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn send_waits_until_the_client_is_ready_and_may_go_to_another_task() {
    let client = service_fn(async |_: Sent| {
        sleep(Duration::from_secs(1)).await;
        Ok::<_, BoxError>(Response::new(Full::<Bytes>::default()))
    });
    let client = ConcurrencyLimitLayer::new(1).layer(client);
    let client = ClientStack::new(Duration::MAX).layer(client);
    let started = tokio::time::Instant::now();
    let first = tokio::spawn(client.send(get("/first")));
    let second = tokio::spawn(client.send(get("/second")));
    drop(client);
    assert_eq!(first.await.unwrap().unwrap().status(), 200);
    assert_eq!(second.await.unwrap().unwrap().status(), 200);
    assert_eq!(started.elapsed(), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn send_returns_what_the_stack_diagnosed() {
    let client = service_fn(|_: Sent| pending::<Result<Response<Full<Bytes>>, BoxError>>());
    let client = ClientStack::new(Duration::from_secs(3)).layer(client);
    let error = client.send(get("/reports?key=secret")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "GET /reports failed: timed out after 3s (no response from server)"
    );
}
