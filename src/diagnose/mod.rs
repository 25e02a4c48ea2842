//! Says what went wrong, in one line.
