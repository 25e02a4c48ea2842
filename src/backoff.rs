//! How long to wait before the next attempt.
