//! The order of the layers, spelled once.
//!
//! A [`ClientStack`] goes onto a client, a [`ServerStack`] onto a service; both are layers themselves.
//!
//! ```text
//! client, outside in:  Recorder, Diagnose, Retry (and the total limit), Timeout (one attempt), Dispatch, client
//! server, outside in:  Respond, Recorder, Diagnose, Timeout, service
//! ```
//!
//! The record stands outside, so that it is one per call however often that was attempted. The
//! diagnosis stands outside the retries, so that only a failure that remains is explained. The limit
//! for one attempt stands inside them, so that an attempt that hangs can be repeated.
