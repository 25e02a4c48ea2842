//! One binary: the crate as its users see it.

mod floors;
mod source;
mod support;
