//! What several tests need: servers that misbehave, probes, clients.

pub mod scripted;
pub mod wire;
#![allow(
    dead_code,
    unreachable_pub,
    reason = "shared by test targets that each use a part of it"
)]

pub mod body;
pub mod client;
pub mod h1;
pub mod h2_by_hand;
pub mod raw;
