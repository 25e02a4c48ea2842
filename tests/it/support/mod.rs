//! What several tests need: servers that misbehave, probes, clients.

pub mod scripted;
pub mod wire;
