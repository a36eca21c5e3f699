//! The threads that read. A thread that waits for a disk cannot be interrupted, so none of them is the SDK's.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use tokio::sync::oneshot;

use crate::threads::spawn;

type Job = Box<dyn FnOnce() + Send>;

pub(super) struct Workers {
    jobs: mpsc::Sender<Job>,
    count: usize,
}

impl Workers {
    /// Where the machine gives no more threads, fewer do the same work.
    pub(super) fn start(count: usize) -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        let start = || {
            let queue = Arc::clone(&queue);
            spawn(move || work(&queue))
        };
        start()?;
        let others = (1..count).map_while(|_| start().ok());
        Ok(Self { jobs, count: 1 + others.count() })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The receiver gets what the work makes, or an error when it panics. The panic is told on standard error.
    pub(super) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> oneshot::Receiver<T> {
        let (result, receiver) = oneshot::channel();
        let job = move || {
            if let Ok(made) = catch_unwind(AssertUnwindSafe(work)) {
                // Nobody may wait for it any more.
                let _ = result.send(made);
            }
        };
        // Where no thread is left, the receiver gets the error.
        let _ = self.jobs.send(Box::new(job));
        receiver
    }
}

fn work(queue: &Mutex<mpsc::Receiver<Job>>) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        job();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_costs_no_thread() {
        let workers = Workers::start(1).unwrap();
        for _ in 0..3 {
            assert!(workers.run(|| -> u8 { panic!("as the test wants it") }).blocking_recv().is_err());
        }
        assert_eq!(workers.run(|| 1).blocking_recv(), Ok(1));
    }
}
