//! How the client under test gets its connections and runs its tasks.

use std::{
    future::Future,
    io,
    net::{Ipv4Addr, SocketAddr},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use http::Uri;
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use tokio::{net::TcpSocket, sync::mpsc, time::sleep};
use tower::Service;
use tower_diagnose::BoxError;

use crate::{
    link::{Link, Open},
    panics,
    plan::Plan,
    random::Random,
    support::raw,
};

/// Connects to the server of a plan, or fails to.
#[derive(Clone, Debug)]
pub struct Connector {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    plan: Arc<Plan>,
    way: Way,
    count: AtomicU64,
    open: Arc<AtomicUsize>,
}

/// How the server is reached.
#[derive(Debug)]
pub enum Way {
    /// By a socket; and where nobody listens.
    Tcp {
        port: u16,
        nobody: (SocketAddr, TcpSocket),
    },
    /// By the far ends of connections in memory.
    Memory(mpsc::UnboundedSender<Link>),
}

impl Way {
    /// Creates the way to a port of this machine.
    #[must_use]
    pub fn tcp(port: u16) -> Self {
        Self::Tcp {
            port,
            nobody: raw::refused(),
        }
    }
}

impl Connector {
    /// Creates a connector; `open` counts the connections that the client holds.
    #[must_use]
    pub fn new(plan: Arc<Plan>, way: Way, open: Arc<AtomicUsize>) -> Self {
        Self {
            shared: Arc::new(Shared {
                plan,
                way,
                count: AtomicU64::new(0),
                open,
            }),
        }
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Link>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Link>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let shared = Arc::clone(&self.shared);
        let number = shared.count.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            // From here on: the system may try for long to make it.
            let count = Open::count(&shared.open);
            let link = shared.connect(number).await?;
            Ok(TokioIo::new(link.counted(count)))
        })
    }
}

impl Shared {
    async fn connect(&self, number: u64) -> Result<Link, BoxError> {
        let mut random = Random::new(self.plan.seed).fork(5_000 + number);
        let is_bad = random.below(400) < self.plan.faults;
        let what = if is_bad { random.below(4) } else { 9 };
        match what {
            0 => {
                // The system's patience ends before that of the client's tasks would.
                sleep(self.plan.longest_delay * 4).await;
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
            1 => sleep(random.time(self.plan.longest_delay)).await,
            _ => {}
        }
        match &self.way {
            Way::Tcp { port, nobody } => {
                // Many addresses, each with ports of its own, so that they are not used up.
                let [a, b] = (number as u16).to_be_bytes();
                let address = match what {
                    2 => nobody.0,
                    _ => (Ipv4Addr::new(127, 1, a, b.max(1)), *port).into(),
                };
                let uri = format!("http://{address}/").parse()?;
                let mut connector = HttpConnector::new();
                connector.set_nodelay(true);
                let stream = connector.call(uri).await?;
                Ok(Link::tcp(stream.into_inner()))
            }
            Way::Memory(server) => {
                if what == 2 {
                    return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
                }
                let capacity = 1 << random.between(6, 17);
                let (near, far) = Link::pair(capacity);
                server
                    .send(far)
                    .map_err(|_| io::Error::from(io::ErrorKind::ConnectionRefused))?;
                Ok(near)
            }
        }
    }
}

/// Runs the client's tasks and counts them.
#[derive(Clone, Debug)]
pub struct Executor {
    pub seed: u64,
    pub tasks: Arc<AtomicUsize>,
}

impl<F> hyper::rt::Executor<F> for Executor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        let count = Open::count(&self.tasks);
        tokio::spawn(panics::of_seed(self.seed, async move {
            future.await;
            drop(count);
        }));
    }
}
