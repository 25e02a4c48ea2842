//! Plays one seed.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use hyper_util::{client::legacy::Client, rt::TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tower::Layer;
use tower_diagnose::{CallRecord, ErrorClass};

use crate::{
    caller::{self, End, Stack, Told},
    check::Case,
    connector::{Connector, Executor, POOL_IDLE, Way},
    link::Link,
    panics,
    plan::Plan,
    server::Server,
    settings::Budget,
    tap::{CallLog, Tap},
};

/// No seed has anything to do for so long.
const WATCHDOG: Duration = Duration::from_secs(120);

/// How long the client's tasks may take to see that nobody needs them any more.
const PATIENCE: Duration = Duration::from_secs(60);

/// What one seed came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub calls: u64,
    pub attempts: u64,
    pub arrivals: u64,
    /// Of the calls: answered below 400.
    pub good: u64,
    pub cancelled: u64,
    pub timed_out: u64,
    pub network: u64,
}

impl Counts {
    /// Adds what another seed came to.
    pub fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.attempts += other.attempts;
        self.arrivals += other.arrivals;
        self.good += other.good;
        self.cancelled += other.cancelled;
        self.timed_out += other.timed_out;
        self.network += other.network;
    }
}

/// Plays `plan` on the present runtime, whose clock must be paused if the plan is one in memory.
///
/// # Errors
///
/// What does not hold.
pub async fn play(plan: Plan) -> Result<Counts, Vec<String>> {
    let seed = plan.seed;
    let played = panics::of_seed(seed, async move {
        let is_virtual = plan.in_memory;
        let game = Game::start(plan).await;
        if is_virtual {
            // Where time is virtual, a game that hangs lets it run on.
            timeout(Duration::from_secs(3_600), game.run()).await
        } else {
            timeout(WATCHDOG, game.run()).await
        }
    });
    let result = match tokio::spawn(played).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(vec!["it hangs".to_owned()]),
        Err(error) => Err(vec![format!("the game itself: {error}")]),
    };
    match (panics::take(seed), result) {
        (None, result) => result,
        (Some(panic), Ok(_)) => Err(vec![panic]),
        (Some(panic), Err(mut faults)) => {
            faults.push(panic);
            Err(faults)
        }
    }
}

struct Game {
    plan: Arc<Plan>,
    server: Server,
    stack: Stack,
    records: Arc<Mutex<Vec<CallRecord>>>,
    tasks: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    /// The server's acceptor, which holds the tasks of its connections.
    accepting: JoinSet<()>,
}

impl Game {
    async fn start(plan: Plan) -> Self {
        let plan = Arc::new(plan);
        let server = Server::new(Arc::clone(&plan));
        let mut accepting = JoinSet::new();
        let way = if plan.in_memory {
            let (sender, links) = mpsc::unbounded_channel();
            accepting.spawn(panics::of_seed(plan.seed, accept(server.clone(), links)));
            Way::Memory(sender)
        } else {
            // Addresses of one's own, so that no port is used up.
            let [.., a, b, c] = plan.seed.to_be_bytes();
            let address = format!("127.{}.{b}.{c}:0", 1 + a % 250);
            let listener = TcpListener::bind(address)
                .await
                .expect("a loopback address");
            let address = listener.local_addr().expect("it is bound");
            let (sender, links) = mpsc::unbounded_channel();
            accepting.spawn(panics::of_seed(plan.seed, accept(server.clone(), links)));
            accepting.spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let _ = TcpStream::set_nodelay(&stream, true);
                    if sender.send(Link::tcp(stream)).is_err() {
                        return;
                    }
                }
            });
            Way::tcp(address)
        };
        let (tasks, open) = Default::default();
        let executor = Executor {
            seed: plan.seed,
            tasks: Arc::clone(&tasks),
        };
        let connector = Connector::new(Arc::clone(&plan), way, Arc::clone(&open));
        let client = Client::builder(executor)
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(POOL_IDLE)
            .pool_max_idle_per_host(if plan.pools { usize::MAX } else { 0 })
            .retry_canceled_requests(plan.resends)
            .http2_only(plan.http2)
            .build(connector);
        let records = Arc::<Mutex<Vec<_>>>::default();
        let sink = Arc::clone(&records);
        let stack = plan
            .settings
            .stack(move |record| sink.lock().expect("nobody panics here").push(record))
            .layer(Tap(client));
        Self {
            plan,
            server,
            stack,
            records,
            tasks,
            open,
            accepting,
        }
    }

    async fn run(mut self) -> Result<Counts, Vec<String>> {
        let logs: Vec<_> = self
            .plan
            .calls
            .iter()
            .map(|call| Arc::new(CallLog::new(call.clone())))
            .collect();
        let told = self.calls(&logs).await;
        let Self { stack, .. } = self;
        drop(stack);
        let mut faults = Vec::new();
        // hyper goes on with a request's body for as long as the server may still want it, also where
        // the answer is long there.
        let _ = quiet(&self.tasks, &self.open, self.plan.longest_delay).await;
        // What a client left behind, its server still reads.
        let has_read = async { while self.accepting.join_next().await.is_some() {} };
        let _ = timeout(self.plan.longest_delay, has_read).await;
        self.accepting.shutdown().await;
        if let Err(left) = quiet(&self.tasks, &self.open, PATIENCE).await {
            faults.push(left);
        }

        let arrivals = self.server.ledger.arrivals();
        let records = std::mem::take(&mut *self.records.lock().expect("nobody panics here"));
        faults.extend(self.server.ledger.faults());
        if records.len() != logs.len() {
            faults.push(format!("{} records of {} calls", records.len(), logs.len()));
        }
        let mut counts = Counts::default();
        let mut repeated = 0;
        for (log, told) in logs.iter().zip(&told) {
            let number = log.plan.number;
            let attempts = log.attempts();
            let path = format!("/call/{number}");
            let records: Vec<_> = records
                .iter()
                .filter(|record| record.endpoint().path() == path)
                .cloned()
                .collect();
            let arrivals: Vec<_> = arrivals
                .iter()
                .filter(|arrival| arrival.call == number)
                .cloned()
                .collect();
            faults.extend(log.faults());
            let case = Case {
                plan: &self.plan,
                call: &log.plan,
                attempts: &attempts,
                told,
                records: &records,
                arrivals: &arrivals,
            };
            faults.extend(case.faults());
            repeated += attempts.len().saturating_sub(1);
            counts.calls += 1;
            counts.attempts += attempts.len() as u64;
            counts.arrivals += arrivals.len() as u64;
            counts.cancelled += u64::from(told.end == End::Cancelled);
            let class = told.diagnosis.as_ref().map(|diagnosis| diagnosis.class());
            counts.timed_out += u64::from(class == Some(ErrorClass::Timeout));
            counts.network += u64::from(class == Some(ErrorClass::Network));
            let is_good = |head: &crate::tap::Head| head.status.as_u16() < 400;
            counts.good += u64::from(matches!(&told.end, End::Answered(head) if is_good(head)));
        }
        if let Budget::Fixed(count) = self.plan.settings.budget {
            if repeated > count as usize {
                faults.push(format!("{repeated} repetitions out of a budget of {count}"));
            }
        }
        if faults.is_empty() {
            Ok(counts)
        } else {
            Err(faults)
        }
    }

    async fn calls(&self, logs: &[Arc<CallLog>]) -> Vec<Told> {
        let mut told = Vec::new();
        if !self.plan.concurrent {
            for log in logs {
                told.push(caller::make(self.stack.clone(), log).await);
            }
            return told;
        }
        let mut running = Vec::new();
        for log in logs {
            let (stack, log) = (self.stack.clone(), Arc::clone(log));
            let call = async move { caller::make(stack, &log).await };
            running.push(tokio::spawn(panics::of_seed(self.plan.seed, call)));
        }
        for call in running {
            // A panic has been noted.
            told.extend(call.await);
        }
        told
    }
}

/// Serves every connection in a task of its own, and ends when there can be no more.
async fn accept(server: Server, mut links: mpsc::UnboundedReceiver<Link>) {
    let mut connections = JoinSet::new();
    let mut number = 0;
    while let Some(link) = links.recv().await {
        let serving = server.clone().serve(link, number);
        connections.spawn(panics::of_seed(server.plan.seed, serving));
        number += 1;
    }
    while connections.join_next().await.is_some() {}
}

/// Waits until the client's tasks have ended and its connections are closed, as they have to when it is
/// gone.
async fn quiet(tasks: &AtomicUsize, open: &AtomicUsize, patience: Duration) -> Result<(), String> {
    let began = Instant::now();
    let mut pause = Duration::from_micros(50);
    loop {
        let left = (tasks.load(Ordering::SeqCst), open.load(Ordering::SeqCst));
        if left == (0, 0) {
            return Ok(());
        }
        if began.elapsed() > patience {
            return Err(format!(
                "{} tasks and {} connections are left",
                left.0, left.1
            ));
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
