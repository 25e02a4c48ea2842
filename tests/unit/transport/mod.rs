//! The rows of the contract, each from a real socket through a real hyper-util client.

mod connect;
mod http1;
mod http2;
mod ours;
#[cfg(any(feature = "axum", feature = "reqwest", feature = "tonic"))]
#[cfg_attr(
    not(all(feature = "axum", feature = "reqwest", feature = "tonic")),
    allow(unused_imports)
)]
mod peers;
mod request;

#[path = "../../it/support"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of `it`")]
mod support {
    pub mod body;
    pub mod client;
    pub mod h1;
    pub mod h2_by_hand;
    pub mod raw;
}

use std::{error::Error, net::SocketAddr, sync::Arc};

use http::Request;
use http_body::Body;
use hyper_util::client::legacy;

use super::*;
use crate::{
    cause::{cause, is_refusal},
    class::{ErrorClass, FaultDomain},
    classify::{classify, delivery},
    error::{BoxError, is_timeout},
    outcome::{Delivery, Facts},
};

/// What is said of an error, all of it.
#[derive(Debug, PartialEq, Eq)]
struct Verdict {
    class: ErrorClass,
    domain: FaultDomain,
    delivery: Delivery,
    cause: String,
    is_refusal: bool,
}

impl Verdict {
    fn of(error: &(dyn Error + 'static)) -> Self {
        let facts = Facts {
            dispatched: true,
            ..Facts::default()
        };
        let outcome = classify(Some(error), &facts).unwrap();
        Self {
            class: outcome.class(),
            domain: outcome.domain(),
            delivery: delivery(error),
            cause: cause(error).into_owned(),
            is_refusal: is_refusal(error),
        }
    }
}

fn network(delivery: Delivery, cause: &str) -> Verdict {
    Verdict {
        class: ErrorClass::Network,
        domain: FaultDomain::Upstream,
        delivery,
        cause: cause.into(),
        is_refusal: false,
    }
}

fn timeout(delivery: Delivery, cause: &str) -> Verdict {
    Verdict {
        class: ErrorClass::Timeout,
        ..network(delivery, cause)
    }
}

fn refusal(cause: &str) -> Verdict {
    Verdict {
        class: ErrorClass::ProxyPolicy,
        domain: FaultDomain::Proxy,
        is_refusal: true,
        ..network(Delivery::NotSent, cause)
    }
}

fn invalid_request() -> Verdict {
    Verdict {
        class: ErrorClass::ProxyInternal,
        ..refusal("invalid request")
    }
}

fn body_failed() -> Verdict {
    Verdict {
        class: ErrorClass::Cancelled,
        domain: FaultDomain::Client,
        ..network(Delivery::Unknown, "request body failed")
    }
}

fn internal() -> Verdict {
    Verdict {
        class: ErrorClass::ProxyInternal,
        domain: FaultDomain::Proxy,
        ..network(Delivery::Unknown, "internal error")
    }
}

/// Asserts the verdict on `error` as it is, boxed twice, in an `Arc`, and inside others' errors.
#[track_caller]
fn assert_verdict<E: Error + Send + Sync + 'static>(error: E, expected: &Verdict) {
    let shape = format!("{error:?}");
    let error = Arc::new(error);
    assert_eq!(&Verdict::of(&*error), expected, "{shape}");
    let wrapped: [BoxError; 6] = [
        Box::new(Arc::clone(&error)),
        Box::new(Box::new(Box::new(Arc::clone(&error)))),
        Box::new(Arc::clone(&error) as Arc<dyn Error + Send + Sync>),
        Box::new(io::Error::other(Arc::clone(&error))),
        Box::new(io::Error::other(io::Error::other(Box::new(Arc::clone(
            &error,
        ))))),
        Box::new(Context(Box::new(Arc::clone(&error)))),
    ];
    for (row, wrapped) in wrapped.iter().enumerate() {
        assert_eq!(&Verdict::of(&**wrapped), expected, "{row}: {shape}");
        if expected.class == ErrorClass::Timeout {
            assert!(is_timeout(&**wrapped), "{row}: {shape}");
        }
    }
}

/// An error of somebody else, around another.
#[derive(Debug)]
struct Context(BoxError);

impl std::fmt::Display for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("somebody's context")
    }
}

impl Error for Context {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

fn get_url(url: &str) -> Request<String> {
    Request::get(url).body(String::new()).unwrap()
}

fn post(address: SocketAddr, body: &str) -> Request<String> {
    post_body(address, body.into())
}

fn post_body<B>(address: SocketAddr, body: B) -> Request<B> {
    Request::post(format!("http://{address}/orders"))
        .body(body)
        .unwrap()
}

/// Sends through a client of HTTP/1.1 that is used once.
async fn fail_http1<B>(request: Request<B>) -> legacy::Error
where
    B: Body<Data: Send, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    support::client::http1().request(request).await.unwrap_err()
}

/// Sends through a client of HTTP/2 that is used once.
async fn fail_http2<B>(request: Request<B>) -> legacy::Error
where
    B: Body<Data: Send, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    support::client::http2().request(request).await.unwrap_err()
}
