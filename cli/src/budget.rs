//! How much of the input may be unanswered at a time.
//!
//! What is beyond is not read before something is answered, so that a caller may send many calls before it takes the first answer,
//! but not any number.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

pub(crate) struct Budget {
    max_bytes: usize,
    used: Mutex<usize>,
    freed: Condvar,
    idle: Notify,
}

/// A part of the budget; dropped, it is free again.
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(max_bytes: usize) -> Arc<Self> {
        Arc::new(Self { max_bytes, used: Mutex::default(), freed: Condvar::new(), idle: Notify::new() })
    }

    /// Waits until there is room. Whatever its size, a share finds room in an unused budget.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Share {
        let is_full = |used: &mut usize| *used > 0 && used.saturating_add(bytes) > self.max_bytes;
        let mut used = self.freed.wait_while(self.used(), is_full).unwrap_or_else(PoisonError::into_inner);
        *used += bytes;
        Share { budget: Arc::clone(self), bytes }
    }

    /// Waits until there is no share.
    pub(crate) async fn unused(&self) {
        while *self.used() > 0 {
            // Remembers that it was told between the look and here.
            self.idle.notified().await;
        }
    }

    fn used(&self) -> MutexGuard<'_, usize> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut used = self.budget.used();
        *used -= self.bytes;
        self.budget.freed.notify_all();
        if *used == 0 {
            self.budget.idle.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn waits_for_room_and_takes_one_share_over_its_bytes_when_unused() {
        let budget = Budget::new(10);
        let first = budget.take(11);
        thread::scope(|scope| {
            let second = scope.spawn(|| budget.take(1));
            assert_eq!(*budget.used(), 11);
            drop(first);
            assert_eq!(second.join().unwrap().bytes, 1);
        });
        assert_eq!(*budget.used(), 0);
    }
}
