//! Repeats a call exactly when that is safe.

mod kept;
mod replay;
mod snapshot;

pub use replay::{ReplayBody, Superseded};
