//! Threads that tell when there can be none.

use std::io;
use std::panic::resume_unwind;
use std::thread::{Builder, JoinHandle};

pub(crate) fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    Builder::new().spawn(work)
}

/// A panic there goes on here.
pub(crate) fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
