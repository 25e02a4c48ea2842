//! Response headers that may be shown, and the ids among them.
