//! A limit of time that one request brings along.

use std::time::Duration;

/// A request extension: the limit of time for this call, in place of the configured one.
///
/// Zero means "already expired"; [`Duration::MAX`] means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTimeout(pub Duration);
