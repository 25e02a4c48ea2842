//! One record per call, whatever happens.
