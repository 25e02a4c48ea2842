//! A function of the user's.

use std::{fmt, ops::Deref, sync::Arc};

/// A function that a user gave to a layer, shared by its clones. It prints as no more than that.
pub(crate) struct Hook<F: ?Sized>(Arc<F>);

impl<F: ?Sized> Hook<F> {
    pub(crate) fn new(hook: Arc<F>) -> Self {
        Self(hook)
    }
}

impl<F: ?Sized> Clone for Hook<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F: ?Sized> Deref for Hook<F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.0
    }
}

impl<F: ?Sized> fmt::Debug for Hook<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}
