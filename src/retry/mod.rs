//! Repeats a call exactly when that is safe.
