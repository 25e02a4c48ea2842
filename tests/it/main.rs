//! One binary: the crate as its users see it.

mod support;

mod retry;
mod retry_bodies;
mod retry_chaos;
mod retry_hooks;
mod retry_ready;
mod retry_time;
mod retry_wire;
