//! How many repetitions all calls together may cost.
