//! One binary: the crate as its users see it.

mod classify;
mod conformance;
mod contract;
mod diagnose;
mod diagnose_bodies;
mod diagnose_inspect;
mod diagnose_log;
mod diagnose_payload;
mod diagnose_secrets;
mod diagnose_server;
mod diagnose_sockets;
mod floors;
mod left_behind;
mod record;
mod server_stack;
mod server_stack_ends;
mod source;
mod stack_send;
mod support;
mod test_util;

mod relogin;
mod respond;
mod respond_axum;
mod retry;
mod retry_bodies;
mod retry_chaos;
mod retry_hooks;
mod retry_ready;
mod retry_time;
mod retry_wire;
mod timeout;
mod timeout_body;
mod timeout_sockets;
