use std::{
    future::{Future, poll_fn},
    hint::black_box,
    iter,
    pin::{Pin, pin},
    process::ExitCode,
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::BodyExt;
use tower::{BoxError, Layer, Service, ServiceExt};
use tower_diagnose::ClientStack;

use super::{
    axis::Axis,
    bodies::{Store, bytes},
};
use crate::{
    callgrind,
    cases::Visitor,
    framed::Framed,
    measure::{Calls, earlier, register, runtime},
    peers::by_hand,
    requests::{Body, Configured, Shape, configured_header, with_headers},
};

/// Whose growth is looked at.
pub const SUBJECTS: [&str; 3] = ["bare", "by hand", "client stack"];

const LIMIT: Duration = Duration::from_secs(30);

/// Calls before anything is counted.
const WARM_UP: usize = 20;

/// Rounds of a measurement of time.
const ROUNDS: u32 = 7;

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
        // Whole rounds of every size.
        let calls = (2 * axis.calls(size)).max(4_000);
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
    // What grows, and what does not.
    let none = Bytes::new();
    let configured = Configured::default();
    let headers: Vec<_> = (0..size).map(configured_header).collect();
    let (upload, at_once, build): (_, _, &dyn Fn(u64) -> Request<Body>) = match axis {
        Axis::AtOnce => (none, size, &|number| Shape::H10.build(&configured, number)),
        Axis::Headers => (none, 1, &|number| with_headers(&headers, false, number)),
        Axis::FreshHeaders => (none, 1, &|number| with_headers(&headers, true, number)),
        Axis::Upload => (bytes(size), 1, &|_| put()),
        Axis::Download => (none, 1, &|_| put()),
    };
    let download = if axis == Axis::Download { size } else { 0 };
    let build = |number| build(number).map(|_| Framed(upload.clone()));
    over(
        name,
        Store::new(bytes(download)),
        Drive {
            at_once,
            build,
            around,
        },
    )
}

/// A request that may be repeated, so that what there is to keep of its body is kept.
fn put() -> Request<Body> {
    let mut request = Request::default();
    *request.method_mut() = Method::PUT;
    request
}

/// Builds the subjects. They are not those of the tables: layers that are called from more than one
/// place of a program are inlined less, which would make the tables' dearer.
fn over<V: Visitor<Framed>>(name: &str, store: Store, visitor: V) -> Option<V::Output> {
    Some(match name {
        "bare" => visitor.visit(store),
        "by hand" => visitor.visit(by_hand(LIMIT).service(store)),
        "client stack" => visitor.visit(ClientStack::new(LIMIT).layer(store)),
        _ => return None,
    })
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

/// Begins `at_once` calls, waits until all of them wait, and ends them.
struct Drive<B, F> {
    at_once: usize,
    build: B,
    around: F,
}

impl<T, B, F> Visitor<Framed> for Drive<B, F>
where
    B: Fn(u64) -> Request<Framed>,
    F: FnOnce(Calls<'_>) -> T,
{
    type Output = T;

    fn visit<S, R>(self, mut service: S) -> T
    where
        S: Service<Request<Framed>, Response = http::Response<R>>,
        S::Error: Into<BoxError>,
        R: http_body::Body,
    {
        // Places that stay, so that none of them is allocated for a call.
        let place = || Box::pin(None::<S::Future>);
        let mut places: Vec<Pin<Box<Option<S::Future>>>> =
            iter::repeat_with(place).take(self.at_once).collect();
        let runtime = runtime();
        let mut drive = |calls: u64| {
            let rounds = calls / self.at_once as u64;
            // Each call of a program is a task with a budget of its own; here one task has them all.
            let all = tokio::task::unconstrained(async {
                let mut earlier = pin!(earlier());
                register(earlier.as_mut()).await;
                for _ in 0..rounds {
                    for (number, place) in (0..).zip(&mut places) {
                        let request = (self.build)(number);
                        let Ok(service) = service.ready().await else {
                            return;
                        };
                        place.set(Some(service.call(request)));
                    }
                    poll_fn(|cx| {
                        for place in &mut places {
                            let begun = place.as_mut().as_pin_mut().map(|call| call.poll(cx));
                            assert!(begun.is_some_and(|poll| poll.is_pending()), "it waits once");
                        }
                        Poll::Ready(())
                    })
                    .await;
                    for place in &mut places {
                        if let Some(call) = place.as_mut().as_pin_mut()
                            && let Ok(response) = call.await
                        {
                            let mut body = pin!(response.into_body());
                            while let Some(Ok(frame)) = body.frame().await {
                                black_box(&frame);
                            }
                        }
                        place.set(None);
                    }
                }
            });
            runtime.block_on(all);
        };
        drive(self.at_once.max(WARM_UP) as u64);
        (self.around)(&mut drive)
    }
}
