//! What is kept of a call when it is over.
