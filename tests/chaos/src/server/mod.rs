//! A server that speaks HTTP by hand and does what it should not, by a seeded script.

mod answer;
mod http1;
mod http2;
mod http2_frames;
mod http2_spite;
mod ledger;
mod pen;
mod words;

use std::sync::Arc;

pub use ledger::{Arrival, BodySeen, Ledger};

use self::pen::Pen;
use crate::{link::Link, plan::Plan, random::Random};

/// What every connection of a server shares.
#[derive(Clone, Debug)]
pub struct Server {
    pub plan: Arc<Plan>,
    pub ledger: Arc<Ledger>,
}

impl Server {
    /// Creates the server of a plan, which remembers at least the latest of so many requests.
    #[must_use]
    pub fn new(plan: Arc<Plan>, room: usize) -> Self {
        Self {
            ledger: Arc::new(Ledger::new(plan.calls.len(), room)),
            plan,
        }
    }

    /// Serves the connection of this number until either end has had enough.
    pub async fn serve(self, link: Link, number: u64) {
        let random = Random::new(self.plan.seed).fork(1_000 + number);
        let pen = Pen::new(
            link,
            random.fork(1),
            self.plan.faults,
            self.plan.longest_delay,
            self.plan.patience,
        );
        // Both ways of ending are fine.
        let _ = if self.plan.http2 {
            http2::Connection::new(self, pen, random).run().await
        } else {
            http1::Connection::new(self, pen, random).run().await
        };
    }
}

/// The connection is over.
#[derive(Debug)]
struct Gone;

impl From<std::io::Error> for Gone {
    fn from(_: std::io::Error) -> Self {
        Self
    }
}

type Step<T = ()> = Result<T, Gone>;
