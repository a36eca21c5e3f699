//! Threads that tell when there can be none.

use std::io;
use std::thread::{Builder, JoinHandle};

pub(crate) fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    Builder::new().spawn(work)
}
