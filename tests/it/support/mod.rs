//! What several tests need: servers that misbehave, probes, clients.

pub(crate) mod scripted;
pub(crate) mod wire;
