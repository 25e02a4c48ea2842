//! One binary: what users of other crates see.

mod beside_client;
mod beside_server;
mod greeter;
#[path = "../../../it/support/raw.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with other tests")]
mod raw;
mod reqwest_client;
mod reqwest_wire;
mod support;
mod tonic_client;
