//! The library from the outside.
