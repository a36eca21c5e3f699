//! The requests that are not answered yet.
//!
//! The SDK knows each by an id of our own. A client may use one again as soon as its request is cancelled, while the old request may
//! still run; whatever comes of that must not be taken for the new one's.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::OwnedSemaphorePermit;

use crate::budget::Share;

#[derive(Default)]
pub(super) struct Unanswered {
    requests: Mutex<Requests>,
}

#[derive(Default)]
struct Requests {
    /// Our last id.
    last: i64,
    /// By our ids.
    places: HashMap<RequestId, Place>,
    /// Ours, by the clients'.
    ids: HashMap<RequestId, RequestId>,
}

/// What a request holds until its answer is written.
pub(super) struct Place {
    /// The client's.
    id: RequestId,
    _share: Share,
    cancelled: Arc<AtomicBool>,
    /// Of one that read: the next may read when this answer is out, so that answers do not pile up.
    permit: Option<OwnedSemaphorePermit>,
}

impl Place {
    /// The client's.
    pub(super) fn id(&self) -> &RequestId {
        &self.id
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

impl Unanswered {
    /// Our id for a request with this one. Fails, and gives the share back, when there is one already: whose an answer were could not be
    /// told.
    pub(super) fn start(&self, id: RequestId, share: Share) -> Result<RequestId, Share> {
        let mut requests = self.requests();
        let own = RequestId::Number(requests.last + 1);
        match requests.ids.entry(id.clone()) {
            Entry::Occupied(_) => return Err(share),
            Entry::Vacant(entry) => drop(entry.insert(own.clone())),
        }
        requests.last += 1;
        requests.places.insert(own.clone(), Place { id, _share: share, cancelled: Arc::default(), permit: None });
        Ok(own)
    }

    /// What tells that this one is cancelled; `None` where it was, and is gone.
    pub(super) fn flag(&self, own: &RequestId) -> Option<Arc<AtomicBool>> {
        self.requests().places.get(own).map(|place| Arc::clone(&place.cancelled))
    }

    /// What reads stops; the request is there until it is ended. Our id of the client's request, where there is one.
    pub(super) fn cancel(&self, id: &RequestId) -> Option<RequestId> {
        let own = self.requests().ids.get(id)?.clone();
        self.flag(&own)?.store(true, Ordering::Relaxed);
        Some(own)
    }

    /// Keeps the permit until the answer is written. One that is cancelled gets no answer, and gives it back at once.
    pub(super) fn keep(&self, own: &RequestId, permit: OwnedSemaphorePermit) {
        if let Some(place) = self.requests().places.get_mut(own) {
            place.permit = Some(permit);
        }
    }

    /// `None` where nothing waits for an answer.
    pub(super) fn end(&self, own: &RequestId) -> Option<Place> {
        let mut requests = self.requests();
        let place = requests.places.remove(own)?;
        requests.ids.remove(&place.id);
        Some(place)
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
