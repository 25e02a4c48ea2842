//! Layers of a user's own inside the stack: those of the example `tool_server`.

#[path = "../../examples/tool_server/breaker.rs"]
mod breaker;
#[path = "../../examples/tool_server/session.rs"]
mod session;

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use axum::{
    Json, Router,
    extract::{Request as Incoming, State},
    routing::post,
};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use serde_json::json;
use tower::{Layer, ServiceExt};
use tower_diagnose::{
    ClientStack, Delivery, ErrorClass, RecentCalls, ResponseExt, stack::ClientService,
};

use self::{
    breaker::{Breaker, BreakerLayer},
    session::{InSession, SessionLayer},
};
use crate::{server_stack::serve, support::client};

type Stacked = ClientService<Breaker<InSession<Client<HttpConnector, Full<Bytes>>>>>;

#[derive(Default)]
struct Seen {
    calls: AtomicU32,
    logins: AtomicU32,
}

impl Seen {
    fn take(&self) -> (u32, u32) {
        let take = |count: &AtomicU32| count.swap(0, Ordering::Relaxed);
        (take(&self.calls), take(&self.logins))
    }
}

/// Echoes to those whose token is fresh, except at `/never`.
async fn api() -> (SocketAddr, Arc<Seen>) {
    async fn answer(State(seen): State<Arc<Seen>>, request: Incoming) -> (StatusCode, Bytes) {
        seen.calls.fetch_add(1, Ordering::Relaxed);
        let path = request.uri().path();
        let status = match path {
            "/ill" => StatusCode::SERVICE_UNAVAILABLE,
            "/never" => StatusCode::UNAUTHORIZED,
            _ if request.headers()["authorization"] != "Bearer fresh" => StatusCode::UNAUTHORIZED,
            _ => StatusCode::OK,
        };
        let body = request.into_body().collect().await.unwrap().to_bytes();
        (status, body)
    }
    let seen = Arc::new(Seen::default());
    let login = async |State(seen): State<Arc<Seen>>| {
        seen.logins.fetch_add(1, Ordering::Relaxed);
        Json(json!({ "token": "fresh" }))
    };
    let app = Router::new()
        .route("/login", post(login))
        .fallback(answer)
        .with_state(Arc::clone(&seen));
    (serve(app).await, seen)
}

fn stacked(address: SocketAddr, calls: &RecentCalls) -> Stacked {
    let session = SessionLayer::new("stale", format!("http://{address}/login")).unwrap();
    let breaker = BreakerLayer::new(3, Duration::from_secs(600));
    ClientStack::new(Duration::from_secs(30))
        .record(calls.clone())
        .layer(breaker.layer(session.layer(client::http1())))
}

fn post_to(address: SocketAddr, path: &str) -> Request<Full<Bytes>> {
    Request::post(format!("http://{address}{path}"))
        .body(Full::from("a body"))
        .unwrap()
}

#[tokio::test]
async fn all_who_meet_the_end_of_a_session_share_one_login_and_none_has_a_diagnosis() {
    let (address, seen) = api().await;
    let calls = RecentCalls::new(100);
    let client = stacked(address, &calls);
    let all: Vec<_> = (0..20)
        .map(|_| tokio::spawn(client.clone().oneshot(post_to(address, "/orders"))))
        .collect();
    for call in all {
        let response = call.await.unwrap().unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert!(response.diagnosis().is_none() && response.retried().is_none());
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, "a body", "the replay carries the body too");
    }
    let (sent, logins) = seen.take();
    assert_eq!(logins, 1);
    assert!(sent <= 40, "each is replayed once: {sent}");
    assert_eq!(calls.total(), 20);
    assert!(
        calls
            .snapshot()
            .iter()
            .all(|call| call.outcome().is_none() && call.attempts() == 1)
    );
}

#[tokio::test]
async fn a_second_401_is_diagnosed_and_not_replayed_again() {
    let (address, seen) = api().await;
    let client = stacked(address, &RecentCalls::new(1));
    let response = client.oneshot(post_to(address, "/never")).await.unwrap();
    let diagnosis = response.diagnosis().unwrap();
    assert_eq!(diagnosis.class(), ErrorClass::Auth);
    assert_eq!(
        (diagnosis.delivery(), diagnosis.attempts()),
        (Delivery::Answered, 1)
    );
    assert_eq!(seen.take(), (2, 1));
}

#[tokio::test]
async fn a_breaker_of_ones_own_refuses_without_sending_and_without_being_asked_again() {
    let (address, seen) = api().await;
    let client = stacked(address, &RecentCalls::new(1));
    for _ in 0..3 {
        client
            .clone()
            .oneshot(post_to(address, "/ill"))
            .await
            .unwrap();
    }
    assert_eq!(seen.take(), (3, 0));
    let error = client.oneshot(post_to(address, "/ill")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "POST /ill failed: circuit open (not sent)"
    );
    assert_eq!(error.diagnosis().class(), ErrorClass::ProxyPolicy);
    assert_eq!(seen.take(), (0, 0));
}
