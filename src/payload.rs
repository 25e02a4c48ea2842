//! A diagnosis as tools and agents read it.
