//! What only TLS does: see `tests/`.
