//! The command from the outside.
