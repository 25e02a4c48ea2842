use std::{future::poll_fn, pin::Pin, process::ExitCode, task::Poll, time::Duration};

use http::{Method, Request};
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, retry, timeout};
use tower_diagnose::ClientStack;
use tower_http::trace::TraceLayer;

use super::{
    axis::Axis,
    bodies::{Store, bytes},
};
use crate::{
    callgrind,
    cases::{self, Visitor},
    framed::Framed,
    measure::{Calls, one_by_one, read, runtime, with_earlier_timer},
    peers::CloneAndRepeat,
    requests::{Body, Configured, Shape, with_headers},
};

/// Whose growth is looked at.
pub const SUBJECTS: [&str; 3] = ["bare", "by hand", "client stack"];

const LIMIT: Duration = Duration::from_secs(30);

/// Rounds of a measurement of time.
const ROUNDS: u32 = 9;

/// One service with one size of what grows.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub axis: Axis,
    pub name: &'static str,
    pub size: usize,
}

impl Point {
    /// Instructions of one call.
    pub fn instructions(self) -> Option<f64> {
        let size = self.size.to_string();
        let arguments = ["scaling", self.axis.name(), self.name, &size];
        callgrind::instructions(&arguments, self.axis.calls(self.size))
    }

    /// What the subjects add to the first of them, which is the bare service. Instructions alone.
    pub fn added(axis: Axis, name: &'static str, size: usize) -> Option<f64> {
        let of = |name| Self { axis, name, size }.instructions();
        Some(of(name)? - of(SUBJECTS[0])?)
    }

    /// Nanoseconds of one call of each subject, by turns; the least of several rounds.
    pub fn nanoseconds(axis: Axis, size: usize) -> [f64; SUBJECTS.len()] {
        let calls = 10 * axis.calls(size);
        let mut least = [f64::MAX; SUBJECTS.len()];
        for _ in 0..ROUNDS {
            for (least, name) in least.iter_mut().zip(SUBJECTS) {
                let took = drive(axis, name, size, |drive| {
                    let started = tokio::time::Instant::now();
                    drive(calls);
                    started.elapsed()
                });
                let took = took.unwrap_or_default().as_nanos() as f64 / calls as f64;
                *least = least.min(took);
            }
        }
        least
    }
}

fn drive<T>(axis: Axis, name: &str, size: usize, around: impl FnOnce(Calls<'_>) -> T) -> Option<T> {
    match axis {
        Axis::AtOnce => cases::with(name, 1, AtOnce { size, around }),
        Axis::Headers => cases::with(name, 1, Headers { size, around }),
        Axis::Upload => bodies(name, size, 0, around),
        Axis::Download => bodies(name, 0, size, around),
    }
}

/// What a run under callgrind executes.
#[must_use]
pub fn run_case(axis: &str, name: &str, size: &str, calls: &str) -> ExitCode {
    let axis = Axis::ALL.into_iter().find(|known| known.name() == axis);
    let (Some(axis), Ok(size), Ok(calls)) = (axis, size.parse(), calls.parse()) else {
        return ExitCode::from(2);
    };
    match drive(axis, name, size, |drive| drive(calls)) {
        Some(()) => ExitCode::SUCCESS,
        None => ExitCode::from(2),
    }
}

struct Headers<F> {
    size: usize,
    around: F,
}

impl<T, F: FnOnce(Calls<'_>) -> T> Visitor for Headers<F> {
    type Output = T;

    fn visit<S, R>(self, service: S) -> T
    where
        S: Service<Request<Body>, Response = http::Response<R>>,
        S::Error: Into<BoxError>,
        R: http_body::Body,
    {
        one_by_one(
            service,
            |number| with_headers(self.size, number),
            self.around,
        )
        .0
    }
}

/// Begins `size` calls, waits until all of them wait, and ends them.
struct AtOnce<F> {
    size: usize,
    around: F,
}

impl<T, F: FnOnce(Calls<'_>) -> T> Visitor for AtOnce<F> {
    type Output = T;

    fn visit<S, R>(self, mut service: S) -> T
    where
        S: Service<Request<Body>, Response = http::Response<R>>,
        S::Error: Into<BoxError>,
        R: http_body::Body,
    {
        let configured = Configured::default();
        let mut begun: Vec<Pin<Box<S::Future>>> = Vec::with_capacity(self.size);
        let mut drive = |calls: u64| {
            let rounds = calls / self.size as u64;
            // Each call of a program is a task with a budget of its own; here one task has them all.
            let all = tokio::task::unconstrained(with_earlier_timer(async {
                for _ in 0..rounds {
                    for number in 0..self.size {
                        let request = Shape::H10.build(&configured, number as u64);
                        let Ok(service) = service.ready().await else {
                            return;
                        };
                        begun.push(Box::pin(service.call(request)));
                    }
                    poll_fn(|cx| {
                        for future in &mut begun {
                            assert!(future.as_mut().poll(cx).is_pending(), "it waits once");
                        }
                        Poll::Ready(())
                    })
                    .await;
                    for future in begun.drain(..) {
                        if let Ok(response) = future.await {
                            read(response).await;
                        }
                    }
                }
            }));
            runtime().block_on(all);
        };
        drive(self.size as u64);
        (self.around)(&mut drive)
    }
}

/// Uploads and downloads of so many bytes.
fn bodies<T>(
    name: &str,
    upload: usize,
    download: usize,
    around: impl FnOnce(Calls<'_>) -> T,
) -> Option<T> {
    let store = Store::new(bytes(download));
    let upload = bytes(upload);
    // It may be repeated, so that what there is to keep of the body is kept.
    let build = |_| {
        let mut request = Request::new(Framed(upload.clone()));
        *request.method_mut() = Method::PUT;
        request
    };
    let by_hand = ServiceBuilder::new()
        .layer(TraceLayer::new_for_http())
        .layer(retry::RetryLayer::new(CloneAndRepeat::with_budget()))
        .layer(timeout::TimeoutLayer::new(LIMIT));
    Some(match name {
        "bare" => one_by_one(store, build, around).0,
        "by hand" => one_by_one(by_hand.service(store), build, around).0,
        "client stack" => one_by_one(ClientStack::new(LIMIT).layer(store), build, around).0,
        _ => return None,
    })
}
