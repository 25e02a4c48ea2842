//! What the layers of tower-diagnose cost, beside their peers: the cases, the requests, and how they are
//! measured. The binaries and the Criterion target put them together.

pub mod callgrind;
pub mod cases;
pub mod failing;
pub mod gate;
pub mod measure;
pub mod peers;
pub mod plain;
pub mod requests;
pub mod scaling;
pub mod table;

mod bare;
mod framed;
mod parallel;
