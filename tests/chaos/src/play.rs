//! Plays one seed.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::timeout;
use tower_diagnose::{CallRecord, ErrorClass};

use crate::{
    caller::{self, End, Told},
    check::Case,
    panics,
    plan::Plan,
    settings::Budget,
    tap::CallLog,
    world::World,
};

/// No seed has anything to do for so long.
const WATCHDOG: Duration = Duration::from_secs(120);

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
    world: World,
    records: Arc<Mutex<Vec<CallRecord>>>,
}

impl Game {
    async fn start(plan: Plan) -> Self {
        let records = Arc::<Mutex<Vec<_>>>::default();
        let sink = Arc::clone(&records);
        let sink = move |record| sink.lock().expect("nobody panics here").push(record);
        Self {
            world: World::start(Arc::new(plan), usize::MAX, sink).await,
            records,
        }
    }

    async fn run(self) -> Result<Counts, Vec<String>> {
        let plan = Arc::clone(&self.world.plan);
        let logs: Vec<_> = plan
            .calls
            .iter()
            .map(|call| Arc::new(CallLog::new(call.clone())))
            .collect();
        let told = self.calls(&logs).await;
        let mut faults = Vec::new();
        let (server, left) = self.world.end().await;
        faults.extend(left.err());

        let arrivals = server.ledger.arrivals();
        let records = std::mem::take(&mut *self.records.lock().expect("nobody panics here"));
        faults.extend(server.ledger.faults());
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
                plan: &plan,
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
        if let Budget::Fixed(count) = plan.settings.budget {
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
        if !self.world.plan.concurrent {
            for log in logs {
                told.push(caller::make(self.world.stack.clone(), log).await);
            }
            return told;
        }
        let mut running = Vec::new();
        for log in logs {
            let (stack, log) = (self.world.stack.clone(), Arc::clone(log));
            let call = async move { caller::make(stack, &log).await };
            running.push(tokio::spawn(panics::of_seed(self.world.plan.seed, call)));
        }
        for call in running {
            // A panic has been noted.
            told.extend(call.await);
        }
        told
    }
}
