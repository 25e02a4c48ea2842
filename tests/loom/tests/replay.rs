//! Every order in which two attempts, their layer and the source of a body can get at what is kept of it.

use std::{
    convert::Infallible,
    future::poll_fn,
    pin::Pin,
    sync::Arc as StdArc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame};
use loom::{
    future::{AtomicWaker, block_on},
    model::Builder,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};
use tower_diagnose_loom::{
    ReplayBody, find,
    retry::{
        Superseded,
        model_replay::{Kept, keep},
    },
};

/// What a body waits for, somewhere in its midst.
struct Gate {
    is_open: AtomicBool,
    waker: AtomicWaker,
}

impl Gate {
    fn open(&self) {
        self.is_open.store(true, Ordering::Release);
        self.waker.wake();
    }
}

/// Gives `a`, waits, gives `b`, and ends. Polled after that it panics.
struct Source {
    given: usize,
    gate: StdArc<Gate>,
}

impl Body for Source {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.given == 1 {
            self.gate.waker.register_by_ref(cx.waker());
            if !self.gate.is_open.load(Ordering::Acquire) {
                return Poll::Pending;
            }
        }
        self.given += 1;
        Poll::Ready(match self.given {
            1 => Some(Ok(Frame::data("a".into()))),
            2 => Some(Ok(Frame::data("b".into()))),
            3 => None,
            _ => panic!("polled after its end"),
        })
    }
}

fn source(limit: usize) -> (Kept<Source>, ReplayBody<Source>, StdArc<Gate>) {
    let gate = StdArc::new(Gate {
        is_open: AtomicBool::new(false),
        waker: AtomicWaker::new(),
    });
    let source = Source {
        given: 0,
        gate: StdArc::clone(&gate),
    };
    let (kept, first) = keep(source, limit);
    (kept, first, gate)
}

/// What an attempt has sent, and whether it was the whole body.
#[derive(Debug, PartialEq)]
enum Sent {
    Whole(String),
    Part(String),
}

impl Sent {
    fn is_good(&self) -> bool {
        match self {
            Self::Whole(sent) => sent == "ab",
            Self::Part(sent) => "ab".starts_with(sent.as_str()),
        }
    }
}

/// Reads a body to its end, sleeping whenever it is not ready. If nobody wakes it, the model fails.
fn send(mut body: ReplayBody<Source>) -> Sent {
    let mut sent = String::new();
    loop {
        match block_on(poll_fn(|cx| Pin::new(&mut body).poll_frame(cx))) {
            Some(Ok(frame)) => {
                let data = frame.into_data().expect("there are no trailers");
                sent.push_str(std::str::from_utf8(&data).expect("it is text"));
            }
            Some(Err(error)) => {
                assert!(find::<Superseded>(&*error).is_some(), "{error}");
                return Sent::Part(sent);
            }
            None => return Sent::Whole(sent),
        }
    }
}

fn model(check: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(check);
}

#[test]
fn of_two_attempts_neither_sends_a_byte_twice_nor_sleeps_for_ever() {
    model(|| {
        let (kept, first, gate) = source(100);
        let sends_first = thread::spawn(move || send(first));
        let opens = thread::spawn(move || gate.open());
        let second = kept.again().expect("all that was read is kept");
        assert_eq!(send(second), Sent::Whole("ab".to_owned()));
        let first = sends_first.join().unwrap();
        assert!(first.is_good(), "{first:?}");
        opens.join().unwrap();
    });
}

#[test]
fn past_the_limit_one_attempt_has_the_body_and_the_other_is_never_made() {
    model(|| {
        let (kept, first, gate) = source(1);
        let sends_first = thread::spawn(move || send(first));
        let opens = thread::spawn(move || gate.open());
        let second = kept.again().map(send);
        let first = sends_first.join().unwrap();
        opens.join().unwrap();
        assert!(first.is_good(), "{first:?}");
        match second {
            // It reads past the limit as well, and there is no third.
            Some(second) => assert_eq!(second, Sent::Whole("ab".to_owned())),
            None => assert_eq!(first, Sent::Whole("ab".to_owned())),
        }
    });
}

#[test]
fn an_attempt_goes_on_when_the_layer_has_done_with_it() {
    model(|| {
        let (kept, first, gate) = source(100);
        let sends_first = thread::spawn(move || send(first));
        let opens = thread::spawn(move || gate.open());
        drop(kept);
        assert_eq!(sends_first.join().unwrap(), Sent::Whole("ab".to_owned()));
        opens.join().unwrap();
    });
}
