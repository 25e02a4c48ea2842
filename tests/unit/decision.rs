use std::io;

use proptest::prelude::*;

use http::Request;

use super::*;
use crate::{error::Refused, retried::MaxAttempts};

fn request(method: &str, headers: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::builder().method(method).uri("http://h/");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap()
}

fn permission(request: &Request<()>, only_declared: bool, repeat_unsent: bool) -> Permission {
    Permission::of(
        request.method(),
        Marks::of(request.headers()),
        Declared::in_extensions(request.extensions()),
        Idempotency::of(request),
        only_declared,
        repeat_unsent,
    )
}

#[test]
fn what_a_request_permits() {
    use Permission::{Always, IfUnsent, Never};

    let not_idempotent = Never(StopReason::NotIdempotent);
    let not_retryable = Never(StopReason::NotRetryable);
    let key: &[(&str, &str)] = &[("idempotency-key", "1")];
    let expect: &[(&str, &str)] = &[("expect", "100-continue")];
    for (method, headers, default, only_declared, not_unsent) in [
        ("GET", &[][..], Always, not_idempotent, Always),
        ("HEAD", &[], Always, not_idempotent, Always),
        ("OPTIONS", &[], Always, not_idempotent, Always),
        ("TRACE", &[], Always, not_idempotent, Always),
        ("PUT", &[], Always, not_idempotent, Always),
        ("DELETE", &[], Always, not_idempotent, Always),
        ("POST", &[], IfUnsent, not_idempotent, not_idempotent),
        ("PATCH", &[], IfUnsent, not_idempotent, not_idempotent),
        ("QUERY", &[], IfUnsent, not_idempotent, not_idempotent),
        ("PURGE", &[], IfUnsent, not_idempotent, not_idempotent),
        ("get", &[], IfUnsent, not_idempotent, not_idempotent),
        ("POST", key, Always, not_idempotent, Always),
        ("PATCH", key, Always, not_idempotent, Always),
        ("PUT", expect, not_retryable, not_retryable, not_retryable),
        ("CONNECT", key, not_retryable, not_retryable, not_retryable),
    ] {
        let request = request(method, headers);
        assert_eq!(permission(&request, false, true), default, "{method}");
        assert_eq!(permission(&request, true, true), only_declared, "{method}");
        assert_eq!(permission(&request, false, false), not_unsent, "{method}");
    }
}

#[test]
fn what_a_request_declares_wins_over_what_it_is() {
    for (method, declared, expected) in [
        ("POST", Idempotency::Safe, Permission::Always),
        ("POST", Idempotency::Idempotent, Permission::Always),
        ("GET", Idempotency::NotIdempotent, Permission::IfUnsent),
    ] {
        let mut request = request(method, &[("idempotency-key", "1")]);
        request.extensions_mut().insert(declared);
        assert_eq!(permission(&request, false, true), expected, "{method}");
        assert_eq!(permission(&request, true, true), expected, "{method}");

        request.extensions_mut().insert(NoRetry);
        request.extensions_mut().insert(MaxAttempts(9));
        assert_eq!(
            permission(&request, false, true),
            Permission::Never(StopReason::Forbidden),
        );
    }
}

#[test]
fn every_status_is_retryable_or_not() {
    for code in 100..1000 {
        let status = StatusCode::from_u16(code).unwrap();
        let expected = matches!(
            code,
            408 | 425 | 429 | 500 | 502..=504 | 506..=510 | 512..=599
        );
        assert_eq!(is_retryable_status(status), expected, "{code}");
        assert_eq!(is_failure(status), code >= 400, "{code}");
        assert!(is_failure(status) || !expected, "{code}");
    }
}

#[test]
fn refusals_and_unknown_errors_are_not_retryable() {
    let errors: [Box<dyn Error>; 3] = [
        Box::new(Refused::new("circuit open")),
        Box::new(io::Error::other(Refused::new("circuit open"))),
        "a stranger".into(),
    ];
    for error in errors {
        assert!(!is_retryable_error(&*error), "{error}");
    }
}

const DELIVERIES: [Delivery; 3] = [Delivery::NotSent, Delivery::Unknown, Delivery::Answered];

fn permissions() -> Vec<Permission> {
    [
        StopReason::NotRetryable,
        StopReason::Forbidden,
        StopReason::NotIdempotent,
    ]
    .map(Permission::Never)
    .into_iter()
    .chain([Permission::Always, Permission::IfUnsent])
    .collect()
}

const SECOND: Duration = Duration::from_secs(1);

fn case() -> Case {
    Case {
        failure: Failure::Retryable,
        permission: Permission::Always,
        delivery: Delivery::Unknown,
        number: 1,
        max_attempts: 3,
        body_is_replayable: true,
        backoff: SECOND,
        retry_after: None,
        retry_after_limit: 30 * SECOND,
        time_left: None,
    }
}

/// Every combination of what there is, each against the rules told once more, from the other end.
#[test]
fn all_cases() {
    let mut seen = 0;
    for failure in [
        Failure::Retryable,
        Failure::NotRetryable,
        Failure::Vetoed,
        Failure::GivenUpBelow,
    ] {
        for permission in permissions() {
            for delivery in DELIVERIES {
                for number in 1..=3 {
                    for body_is_replayable in [true, false] {
                        for retry_after in
                            [None, Some(SECOND / 2), Some(2 * SECOND), Some(31 * SECOND)]
                        {
                            for time_left in [
                                None,
                                Some(Duration::ZERO),
                                Some(2 * SECOND),
                                Some(60 * SECOND),
                            ] {
                                let case = Case {
                                    failure,
                                    permission,
                                    delivery,
                                    number,
                                    body_is_replayable,
                                    retry_after,
                                    time_left,
                                    ..case()
                                };
                                assert_eq!(decide(&case), expected(&case), "{case:?}");
                                seen += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    assert_eq!(seen, 4 * 5 * 3 * 3 * 2 * 4 * 4);
}

fn expected(case: &Case) -> RetryDecision {
    let mut reasons = Vec::new();
    let wait = case.backoff.max(case.retry_after.unwrap_or_default());
    if case.time_left.is_some_and(|left| left <= wait) {
        reasons.push(StopReason::WouldPassTotalLimit);
    }
    if case.retry_after > Some(case.retry_after_limit) {
        reasons.push(StopReason::RetryAfterBeyondLimit);
    }
    if !case.body_is_replayable {
        reasons.push(StopReason::BodyNotReplayable);
    }
    if case.number == case.max_attempts {
        reasons.push(StopReason::AttemptsUsedUp);
    }
    match (case.permission, case.delivery) {
        (Permission::Never(reason), _) => reasons.push(reason),
        (Permission::IfUnsent, Delivery::Unknown | Delivery::Answered) => {
            reasons.push(StopReason::NotIdempotent);
        }
        (Permission::IfUnsent | Permission::Always, _) => {}
    }
    match case.failure {
        Failure::Retryable => {}
        Failure::NotRetryable => reasons.push(StopReason::NotRetryable),
        Failure::Vetoed => reasons.push(StopReason::Forbidden),
        Failure::GivenUpBelow => reasons.push(StopReason::GivenUpBelow),
    }
    reasons
        .pop()
        .map_or(RetryDecision::Retry { after: wait }, RetryDecision::Stop)
}

#[test]
fn the_wait_is_the_longer_of_backoff_and_what_the_server_asks() {
    for (retry_after, after) in [
        (None, SECOND),
        (Some(SECOND / 2), SECOND),
        (Some(2 * SECOND), 2 * SECOND),
        (Some(30 * SECOND), 30 * SECOND),
    ] {
        let case = Case {
            retry_after,
            ..case()
        };
        assert_eq!(decide(&case), RetryDecision::Retry { after });
    }
}

#[test]
fn a_wait_too_long_to_say_is_beyond_any_limit() {
    for (retry_after, limit, waits) in [
        (Duration::MAX, Duration::MAX, false),
        (Duration::MAX - SECOND, Duration::MAX, true),
        (30 * SECOND, 30 * SECOND, true),
        (30 * SECOND + Duration::from_nanos(1), 30 * SECOND, false),
    ] {
        let case = Case {
            retry_after: Some(retry_after),
            retry_after_limit: limit,
            ..case()
        };
        assert_eq!(
            decide(&case) == RetryDecision::Stop(StopReason::RetryAfterBeyondLimit),
            !waits,
            "{retry_after:?}"
        );
    }
}

proptest! {
    /// An un-keyed write is repeated only if it provably was not sent; no number overflows.
    #[test]
    fn an_unsafe_repetition_is_never_decided(
        delivery in prop::sample::select(DELIVERIES.to_vec()),
        number: u32,
        max_attempts: u32,
        backoff: (u64, u32),
        retry_after: Option<u64>,
        limit: u64,
        left: Option<u64>,
    ) {
        let case = Case {
            permission: Permission::IfUnsent,
            delivery,
            number,
            max_attempts,
            backoff: Duration::from_secs(backoff.0).saturating_add(Duration::from_nanos(backoff.1.into())),
            retry_after: retry_after.map(Duration::from_secs),
            retry_after_limit: Duration::from_secs(limit),
            time_left: left.map(Duration::from_secs),
            ..case()
        };
        if let RetryDecision::Retry { after } = decide(&case) {
            prop_assert_eq!(delivery, Delivery::NotSent);
            prop_assert!(number < max_attempts);
            prop_assert!(case.time_left.is_none_or(|left| after < left));
            prop_assert!(after >= case.backoff);
        }
    }
}
