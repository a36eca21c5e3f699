//! Whose turn it is to read: calls read in the order in which they came, whichever the runtime takes up first.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(super) struct Turns(Arc<Semaphore>);

/// A call's place in the line; lost when it is dropped. Clones are the same place.
#[derive(Clone)]
pub(super) struct Turn(Arc<Mutex<Option<Waiting>>>);

type Waiting = Pin<Box<dyn Future<Output = OwnedSemaphorePermit> + Send>>;

impl Turns {
    /// So many may read at a time.
    pub(super) fn new(jobs: usize) -> Self {
        Self(Arc::new(Semaphore::new(jobs)))
    }

    /// The last place in the line.
    pub(super) fn line_up(&self) -> Turn {
        let semaphore = Arc::clone(&self.0);
        let mut waiting: Waiting = Box::pin(async { semaphore.acquire_owned().await.expect("is never closed") });
        // Whoever looks first is served first; the call itself looks again.
        if let Poll::Ready(permit) = waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            waiting = Box::pin(ready(permit));
        }
        Turn(Arc::new(Mutex::new(Some(waiting))))
    }
}

impl Turn {
    /// Waits for it. Once: afterwards it is the one who waited that may read, as long as the permit is kept.
    pub(super) async fn come(&self) -> Option<OwnedSemaphorePermit> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Some(waiting?.await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn is_in_the_order_of_the_line_and_passes_over_who_left() {
        let turns = Turns::new(1);
        let [first, second, third] = [(); 3].map(|()| turns.line_up());
        let permit = first.come().await;
        assert!(permit.is_some() && first.come().await.is_none());
        let mut waiting = Box::pin(third.come());
        let mut look = || waiting.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(look().is_pending());
        drop(permit);
        // It is the turn of the second.
        assert!(look().is_pending());
        drop(second);
        assert!(matches!(look(), Poll::Ready(Some(_))));
    }
}
