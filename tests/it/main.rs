//! One binary: the crate as its users see it.

mod conformance;
mod diagnose;
mod diagnose_bodies;
mod support;
