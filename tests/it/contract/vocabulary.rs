//! Names, and what is classified as what.

use http::{Method, Request, StatusCode, Uri};
use tower_diagnose::{
    AuditClass, Delivery, Endpoint, ErrorClass, FaultDomain, Idempotency, Outcome, Refused,
    require_full_uuid,
};

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
