//! `classify` by the facts: every row of its order, and which of two rows wins.

use std::{error::Error, io};

use http::StatusCode;
use tower_diagnose::{
    AuditClass, BoxError, ErrorClass, Facts, FaultDomain, Outcome, Refused, classify,
    require_full_uuid,
};

use ErrorClass as Class;
use FaultDomain as Domain;

/// What is set in the facts of a row, beside `dispatched`.
#[derive(Clone, Copy, Debug)]
enum Fact {
    Status(u16),
    Mcp,
    Cancelled,
    JsonRpc,
    Tool,
    Grpc(u32),
    NotDispatched,
}

use Fact::{Cancelled, Grpc, JsonRpc, Mcp, NotDispatched, Status, Tool};

fn facts(set: &[Fact]) -> Facts {
    let mut facts = Facts::default();
    facts.dispatched = true;
    for fact in set {
        match *fact {
            Status(status) => facts.last_status = Some(StatusCode::from_u16(status).unwrap()),
            Mcp => facts.mcp_session = true,
            Cancelled => facts.caller_cancelled = true,
            JsonRpc => facts.jsonrpc_error = true,
            Tool => facts.tool_failure = true,
            Grpc(code) => facts.grpc_status = Some(code),
            NotDispatched => facts.dispatched = false,
        }
    }
    facts
}

fn status(facts: &Facts) -> Option<StatusCode> {
    facts.last_status
}

#[test]
fn no_failure_has_no_outcome() {
    for row in [
        &[][..],
        &[Status(200)],
        &[Status(101)],
        &[Status(304)],
        &[Status(399)],
        &[Status(200), Mcp],
        &[Status(200), Grpc(0)],
        &[NotDispatched],
    ] {
        assert_eq!(classify(None, &facts(row)), None, "{row:?}");
    }
}

#[test]
fn facts_alone() {
    for (row, class, domain) in [
        (
            &[Status(404), Mcp][..],
            Class::SessionTerminated,
            Domain::Upstream,
        ),
        (&[Status(404)], Class::Http, Domain::Upstream),
        (&[Status(401)], Class::Auth, Domain::Upstream),
        (&[Status(403)], Class::Auth, Domain::Upstream),
        (&[Status(407)], Class::Auth, Domain::Upstream),
        (&[Status(401), Mcp], Class::Auth, Domain::Upstream),
        (&[Status(400)], Class::Http, Domain::Upstream),
        (&[Status(408)], Class::Http, Domain::Upstream),
        (&[Status(429)], Class::Http, Domain::Upstream),
        (&[Status(500)], Class::Http, Domain::Upstream),
        (&[Status(504)], Class::Http, Domain::Upstream),
        (&[Status(599)], Class::Http, Domain::Upstream),
        (&[Status(999)], Class::Http, Domain::Upstream),
        (&[Cancelled], Class::Cancelled, Domain::Client),
        (
            &[Cancelled, NotDispatched],
            Class::Cancelled,
            Domain::Client,
        ),
        (&[JsonRpc], Class::Jsonrpc, Domain::Upstream),
        (&[Status(200), JsonRpc], Class::Jsonrpc, Domain::Upstream),
        (&[Status(200), Tool], Class::ToolError, Domain::Upstream),
        (&[Status(200), Grpc(1)], Class::Cancelled, Domain::Client),
        (&[Status(200), Grpc(2)], Class::Jsonrpc, Domain::Upstream),
        (&[Status(200), Grpc(4)], Class::Timeout, Domain::Upstream),
        (&[Status(200), Grpc(5)], Class::Jsonrpc, Domain::Upstream),
        (&[Status(200), Grpc(7)], Class::Auth, Domain::Upstream),
        (&[Status(200), Grpc(13)], Class::Jsonrpc, Domain::Upstream),
        (&[Status(200), Grpc(14)], Class::Network, Domain::Upstream),
        (&[Status(200), Grpc(16)], Class::Auth, Domain::Upstream),
        (
            &[Status(200), Grpc(u32::MAX)],
            Class::Jsonrpc,
            Domain::Upstream,
        ),
    ] {
        let facts = facts(row);
        let expected = Outcome::new(class, domain, status(&facts));
        assert_eq!(classify(None, &facts), Some(expected), "{row:?}");
    }
}

fn refused() -> BoxError {
    Box::new(Refused::new("circuit open"))
}

fn argument() -> BoxError {
    Box::new(require_full_uuid("tool", "id", "42").unwrap_err())
}

fn overloaded() -> BoxError {
    Box::new(tower::load_shed::error::Overloaded::new())
}

fn elapsed() -> BoxError {
    Box::new(tower::timeout::error::Elapsed::new())
}

fn reset() -> BoxError {
    Box::new(io::Error::from(io::ErrorKind::ConnectionReset))
}

fn unknown() -> BoxError {
    "connection refused".into()
}

#[test]
fn the_first_row_that_holds_wins() {
    for (error, row, class, domain) in [
        (unknown(), &[][..], Class::ProxyInternal, Domain::Proxy),
        (
            unknown(),
            &[Status(200)],
            Class::ProxyInternal,
            Domain::Proxy,
        ),
        (unknown(), &[Status(500)], Class::Http, Domain::Upstream),
        (
            unknown(),
            &[Tool, Status(500)],
            Class::ToolError,
            Domain::Upstream,
        ),
        (
            unknown(),
            &[JsonRpc, Tool],
            Class::Jsonrpc,
            Domain::Upstream,
        ),
        (
            reset(),
            &[JsonRpc, Tool, Status(500)],
            Class::Network,
            Domain::Upstream,
        ),
        (reset(), &[Status(401)], Class::Auth, Domain::Upstream),
        (reset(), &[Cancelled], Class::Cancelled, Domain::Client),
        (elapsed(), &[], Class::Timeout, Domain::Upstream),
        (elapsed(), &[NotDispatched], Class::Timeout, Domain::Proxy),
        (elapsed(), &[Status(503)], Class::Timeout, Domain::Upstream),
        (elapsed(), &[Cancelled], Class::Cancelled, Domain::Client),
        (overloaded(), &[], Class::ProxyPolicy, Domain::Proxy),
        (
            overloaded(),
            &[Cancelled, Status(500)],
            Class::ProxyPolicy,
            Domain::Proxy,
        ),
        (
            refused(),
            &[NotDispatched],
            Class::ProxyPolicy,
            Domain::Proxy,
        ),
        (
            argument(),
            &[NotDispatched],
            Class::ProxyPolicy,
            Domain::Client,
        ),
        (argument(), &[Status(403)], Class::Auth, Domain::Upstream),
        (
            refused(),
            &[Status(404), Mcp],
            Class::SessionTerminated,
            Domain::Upstream,
        ),
    ] {
        let facts = facts(row);
        let expected = Some(Outcome::new(class, domain, status(&facts)));
        let shape = format!("{error:?} {row:?}");
        assert_eq!(classify(Some(&*error), &facts), expected, "{shape}");
        // Once more from further down.
        let wrapped = Box::new(io::Error::other(io::Error::other(error)));
        let wrapped: &(dyn Error + 'static) = &wrapped;
        assert_eq!(classify(Some(wrapped), &facts), expected, "{shape}");
    }
}

#[test]
fn every_outcome_has_its_audit_class() {
    for class in Class::ALL {
        for domain in Domain::ALL {
            for status in [None, Some(500), Some(502), Some(503), Some(504)] {
                let code = status.map(|status| StatusCode::from_u16(status).unwrap());
                let expected = match (class, status) {
                    (Class::Network, _) | (Class::Http, Some(502..=504)) => {
                        AuditClass::UpstreamUnavailable
                    }
                    (Class::Timeout, _) => AuditClass::UpstreamTimeout,
                    (Class::ProxyPolicy, _) if *domain == Domain::Client => AuditClass::Validation,
                    (Class::ProxyPolicy | Class::ProxyInternal, _) => AuditClass::Internal,
                    (Class::Cancelled, _) => AuditClass::Cancelled,
                    _ => AuditClass::UpstreamError,
                };
                let outcome = Outcome::new(*class, *domain, code);
                assert_eq!(outcome.audit_class(), expected, "{outcome:?}");
            }
        }
    }
}
