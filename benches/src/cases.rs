//! One row of the table each: a name, and the service that the requests go through.

use std::{hint::black_box, sync::Arc, time::Duration};

use tower::{
    BoxError, Layer, Service, ServiceBuilder, retry::RetryLayer as TowerRetryLayer,
    timeout::TimeoutLayer as TowerTimeoutLayer, util::MapErrLayer,
};
use tower_diagnose::{
    CallRecord, ClientStack, DiagnoseLayer, DispatchLayer, RecorderLayer, RespondLayer, RetryLayer,
    ServerStack, TimeoutLayer,
};
use tower_http::{
    add_extension::AddExtensionLayer,
    timeout::TimeoutLayer as HttpTimeoutLayer,
    trace::{DefaultMakeSpan, TraceLayer},
};
use tower_resilience_retry::RetryLayer as ResilienceRetryLayer;
use tower_resilience_timelimiter::TimeLimiterLayer;

use crate::{
    bare::Bare,
    peers::{CloneAndRepeat, by_hand},
    plain::{Dispatched, NamedTimeout, Recorded, Sink},
    requests::Body,
};

/// Runs over the service of a case, whatever its type.
pub trait Visitor<B = Body> {
    type Output;

    fn visit<S, R>(self, service: S) -> Self::Output
    where
        S: Service<http::Request<B>, Response = http::Response<R>>,
        S::Error: Into<BoxError>,
        R: http_body::Body;
}

pub const PEERS: &[&str] = &[
    "bare",
    "tower timeout",
    "tower-http timeout",
    "plain timeout, named",
    "tower retry",
    "tower retry, budget",
    "tower retry, budget, timeout",
    "tower-http trace",
    "tower-http add extension",
    "plain record and dispatch",
    "by hand",
    "resilience retry",
    "resilience time limiter",
    "resilience stack",
];

pub const OURS: &[&str] = &[
    "timeout",
    "dispatch",
    "diagnose",
    "retry",
    "retry, sent only",
    "recorder",
    "recorder and dispatch",
    "client stack",
    "client stack, attempt limit",
    "client stack, sent only",
    "client stack, recorded",
    "respond",
    "server stack",
];

const LIMIT: Duration = Duration::from_secs(30);
const ATTEMPT: Duration = Duration::from_secs(25);

/// Builds the service called `name` over one that is Pending `pending` times.
pub fn with<V: Visitor>(name: &str, pending: u32, visitor: V) -> Option<V::Output> {
    let bare = Bare { pending };
    let nothing = |record: CallRecord| drop(record);
    let time_limiter = || {
        TimeLimiterLayer::<_>::builder()
            .timeout_duration(LIMIT)
            .build()
    };
    let repeat = || {
        ResilienceRetryLayer::<http::Request<Body>, _, BoxError>::builder()
            .max_attempts(3)
            .exponential_backoff(Duration::from_millis(200))
            .build()
    };
    Some(match name {
        "bare" => visitor.visit(bare),
        "tower timeout" => visitor.visit(TowerTimeoutLayer::new(LIMIT).layer(bare)),
        "tower-http timeout" => {
            let status = http::StatusCode::REQUEST_TIMEOUT;
            visitor.visit(HttpTimeoutLayer::with_status_code(status, LIMIT).layer(bare))
        }
        "tower retry" => {
            visitor.visit(TowerRetryLayer::new(CloneAndRepeat::without_budget()).layer(bare))
        }
        "tower retry, budget" => {
            visitor.visit(TowerRetryLayer::new(CloneAndRepeat::with_budget()).layer(bare))
        }
        "tower retry, budget, timeout" => visitor.visit(
            ServiceBuilder::new()
                .layer(TowerTimeoutLayer::new(LIMIT))
                .layer(TowerRetryLayer::new(CloneAndRepeat::with_budget()))
                .service(bare),
        ),
        "tower-http trace" => visitor.visit(
            TraceLayer::new_for_http()
                .make_span_with(DefaultMakeSpan::new())
                .layer(bare),
        ),
        "tower-http add extension" => {
            visitor.visit(AddExtensionLayer::new(Arc::new(LIMIT)).layer(bare))
        }
        "plain timeout, named" => visitor.visit(NamedTimeout::new(bare, LIMIT)),
        "plain record and dispatch" => {
            let nothing: Sink = Arc::new(|record| _ = black_box(record.total));
            visitor.visit(Recorded::new(Dispatched(bare), nothing))
        }
        "by hand" => visitor.visit(by_hand(LIMIT).service(bare)),
        "resilience retry" => visitor.visit(repeat().layer(bare)),
        "resilience time limiter" => visitor.visit(time_limiter().layer(bare)),
        // Its limiter has an error type of its own, which its retries have to be told of.
        "resilience stack" => visitor.visit(
            repeat().layer(MapErrLayer::new(BoxError::from).layer(time_limiter().layer(bare))),
        ),
        "timeout" => visitor.visit(TimeoutLayer::new(LIMIT).layer(bare)),
        "dispatch" => visitor.visit(DispatchLayer::new().layer(bare)),
        "diagnose" => visitor.visit(DiagnoseLayer::new().layer(bare)),
        "retry" => visitor.visit(RetryLayer::new().layer(bare)),
        "retry, sent only" => visitor.visit(RetryLayer::new().repeat_unsent(false).layer(bare)),
        "recorder" => visitor.visit(RecorderLayer::new(nothing).layer(bare)),
        "recorder and dispatch" => {
            visitor.visit(RecorderLayer::new(nothing).layer(DispatchLayer::new().layer(bare)))
        }
        "client stack" => visitor.visit(ClientStack::new(LIMIT).layer(bare)),
        "client stack, attempt limit" => {
            visitor.visit(ClientStack::new(LIMIT).attempt_timeout(ATTEMPT).layer(bare))
        }
        "client stack, sent only" => {
            let retry = RetryLayer::new().repeat_unsent(false);
            visitor.visit(ClientStack::new(LIMIT).retry(retry).layer(bare))
        }
        "client stack, recorded" => {
            visitor.visit(ClientStack::new(LIMIT).record(nothing).layer(bare))
        }
        "respond" => visitor.visit(RespondLayer::new().layer(bare)),
        "server stack" => visitor.visit(ServerStack::new(LIMIT).layer(bare)),
        _ => return None,
    })
}
