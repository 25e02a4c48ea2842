//! A server that misbehaves by a seeded script, and a client stack that has to stand it.
//!
//! A [seed](plan::Plan) decides everything: whether bytes go over sockets or through memory with a
//! virtual clock, the version of HTTP, the settings of the stack, the requests and what their callers do
//! with them, and what the server does at every byte. [`play`](play::play) plays it and says what does not
//! hold.

pub mod body;
pub mod caller;
pub mod check;
pub mod connector;
pub mod held;
pub mod link;
pub mod logs;
pub mod panics;
pub mod plan;
pub mod play;
pub mod random;
pub mod run;
pub mod server;
pub mod settings;
pub mod soak;
pub mod support;
pub mod tap;
pub mod texts;
pub mod world;
