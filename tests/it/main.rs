//! One binary: the crate as its users see it.

mod support;
mod timeout;
mod timeout_body;
mod timeout_sockets;
