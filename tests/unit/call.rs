use std::time::Duration;

use http::StatusCode;

use super::*;
use crate::class::{ErrorClass, FaultDomain};

const REFUSED: Outcome = Outcome::new(ErrorClass::Network, FaultDomain::Upstream, None);

fn recorded(parent: Option<CallRecorder>, mcp_session: bool) -> CallRecorder {
    CallRecorder::begin(parent, mcp_session, |_| {})
}

#[test]
fn delivery_is_the_least_certain_and_unknown_while_an_attempt_is_under_way() {
    let notes = CallRecorder::new();
    assert_eq!(notes.delivery(), Delivery::NotSent);
    notes.attempt_started();
    assert_eq!(notes.delivery(), Delivery::Unknown);
    notes.attempt_failed(Some(REFUSED), Delivery::NotSent);
    assert_eq!(notes.delivery(), Delivery::NotSent);
    notes.attempt_started();
    notes.attempt_answered(StatusCode::OK);
    assert_eq!(notes.delivery(), Delivery::Answered);
    notes.attempt_started();
    notes.attempt_failed(None, Delivery::Unknown);
    notes.attempt_started();
    notes.attempt_answered(StatusCode::OK);
    assert_eq!(notes.delivery(), Delivery::Unknown);
}

#[test]
fn a_new_attempt_forgets_status_and_failure_but_not_that_there_was_one() {
    let notes = CallRecorder::new();
    notes.attempt_started();
    notes.attempt_failed(Some(REFUSED), Delivery::NotSent);
    assert_eq!(notes.failure(), Some(REFUSED));
    notes.attempt_started();
    assert_eq!(notes.failure(), None);
    notes.attempt_answered(StatusCode::OK);
    assert_eq!(notes.snapshot().last_status, Some(StatusCode::OK));
    notes.attempt_started();
    assert_eq!(notes.snapshot().last_status, None);
    assert_eq!(notes.notes().last_failure, Some(REFUSED));
}

#[test]
fn a_client_that_never_became_ready_was_not_sent_anything() {
    let notes = CallRecorder::new();
    notes.attempt_refused(Some(REFUSED));
    assert_eq!(notes.notes().delivery(), Some(Delivery::NotSent));
    assert!(!notes.snapshot().dispatched);
    assert_eq!(notes.failure(), Some(REFUSED));
}

#[tokio::test(start_paused = true)]
async fn whoever_repeats_explains_an_attempt_that_was_dropped() {
    let notes = CallRecorder::new();
    let started = notes.attempt_started();
    tokio::time::advance(Duration::from_millis(20)).await;
    let end = AttemptEnd {
        status: None,
        failure: None,
        delivery: Delivery::Unknown,
    };
    notes.attempt_ended(started, end);
    let timeout = Outcome::new(ErrorClass::Timeout, FaultDomain::Upstream, None);
    notes.attempt_explained(timeout);
    notes.repeating(timeout);
    notes.attempt_started();
    notes.attempt_answered(StatusCode::OK);
    let seen = notes.notes();
    assert_eq!(seen.last_failure, Some(timeout));
    let first = seen.attempts.iter().next().unwrap();
    assert_eq!(first.class(), Some(ErrorClass::Timeout));
    assert_eq!(first.duration(), Duration::from_millis(20));
}

#[test]
fn an_attempt_that_was_never_given_a_connection_was_not_sent_and_those_before_it_stay() {
    let dropped = AttemptEnd {
        status: None,
        failure: None,
        delivery: Delivery::Unknown,
    };
    let notes = CallRecorder::new();
    // Nothing is under way yet, and then two are: nobody knows which is meant.
    notes.unsent();
    notes.attempt_started();
    notes.unsent();
    notes.end_attempt(None, dropped);
    assert_eq!(notes.delivery(), Delivery::NotSent);
    notes.unsent();
    notes.attempt_started();
    notes.end_attempt(None, dropped);
    assert_eq!(notes.delivery(), Delivery::Unknown);
    let notes = CallRecorder::new();
    notes.attempt_started();
    notes.attempt_started();
    notes.unsent();
    notes.end_attempt(None, dropped);
    notes.end_attempt(None, dropped);
    assert_eq!(notes.delivery(), Delivery::Unknown);
    // Of somebody else's attempt nothing is said.
    let outer = recorded(None, false);
    let stuck = recorded(Some(outer.clone()), false);
    outer.attempt_started();
    stuck.unsent();
    outer.end_attempt(None, dropped);
    assert_eq!(outer.delivery(), Delivery::Unknown);
    // Whatever was said: an answer is one.
    let notes = CallRecorder::new();
    notes.attempt_started();
    notes.unsent();
    notes.attempt_answered(StatusCode::OK);
    assert_eq!(notes.delivery(), Delivery::Answered);
}

#[test]
fn everybody_outside_hears_of_an_attempt_and_counts_it_once() {
    let handle = CallRecorder::new();
    let outer = recorded(Some(handle.clone()), false);
    let first = recorded(Some(outer.clone()), false);
    first.attempt_started();
    first.attempt_answered(StatusCode::SERVICE_UNAVAILABLE);
    let second = recorded(Some(outer.clone()), false);
    second.attempt_started();
    second.attempt_answered(StatusCode::OK);
    for (notes, requests) in [(&first, 1), (&second, 1), (&outer, 2), (&handle, 2)] {
        assert_eq!(notes.snapshot().requests, requests);
        assert_eq!(notes.snapshot().responses, requests);
    }
}

#[test]
fn only_the_callers_own_handle_learns_that_the_caller_let_go() {
    let handle = CallRecorder::new();
    let outer = recorded(Some(handle.clone()), false);
    let inner = recorded(Some(outer.clone()), false);
    inner.cancelled();
    assert!(!outer.snapshot().caller_cancelled);
    outer.cancelled();
    assert!(handle.snapshot().caller_cancelled);
}

#[test]
fn debug_shows_facts_and_nothing_of_the_request() {
    let notes = recorded(None, true);
    let text = format!("{notes:?}");
    assert!(text.contains("mcp_session: true"), "{text}");
    assert!(!text.contains("target"), "{text}");
}
