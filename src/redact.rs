//! Secrets out of texts.
