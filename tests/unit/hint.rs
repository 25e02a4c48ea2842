use super::*;

fn of(class: ErrorClass, domain: FaultDomain, status: Option<u16>) -> String {
    let status = status.map(|status| StatusCode::from_u16(status).unwrap());
    let outcome = Outcome::new(class, domain, status);
    hint(outcome, false, None, None, None).unwrap().into_owned()
}

#[test]
fn an_answer_is_explained_by_its_status() {
    for (status, part) in [
        (400, "check the request"),
        (422, "check the request"),
        (418, "check the request"),
        (405, "check the request"),
        (415, "content type"),
        (401, "credentials"),
        (403, "credentials"),
        (407, "credentials"),
        (404, "id or path"),
        (429, "slow down"),
        (500, "the server failed, see its logs"),
        (502, "failed, see its logs"),
        (503, "the server failed"),
        (529, "the server failed, see its logs"),
        (302, "login"),
        (200, "logs"),
        (999, "logs"),
    ] {
        let hint = of(ErrorClass::Http, FaultDomain::Upstream, Some(status));
        assert!(hint.contains(part), "{status}: {hint}");
    }
}

#[test]
fn a_refusal_inside_a_good_answer_is_about_credentials_too() {
    let hint = of(ErrorClass::Auth, FaultDomain::Upstream, Some(200));
    assert_eq!(hint, "check the credentials");
}

#[test]
fn the_wait_is_named_where_the_server_named_it() {
    for (status, wait, expected) in [
        (429, 30_000, "slow down: wait 30s before the next request"),
        (
            503,
            1_500,
            "the server failed for now: wait 1.5s, or see its logs",
        ),
    ] {
        let outcome = Outcome::new(
            ErrorClass::Http,
            FaultDomain::Upstream,
            Some(StatusCode::from_u16(status).unwrap()),
        );
        for nanoseconds in [0, 1, 999_999] {
            let wait = Duration::from_millis(wait) - Duration::from_nanos(nanoseconds);
            assert_eq!(
                hint(outcome, false, Some(wait), None, None).unwrap(),
                expected
            );
        }
        let endless = hint(outcome, false, Some(Duration::MAX), None, None);
        assert_eq!(endless, hint(outcome, false, None, None, None));
    }
}

#[test]
fn a_write_that_may_have_been_applied_comes_first() {
    let outcome = Outcome::new(ErrorClass::Timeout, FaultDomain::Upstream, None);
    let hint = hint(outcome, true, None, None, None).unwrap();
    assert!(
        hint.contains("may have been applied") && hint.contains("check before"),
        "{hint}"
    );
}

#[test]
fn every_failure_has_one_short_sentence() {
    for class in ErrorClass::ALL {
        for domain in FaultDomain::ALL {
            for status in [None, Some(401), Some(404), Some(429), Some(500), Some(503)] {
                let hint = of(*class, *domain, status);
                assert!((10..=100).contains(&hint.len()), "{hint}");
                assert!(!hint.ends_with('.') && !hint.contains('\n'), "{hint}");
                assert!(hint.starts_with(char::is_lowercase), "{hint}");
            }
        }
    }
}

#[test]
fn other_failures_say_what_can_be_done() {
    for (class, domain, part) in [
        (
            ErrorClass::Timeout,
            FaultDomain::Upstream,
            "raise the timeout or check that the server is reachable",
        ),
        (
            ErrorClass::Timeout,
            FaultDomain::Proxy,
            "before anything was sent",
        ),
        (ErrorClass::Network, FaultDomain::Upstream, "retry once"),
        (
            ErrorClass::Network,
            FaultDomain::Upstream,
            "unreachable or overloaded",
        ),
        (
            ErrorClass::SessionTerminated,
            FaultDomain::Upstream,
            "start a new one",
        ),
        (
            ErrorClass::ProxyPolicy,
            FaultDomain::Proxy,
            "nothing was sent",
        ),
        (ErrorClass::ProxyPolicy, FaultDomain::Client, "argument"),
        (ErrorClass::Cancelled, FaultDomain::Client, "caller"),
        (ErrorClass::Auth, FaultDomain::Upstream, "credentials"),
    ] {
        let hint = of(class, domain, None);
        assert!(hint.contains(part), "{class}: {hint}");
    }
}

#[test]
fn a_cause_that_the_caller_can_mend_is_named() {
    for (class, domain, cause, part) in [
        (
            ErrorClass::Network,
            FaultDomain::Upstream,
            "ENOTFOUND",
            "name of the host",
        ),
        (
            ErrorClass::ProxyInternal,
            FaultDomain::Proxy,
            "invalid request",
            "check the url",
        ),
        (
            ErrorClass::Cancelled,
            FaultDomain::Client,
            "request body failed",
            "request's body",
        ),
    ] {
        let outcome = Outcome::new(class, domain, None);
        let hint = hint(outcome, false, None, Some(cause), None).unwrap();
        assert!(hint.contains(part), "{cause}: {hint}");
    }
}

#[test]
fn what_is_reported_behind_a_good_status_is_explained_by_its_code() {
    let outcome = Outcome::new(
        ErrorClass::Jsonrpc,
        FaultDomain::Upstream,
        Some(StatusCode::OK),
    );
    for (code, part) in [
        (None, "check the request"),
        (Some("-32602"), "check the request"),
        (Some("INVALID_ARGUMENT"), "check the request"),
        (Some("INTERNAL"), "see its logs"),
        (Some("-32603"), "see its logs"),
        (Some("INTERNAL_SERVER_ERROR"), "see its logs"),
        (Some("RESOURCE_EXHAUSTED"), "slow down"),
        (Some("UNIMPLEMENTED"), "does not implement"),
        (Some("ABORTED"), "present state"),
        (Some("NOT_FOUND"), "id or path"),
    ] {
        let hint = hint(outcome, false, None, None, code).unwrap();
        assert!(hint.contains(part), "{code:?}: {hint}");
    }
}
