//! A queue of jobs from one thread to many.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    /// Something waits, or nothing will any more. For one job one thread is woken: whoever is awake looks before it sleeps.
    filled: Condvar,
}

struct State<T> {
    waiting: VecDeque<T>,
    closed: bool,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(State { waiting: VecDeque::new(), closed: false }), filled: Condvar::new() }
    }

    /// Drops the item when the queue is closed.
    pub(super) fn push(&self, item: T) {
        let mut state = self.lock();
        if !state.closed {
            state.waiting.push_back(item);
            drop(state);
            self.filled.notify_one();
        }
    }

    /// The oldest item; waits for one. `None` when the queue is closed and empty.
    pub(super) fn pop(&self) -> Option<T> {
        let is_empty = |state: &mut State<T>| !state.closed && state.waiting.is_empty();
        let state = self.filled.wait_while(self.lock(), is_empty);
        state.unwrap_or_else(PoisonError::into_inner).waiting.pop_front()
    }

    /// Takes out what still waits and is wanted, the oldest first.
    pub(super) fn withdraw(&self, is_wanted: impl Fn(&T) -> bool) -> VecDeque<T> {
        let mut state = self.lock();
        let (wanted, rest) = std::mem::take(&mut state.waiting).into_iter().partition(is_wanted);
        state.waiting = rest;
        wanted
    }

    /// Takes no more; what waits is still handed out.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
    }

    /// Takes no more, and drops what waits.
    pub(super) fn abandon(&self) {
        self.close();
        let waiting = std::mem::take(&mut self.lock().waiting);
        // Not while others wait for the lock.
        drop(waiting);
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
        let queue = Queue::new();
        (1..=3).for_each(|item| queue.push(item));
        queue.close();
        queue.push(4);
        assert_eq!(std::iter::from_fn(|| queue.pop()).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn withdraws_what_is_wanted_and_keeps_the_order_of_the_rest() {
        let queue = Queue::new();
        (1..=5).for_each(|item| queue.push(item));
        assert_eq!(queue.withdraw(|item| item % 2 == 0), [2, 4]);
        queue.close();
        assert!(std::iter::from_fn(|| queue.pop()).eq([1, 3, 5]));
    }

    #[test]
    fn abandoning_drops_what_waits() {
        let queue = Queue::new();
        queue.push(1);
        queue.abandon();
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn hands_each_item_to_one_of_many() {
        let queue = Queue::new();
        let taken: usize = thread::scope(|scope| {
            let take = || std::iter::from_fn(|| queue.pop()).map(|item: usize| item).sum::<usize>();
            let threads = [(); 4].map(|()| scope.spawn(take));
            (1..=1000).for_each(|item| queue.push(item));
            queue.close();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(taken, 500_500);
    }
}
