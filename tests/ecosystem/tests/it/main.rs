//! One binary: what users of other crates see.

#[path = "../../../it/support/raw.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod raw;
mod reqwest_client;
mod support;
