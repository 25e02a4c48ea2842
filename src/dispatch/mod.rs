//! Notes every attempt that reaches the client.
