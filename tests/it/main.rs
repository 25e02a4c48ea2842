//! One binary: the crate as its users see it.

mod classify;
mod support;
