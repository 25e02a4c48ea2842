//! Turns any error into an RFC 9457 response.
