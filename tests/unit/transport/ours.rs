//! Errors of layers: ours, tower's, tokio's; and what no chain of errors may do.

use std::{future::pending, time::Duration};

use http::{Method, Response, StatusCode};
use proptest::prelude::*;
use tower::{Layer, Service, ServiceExt, limit::ConcurrencyLimit, load_shed::LoadShed, service_fn};

use super::*;
use crate::{
    argument::require_full_uuid,
    classify::as_error,
    diagnose::DiagnoseLayer,
    endpoint::Endpoint,
    error::{RetryError, TimeoutScope},
    retried::{Retried, StopReason},
};

fn timeout_error(limit: Duration) -> TimeoutError {
    let request = Request::builder()
        .method(Method::GET)
        .uri("http://secret.example/a?b=c")
        .body(())
        .unwrap();
    TimeoutError::new(Endpoint::of(&request), limit, TimeoutScope::Head)
}

fn retry_error(error: impl Into<BoxError>, delivery: Delivery) -> RetryError {
    RetryError::new(
        error.into(),
        Retried::new(3, StopReason::AttemptsUsedUp, delivery),
    )
}

#[test]
fn a_timeout_of_ours_says_how_long() {
    for (limit, cause) in [
        (Duration::from_secs(30), "timed out after 30s"),
        (Duration::from_millis(1500), "timed out after 1.5s"),
        (Duration::ZERO, "timed out after 0ns"),
    ] {
        assert_verdict(timeout_error(limit), &timeout(Delivery::Unknown, cause));
    }
    // A limit that an io::Error carries is still that limit.
    let error = io::Error::new(
        io::ErrorKind::TimedOut,
        timeout_error(Duration::from_secs(1)),
    );
    assert_verdict(error, &timeout(Delivery::Unknown, "timed out after 1s"));
}

#[tokio::test(start_paused = true)]
async fn timeouts_of_others() {
    let never = || service_fn(|()| pending::<Result<(), BoxError>>());
    let layer = tower::timeout::Timeout::new(never(), Duration::from_secs(1));
    let error = layer.oneshot(()).await.unwrap_err();
    let expected = timeout(Delivery::Unknown, "timed out");
    assert_verdict(
        *error.downcast::<tower::timeout::error::Elapsed>().unwrap(),
        &expected,
    );

    let call = tokio::time::timeout(Duration::from_secs(1), never().oneshot(()));
    assert_verdict(call.await.unwrap_err(), &expected);
}

#[tokio::test]
async fn a_service_that_sheds_load() {
    let busy = ConcurrencyLimit::new(service_fn(|()| pending::<Result<(), BoxError>>()), 1);
    let mut service = LoadShed::new(busy);
    let _first = service.ready().await.unwrap().call(());
    let mut service = tower::buffer::Buffer::new(service, 1);
    let error = service.ready().await.unwrap().call(()).await.unwrap_err();
    // Through the buffer it comes as it is; if the buffer's own service fails, inside an Arc.
    assert_verdict(
        *error.downcast::<Overloaded>().unwrap(),
        &refusal("service overloaded"),
    );
}

#[tokio::test]
async fn an_error_that_a_buffer_shares() {
    struct Broken;
    impl Service<()> for Broken {
        type Response = ();
        type Error = Refused;
        type Future = std::future::Ready<Result<(), Refused>>;
        fn poll_ready(
            &mut self,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Result<(), Refused>> {
            std::task::Poll::Ready(Err(Refused::new("circuit open")))
        }
        fn call(&mut self, (): ()) -> Self::Future {
            unreachable!("never ready")
        }
    }

    let error = tower::buffer::Buffer::new(Broken, 1)
        .oneshot(())
        .await
        .unwrap_err();
    assert!(error.is::<tower::buffer::error::ServiceError>());
    assert_eq!(Verdict::of(&*error), refusal("circuit open"));
}

#[test]
fn refusals_of_ours() {
    assert_verdict(Overloaded::new(), &refusal("service overloaded"));
    assert_verdict(Refused::new("circuit\nopen"), &refusal("circuit open"));
    assert_verdict(Refused::new(" \n"), &refusal("refused"));
    assert_verdict(Refused::new("says: <html>x"), &refusal("says:"));
    let error = require_full_uuid("resolve", "commentId", "abc").unwrap_err();
    let expected = Verdict {
        domain: FaultDomain::Client,
        ..refusal(
            "resolve: commentId must be a full UUID of 36 characters like \
             123e4567-e89b-12d3-a456-426614174000, got 3 characters",
        )
    };
    assert_verdict(error, &expected);
}

#[test]
fn repeated_calls_are_seen_through_and_say_the_delivery_of_all_attempts() {
    let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
    let expected = network(Delivery::NotSent, "ECONNRESET");
    assert_verdict(retry_error(reset(), Delivery::NotSent), &expected);
    // A refusal after an attempt that may have arrived is no "not sent".
    let error = retry_error(Refused::new("circuit open"), Delivery::Unknown);
    let expected = Verdict {
        delivery: Delivery::Unknown,
        is_refusal: false,
        ..refusal("circuit open")
    };
    assert_verdict(error, &expected);
    let error = retry_error(timeout_error(Duration::from_secs(2)), Delivery::Answered);
    assert_verdict(error, &timeout(Delivery::Answered, "timed out after 2s"));
}

#[tokio::test]
async fn what_was_diagnosed_below_keeps_its_outcome_and_delivery() {
    let bad_gateway = service_fn(|_: Request<()>| async {
        let mut response = Response::new(String::new());
        *response.status_mut() = StatusCode::BAD_GATEWAY;
        Ok::<_, BoxError>(response)
    });
    let layer = DiagnoseLayer::new().error_for_status(true);
    let service = layer.layer(bad_gateway);
    let error = service.oneshot(Request::new(())).await.err().unwrap();
    let outcome = Some(error.diagnosis().outcome());
    let error = io::Error::other(error);
    assert_eq!(classify(Some(&error), &Facts::default()), outcome);
    assert_eq!(delivery(&error), Delivery::Answered);
}

#[test]
fn text_is_no_evidence() {
    for text in [
        "connection refused",
        "Connection reset by peer (os error 104)",
        "operation timed out",
        "client error (Connect)",
        "service overloaded",
        "ECONNREFUSED",
    ] {
        assert_verdict(io::Error::other(text), &internal());
        assert_verdict(Context(text.into()), &internal());
    }
}

#[test]
fn what_is_no_network_s_doing_is_ours() {
    for kind in [
        io::ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::InvalidData,
        io::ErrorKind::WriteZero,
        io::ErrorKind::Other,
    ] {
        assert_verdict(io::Error::from(kind), &internal());
    }
    assert_verdict(io::Error::from_raw_os_error(i32::MAX), &internal());
}

#[test]
fn codes_by_kind() {
    for (kind, code) in [
        (io::ErrorKind::ConnectionRefused, "ECONNREFUSED"),
        (io::ErrorKind::ConnectionReset, "ECONNRESET"),
        (io::ErrorKind::ConnectionAborted, "ECONNABORTED"),
        (io::ErrorKind::BrokenPipe, "EPIPE"),
        (io::ErrorKind::HostUnreachable, "EHOSTUNREACH"),
        (io::ErrorKind::NetworkUnreachable, "ENETUNREACH"),
        (
            io::ErrorKind::UnexpectedEof,
            "connection closed before a response",
        ),
    ] {
        let expected = network(Delivery::Unknown, code);
        assert_verdict(io::Error::from(kind), &expected);
        assert_verdict(
            io::Error::new(kind, "h.example: somebody's words"),
            &expected,
        );
    }
    let expected = timeout(Delivery::Unknown, "ETIMEDOUT");
    assert_verdict(io::Error::from(io::ErrorKind::TimedOut), &expected);
}

#[cfg(target_os = "linux")]
#[test]
fn codes_of_the_system() {
    for (number, code) in [
        (32, "EPIPE"),
        (101, "ENETUNREACH"),
        (104, "ECONNRESET"),
        (111, "ECONNREFUSED"),
        (113, "EHOSTUNREACH"),
    ] {
        let expected = network(Delivery::Unknown, code);
        assert_verdict(io::Error::from_raw_os_error(number), &expected);
    }
    let expected = timeout(Delivery::Unknown, "ETIMEDOUT");
    assert_verdict(io::Error::from_raw_os_error(110), &expected);
}

#[test]
fn known_types_are_seen_without_a_bound() {
    fn sees<E: 'static>(error: E) -> bool {
        as_error(&error).is_some()
    }
    assert!(sees(BoxError::from("text")));
    assert!(sees(io::Error::other("text")));
    assert!(sees(h2::Error::from(h2::Reason::CANCEL)));
    assert!(sees(Refused::new("circuit open")));
    assert!(sees(require_full_uuid("t", "p", "v").unwrap_err()));
    assert!(sees(timeout_error(Duration::ZERO)));
    assert!(sees(retry_error("text", Delivery::Unknown)));
    assert!(sees(Overloaded::new()));
    assert!(sees(tower::timeout::error::Elapsed::new()));
    assert!(!sees("text"));
    assert!(!sees(Context("text".into())));
}

/// Wraps `error` in the way that `how` picks.
fn wrap(error: BoxError, how: u8) -> BoxError {
    let delivery = [Delivery::NotSent, Delivery::Unknown, Delivery::Answered];
    match how % 8 {
        0 => Box::new(io::Error::other(error)),
        1 => Box::new(io::Error::new(io::ErrorKind::ConnectionReset, error)),
        2 => Box::new(io::Error::new(io::ErrorKind::TimedOut, error)),
        3 => Box::new(io::Error::new(io::ErrorKind::InvalidData, error)),
        4 => Box::new(retry_error(error, delivery[usize::from(how) / 8 % 3])),
        5 => Box::new(Arc::<dyn Error + Send + Sync>::from(error)),
        6 => Box::new(Box::new(Context(error))),
        _ => Box::new(Context(error)),
    }
}

fn innermost(which: u8) -> BoxError {
    match which % 10 {
        0 => Box::new(Refused::new("circuit open")),
        1 => Box::new(Overloaded::new()),
        2 => Box::new(require_full_uuid("t", "p", "v").unwrap_err()),
        3 => Box::new(timeout_error(Duration::from_secs(1))),
        4 => Box::new(tower::timeout::error::Elapsed::new()),
        5 => Box::new(h2::Error::from(h2::Reason::REFUSED_STREAM)),
        6 => Box::new(io::Error::from_raw_os_error(i32::from(which))),
        7 => Box::new(io::Error::other("h.example")),
        8 => Box::new(std::fmt::Error),
        _ => "h.example".into(),
    }
}

const PHRASES: [&str; 17] = [
    "ECONNREFUSED",
    "ECONNRESET",
    "ECONNABORTED",
    "EPIPE",
    "ETIMEDOUT",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "EADDRNOTAVAIL",
    "timed out",
    "timed out after 1s",
    "connection closed before a response",
    "network error",
    "internal error",
    "service overloaded",
    "circuit open",
    "t: p must be a full UUID of 36 characters like 123e4567-e89b-12d3-a456-426614174000, got 1 characters",
    "invalid response",
];

proptest! {
    #[test]
    fn every_chain_has_an_outcome_and_a_cause_in_our_words(
        inner in any::<u8>(),
        wrappings in prop::collection::vec(any::<u8>(), 0..80),
        dispatched in any::<bool>(),
    ) {
        let error = wrappings.iter().fold(innermost(inner), |error, how| wrap(error, *how));
        let facts = Facts { dispatched, ..Facts::default() };
        let outcome = classify(Some(&*error), &facts);
        prop_assert!(outcome.is_some());
        let cause = cause(&*error);
        prop_assert!(PHRASES.contains(&&*cause), "{cause}");
        if is_refusal(&*error) {
            prop_assert_eq!(delivery(&*error), Delivery::NotSent);
        }
    }
}
