//! What stands between a call and the panics of somebody else's code.

use std::{
    any::Any,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::recording::Recording;

/// Runs somebody else's code, and records the call as broken if that panics. The panic goes on.
///
/// A guard, because a future that is merely dropped while something else unwinds did not panic.
#[inline]
pub(super) fn watch<T>(recording: &mut Option<Recording>, run: impl FnOnce() -> T) -> T {
    struct Watch<'a>(&'a mut Option<Recording>);

    impl Drop for Watch<'_> {
        fn drop(&mut self) {
            if let Some(mut recording) = self.0.take() {
                recording.panicked();
            }
        }
    }

    let watch = Watch(recording);
    let result = run();
    mem::forget(watch);
    result
}

/// As [`watch`], for the code that makes the call.
#[inline]
pub(crate) fn calling<T>(recording: &mut Option<Recording>, call: impl FnOnce() -> T) -> T {
    let called = watch(recording, call);
    if let Some(recording) = recording {
        recording.called();
    }
    called
}

/// Calls a sink, whose panics are its own: the call that is being recorded does not see them.
///
/// Also while another panic unwinds: one that is caught before it leaves the drop is allowed there.
pub(super) fn call_sink(sink: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(sink)) {
        discard(payload);
    }
}

/// As [`call_sink`], for what has a result.
pub(super) fn call_hook<T>(hook: impl FnOnce() -> Option<T>) -> Option<T> {
    let mut result = None;
    call_sink(|| result = hook());
    result
}

/// Drops what was thrown, which may throw in its turn; what that throws is leaked.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(payload);
    }
}
