//! How one case is measured.

use std::{
    future::poll_fn,
    hint::black_box,
    pin::pin,
    process::{Command, ExitCode, Stdio},
    task::Poll,
    time::Duration,
};

use http_body_util::BodyExt;
use stats_alloc::Region;
use tower::{BoxError, Service, ServiceExt};

use crate::{
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

/// Drives `calls` calls one after the other in a runtime that has an earlier timer already.
struct Drive<F> {
    shape: Shape,
    calls: u64,
    around: F,
}

impl<T, F: FnOnce(&mut dyn FnMut(u64)) -> T> Visitor for Drive<F> {
    type Output = (T, usize);

    fn visit<S, R>(self, mut service: S) -> Self::Output
    where
        S: Service<http::Request<Body>, Response = http::Response<R>>,
        S::Error: Into<BoxError>,
        R: http_body::Body,
    {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let configured = Configured::new();
        let shape = self.shape;
        let mut future_bytes = 0;
        let mut drive = |calls: u64| {
            runtime.block_on(async {
                // A registration where no timer is earlier wakes the driver by a system call. It is
                // never due, so that no call pays for firing it.
                let mut earlier = pin!(tokio::time::sleep(EARLIER));
                poll_fn(|cx| {
                    let _ = earlier.as_mut().poll(cx);
                    Poll::Ready(())
                })
                .await;
                for number in 0..calls {
                    let request = shape.build(&configured, number);
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
        let result = (self.around)(&mut drive);
        drive(self.calls);
        (result, future_bytes)
    }
}

impl Case {
    /// Bytes of the future over one of four bytes.
    pub fn future_bytes(self) -> usize {
        self.drive(0, |_| ()).1
    }

    /// Allocations of one call.
    pub fn allocations(self) -> f64 {
        const CALLS: u32 = 500;
        let count = self.drive(0, |drive| {
            let empty = Region::new(crate::ALLOCATOR);
            drive(0);
            let around = empty.change().allocations;
            let region = Region::new(crate::ALLOCATOR);
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
        let (elapsed, _) = self.drive(0, |drive| {
            let started = tokio::time::Instant::now();
            drive(u64::from(CALLS));
            started.elapsed()
        });
        elapsed.as_nanos() as f64 / f64::from(CALLS)
    }

    /// Instructions of one call, by callgrind: two runs that differ only in the number of calls.
    pub fn instructions(self, calls: u64) -> Option<f64> {
        let few = self.collected(calls)?;
        let many = self.collected(calls * 2)?;
        Some(many.saturating_sub(few) as f64 / calls as f64)
    }

    fn collected(self, calls: u64) -> Option<u64> {
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(std::env::current_exe().ok()?)
            .args(["case", self.name, self.shape.name()])
            .args([self.pending.to_string(), calls.to_string()])
            .stdin(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.lines().find_map(|line| {
            let (_, count) = line.split_once("Collected : ")?;
            count.trim().parse().ok()
        })
    }

    fn drive<T>(self, calls: u64, around: impl FnOnce(&mut dyn FnMut(u64)) -> T) -> (T, usize) {
        let drive = Drive {
            shape: self.shape,
            calls,
            around,
        };
        cases::with(self.name, self.pending, drive).expect("every case of the table has a service")
    }
}

/// What a run under callgrind executes.
pub fn run_case(name: &str, shape: &str, pending: &str, calls: &str) -> ExitCode {
    let shape = Shape::ALL.into_iter().find(|known| known.name() == shape);
    let (Some(shape), Ok(pending), Ok(calls)) = (shape, pending.parse(), calls.parse()) else {
        return ExitCode::from(2);
    };
    let drive = Drive {
        shape,
        calls,
        around: |_: &mut dyn FnMut(u64)| (),
    };
    match cases::with(name, pending, drive) {
        Some(_) => ExitCode::SUCCESS,
        None => ExitCode::from(2),
    }
}
