//! A client under test with its server, running.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
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
use tower_diagnose::CallRecord;

use crate::{
    caller::Stack,
    connector::{Connector, Executor, Way},
    link::Link,
    panics,
    plan::Plan,
    server::Server,
    tap::Tap,
};

/// How long the client's tasks may take to see that nobody needs them any more.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a plan describes, but for the calls.
#[derive(Debug)]
pub struct World {
    pub plan: Arc<Plan>,
    pub server: Server,
    pub stack: Stack,
    tasks: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    /// The server's acceptors, which hold the tasks of its connections.
    accepting: JoinSet<()>,
}

impl World {
    /// Starts both. The server remembers at least the latest `room` requests.
    pub async fn start(
        plan: Arc<Plan>,
        room: usize,
        sink: impl Fn(CallRecord) + Send + Sync + 'static,
    ) -> Self {
        let server = Server::new(Arc::clone(&plan), room);
        let mut accepting = JoinSet::new();
        let (sender, links) = mpsc::unbounded_channel();
        accepting.spawn(panics::of_seed(plan.seed, accept(server.clone(), links)));
        let way = if plan.in_memory {
            Way::Memory(sender)
        } else {
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await;
            let listener = listener.expect("a port is free");
            let port = listener.local_addr().expect("it is bound").port();
            accepting.spawn(listen(listener, sender));
            Way::tcp(port)
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
            .pool_idle_timeout(plan.pool_idle)
            .pool_max_idle_per_host(if plan.pools { usize::MAX } else { 0 })
            .retry_canceled_requests(plan.resends)
            .http2_only(plan.http2)
            .build(connector);
        Self {
            stack: plan.settings.stack(sink).layer(Tap(client)),
            plan,
            server,
            tasks,
            open,
            accepting,
        }
    }

    /// Waits until the client holds no connection: nobody calls, and it keeps none for later.
    ///
    /// # Errors
    ///
    /// How many it still holds.
    pub async fn at_rest(&self) -> Result<(), String> {
        quiet(&AtomicUsize::new(0), &self.open, PATIENCE).await
    }

    /// Ends both, the client first, and returns the server.
    ///
    /// # Errors
    ///
    /// What is left of the client.
    pub async fn end(self) -> (Server, Result<(), String>) {
        let Self {
            plan,
            server,
            stack,
            tasks,
            open,
            mut accepting,
        } = self;
        drop(stack);
        // hyper goes on with a request's body for as long as the server may still want it, also where
        // the answer is long there.
        let _ = quiet(&tasks, &open, plan.longest_delay).await;
        // What a client left behind, its server still reads.
        let has_read = async { while accepting.join_next().await.is_some() {} };
        let _ = timeout(plan.longest_delay, has_read).await;
        accepting.shutdown().await;
        let left = quiet(&tasks, &open, PATIENCE).await;
        (server, left)
    }
}

async fn listen(listener: TcpListener, links: mpsc::UnboundedSender<Link>) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = TcpStream::set_nodelay(&stream, true);
        if links.send(Link::tcp(stream)).is_err() {
            return;
        }
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
        while connections.try_join_next().is_some() {}
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
