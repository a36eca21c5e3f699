//! A queue of jobs from one thread to many, bounded by the bytes that wait in it.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(super) struct Queue<T> {
    max_bytes: usize,
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    waiting: VecDeque<(T, usize)>,
    /// The sum of what waits.
    bytes: usize,
    closed: bool,
}

impl<T> Queue<T> {
    pub(super) fn new(max_bytes: usize) -> Self {
        let state = State { waiting: VecDeque::new(), bytes: 0, closed: false };
        Self { max_bytes, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits while the queue is full. Whatever its size, an item finds room in an empty queue. Drops it when the queue is closed.
    pub(super) fn push(&self, item: T, bytes: usize) {
        let mut state = self.wait_while(|state| {
            !state.closed && !state.waiting.is_empty() && state.bytes.saturating_add(bytes) > self.max_bytes
        });
        if !state.closed {
            state.bytes += bytes;
            state.waiting.push_back((item, bytes));
            self.changed.notify_all();
        }
    }

    /// The oldest item; waits for one. `None` when the queue is closed and empty.
    pub(super) fn pop(&self) -> Option<T> {
        let mut state = self.wait_while(|state| !state.closed && state.waiting.is_empty());
        let (item, bytes) = state.waiting.pop_front()?;
        state.bytes -= bytes;
        self.changed.notify_all();
        Some(item)
    }

    /// Takes no more; what waits is still handed out.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Takes no more, and drops what waits.
    pub(super) fn abandon(&self) {
        self.lock().waiting.clear();
        self.close();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, condition: impl Fn(&State<T>) -> bool) -> MutexGuard<'_, State<T>> {
        self.changed.wait_while(self.lock(), |state| condition(state)).unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn hands_out_in_order_and_ends_when_closed() {
        let queue = Queue::new(10);
        (1..=3).for_each(|item| queue.push(item, 1));
        queue.close();
        queue.push(4, 1);
        assert_eq!(std::iter::from_fn(|| queue.pop()).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn abandoning_drops_what_waits() {
        let queue = Queue::new(10);
        queue.push(1, 1);
        queue.abandon();
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn holds_no_more_than_its_bytes_and_loses_nothing() {
        let (queue, held, most) = (Queue::new(10), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                for item in 0..1000 {
                    queue.push(item, 4);
                    // The other side lowers the count before it pops, so the count never exceeds what is held.
                    most.fetch_max(held.fetch_add(4, Ordering::SeqCst) + 4, Ordering::SeqCst);
                }
                queue.close();
            });
            let mut next = 0;
            while let Some(item) = queue.pop() {
                assert_eq!(item, next);
                next += 1;
                held.fetch_sub(4, Ordering::SeqCst);
            }
            assert_eq!(next, 1000);
        });
        assert!(most.load(Ordering::SeqCst) <= 10 + 4 + 4, "{most:?}");
    }
}
