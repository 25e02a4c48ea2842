//! The clients that are compared, each over a connector of its own.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::Response;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use reqwest_middleware::ClientBuilder;
use reqwest_retry::{RetryTransientMiddleware, policies::ExponentialBackoff};
use reqwest_tracing::TracingMiddleware;
use tower::{
    BoxError, Layer,
    util::{MapErr, MapErrLayer},
};
use tower_diagnose::{
    CallRecord, ClientStack, DiagnoseLayer, ReqwestService, RetryLayer, TimeoutLayer,
};
use tower_diagnose_benches::{
    peers::by_hand,
    requests::{Body, Configured},
};
use tower_resilience_retry::RetryLayer as ResilienceRetryLayer;
use tower_resilience_timelimiter::TimeLimiterLayer;

use crate::call::{self, Reqwest, Tower};

/// Over hyper-util's client. The first is that client bare.
pub const OVER_HYPER: &[&str] = &[
    "bare",
    "by hand",
    "resilience stack",
    "timeout",
    "diagnose",
    "retry",
    "client stack",
    "client stack, recorded",
];

/// Over reqwest's. The first is that client bare, the second what is put around it, the last ours.
pub const OVER_REQWEST: &[&str] = &[
    "reqwest",
    "reqwest, middleware",
    "reqwest, service",
    "reqwest, client stack",
];

const LIMIT: Duration = Duration::from_secs(30);

pub fn named(name: &str, configured: Arc<Configured>) -> Option<Box<dyn call::Client>> {
    let nothing = |record: CallRecord| drop(record);
    macro_rules! tower {
        ($service:expr) => {
            Box::new(Tower {
                service: $service,
                configured,
            })
        };
    }
    Some(match name {
        "bare" => tower!(hyper()),
        "by hand" => tower!(by_hand(LIMIT).service(boxing(hyper()))),
        "resilience stack" => {
            let limiter = TimeLimiterLayer::<_>::builder()
                .timeout_duration(LIMIT)
                .build();
            let repeat =
                ResilienceRetryLayer::<http::Request<Body>, Response<Incoming>, BoxError>::builder(
                )
                .max_attempts(3)
                .exponential_backoff(Duration::from_millis(200))
                .build();
            tower!(
                repeat
                    .layer(MapErrLayer::new(BoxError::from).layer(limiter.layer(boxing(hyper()))))
            )
        }
        "timeout" => tower!(TimeoutLayer::new(LIMIT).layer(hyper())),
        "diagnose" => tower!(DiagnoseLayer::new().layer(hyper())),
        "retry" => tower!(RetryLayer::new().layer(hyper())),
        "client stack" => tower!(ClientStack::new(LIMIT).layer(hyper())),
        "client stack, recorded" => {
            tower!(ClientStack::new(LIMIT).record(nothing).layer(hyper()))
        }
        "reqwest" => Box::new(Reqwest {
            client: reqwest(),
            configured,
        }),
        "reqwest, middleware" => {
            let backoff = ExponentialBackoff::builder().build_with_max_retries(2);
            let client = ClientBuilder::new(reqwest())
                .with(TracingMiddleware::default())
                .with(RetryTransientMiddleware::new_with_policy(backoff))
                .build();
            Box::new(Reqwest { client, configured })
        }
        "reqwest, service" => tower!(ReqwestService::new(reqwest())),
        "reqwest, client stack" => {
            tower!(ClientStack::new(LIMIT).layer(ReqwestService::new(reqwest())))
        }
        _ => return None,
    })
}

/// A client of connections that stay.
fn hyper<B>() -> Client<HttpConnector, B>
where
    B: http_body::Body<Data = Bytes> + Send + Unpin,
    B::Data: Send,
{
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).build(connector)
}

/// Policies of tower's retries are written for one type of error.
fn boxing<S>(service: S) -> MapErr<S, fn(hyper_util::client::legacy::Error) -> BoxError> {
    MapErr::new(service, BoxError::from)
}

/// The same for every case, as [`ReqwestService`] wants it, and whatever the environment says.
fn reqwest() -> reqwest::Client {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .build()
        .unwrap()
}
