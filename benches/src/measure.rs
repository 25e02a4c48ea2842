//! How one case is measured.

use std::{
    future::poll_fn,
    hint::black_box,
    pin::{Pin, pin},
    process::ExitCode,
    task::Poll,
    time::Duration,
};

use http_body_util::BodyExt;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region};
use tokio::time::Sleep;
use tower::{BoxError, Service, ServiceExt};

use crate::{
    callgrind,
    cases::{self, Visitor},
    requests::{Body, Configured, Shape},
};

/// Calls before anything is counted: caches fill, tables grow, the timer wheel is there.
const WARM_UP: u64 = 200;

/// When the earlier timer is due: before the limits of the cases, after the end of the longest run.
const EARLIER: Duration = Duration::from_secs(20);

/// Rounds of a measurement of time.
const ROUNDS: u32 = 15;

/// One case over one shape of request.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    pub shape: Shape,
    pub pending: u32,
}

/// What makes so many calls.
pub type Calls<'a> = &'a mut dyn FnMut(u64);

/// Calls a service one call after the other, hands what makes the calls to `around`, and returns what
/// that returns and the bytes of the future.
pub fn one_by_one<S, B, R, T>(
    mut service: S,
    build: impl Fn(u64) -> http::Request<B>,
    around: impl FnOnce(Calls<'_>) -> T,
) -> (T, usize)
where
    S: Service<http::Request<B>, Response = http::Response<R>>,
    R: http_body::Body,
{
    let runtime = runtime();
    let mut future_bytes = 0;
    let mut drive = |calls: u64| {
        runtime.block_on(async {
            let mut earlier = pin!(earlier());
            register(earlier.as_mut()).await;
            for number in 0..calls {
                let request = build(number);
                let Ok(service) = service.ready().await else {
                    return;
                };
                // Made, polled and dropped in one place: what is moved is moved by the layers.
                let mut future = pin!(service.call(request));
                future_bytes = size_of_val(&*future);
                let Ok(response) = future.as_mut().await else {
                    return;
                };
                // A call ends where its body does.
                let mut body = pin!(response.into_body());
                while let Some(Ok(frame)) = body.frame().await {
                    black_box(&frame);
                }
            }
        });
    };
    drive(WARM_UP);
    (around(&mut drive), future_bytes)
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
}

/// A timer for what is measured to be later than. A registration where none is earlier wakes the driver
/// by a system call. It is never due, so that no call pays for firing it.
pub fn earlier() -> Sleep {
    tokio::time::sleep(EARLIER)
}

/// Registers [`earlier`].
pub async fn register(mut earlier: Pin<&mut Sleep>) {
    poll_fn(|cx| {
        let _ = earlier.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
}

struct Drive<F> {
    shape: Shape,
    around: F,
}

impl<T, F: FnOnce(Calls<'_>) -> T> Visitor for Drive<F> {
    type Output = (T, usize);

    fn visit<S, R>(self, service: S) -> Self::Output
    where
        S: Service<http::Request<Body>, Response = http::Response<R>>,
        S::Error: Into<BoxError>,
        R: http_body::Body,
    {
        let configured = Configured::default();
        let build = |number| self.shape.build(&configured, number);
        one_by_one(service, build, self.around)
    }
}

impl Case {
    /// Bytes of the future over one of four bytes.
    pub fn future_bytes(self) -> usize {
        self.drive(|_| ()).1
    }

    /// Allocations of one call.
    pub fn allocations(self) -> f64 {
        const CALLS: u32 = 500;
        let count = self.drive(|drive| {
            let empty = Region::new(&INSTRUMENTED_SYSTEM);
            drive(0);
            let around = empty.change().allocations;
            let region = Region::new(&INSTRUMENTED_SYSTEM);
            drive(u64::from(CALLS));
            region.change().allocations.saturating_sub(around)
        });
        count.0 as f64 / f64::from(CALLS)
    }

    /// Nanoseconds of one call of this case and of `other`, by turns, so that both meet the same noise.
    /// The least of several rounds, since noise only adds.
    pub fn nanoseconds_beside(self, other: Self) -> (f64, f64) {
        let mut least = (f64::MAX, f64::MAX);
        for _ in 0..ROUNDS {
            least.0 = least.0.min(self.nanoseconds());
            least.1 = least.1.min(other.nanoseconds());
        }
        least
    }

    fn nanoseconds(self) -> f64 {
        const CALLS: u32 = 10_000;
        let (elapsed, _) = self.drive(|drive| {
            let started = tokio::time::Instant::now();
            drive(u64::from(CALLS));
            started.elapsed()
        });
        elapsed.as_nanos() as f64 / f64::from(CALLS)
    }

    /// Instructions of one call.
    pub fn instructions(self, calls: u64) -> Option<f64> {
        let pending = self.pending.to_string();
        callgrind::instructions(&["case", self.name, self.shape.name(), &pending], calls)
    }

    /// Makes the service, warms it up and hands what makes a number of calls to `around`. Returns what
    /// that returns, and the bytes of the future.
    pub fn drive<T>(self, around: impl FnOnce(Calls<'_>) -> T) -> (T, usize) {
        let drive = Drive {
            shape: self.shape,
            around,
        };
        cases::with(self.name, self.pending, drive).expect("every case of the table has a service")
    }
}

/// What a run under callgrind executes.
#[must_use]
pub fn run_case(name: &str, shape: &str, pending: &str, calls: &str) -> ExitCode {
    let shape = Shape::ALL.into_iter().find(|known| known.name() == shape);
    let (Some(shape), Ok(pending), Ok(calls)) = (shape, pending.parse(), calls.parse()) else {
        return ExitCode::from(2);
    };
    let around = |drive: Calls<'_>| drive(calls);
    match cases::with(name, pending, Drive { shape, around }) {
        Some(_) => ExitCode::SUCCESS,
        None => ExitCode::from(2),
    }
}
