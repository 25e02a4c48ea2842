//! What this crate gives to the tests of others.

mod bodies;
mod endings;
mod records;
