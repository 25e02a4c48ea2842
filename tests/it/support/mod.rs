//! What several tests need: servers that misbehave, probes, clients.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "shared by test targets that each use a part of it"
)]

pub mod body;
pub mod client;
pub mod counting;
pub mod h1;
pub mod h2_by_hand;
pub mod outside;
pub mod raw;
pub mod scripted;
pub mod wire;
