//! What is classified as what, however it is wrapped.

use std::{error::Error, fmt, io, sync::Arc, time::Duration};

use http::{Request, StatusCode};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_diagnose::{
    BoxError, Facts, Outcome, Refused, TimeoutError, TimeoutLayer, TimeoutScope, classify, find,
    is_timeout, require_full_uuid,
};

use crate::support::outside::get;

fn facts(change: impl FnOnce(&mut Facts)) -> Facts {
    let mut facts = Facts::default();
    change(&mut facts);
    facts
}

fn named(outcome: Option<Outcome>) -> String {
    let Some(outcome) = outcome else {
        return "none".to_owned();
    };
    let status = outcome
        .status()
        .map(|status| format!(" {}", status.as_u16()));
    format!(
        "{}/{}{}",
        outcome.class(),
        outcome.domain(),
        status.unwrap_or_default()
    )
}

#[test]
fn facts_alone() {
    let status = |code: u16, session: bool| {
        classify(
            None,
            &facts(|facts| {
                facts.dispatched = true;
                facts.last_status = Some(StatusCode::from_u16(code).unwrap());
                facts.mcp_session = session;
            }),
        )
    };
    for (code, session, wanted) in [
        (200, false, "none"),
        (302, false, "none"),
        (304, true, "none"),
        (400, false, "http/upstream 400"),
        (404, false, "http/upstream 404"),
        (404, true, "session_terminated/upstream 404"),
        (401, true, "auth/upstream 401"),
        (403, false, "auth/upstream 403"),
        (407, false, "auth/upstream 407"),
        (408, false, "http/upstream 408"),
        (503, false, "http/upstream 503"),
        (504, false, "http/upstream 504"),
        (529, false, "http/upstream 529"),
    ] {
        assert_eq!(named(status(code, session)), wanted);
    }
    let cancelled = facts(|facts| facts.caller_cancelled = true);
    assert_eq!(named(classify(None, &cancelled)), "cancelled/client");
    let rpc = facts(|facts| {
        facts.jsonrpc_error = true;
        facts.last_status = Some(StatusCode::OK);
    });
    assert!(named(classify(None, &rpc)).starts_with("jsonrpc/upstream"));
    let tool = facts(|facts| {
        facts.tool_failure = true;
        facts.last_status = Some(StatusCode::OK);
    });
    assert!(named(classify(None, &tool)).starts_with("tool_error/upstream"));
    assert_eq!(classify(None, &Facts::default()), None);
}

/// An error of nobody we know.
#[derive(Debug)]
struct Foreign(BoxError);

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("timed out, connection refused, 401")
    }
}

impl Error for Foreign {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

#[derive(Debug)]
struct Bare;

impl fmt::Display for Bare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ECONNREFUSED timed out")
    }
}

impl Error for Bare {}

/// The error as it may arrive: alone, and boxed in many ways.
fn wrapped(make: impl Fn() -> BoxError) -> Vec<BoxError> {
    vec![
        make(),
        Box::new(Foreign(make())),
        Box::new(io::Error::other(make())),
        Box::new(io::Error::other(Foreign(Box::new(
            io::Error::other(make()),
        )))),
        Box::new(Box::new(Foreign(make()))),
        Box::new(Box::new(Box::new(Foreign(make())))),
        Box::new(Arc::new(Foreign(make()))),
        Box::new(Foreign(Box::new(Foreign(Box::new(io::Error::other(
            make(),
        )))))),
    ]
}

async fn own_timeout() -> BoxError {
    let never = service_fn(async |_: Request<()>| {
        std::future::pending::<Result<http::Response<String>, BoxError>>().await
    });
    let service = TimeoutLayer::new(Duration::ZERO).layer(never);
    service
        .oneshot(get("/reports?q=SENTINEL"))
        .await
        .expect_err("time is up")
}

#[tokio::test]
async fn errors_by_type_however_they_are_boxed() {
    let sent = facts(|facts| facts.dispatched = true);
    let io = |kind: io::ErrorKind| move || -> BoxError { io::Error::new(kind, "x").into() };
    let check = |make: &dyn Fn() -> BoxError, facts: &Facts, wanted: &str| {
        for error in wrapped(make) {
            assert_eq!(named(classify(Some(&*error), facts)), wanted, "{error:?}");
        }
    };
    for kind in [
        io::ErrorKind::ConnectionRefused,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::BrokenPipe,
        io::ErrorKind::UnexpectedEof,
        io::ErrorKind::NotConnected,
        io::ErrorKind::HostUnreachable,
        io::ErrorKind::NetworkUnreachable,
    ] {
        check(&io(kind), &sent, "network/upstream");
    }
    check(&io(io::ErrorKind::TimedOut), &sent, "timeout/upstream");
    check(
        &io(io::ErrorKind::TimedOut),
        &Facts::default(),
        "timeout/proxy",
    );
    check(
        &|| tower::timeout::error::Elapsed::new().into(),
        &sent,
        "timeout/upstream",
    );
    check(
        &|| Refused::new("circuit open").into(),
        &sent,
        "proxy_policy/proxy",
    );
    check(
        &|| tower::load_shed::error::Overloaded::new().into(),
        &sent,
        "proxy_policy/proxy",
    );
    check(
        &|| require_full_uuid("t", "p", "1").unwrap_err().into(),
        &sent,
        "proxy_policy/client",
    );
    check(&|| Bare.into(), &sent, "proxy_internal/proxy");

    let cancelled = facts(|facts| facts.caller_cancelled = true);
    check(
        &|| Refused::new("x").into(),
        &cancelled,
        "proxy_policy/proxy",
    );
    check(&io(io::ErrorKind::TimedOut), &cancelled, "cancelled/client");

    // A status beside an error: credentials come first, other statuses last.
    let with = |code: u16| facts(|facts| facts.last_status = StatusCode::from_u16(code).ok());
    check(&|| Bare.into(), &with(401), "auth/upstream 401");
    check(&|| Bare.into(), &with(503), "http/upstream 503");
    check(
        &|| Refused::new("x").into(),
        &with(503),
        "proxy_policy/proxy 503",
    );

    let error = own_timeout().await;
    assert_eq!(named(classify(Some(&*error), &sent)), "timeout/upstream");
    let error: BoxError = Box::new(Foreign(error));
    assert_eq!(
        named(classify(Some(&*error), &Facts::default())),
        "timeout/proxy"
    );
    assert!(is_timeout(&*error));
}

#[tokio::test]
async fn timeouts_are_found_through_every_box() {
    for error in wrapped(|| io::Error::from(io::ErrorKind::TimedOut).into()) {
        assert!(is_timeout(&*error), "{error:?}");
    }
    for error in wrapped(|| tower::timeout::error::Elapsed::new().into()) {
        assert!(is_timeout(&*error), "{error:?}");
        assert!(
            find::<tower::timeout::error::Elapsed>(&*error).is_some(),
            "{error:?}"
        );
    }
    for error in wrapped(|| Bare.into()) {
        assert!(!is_timeout(&*error), "{error:?}");
        assert!(find::<Bare>(&*error).is_some(), "{error:?}");
    }
    let elapsed = tokio::time::timeout(Duration::ZERO, std::future::pending::<()>()).await;
    assert!(is_timeout(&elapsed.unwrap_err()));

    let error = own_timeout().await;
    assert_eq!(error.to_string(), "GET /reports timed out after 0ns");
    let error = io::Error::other(io::Error::other(error));
    let found = find::<TimeoutError>(&error).unwrap();
    assert_eq!(found.scope(), TimeoutScope::Head);
    assert_eq!(found.limit(), Duration::ZERO);
    assert_eq!(found.endpoint().to_string(), "GET /reports");
}

#[tokio::test]
async fn refusals_of_towers_own_layers() {
    let busy = ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(1)
        .service(service_fn(async |_: Request<()>| {
            std::future::pending::<Result<(), BoxError>>().await
        }));
    let (mut first, mut second) = (busy.clone(), busy);
    let held = first.ready().await.unwrap().call(get("/a"));
    let error = match second.ready().await {
        Ok(ready) => ready.call(get("/b")).await.unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(
        named(classify(Some(&*error), &Facts::default())),
        "proxy_policy/proxy"
    );
    drop(held);
}
