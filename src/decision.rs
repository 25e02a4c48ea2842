//! Whether to attempt once more, and if not, why.
