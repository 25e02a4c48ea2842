//! One binary: the crate as its users see it.

mod record;
mod support;
