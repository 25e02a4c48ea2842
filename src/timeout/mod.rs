//! A limit of time that names what it stopped.
