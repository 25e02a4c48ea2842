//! Thousands of calls to servers that misbehave at random and count what they apply.

use std::{
    collections::HashMap,
    future::poll_fn,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::net::{TcpListener, TcpStream};
use tower::{Service, ServiceBuilder, ServiceExt, timeout::TimeoutLayer};
use tower_diagnose::{Backoff, BoxError, ReplayBody, ResponseExt, RetryError, RetryLayer, find};

use crate::support::wire::{Act, Server, answer, client, h2_client};

/// Returns how many calls are made over each version of HTTP: as many as `CHAOS_CALLS` says, for a long
/// run.
fn calls() -> u64 {
    std::env::var("CHAOS_CALLS").map_or(2_000, |calls| calls.parse().unwrap())
}

const WORKERS: u64 = 16;

/// SplitMix64, shared.
struct Dice(AtomicU64);

impl Dice {
    /// Returns a number below `sides`.
    fn roll(&self, sides: u64) -> u64 {
        let mut mixed = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

/// What a server counts of one call.
#[derive(Clone, Copy, Default)]
struct Count {
    arrived: u32,
    applied: u32,
}

#[derive(Clone, Default)]
struct Ledger(Arc<Mutex<HashMap<u64, Count>>>);

impl Ledger {
    fn note(&self, id: u64, applied: bool) {
        let mut counts = self.0.lock().unwrap();
        let count = counts.entry(id).or_default();
        count.arrived += 1;
        count.applied += u32::from(applied);
    }

    fn of(&self, id: u64) -> Count {
        self.0.lock().unwrap().get(&id).copied().unwrap_or_default()
    }
}

/// About 30 % of requests fail, most of them after they were applied.
async fn http1(ledger: Ledger) -> SocketAddr {
    let dice = Dice(AtomicU64::new(1));
    let server = Server::start(move |_, request| {
        let id = request.header("x-id").unwrap().parse().unwrap();
        let (act, applied) = match dice.roll(1000) {
            0..50 => (answer(503), true),
            50..100 => (answer(502), false),
            100..180 => (Act::Close, true),
            180..210 => (Act::Close, false),
            210..270 => (Act::Reset, true),
            270..290 => (Act::Reset, false),
            290..295 => (Act::Stall, true),
            295..300 => (Act::StallBody(503), true),
            300..350 => (Act::AnswerAndClose(200), true),
            _ => (answer(200), true),
        };
        ledger.note(id, applied);
        act
    })
    .await;
    server.addr
}

async fn http2(ledger: Ledger) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let dice = Arc::new(Dice(AtomicU64::new(2)));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(connection2(socket, ledger.clone(), Arc::clone(&dice)));
        }
    });
    addr
}

async fn connection2(socket: TcpStream, ledger: Ledger, dice: Arc<Dice>) -> Result<(), h2::Error> {
    socket.set_nodelay(true).unwrap();
    let mut connection = h2::server::handshake(socket).await?;
    while let Some(accepted) = connection.accept().await {
        let (request, mut respond) = accepted?;
        let id = id_of(request.headers());
        let roll = dice.roll(1000);
        let applied = !matches!(roll, 100..185 | 195..200);
        ledger.note(id, applied);
        match roll {
            0..50 => respond.send_reset(h2::Reason::INTERNAL_ERROR),
            100..180 => respond.send_reset(h2::Reason::REFUSED_STREAM),
            // The streams in flight die with the connection.
            180..185 => return Ok(()),
            // What h2 would still accept after this lies above the last stream that it announced.
            195..200 => {
                connection.abrupt_shutdown(h2::Reason::ENHANCE_YOUR_CALM);
                return poll_fn(|cx| connection.poll_closed(cx)).await;
            }
            200..210 => connection.graceful_shutdown(),
            210..215 => {
                tokio::spawn(async move {
                    let _held = respond;
                    std::future::pending::<()>().await
                });
            }
            _ => {
                let status = if (215..300).contains(&roll) { 503 } else { 200 };
                let response = Response::builder().status(status).body(()).unwrap();
                // An error is a client that went away.
                respond.send_response(response, true).ok();
            }
        }
    }
    Ok(())
}

fn id_of(headers: &HeaderMap) -> u64 {
    headers["x-id"].to_str().unwrap().parse().unwrap()
}

const KINDS: [(&str, bool); 4] = [
    ("GET", false),
    ("PUT", false),
    ("POST", false),
    ("POST", true),
];

/// Makes the calls, and holds the ledger against what the calls themselves say.
async fn check<S>(client: S, addr: SocketAddr, ledger: Ledger)
where
    S: Service<Request<ReplayBody<Full<Bytes>>>, Response = Response<Incoming>>,
    S: Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
{
    let millis = Duration::from_millis;
    let layer = RetryLayer::new()
        .max_attempts(10)
        .without_budget()
        .backoff(Backoff::exponential(millis(1), millis(4)));
    let client = ServiceBuilder::new()
        .layer(layer)
        .layer(TimeoutLayer::new(millis(200)))
        .service(client);
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..WORKERS {
        let client = client.clone();
        workers.spawn(async move {
            let mut outcomes = Vec::new();
            for id in (worker..calls()).step_by(WORKERS as usize) {
                let (method, keyed) = KINDS[id as usize % KINDS.len()];
                let mut request = Request::builder()
                    .method(method)
                    .uri(format!("http://{addr}/"))
                    .header("x-id", id);
                if keyed {
                    request = request.header("idempotency-key", id);
                }
                let body = Full::new(Bytes::from_static(b"a body"));
                let outcome = match client.clone().oneshot(request.body(body).unwrap()).await {
                    Ok(response) => {
                        let retried = response.retried();
                        let succeeded = response.status() == 200;
                        if succeeded {
                            response.into_body().collect().await.unwrap();
                        }
                        (succeeded, retried)
                    }
                    Err(error) => {
                        let retried = find::<RetryError>(&*error).map(RetryError::retried);
                        (false, retried)
                    }
                };
                outcomes.push((id, outcome));
            }
            outcomes
        });
    }
    let (mut safe_calls, mut safe_failures) = (0, 0);
    for (id, (succeeded, retried)) in workers.join_all().await.into_iter().flatten() {
        let count = ledger.of(id);
        let attempts = retried.map_or(1, |retried| retried.attempts());
        // What hyper sends again by itself, it has not sent before.
        assert!(count.arrived <= attempts, "call {id}: {retried:?}");
        match KINDS[id as usize % KINDS.len()] {
            ("POST", false) => {
                assert!(
                    count.applied <= 1,
                    "call {id} was applied twice: {retried:?}"
                );
                assert!(!succeeded || count.applied == 1);
            }
            _ => {
                safe_calls += 1;
                safe_failures += u64::from(!succeeded);
            }
        }
    }
    assert!(
        safe_failures * 1000 <= safe_calls,
        "{safe_failures} of {safe_calls} failed"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http1_no_write_is_applied_twice_and_what_is_safe_succeeds() {
    let ledger = Ledger::default();
    let addr = http1(ledger.clone()).await;
    check(client(), addr, ledger).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http2_no_write_is_applied_twice_and_what_is_safe_succeeds() {
    let ledger = Ledger::default();
    let addr = http2(ledger.clone()).await;
    check(h2_client(), addr, ledger).await;
}
