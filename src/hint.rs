//! What to do about a failure.
