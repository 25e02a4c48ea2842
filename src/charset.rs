//! Bytes of a body to text, by label and by what they are.
