//! The message inside a JSON document that may be cut, broken or hostile.
