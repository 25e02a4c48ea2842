//! Names, and what is classified as what.

use std::{error::Error, fmt, io, sync::Arc, time::Duration};

use http::{Method, Request, StatusCode, Uri};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_diagnose::{
    AuditClass, BoxError, Delivery, Endpoint, ErrorClass, Facts, FaultDomain, Idempotency, Outcome,
    Refused, TimeoutError, TimeoutLayer, TimeoutScope, classify, find, is_timeout,
    require_full_uuid,
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
fn names_are_stable() {
    for (class, name) in [
        (ErrorClass::Network, "network"),
        (ErrorClass::Timeout, "timeout"),
        (ErrorClass::Http, "http"),
        (ErrorClass::Jsonrpc, "jsonrpc"),
        (ErrorClass::ToolError, "tool_error"),
        (ErrorClass::SessionTerminated, "session_terminated"),
        (ErrorClass::Auth, "auth"),
        (ErrorClass::ProxyPolicy, "proxy_policy"),
        (ErrorClass::ProxyInternal, "proxy_internal"),
        (ErrorClass::Cancelled, "cancelled"),
    ] {
        assert_eq!(class.as_str(), name);
        assert_eq!(class.to_string(), name);
        assert_eq!(name.parse(), Ok(class));
        assert_eq!(serde_json::to_value(class).unwrap(), name);
    }
    for (domain, name) in [
        (FaultDomain::Upstream, "upstream"),
        (FaultDomain::Proxy, "proxy"),
        (FaultDomain::Client, "client"),
    ] {
        assert_eq!((domain.as_str(), name.parse()), (name, Ok(domain)));
    }
    for (class, name) in [
        (AuditClass::UpstreamUnavailable, "upstream_unavailable"),
        (AuditClass::UpstreamTimeout, "upstream_timeout"),
        (AuditClass::UpstreamError, "upstream_error"),
        (AuditClass::Validation, "validation"),
        (AuditClass::Internal, "internal"),
        (AuditClass::Cancelled, "cancelled"),
    ] {
        assert_eq!((class.as_str(), name.parse()), (name, Ok(class)));
    }
    for name in ["", "Network", "network ", "unknown"] {
        assert!(name.parse::<ErrorClass>().is_err());
    }
    for (delivery, name) in [
        (Delivery::NotSent, "not_sent"),
        (Delivery::Unknown, "unknown"),
        (Delivery::Answered, "answered"),
    ] {
        assert_eq!(
            (delivery.to_string().as_str(), name.parse()),
            (name, Ok(delivery))
        );
    }
}

#[test]
fn an_endpoint_shows_its_host_only_in_the_alternate_form() {
    let of = |method: Method, uri: &str| {
        let request = Request::builder().method(method).uri(uri).body(()).unwrap();
        Endpoint::of(&request)
    };
    let endpoint = of(
        Method::GET,
        "https://user:SENTINEL@h.example:8443/api/modules?key=SENTINEL",
    );
    assert_eq!(endpoint.to_string(), "GET /api/modules");
    let absolute = format!("{endpoint:#}");
    assert!(
        absolute.ends_with("https://h.example:8443/api/modules"),
        "{absolute}"
    );
    assert!(!format!("{endpoint:?}").contains("SENTINEL"));
    assert!(!format!("{endpoint:?}").contains("h.example"));
    assert!(!format!("{endpoint:#?}").contains("h.example"));
    assert_eq!(
        (endpoint.method(), endpoint.path()),
        (&Method::GET, "/api/modules")
    );
    assert_eq!(
        of(Method::CONNECT, "h.example:443").to_string(),
        "CONNECT h.example:443"
    );
    assert_eq!(of(Method::CONNECT, "h.example:443").path(), "h.example:443");
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

#[test]
fn every_outcome_has_an_audit_class() {
    let of = |class, domain, status: Option<u16>| {
        let status = status.map(|code| StatusCode::from_u16(code).unwrap());
        Outcome::new(class, domain, status).audit_class().as_str()
    };
    for &domain in FaultDomain::ALL {
        for status in [None, Some(400), Some(500), Some(504)] {
            assert_eq!(
                of(ErrorClass::Network, domain, status),
                "upstream_unavailable"
            );
            assert_eq!(of(ErrorClass::Timeout, domain, status), "upstream_timeout");
            assert_eq!(of(ErrorClass::Jsonrpc, domain, status), "upstream_error");
            assert_eq!(of(ErrorClass::ToolError, domain, status), "upstream_error");
            assert_eq!(
                of(ErrorClass::SessionTerminated, domain, status),
                "upstream_error"
            );
            assert_eq!(of(ErrorClass::Auth, domain, status), "upstream_error");
            assert_eq!(of(ErrorClass::Cancelled, domain, status), "cancelled");
            assert_eq!(of(ErrorClass::ProxyInternal, domain, status), "internal");
        }
        let policy = if domain == FaultDomain::Client {
            "validation"
        } else {
            "internal"
        };
        assert_eq!(of(ErrorClass::ProxyPolicy, domain, None), policy);
        for (code, wanted) in [
            (400, "upstream_error"),
            (429, "upstream_error"),
            (500, "upstream_error"),
            (502, "upstream_unavailable"),
            (503, "upstream_unavailable"),
            (504, "upstream_unavailable"),
            (529, "upstream_error"),
        ] {
            assert_eq!(of(ErrorClass::Http, domain, Some(code)), wanted);
        }
    }
}

#[test]
fn a_refusal_reads_as_its_reason() {
    assert_eq!(Refused::new("circuit open").to_string(), "circuit open");
    assert_eq!(
        Refused::new(format!("over {} calls", 5)).to_string(),
        "over 5 calls"
    );
    let argument = require_full_uuid("resolve", "commentId", "SENTINEL").unwrap_err();
    assert!(argument.to_string().contains("commentId"), "{argument}");
    assert!(
        !format!("{argument} {argument:?}").contains("SENTINEL"),
        "{argument}"
    );
    let uuid = "123e4567-e89b-12d3-a456-426614174000";
    require_full_uuid("resolve", "commentId", uuid).unwrap();
    require_full_uuid("resolve", "commentId", &uuid.to_uppercase()).unwrap();
    for wrong in [
        "",
        "123e4567",
        &uuid[1..],
        &format!("{uuid} "),
        &uuid.replace('-', ""),
    ] {
        assert!(
            require_full_uuid("resolve", "commentId", wrong).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn idempotency_is_declared_or_of_the_method() {
    let _ = [
        Idempotency::Safe,
        Idempotency::Idempotent,
        Idempotency::NotIdempotent,
    ];
    let of = |method: &str| {
        let request = Request::builder()
            .method(method)
            .uri(Uri::from_static("/"))
            .body(());
        Idempotency::of(&request.unwrap())
    };
    for method in ["GET", "HEAD", "OPTIONS", "TRACE"] {
        assert_eq!(of(method), Idempotency::Safe);
    }
    for method in ["PUT", "DELETE"] {
        assert_eq!(of(method), Idempotency::Idempotent);
    }
    for method in ["POST", "PATCH", "CONNECT", "PURGE"] {
        assert_eq!(of(method), Idempotency::NotIdempotent);
    }
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
