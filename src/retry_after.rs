//! How long the server asks to wait.
