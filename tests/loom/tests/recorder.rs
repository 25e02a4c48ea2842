//! Every order in which a call, its attempts and whoever lets go of them can get at its notes.

use std::{
    convert::Infallible,
    future::pending,
    sync::{Arc as StdArc, Mutex as StdMutex},
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use loom::{future::block_on, model::Builder, thread};
use tower::{Layer, Service, service_fn};
use tower_diagnose_loom::{
    BodyEnd, CallRecord, CallRecorder, Delivery, DispatchLayer, ErrorClass, RecorderLayer,
};

/// The records of one model. Nothing waits for its lock, for nobody who holds it does anything else.
type Records = StdArc<StdMutex<Vec<CallRecord>>>;

fn recorder(records: &Records) -> RecorderLayer {
    let records = StdArc::clone(records);
    RecorderLayer::new(move |record| records.lock().unwrap().push(record))
}

fn only(records: &Records) -> CallRecord {
    let mut records = records.lock().unwrap();
    assert_eq!(records.len(), 1, "{records:#?}");
    records.pop().unwrap()
}

/// A request that passes on what is noted of it to a handle of the caller's.
fn request(notes: &CallRecorder) -> Request<()> {
    let mut request = Request::new(());
    request.extensions_mut().insert(notes.clone());
    request
}

/// A call that is made, and whose attempts are somebody else's affair: returns its future, and the
/// request as it came to the client.
fn call_by_others(records: &Records, notes: &CallRecorder) -> (impl Future, Request<()>) {
    let slot = StdArc::<StdMutex<Option<Request<()>>>>::default();
    let taken = StdArc::clone(&slot);
    let mut service = recorder(records).layer(service_fn(move |request| {
        *slot.lock().unwrap() = Some(request);
        pending::<Result<Response<Full<Bytes>>, Infallible>>()
    }));
    let call = service.call(request(notes));
    let request = taken.lock().unwrap().take();
    (call, request.expect("the call was made"))
}

/// Makes an attempt that is answered.
async fn attempt(request: Request<()>) -> Response<Full<Bytes>> {
    let answer = async |_| Ok::<_, Infallible>(Response::new(Full::from("hello")));
    let mut client = DispatchLayer::new().layer(service_fn(answer));
    let Ok(response) = client.call(request).await;
    response
}

fn model(check: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(check);
}

#[test]
fn a_call_that_is_dropped_as_its_attempt_ends_is_recorded_once_and_nothing_is_lost() {
    model(|| {
        let (records, notes) = (Records::default(), CallRecorder::new());
        let (call, request) = call_by_others(&records, &notes);
        let attempts = thread::spawn(move || drop(block_on(attempt(request))));
        drop(call);
        attempts.join().unwrap();
        let record = only(&records);
        assert_eq!(record.error_class(), Some(ErrorClass::Cancelled));
        assert!(record.attempts() <= 1, "{record:?}");
        let facts = notes.snapshot();
        assert_eq!((facts.requests, facts.responses), (1, 1));
        assert_eq!(facts.last_status, Some(StatusCode::OK));
        assert!(facts.caller_cancelled);
    });
}

#[test]
fn attempts_at_the_same_time_are_all_counted() {
    model(|| {
        let (records, notes) = (Records::default(), CallRecorder::new());
        let (call, request) = call_by_others(&records, &notes);
        let other = request.clone();
        let others = thread::spawn(move || drop(block_on(attempt(other))));
        drop(block_on(attempt(request)));
        others.join().unwrap();
        drop(call);
        let record = only(&records);
        assert_eq!(record.attempts(), 2);
        assert_eq!(record.delivery(), Delivery::Answered);
        assert_eq!(notes.snapshot().responses, 2);
    });
}

#[test]
fn a_body_that_ends_as_another_attempt_is_dropped_is_recorded_once_with_both() {
    model(|| {
        let (records, notes) = (Records::default(), CallRecorder::new());
        // Of two attempts one is never answered; it is let go of when the other one is.
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut service = recorder(&records).layer(service_fn(move |request: Request<()>| {
            let mut silent = DispatchLayer::new().layer(service_fn(|_: Request<()>| {
                pending::<Result<Response<Full<Bytes>>, Infallible>>()
            }));
            let _ = sender.send(Box::pin(silent.call(request.clone())));
            async { Ok::<_, Infallible>(attempt(request).await) }
        }));
        let call = service.call(request(&notes));
        let silent = receiver.recv().unwrap();
        let Ok(response) = block_on(call);
        let drops = thread::spawn(move || drop(silent));
        let Ok(body) = block_on(response.into_body().collect());
        assert_eq!(body.to_bytes(), "hello");
        drops.join().unwrap();
        let record = only(&records);
        assert_eq!(record.body_end(), Some(BodyEnd::Complete));
        assert_eq!(record.outcome(), None);
        assert_eq!(record.attempts(), 2);
        assert_eq!(record.delivery(), Delivery::Unknown);
        let facts = notes.snapshot();
        assert_eq!((facts.requests, facts.responses), (2, 1));
        assert!(!facts.caller_cancelled);
    });
}

#[test]
fn a_recorder_further_in_goes_on_when_the_one_further_out_is_dropped() {
    model(|| {
        let (records, notes) = (Records::default(), CallRecorder::new());
        let (call, request) = call_by_others(&records, &notes);
        let inner_records = Records::default();
        let mut inner = recorder(&inner_records).layer(service_fn(|request| async {
            Ok::<_, Infallible>(attempt(request).await)
        }));
        let inner = thread::spawn(move || {
            let Ok(response) = block_on(inner.call(request));
            let Ok(body) = block_on(response.into_body().collect());
            body.to_bytes()
        });
        drop(call);
        assert_eq!(inner.join().unwrap(), "hello");
        assert_eq!(only(&records).error_class(), Some(ErrorClass::Cancelled));
        let inner = only(&inner_records);
        assert_eq!((inner.outcome(), inner.attempts()), (None, 1));
        assert_eq!(inner.body_end(), Some(BodyEnd::Complete));
        let facts = notes.snapshot();
        assert_eq!((facts.requests, facts.responses), (1, 1));
        assert!(facts.caller_cancelled);
    });
}

#[test]
fn an_attempt_that_begins_with_its_call_and_ends_elsewhere_is_recorded_as_far_as_it_came() {
    model(|| {
        let records = Records::default();
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut service = recorder(&records).layer(service_fn(move |request: Request<()>| {
            let answer = |_| {
                std::future::ready(Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("a"))))
            };
            let mut client = DispatchLayer::new().layer(service_fn(answer));
            let _ = sender.send(client.call(request));
            async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("b"))) }
        }));
        let call = service.call(Request::new(()));
        let attempt = receiver.recv().unwrap();
        let attempts = thread::spawn(move || drop(block_on(attempt)));
        drop(block_on(call));
        attempts.join().unwrap();
        let record = only(&records);
        assert_eq!((record.attempts(), record.outcome()), (1, None));
        assert_eq!(record.body_end(), Some(BodyEnd::Dropped));
        let attempts: Vec<_> = record.attempt_log().collect();
        assert_eq!(attempts.len(), 1);
        match record.delivery() {
            Delivery::Answered => assert_eq!(attempts[0].status(), Some(StatusCode::OK)),
            delivery => assert_eq!((delivery, attempts[0].status()), (Delivery::Unknown, None)),
        }
    });
}
