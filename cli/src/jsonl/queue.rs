//! A queue of jobs from one thread to many, bounded by the bytes that wait in it.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(super) struct Queue<T> {
    max_bytes: usize,
    state: Mutex<State<T>>,
    /// Something waits, or nothing will any more. To wake one that pops is enough: whoever is awake looks before it sleeps.
    filled: Condvar,
    /// There is room again, or none is needed any more.
    emptied: Condvar,
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
        Self { max_bytes, state: Mutex::new(state), filled: Condvar::new(), emptied: Condvar::new() }
    }

    /// Waits while the queue is full. Whatever its size, an item finds room in an empty queue. Drops it when the queue is closed.
    pub(super) fn push(&self, item: T, bytes: usize) {
        let is_full = |state: &mut State<T>| {
            !state.closed && !state.waiting.is_empty() && state.bytes.saturating_add(bytes) > self.max_bytes
        };
        let mut state = self.emptied.wait_while(self.lock(), is_full).unwrap_or_else(PoisonError::into_inner);
        if !state.closed {
            state.bytes += bytes;
            state.waiting.push_back((item, bytes));
            drop(state);
            self.filled.notify_one();
        }
    }

    /// The oldest item; waits for one. `None` when the queue is closed and empty.
    pub(super) fn pop(&self) -> Option<T> {
        let is_empty = |state: &mut State<T>| !state.closed && state.waiting.is_empty();
        let mut state = self.filled.wait_while(self.lock(), is_empty).unwrap_or_else(PoisonError::into_inner);
        let (item, bytes) = state.waiting.pop_front()?;
        state.bytes -= bytes;
        drop(state);
        self.emptied.notify_one();
        Some(item)
    }

    /// Takes out what still waits and is wanted, the oldest first.
    pub(super) fn withdraw(&self, is_wanted: impl Fn(&T) -> bool) -> Vec<T> {
        let mut state = self.lock();
        let (wanted, rest) =
            std::mem::take(&mut state.waiting).into_iter().partition::<VecDeque<_>, _>(|(item, _)| is_wanted(item));
        state.waiting = rest;
        state.bytes -= wanted.iter().map(|(_, bytes)| bytes).sum::<usize>();
        drop(state);
        self.emptied.notify_one();
        wanted.into_iter().map(|(item, _)| item).collect()
    }

    /// Takes no more; what waits is still handed out.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
        self.emptied.notify_all();
    }

    /// Takes no more, and drops what waits.
    pub(super) fn abandon(&self) {
        self.lock().waiting.clear();
        self.close();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
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
    fn withdraws_what_is_wanted_and_keeps_the_order_of_the_rest() {
        let queue = Queue::new(10);
        (1..=5).for_each(|item| queue.push(item, 2));
        assert_eq!(queue.withdraw(|item| item % 2 == 0), [2, 4]);
        assert_eq!(queue.lock().bytes, 6);
        queue.close();
        assert!(std::iter::from_fn(|| queue.pop()).eq([1, 3, 5]));
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
        let queue = Queue::new(10);
        let most = thread::scope(|scope| {
            let pushed = scope.spawn(|| {
                let most = (0..1000).map(|item| {
                    queue.push(item, 4);
                    queue.lock().bytes
                });
                let most = most.max();
                queue.close();
                most
            });
            assert!(std::iter::from_fn(|| queue.pop()).eq(0..1000));
            pushed.join().unwrap()
        });
        assert!(most <= Some(10), "{most:?}");
    }

    #[test]
    fn takes_one_item_over_its_bytes_when_empty() {
        let queue = Queue::new(10);
        queue.push(1, 11);
        assert_eq!(queue.pop(), Some(1));
    }
}
