//! What stands between a call and the panics of somebody else's code.

use std::{
    any::Any,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::recording::Recording;

/// Stands by while somebody else's code runs. If that panics, the call is recorded as broken; the panic
/// goes on.
///
/// A guard, because a future that is merely dropped while something else unwinds did not panic.
pub(crate) struct Watch<'a>(&'a mut Option<Recording>);

impl<'a> Watch<'a> {
    #[inline]
    pub(crate) fn over(recording: &'a mut Option<Recording>) -> Self {
        Self(recording)
    }

    /// The call has been made.
    #[inline]
    pub(crate) fn called(self) {
        if let Some(recording) = &self.0 {
            recording.called();
        }
        self.went_well();
    }

    /// The call failed without an answer: looks at the error, whose code is somebody else's, and makes the
    /// record.
    #[inline]
    pub(super) fn failed<E: 'static>(self, error: &E) {
        if let Some(recording) = &mut *self.0 {
            recording.failed(error);
        }
        *self.0 = None;
        self.went_well();
    }

    #[inline]
    fn went_well(self) {
        mem::forget(self);
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if let Some(mut recording) = self.0.take() {
            recording.panicked();
        }
    }
}

/// Runs somebody else's code under a [`Watch`].
#[inline]
pub(super) fn watch<T>(recording: &mut Option<Recording>, run: impl FnOnce() -> T) -> T {
    let watch = Watch::over(recording);
    let result = run();
    watch.went_well();
    result
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
