//! What the tests of the crate have already: sockets and frames by hand.

#![allow(dead_code, reason = "shared with tests that use the rest of it")]

#[path = "../../it/support/counting.rs"]
pub mod counting;
#[path = "../../it/support/h2_by_hand.rs"]
pub mod h2_by_hand;
#[path = "../../it/support/raw.rs"]
pub mod raw;
#[path = "../../it/support/wire.rs"]
pub mod wire;
