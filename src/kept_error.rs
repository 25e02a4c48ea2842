//! An error of `poll_ready`, kept until the next call can return it.

use std::{
    any::Any,
    fmt,
    sync::{Mutex, PoisonError},
    task::{Poll, ready},
};

use crate::error::BoxError;

/// Holds the error of a service whose errors are all boxed.
#[derive(Debug, Default)]
pub(crate) struct NotReady(Option<BoxError>);

impl NotReady {
    /// Waits for a service, unless its error is still to be returned.
    #[inline]
    pub(crate) fn poll<E: Into<BoxError>>(
        &mut self,
        poll_ready: impl FnOnce() -> Poll<Result<(), E>>,
    ) -> Poll<()> {
        if self.0.is_none() {
            self.0 = ready!(poll_ready()).err().map(Into::into);
        }
        Poll::Ready(())
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Option<BoxError> {
        match &mut self.0 {
            None => None,
            kept => kept.take(),
        }
    }
}

impl Clone for NotReady {
    /// A clone was never polled, and starts without an error.
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Holds an error whose type only the next call can name.
///
/// Boxed, because a service is not generic over its requests and so cannot name its error; only a
/// service that failed pays for it. The lock is never taken: it makes what is inside `Sync`.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Option<Box<dyn Any + Send>>>);

impl Kept {
    /// Waits for a service, unless its error is still to be returned.
    #[inline]
    pub(crate) fn poll<E: Send + 'static>(
        &mut self,
        poll_ready: impl FnOnce() -> Poll<Result<(), E>>,
    ) -> Poll<()> {
        let slot = self.slot();
        if slot.is_none() {
            if let Err(error) = ready!(poll_ready()) {
                *slot = Some(Box::new(error));
            }
        }
        Poll::Ready(())
    }

    #[inline]
    pub(crate) fn take<E: 'static>(&mut self) -> Option<E> {
        match self.slot() {
            None => None,
            slot => Self::named(slot.take()?),
        }
    }

    #[cold]
    fn named<E: 'static>(kept: Box<dyn Any + Send>) -> Option<E> {
        kept.downcast().ok().map(|error| *error)
    }

    #[inline]
    fn slot(&mut self) -> &mut Option<Box<dyn Any + Send>> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Kept {
    /// A clone was never polled, and starts without an error.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}
