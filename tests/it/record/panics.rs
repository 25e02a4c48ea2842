//! Panics of somebody else's code.

use std::{
    error::Error,
    fmt,
    future::{Future, pending, poll_fn, ready},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    task::{Context, Poll, Waker},
};

use http::{Request, Response, StatusCode};
use http_body::Body;
use tower::{Layer, Service, service_fn};
use tower_diagnose::{BoxError, CallRecord, ErrorClass, FaultDomain, RecentCalls, RecorderLayer};

use super::{
    body::{Scripted, Step},
    only,
};

/// Cannot be asked for its cause.
#[derive(Debug)]
struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broken")
    }
}

impl Error for Broken {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        panic!("the error panics")
    }
}

#[test]
fn panics_are_recorded_and_go_on() {
    let in_call = |_: Request<()>| -> std::future::Ready<Result<Response<Scripted>, BoxError>> {
        panic!("in call")
    };
    let in_poll = |_: Request<()>| {
        poll_fn(|_| -> Poll<Result<Response<Scripted>, BoxError>> { panic!("in poll") })
    };
    let in_body = |_: Request<()>| {
        ready(Ok::<_, BoxError>(Response::new(Scripted::new([
            Step::Panic,
        ]))))
    };
    let in_error = |_| ready(Err(Broken.into()));
    let records = [
        (panicking(in_call), None),
        (panicking(in_poll), None),
        (panicking(in_body), Some(StatusCode::OK)),
        (panicking(in_error), None),
    ];
    for (record, status) in records {
        assert_eq!(record.error_class(), Some(ErrorClass::ProxyInternal));
        assert_eq!(record.fault_domain(), Some(FaultDomain::Proxy));
        assert_eq!(record.status(), status);
    }
}

fn panicking<F>(answer: impl FnMut(Request<()>) -> F) -> CallRecord
where
    F: Future<Output = Result<Response<Scripted>, BoxError>>,
{
    let calls = RecentCalls::new(10);
    let mut service = RecorderLayer::new(calls.clone()).layer(service_fn(answer));
    let seen = catch_unwind(AssertUnwindSafe(|| {
        let mut cx = Context::from_waker(Waker::noop());
        let mut call = pin!(service.call(Request::new(())));
        let Poll::Ready(Ok(response)) = call.as_mut().poll(&mut cx) else {
            return;
        };
        let mut body = pin!(response.into_body());
        drop(body.as_mut().poll_frame(&mut cx));
    }));
    assert!(seen.is_err(), "the panic was swallowed");
    only(&calls)
}

#[test]
fn a_call_dropped_while_something_else_unwinds_did_not_panic_itself() {
    let calls = RecentCalls::new(10);
    let service = service_fn(|_: Request<()>| pending::<Result<Response<Scripted>, BoxError>>());
    let mut service = RecorderLayer::new(calls.clone()).layer(service);
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _call = service.call(Request::new(()));
        resume_unwind(Box::new("something else"));
    }));
    assert!(unwound.is_err());
    assert_eq!(only(&calls).error_class(), Some(ErrorClass::Cancelled));
}
