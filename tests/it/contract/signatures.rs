//! What other programs compile against: names, signatures, bounds and nesting.

use std::{
    error::Error,
    fmt::{Debug, Display},
    str::FromStr,
    time::Duration,
};

use http::{HeaderName, Method, Request, Response, StatusCode};
use serde::Serialize;
use tower_diagnose::{
    Attempt, AuditClass, Backoff, BodyEnd, CallRecord, CallRecorder, ClientStack, Delivery,
    DiagnoseLayer, Diagnosed, Diagnosis, DispatchLayer, Endpoint, ErrorClass, Facts, FaultDomain,
    Idempotency, InvalidArgument, Jitter, LogPolicy, MaxAttempts, NoRetry, Outcome, Payload,
    Protocol, RecentCalls, RecordSink, RecorderLayer, Refused, RequestTimeout, RespondLayer,
    ResponseExt, Retried, RetryBudget, RetryError, RetryLayer, ServerStack, StopReason,
    TimeoutError, TimeoutLayer, TimeoutScope, TracingSink, classify, find, is_timeout,
    require_full_uuid,
};

type BoxError = Box<dyn Error + Send + Sync>;

const SECOND: Duration = Duration::from_secs(1);

fn layer<T: Clone + Debug + Send + Sync + 'static>(layer: T) -> T {
    layer
}

fn error<T: Error + Send + Sync + 'static>() {}

fn name<T: Display + FromStr<Err: Error> + Serialize + Copy + Debug + Eq + Send + Sync>() {}

#[test]
fn every_signature_that_others_compile_against() {
    let _: fn(&Diagnosis) -> &Endpoint = Diagnosis::endpoint;
    let _: fn(&Diagnosis) -> Option<StatusCode> = Diagnosis::status;
    let _: fn(&Diagnosis) -> Option<&str> = Diagnosis::message;
    let _: fn(&Diagnosis) -> Option<&str> = Diagnosis::code;
    let _: fn(&Diagnosis) -> Option<&str> = Diagnosis::excerpt;
    let _: fn(&Diagnosis) -> Option<&str> = Diagnosis::hint;
    let _: fn(&Diagnosis) -> Outcome = Diagnosis::outcome;
    let _: fn(&Diagnosis) -> ErrorClass = Diagnosis::class;
    let _: fn(&Diagnosis) -> FaultDomain = Diagnosis::domain;
    let _: fn(&Diagnosis) -> Delivery = Diagnosis::delivery;
    let _: fn(&Diagnosis) -> u32 = Diagnosis::attempts;
    let _: fn(&Diagnosis) -> Option<Duration> = Diagnosis::timeout;
    let _: fn(&Diagnosis) -> Option<Duration> = Diagnosis::retry_after;
    let _: fn(&Diagnosis) -> Option<&str> = Diagnosis::request_id;
    let _: fn(&Diagnosis) -> bool = Diagnosis::is_indeterminate;
    let _: fn(&Diagnosis, &str) -> Payload = Diagnosis::payload;
    fn shown<T: Clone + Debug + Display + Serialize + Send + Sync>() {}
    shown::<Diagnosis>();

    let _: fn(&Diagnosed) -> &Diagnosis = Diagnosed::diagnosis;
    let _: fn(&Diagnosed) -> Option<&http::response::Parts> = Diagnosed::response;
    let _: fn(Diagnosed) -> Option<BoxError> = Diagnosed::into_source;
    error::<Diagnosed>();
    assert!(size_of::<Diagnosed>() <= 16);

    let _: fn(&Response<Rare>) -> Option<&Diagnosis> = ResponseExt::diagnosis;
    let _: fn(&Response<Rare>) -> Option<Retried> = ResponseExt::retried;

    let _: fn(&Request<Rare>) -> Endpoint = Endpoint::of;
    let _: fn(&Endpoint) -> &Method = Endpoint::method;
    let _: fn(&Endpoint) -> &str = Endpoint::path;

    const OUTCOME: Outcome = Outcome::new(ErrorClass::Http, FaultDomain::Upstream, None);
    let _: ErrorClass = OUTCOME.class();
    let _: FaultDomain = OUTCOME.domain();
    let _: Option<StatusCode> = OUTCOME.status();
    let _: AuditClass = OUTCOME.audit_class();

    let mut facts = Facts::default();
    facts.dispatched = true;
    facts.requests = 1u32;
    facts.responses = 1u32;
    facts.last_status = Some(StatusCode::OK);
    facts.caller_cancelled = false;
    assert_eq!(classify(None, &facts), None);
    let _: fn(Option<&(dyn Error + 'static)>, &Facts) -> Option<Outcome> = classify;

    let recorder = CallRecorder::new();
    let _: Facts = recorder.snapshot();
    let _: CallRecorder = CallRecorder::default().clone();

    let _: fn(&CallRecord) -> &Endpoint = CallRecord::endpoint;
    let _: fn(&CallRecord) -> Option<StatusCode> = CallRecord::status;
    let _: fn(&CallRecord) -> Option<Outcome> = CallRecord::outcome;
    let _: fn(&CallRecord) -> Delivery = CallRecord::delivery;
    let _: fn(&CallRecord) -> u32 = CallRecord::attempts;
    let _: fn(&CallRecord) -> Duration = CallRecord::duration;
    let _: fn(&CallRecord) -> Option<BodyEnd> = CallRecord::body_end;
    fn plain<T: Debug + Serialize + Send + 'static>() {}
    plain::<CallRecord>();

    let calls = RecentCalls::new(8usize);
    let _: Vec<CallRecord> = calls.clone().snapshot();
    fn sink<T: RecordSink>(_: T) {}
    sink(calls);
    sink(TracingSink::new());
    sink(|_: CallRecord| {});

    let budget: RetryBudget = RetryBudget::new(20u32, 10u32, 1u32);
    let _: u32 = budget.clone().balance();

    let _: fn(&TimeoutError) -> &Endpoint = TimeoutError::endpoint;
    let _: fn(&TimeoutError) -> Duration = TimeoutError::limit;
    let _: fn(&TimeoutError) -> TimeoutScope = TimeoutError::scope;
    let _ = [
        TimeoutScope::Head,
        TimeoutScope::BodyIdle,
        TimeoutScope::BodyTotal,
    ];
    let _ = [BodyEnd::Complete, BodyEnd::Failed, BodyEnd::Dropped];
    let _: Duration = RequestTimeout(SECOND).0;

    let _: fn(&(dyn Error + 'static)) -> bool = is_timeout;
    let _: for<'a> fn(&'a (dyn Error + 'static)) -> Option<&'a TimeoutError> = find::<TimeoutError>;
    let _: fn(&str, &str, &str) -> Result<(), InvalidArgument> = require_full_uuid;

    for one in [error::<RetryError>, error::<TimeoutError>, error::<Refused>] {
        one();
    }
    error::<InvalidArgument>();
    let _ = Refused::new("circuit open");
    let _ = (NoRetry, MaxAttempts(2));
    fn copy<T: Copy + Debug>() {}
    copy::<Retried>();
    let _: fn(&Retried) -> u32 = Retried::attempts;
    let _: fn(&Retried) -> StopReason = Retried::stop;
    let _: fn(&Retried) -> Delivery = Retried::delivery;
}

/// A body nobody expects.
struct Rare;

#[test]
fn every_vocabulary_enum_has_a_name_and_reads_it_back() {
    name::<ErrorClass>();
    name::<FaultDomain>();
    name::<AuditClass>();
    name::<Delivery>();
    name::<Idempotency>();
    name::<TimeoutScope>();
    name::<BodyEnd>();
    name::<StopReason>();
    name::<Protocol>();
    name::<Jitter>();
}

#[test]
fn every_setter_of_every_layer() {
    let client = DiagnoseLayer::new()
        .body_cap(1024)
        .peek_timeout(SECOND)
        .line_cap(120)
        .excerpt_cap(100)
        .plain_text(true)
        .inspect(Protocol::JsonRpc)
        .failure_when(|status| status.as_u16() >= 300)
        .redact_header(HeaderName::from_static("x-token"))
        .path_with(|endpoint| Some(endpoint.path().to_owned()))
        .hint_with(|_| None)
        .log(LogPolicy::off())
        .error_for_status(true);
    layer(client);
    fn failing(status: StatusCode) -> bool {
        status.is_server_error()
    }
    layer(
        DiagnoseLayer::for_server()
            .body_cap(1024)
            .peek_timeout(SECOND)
            .line_cap(120)
            .excerpt_cap(100)
            .plain_text(true)
            .inspect(Protocol::Mcp)
            .failure_when(failing)
            .redact_header(HeaderName::from_static("x-token"))
            .log(LogPolicy::off()),
    );
    layer(
        RetryLayer::new()
            .max_attempts(3)
            .backoff(Backoff::exponential(SECOND, SECOND))
            .backoff(Backoff::exponential(SECOND, SECOND).jitter(Jitter::Full))
            .backoff(Backoff::exponential(SECOND, SECOND).jitter(Jitter::None))
            .budget(RetryBudget::new(20, 10, 1))
            .without_budget()
            .retry_after_limit(SECOND)
            .ignore_retry_after()
            .replay_limit(64 * 1024)
            .total_limit(SECOND)
            .only_declared(false)
            .repeat_unsent(true)
            .retry_if(|_: &Attempt<'_>| true)
            .on_retry(|attempt: &Attempt<'_>| {
                let _: &Endpoint = attempt.endpoint();
                let _: u32 = attempt.number();
                let _: Option<StatusCode> = attempt.status();
                let _: Option<&(dyn Error + 'static)> = attempt.error();
                let _: Delivery = attempt.delivery();
                let _: Idempotency = attempt.idempotency();
                let _: Duration = attempt.wait();
            }),
    );
    layer(
        TimeoutLayer::new(SECOND)
            .body_idle(SECOND)
            .body_total(SECOND),
    );
    layer(RecorderLayer::new(|_: CallRecord| {}));
    layer(DispatchLayer::new());
    layer(RespondLayer::new());
    layer(
        ClientStack::new(SECOND)
            .attempt_timeout(SECOND)
            .retry(RetryLayer::new())
            .without_retry()
            .diagnose(DiagnoseLayer::new())
            .record(RecentCalls::new(4)),
    );
    layer(
        ServerStack::new(SECOND)
            .diagnose(DiagnoseLayer::for_server())
            .record(TracingSink::new()),
    );
}
