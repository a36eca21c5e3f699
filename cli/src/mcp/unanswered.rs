//! The requests that are not answered yet, by their ids.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::OwnedSemaphorePermit;

use crate::budget::Share;

#[derive(Default)]
pub(super) struct Unanswered {
    places: Mutex<HashMap<RequestId, Place>>,
}

/// What a request holds until its answer is written.
pub(super) struct Place {
    _share: Share,
    cancelled: Arc<AtomicBool>,
    /// Of one that read: the next may read when this answer is out, so that answers do not pile up.
    permit: Option<OwnedSemaphorePermit>,
}

/// A request that was cancelled while it was unanswered.
pub(super) struct Cancelled {
    id: RequestId,
    /// Its own, by which it is told from others with its id.
    flag: Arc<AtomicBool>,
}

impl Place {
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

impl Unanswered {
    /// Fails, and gives the share back, when there is one with this id already: whose an answer were could not be told.
    pub(super) fn start(&self, id: RequestId, share: Share) -> Result<(), Share> {
        match self.places().entry(id) {
            Entry::Occupied(_) => Err(share),
            Entry::Vacant(entry) => {
                entry.insert(Place { _share: share, cancelled: Arc::default(), permit: None });
                Ok(())
            }
        }
    }

    /// What tells that this one is cancelled; `None` where it was, and is gone.
    pub(super) fn flag(&self, id: &RequestId) -> Option<Arc<AtomicBool>> {
        self.places().get(id).map(|place| Arc::clone(&place.cancelled))
    }

    /// What reads stops; the request is there until it is ended. `None` where there is none: a later one with this id is another.
    pub(super) fn cancel(&self, id: &RequestId) -> Option<Cancelled> {
        let flag = self.flag(id)?;
        flag.store(true, Ordering::Relaxed);
        Some(Cancelled { id: id.clone(), flag })
    }

    /// Ends the very request that was cancelled; `false` where it was answered before, whoever has its id now.
    pub(super) fn end_cancelled(&self, cancelled: &Cancelled) -> bool {
        let mut places = self.places();
        let is_there = places.get(&cancelled.id).is_some_and(|place| Arc::ptr_eq(&place.cancelled, &cancelled.flag));
        is_there && places.remove(&cancelled.id).is_some()
    }

    /// Keeps the permit until the answer is written. One that is cancelled gets no answer, and gives it back at once.
    pub(super) fn keep(&self, id: &RequestId, permit: OwnedSemaphorePermit) {
        if let Some(place) = self.places().get_mut(id) {
            place.permit = Some(permit);
        }
    }

    /// `None` where nothing waits for an answer.
    pub(super) fn end(&self, id: &RequestId) -> Option<Place> {
        self.places().remove(id)
    }

    fn places(&self) -> MutexGuard<'_, HashMap<RequestId, Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
