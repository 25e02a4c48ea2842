//! What is promised, read from outside: as a program that uses the crate would check it.

mod attack;
mod bodies;
mod classified;
mod corners;
mod hostile;
mod layers;
mod line;
mod message;
mod nested;
mod nesting;
mod payload;
mod ready;
mod record;
mod record_ends;
mod retry;
mod retry_ends;
mod secrets;
mod shared;
mod shown;
mod signatures;
mod sockets;
mod timeout;
mod timeout_body;
mod told_later;
mod vocabulary;
mod waits;
