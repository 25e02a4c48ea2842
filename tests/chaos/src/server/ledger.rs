//! What really reached the server.

use std::sync::{Mutex, MutexGuard};

use crate::body::BodyPlan;

/// The requests of all connections, in the order in which they came.
#[derive(Debug)]
pub struct Ledger {
    calls: usize,
    /// How many are remembered.
    room: usize,
    arrivals: Mutex<Arrivals>,
    faults: Mutex<Vec<String>>,
}

/// What came since it was forgotten last.
#[derive(Debug, Default)]
struct Arrivals {
    generation: u64,
    all: Vec<Arrival>,
}

impl Arrivals {
    fn get(&mut self, ticket: Ticket) -> Option<&mut Arrival> {
        if ticket.generation != self.generation {
            return None;
        }
        self.all.get_mut(ticket.index)
    }
}

/// One request whose head came in whole.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub call: usize,
    /// The attempt, from 1, by the header that the client's last layer added.
    pub attempt: u32,
    /// The server said, as its protocol has it, that it did not process this one. Anything else
    /// counts as processed.
    pub refused: bool,
    pub body: BodySeen,
    /// By what the length of the body was told.
    pub framing: String,
}

/// What the server saw of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodySeen {
    /// So many bytes so far.
    Part(usize),
    /// So many bytes, and the end.
    Whole(usize),
}

impl Ledger {
    pub(super) fn new(calls: usize, room: usize) -> Self {
        Self {
            calls,
            room,
            arrivals: Mutex::default(),
            faults: Mutex::default(),
        }
    }

    /// Returns what came.
    #[must_use]
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.lock().all.clone()
    }

    /// Returns what came and should not have.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        self.faults.lock().expect("nobody panics here").clone()
    }

    /// Notes a head. `None` if it is none of ours.
    pub(super) fn arrived(&self, path: &str, attempt: &str, framing: String) -> Option<Ticket> {
        let number = path.strip_prefix("/call/")?.split('?').next()?;
        let call: usize = number.parse().ok()?;
        let attempt = attempt.parse().ok()?;
        if call >= self.calls {
            return None;
        }
        let mut arrivals = self.lock();
        if arrivals.all.len() >= self.room {
            arrivals.all.clear();
            arrivals.generation += 1;
        }
        arrivals.all.push(Arrival {
            call,
            attempt,
            refused: false,
            body: BodySeen::Part(0),
            framing,
        });
        Some(Ticket {
            generation: arrivals.generation,
            index: arrivals.all.len() - 1,
            call,
        })
    }

    /// Notes a piece of a body, and whether it is what it should be.
    pub(super) fn read(&self, ticket: Ticket, bytes: &[u8]) {
        let mut arrivals = self.lock();
        let Some(Arrival { call, body, .. }) = arrivals.get(ticket) else {
            return;
        };
        let BodySeen::Part(so_far) = body else {
            return self.fault(format!("call {call}: bytes after the body's end"));
        };
        let is_right = |(at, byte): (usize, &u8)| *byte == BodyPlan::byte(*call, *so_far + at);
        if !bytes.iter().enumerate().all(is_right) {
            self.fault(format!(
                "call {call}: the body differs behind byte {so_far}"
            ));
        }
        *so_far += bytes.len();
    }

    /// Notes the end of a body.
    pub(super) fn ended(&self, ticket: Ticket) {
        if let Some(arrival) = self.lock().get(ticket) {
            if let BodySeen::Part(length) = arrival.body {
                arrival.body = BodySeen::Whole(length);
            }
        }
    }

    /// Notes that a request will be refused.
    pub(super) fn refused(&self, ticket: Ticket) {
        if let Some(arrival) = self.lock().get(ticket) {
            arrival.refused = true;
        }
    }

    pub(super) fn fault(&self, what: String) {
        self.faults.lock().expect("nobody panics here").push(what);
    }

    fn lock(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().expect("nobody panics here")
    }
}

/// By which a request is found again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    generation: u64,
    index: usize,
    pub(super) call: usize,
}
