//! The atomics of what is shared between calls, in one place, so that a model checker can put its own
//! there.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
