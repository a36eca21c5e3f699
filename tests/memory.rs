//! The memory of a read, counted.
