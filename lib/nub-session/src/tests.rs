//! Unit tests of the pure parts.
