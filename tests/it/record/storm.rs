//! Many calls, and every way to end one.

use std::{
    collections::HashMap,
    future::{Future, pending, poll_fn},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use tokio::time::{sleep, timeout};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    BodyEnd, BoxError, CallRecord, DispatchLayer, ErrorClass, RecordSink, RecorderLayer,
};

use super::body::{Scripted, Step};

/// Every way for a call to end; the path of its request says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Ending {
    Good,
    Failing,
    Error,
    TimedOut,
    PanicInCall,
    PanicInPoll,
    NeverPolled,
    DroppedBeforeHead,
    DroppedInBody,
    BodyError,
    BodyPanic,
}

const ENDINGS: [Ending; 11] = [
    Ending::Good,
    Ending::Failing,
    Ending::Error,
    Ending::TimedOut,
    Ending::PanicInCall,
    Ending::PanicInPoll,
    Ending::NeverPolled,
    Ending::DroppedBeforeHead,
    Ending::DroppedInBody,
    Ending::BodyError,
    Ending::BodyPanic,
];

impl Ending {
    fn expected(self) -> (Option<ErrorClass>, Option<BodyEnd>) {
        match self {
            Self::Good => (None, Some(BodyEnd::Complete)),
            Self::Failing => (Some(ErrorClass::Http), Some(BodyEnd::Complete)),
            Self::Error => (Some(ErrorClass::Network), None),
            Self::TimedOut => (Some(ErrorClass::Timeout), None),
            Self::PanicInCall | Self::PanicInPoll => (Some(ErrorClass::ProxyInternal), None),
            Self::NeverPolled | Self::DroppedBeforeHead => (Some(ErrorClass::Cancelled), None),
            Self::DroppedInBody => (None, Some(BodyEnd::Dropped)),
            Self::BodyError => (Some(ErrorClass::Network), Some(BodyEnd::Failed)),
            Self::BodyPanic => (Some(ErrorClass::ProxyInternal), Some(BodyEnd::Failed)),
        }
    }

    fn of(record: &CallRecord) -> Self {
        let name = &record.endpoint().path()[1..];
        *ENDINGS
            .iter()
            .find(|ending| format!("{ending:?}") == name)
            .unwrap()
    }
}

type Answer = Result<Response<Scripted>, BoxError>;

fn answer(status: u16, steps: &[Step]) -> Answer {
    let mut response = Response::new(Scripted::new(steps.to_vec()));
    *response.status_mut() = StatusCode::from_u16(status)?;
    Ok(response)
}

fn client(request: Request<Ending>) -> impl Future<Output = Answer> {
    let ending = *request.body();
    assert!(ending != Ending::PanicInCall, "in call");
    let mut is_first = true;
    poll_fn(move |cx| {
        if std::mem::take(&mut is_first) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(match ending {
            Ending::Good => answer(200, &[Step::Data("a"), Step::Wait, Step::Data("b")]),
            Ending::Failing => answer(503, &[Step::Data("a")]),
            Ending::Error => Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
            Ending::TimedOut => Err(tower::timeout::error::Elapsed::new().into()),
            Ending::PanicInPoll => panic!("in poll"),
            Ending::DroppedInBody => answer(200, &[Step::Data("a"), Step::Data("b")]),
            Ending::BodyError => answer(200, &[Step::Data("a"), Step::Fail]),
            Ending::BodyPanic => answer(200, &[Step::Data("a"), Step::Panic]),
            Ending::PanicInCall | Ending::NeverPolled | Ending::DroppedBeforeHead => {
                return Poll::Pending;
            }
        })
    })
}

/// Counts what began, what is under way, and what ended how.
#[derive(Clone, Default)]
struct Tally {
    started: Arc<AtomicU64>,
    in_flight: Arc<AtomicI64>,
    ended: Arc<Mutex<HashMap<Ending, u64>>>,
    wrong: Arc<Mutex<Vec<CallRecord>>>,
}

impl RecordSink for Tally {
    fn started(&self, _: &Method) {
        self.started.fetch_add(1, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    fn record(&self, record: CallRecord) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        let ending = Ending::of(&record);
        *self.ended.lock().unwrap().entry(ending).or_default() += 1;
        if (record.error_class(), record.body_end()) != ending.expected() {
            self.wrong.lock().unwrap().push(record);
        }
    }
}

impl Tally {
    #[track_caller]
    fn check(&self, expected: &HashMap<Ending, u64>) {
        let wrong = self.wrong.lock().unwrap();
        assert!(
            wrong.is_empty(),
            "{} wrong, the first: {:#?}",
            wrong.len(),
            wrong[0]
        );
        assert_eq!(*self.ended.lock().unwrap(), *expected);
        let calls: u64 = expected.values().sum();
        assert_eq!(self.started.load(Ordering::Relaxed), calls);
        assert_eq!(self.in_flight.load(Ordering::Relaxed), 0);
    }
}

fn request(ending: Ending) -> Request<Ending> {
    Request::get(format!("/{ending:?}")).body(ending).unwrap()
}

/// The same every time, and without a pattern.
fn endings(seed: u64) -> impl Iterator<Item = Ending> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ENDINGS[(state >> 33) as usize % ENDINGS.len()]
    })
}

/// Makes one call by hand, and ends it as it says.
fn make<S, B>(service: &mut S, ending: Ending)
where
    S: Service<Request<Ending>, Response = Response<B>>,
    B: Body,
{
    let mut cx = Context::from_waker(Waker::noop());
    let mut call = pin!(service.call(request(ending)));
    if ending == Ending::NeverPolled {
        return;
    }
    assert!(call.as_mut().poll(&mut cx).is_pending());
    if ending == Ending::DroppedBeforeHead {
        return;
    }
    let Poll::Ready(Ok(response)) = call.as_mut().poll(&mut cx) else {
        return;
    };
    let mut body = pin!(response.into_body());
    loop {
        match body.as_mut().poll_frame(&mut cx) {
            Poll::Ready(Some(Ok(_))) if ending == Ending::DroppedInBody => return,
            Poll::Ready(None) => return,
            Poll::Ready(Some(_)) | Poll::Pending => {}
        }
    }
}

#[test]
fn a_hundred_thousand_calls_in_a_row_have_as_many_records_and_no_class_is_wrong() {
    // The hook prints; twenty-seven thousand panics would be read by nobody.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let is_ours = info
            .payload()
            .downcast_ref::<&str>()
            .is_some_and(|text| matches!(*text, "in call" | "in poll" | "the body panics"));
        if !is_ours {
            hook(info);
        }
    }));
    let tally = Tally::default();
    let service = DispatchLayer::new().layer(service_fn(client));
    let mut service = RecorderLayer::new(tally.clone()).layer(service);
    let mut expected = HashMap::new();
    for ending in endings(1).take(100_000) {
        *expected.entry(ending).or_default() += 1;
        drop(catch_unwind(AssertUnwindSafe(|| {
            make(&mut service, ending)
        })));
    }
    assert_eq!(expected.len(), ENDINGS.len());
    tally.check(&expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_calls_at_once_survive_abort_panic_and_timeout() {
    let tally = Tally::default();
    let service = DispatchLayer::new().layer(service_fn(client));
    let service = RecorderLayer::new(tally.clone()).layer(service);
    let mut expected = HashMap::new();
    let mut tasks = Vec::new();
    for (number, ending) in endings(2).take(200).enumerate() {
        *expected.entry(ending).or_default() += 1;
        let mut service = service.clone();
        let never_ends = matches!(ending, Ending::NeverPolled | Ending::DroppedBeforeHead);
        let task = tokio::spawn(async move {
            if !never_ends {
                return make(&mut service, ending);
            }
            let call = service.call(request(ending));
            if ending == Ending::NeverPolled {
                drop(call);
            } else if number % 2 == 0 {
                assert!(timeout(Duration::from_millis(1), call).await.is_err());
            } else {
                drop(call.await);
            }
        });
        tasks.push((ending, task));
    }
    sleep(Duration::from_millis(50)).await;
    for (ending, task) in tasks {
        if ending == Ending::DroppedBeforeHead {
            task.abort();
        }
        drop(task.await);
    }
    tally.check(&expected);
}

#[test]
fn calls_under_way_when_their_runtime_shuts_down_are_recorded() {
    let tally = Tally::default();
    let service = service_fn(|_: Request<Ending>| pending::<Answer>());
    let service = RecorderLayer::new(tally.clone()).layer(service);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for _ in 0..50 {
        runtime.spawn(service.clone().oneshot(request(Ending::DroppedBeforeHead)));
    }
    while tally.started.load(Ordering::Relaxed) < 50 {
        std::thread::yield_now();
    }
    drop(runtime);
    tally.check(&HashMap::from([(Ending::DroppedBeforeHead, 50)]));
}
