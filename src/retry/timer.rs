use std::{
    pin::{Pin, pin},
    task::{Context, Poll},
};

use tokio::{
    task::coop::unconstrained,
    time::{Instant, Sleep, sleep_until},
};

/// Completes at `at`. The timer is made when it is first needed, and used again for other instants.
///
/// It does not answer to the task's cooperative budget: the attempt may have used that up, and would
/// then never be seen to be late.
pub(super) fn poll_timer(
    mut timer: Pin<&mut Option<Sleep>>,
    at: Instant,
    cx: &mut Context<'_>,
) -> Poll<()> {
    match timer.as_mut().as_pin_mut() {
        None => timer.set(Some(sleep_until(at))),
        Some(sleep) if sleep.deadline() != at => sleep.reset(at),
        Some(_) => {}
    }
    match timer.as_pin_mut() {
        Some(sleep) => pin!(unconstrained(sleep)).poll(cx),
        None => Poll::Pending,
    }
}
