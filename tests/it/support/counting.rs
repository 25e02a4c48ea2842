//! Thousands of calls to servers that misbehave at random and count what they apply.
//!
//! About 30 % of the attempts fail, most of them after the server has applied them. The budget is opened
//! up, and a call may have ten attempts: of those that can be repeated, one in 170,000 fails by chance.

use std::{
    collections::{HashMap, HashSet},
    fmt::Debug,
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
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use tokio::net::{TcpListener, TcpStream};
use tower::{Layer, Service, ServiceExt};
use tower_diagnose::{Backoff, CallRecord, ClientStack, ReplayBody, RetryLayer};

use super::wire::{Act, Server, answer, client, h2_client};

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
#[derive(Clone, Debug, Default)]
struct Count {
    /// The numbers of the attempts that arrived, in order.
    arrived: Vec<u32>,
    applied: u32,
}

#[derive(Clone, Default)]
struct Ledger(Arc<Mutex<HashMap<u64, Count>>>);

impl Ledger {
    fn note(&self, id: u64, attempt: u32, applied: bool) {
        let mut counts = self.0.lock().unwrap();
        let count = counts.entry(id).or_default();
        count.arrived.push(attempt);
        count.applied += u32::from(applied);
    }

    fn of(&self, id: u64) -> Count {
        let counts = self.0.lock().unwrap();
        counts.get(&id).cloned().unwrap_or_default()
    }
}

/// What all calls came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub calls: u64,
    pub attempts: u64,
    /// What the server counted.
    pub arrived: u64,
    /// Of those, what hyper sent again by itself.
    pub resent: u64,
    /// Attempts of which the server knows nothing.
    pub unseen: u64,
    pub applied: u64,
    /// Calls that can be repeated, and those of them that failed all the same.
    pub safe: u64,
    pub safe_failures: u64,
    /// Writes that cannot, and those of them that failed.
    pub writes: u64,
    pub write_failures: u64,
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
        let attempt = request.header("x-attempt").unwrap().parse().unwrap();
        ledger.note(id, attempt, applied);
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
        let id = number(request.headers(), "x-id");
        let attempt = number(request.headers(), "x-attempt") as u32;
        let roll = dice.roll(1000);
        let applied = !matches!(roll, 100..185 | 195..200);
        ledger.note(id, attempt, applied);
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

fn number(headers: &HeaderMap, name: &str) -> u64 {
    headers[name].to_str().unwrap().parse().unwrap()
}

const KINDS: [(&str, bool); 4] = [
    ("GET", false),
    ("PUT", false),
    ("POST", false),
    ("POST", true),
];

/// Makes so many calls over HTTP/1.
pub async fn over_http1(calls: u64) -> Tally {
    let ledger = Ledger::default();
    let addr = http1(ledger.clone()).await;
    count(client(), addr, ledger, calls).await
}

/// Makes so many calls over HTTP/2.
pub async fn over_http2(calls: u64) -> Tally {
    let ledger = Ledger::default();
    let addr = http2(ledger.clone()).await;
    count(h2_client(), addr, ledger, calls).await
}

/// Makes the calls, and holds the ledger against what is told of them.
async fn count(
    client: Client<HttpConnector, ReplayBody<Full<Bytes>>>,
    addr: SocketAddr,
    ledger: Ledger,
    calls: u64,
) -> Tally {
    let millis = Duration::from_millis;
    let retry = RetryLayer::new()
        .max_attempts(10)
        .without_budget()
        .backoff(Backoff::exponential(millis(1), millis(4)))
        .announce(|number, _, headers| {
            headers.insert("x-attempt", number.into());
        });
    let records = Arc::new(Mutex::new(HashMap::<u64, Vec<CallRecord>>::new()));
    let sink = Arc::clone(&records);
    let stack = ClientStack::new(Duration::MAX)
        .attempt_timeout(millis(200))
        .retry(retry)
        .record(move |record: CallRecord| {
            let id = record.endpoint().path()[1..].parse().unwrap();
            sink.lock().unwrap().entry(id).or_default().push(record);
        })
        .layer(client);
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..WORKERS {
        let stack = stack.clone();
        workers.spawn(async move {
            let mut succeeded = Vec::new();
            for id in (worker..calls).step_by(WORKERS as usize) {
                succeeded.push((id, call(stack.clone(), addr, id).await));
            }
            succeeded
        });
    }
    let mut tally = Tally::default();
    for (id, succeeded) in workers.join_all().await.into_iter().flatten() {
        let records = records.lock().unwrap().remove(&id).unwrap_or_default();
        tally.add(id, succeeded, &records, &ledger.of(id));
    }
    assert!(
        records.lock().unwrap().is_empty(),
        "records of calls that were not made"
    );
    tally
}

/// Makes one call, and returns whether it succeeded.
async fn call<S, R>(stack: S, addr: SocketAddr, id: u64) -> bool
where
    S: Service<Request<Full<Bytes>>, Response = Response<R>>,
    R: Body<Error: Debug>,
{
    let (method, keyed) = kind(id);
    let mut request = Request::builder()
        .method(method)
        .uri(format!("http://{addr}/{id}"))
        .header("x-id", id);
    if keyed {
        request = request.header("idempotency-key", id);
    }
    let body = Full::new(Bytes::from_static(b"a body"));
    match stack.oneshot(request.body(body).unwrap()).await {
        Ok(response) if response.status() == 200 => {
            response.into_body().collect().await.unwrap();
            true
        }
        _ => false,
    }
}

fn kind(id: u64) -> (&'static str, bool) {
    KINDS[id as usize % KINDS.len()]
}

impl Tally {
    fn add(&mut self, id: u64, succeeded: bool, records: &[CallRecord], count: &Count) {
        let [record] = records else {
            panic!("call {id} has {} records", records.len());
        };
        let attempts = record.attempts();
        let mut seen = HashSet::new();
        let resent = count.arrived.iter().filter(|at| !seen.insert(**at)).count();
        assert!(
            seen.iter().all(|at| (1..=attempts).contains(at)),
            "call {id} had {attempts} attempts, and {:?} arrived",
            count.arrived
        );
        for (at, attempt) in (1..).zip(record.attempt_log()) {
            assert!(
                attempt.status().is_none() || seen.contains(&at),
                "attempt {at} of call {id} was answered, and never arrived"
            );
        }
        let failed = u64::from(!succeeded);
        if kind(id) == ("POST", false) {
            assert!(
                count.applied <= 1,
                "call {id} was applied twice: {record:?}, {:?}, arrived {:?}",
                record.attempt_log().collect::<Vec<_>>(),
                count.arrived
            );
            assert!(!succeeded || count.applied == 1);
            self.writes += 1;
            self.write_failures += failed;
        } else {
            self.safe += 1;
            self.safe_failures += failed;
        }
        self.calls += 1;
        self.attempts += u64::from(attempts);
        self.arrived += count.arrived.len() as u64;
        self.resent += resent as u64;
        self.unseen += u64::from(attempts) - seen.len() as u64;
        self.applied += u64::from(count.applied);
    }

    /// Panics if what can be repeated failed too often, or the counts do not add up.
    pub fn check(&self) {
        assert!(
            self.safe_failures * 1000 < self.safe,
            "{} of {} failed",
            self.safe_failures,
            self.safe
        );
        assert_eq!(
            self.attempts,
            self.arrived - self.resent + self.unseen,
            "{self:?}"
        );
    }
}
