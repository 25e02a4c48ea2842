//! The order of the layers, spelled once.
