//! The message inside an XML document, without entity expansion.
