//! An error of `poll_ready`, kept until the next call can return it.

use std::{
    any::Any,
    fmt,
    sync::{Mutex, PoisonError},
};

/// Holds an error whose type only the next call can name.
///
/// Boxed, because a service is not generic over its requests and so cannot name its error; only a
/// service that failed pays for it. The lock is never taken: it makes what is inside `Sync`.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Option<Box<dyn Any + Send>>>);

impl Kept {
    pub(crate) fn keep<E: Send + 'static>(&mut self, error: E) {
        *self.slot() = Some(Box::new(error));
    }

    #[inline]
    pub(crate) fn is_some(&mut self) -> bool {
        self.slot().is_some()
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
