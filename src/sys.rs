//! The operating system, under its own names. Nothing else in the crate calls it.
//!
//! `EINTR` never leaves this module: a call that a signal interrupts is made again.

mod errno;
mod linux;

pub(crate) use linux::*;
