//! One binary: the crate as its users see it.

mod conformance;
mod diagnose;
mod diagnose_bodies;
mod diagnose_inspect;
mod diagnose_log;
mod diagnose_secrets;
mod diagnose_server;
mod diagnose_sockets;
mod support;
