//! What is seldom there.

use std::{
    mem::ManuallyDrop,
    ops::{Deref, DerefMut},
};

/// An `Option` that is nearly always `None`.
///
/// The code that drops what is in it stays out of the caller's own, which then is small enough to be
/// made part of its caller's.
#[derive(Clone, Debug)]
pub(crate) struct Rare<T>(ManuallyDrop<Option<T>>);

impl<T> Rare<T> {
    pub(crate) const NONE: Self = Self(ManuallyDrop::new(None));

    #[inline]
    pub(crate) const fn new(value: T) -> Self {
        Self(ManuallyDrop::new(Some(value)))
    }
}

impl<T> From<Option<T>> for Rare<T> {
    #[inline]
    fn from(value: Option<T>) -> Self {
        Self(ManuallyDrop::new(value))
    }
}

impl<T> Deref for Rare<T> {
    type Target = Option<T>;

    #[inline]
    fn deref(&self) -> &Option<T> {
        &self.0
    }
}

impl<T> DerefMut for Rare<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Option<T> {
        &mut self.0
    }
}

impl<T> Default for Rare<T> {
    #[inline]
    fn default() -> Self {
        Self::NONE
    }
}

impl<T> Drop for Rare<T> {
    #[inline]
    fn drop(&mut self) {
        if self.0.is_some() {
            discard(&mut self.0);
        }
    }
}

#[cold]
#[inline(never)]
fn discard<T>(value: &mut Option<T>) {
    *value = None;
}
