//! What the server said, out of headers and the beginning of a body.
