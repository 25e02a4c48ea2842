//! How the cost of a call grows: with the calls at once, with the headers, with the bytes of the bodies.

mod axis;
mod bodies;
mod linear;
mod measure;
mod table;

pub use self::{linear::bent, measure::run_case, table::print};
