//! The requests that are not answered yet.
//!
//! The SDK knows each by an id of our own. A client may use one again as soon as its request is cancelled, while the old request may
//! still run; whatever comes of that must not be taken for the new one's.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;

use crate::budget::Share;

#[derive(Default)]
pub(super) struct Unanswered {
    requests: Mutex<Requests>,
}

#[derive(Default)]
struct Requests {
    /// Our last id.
    last: u64,
    /// By our ids.
    places: HashMap<u64, Place>,
    /// Ours, by the clients'.
    ids: HashMap<RequestId, u64>,
}

/// What a request holds until its answer is written.
pub(super) struct Place {
    /// The client's.
    id: RequestId,
    _share: Share,
    cancelled: Arc<AtomicBool>,
}

impl Place {
    /// The client's.
    pub(super) fn id(&self) -> &RequestId {
        &self.id
    }

    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// As the SDK knows it.
pub(super) fn as_id(own: u64) -> RequestId {
    // A server would have to answer for centuries to come to numbers that are none of its.
    RequestId::Number(i64::try_from(own).unwrap_or(i64::MAX))
}

fn own(id: &RequestId) -> Option<u64> {
    match id {
        RequestId::Number(own) => u64::try_from(*own).ok(),
        RequestId::String(_) => None,
    }
}

impl Requests {
    fn insert(&mut self, place: Place) -> u64 {
        self.last += 1;
        self.ids.insert(place.id.clone(), self.last);
        self.places.insert(self.last, place);
        self.last
    }

    fn place(&self, id: &RequestId) -> Option<&Place> {
        self.places.get(&own(id)?)
    }
}

/// Requests are told by our ids, but where it says the client's.
impl Unanswered {
    /// Our id for a request with this one of the client's, greater than any before. Fails, and gives the share back, when there is one
    /// already: whose an answer were could not be told.
    pub(super) fn start(&self, id: RequestId, share: Share) -> Result<u64, Share> {
        let mut requests = self.requests();
        if requests.ids.contains_key(&id) {
            return Err(share);
        }
        Ok(requests.insert(Place { id, _share: share, cancelled: Arc::default() }))
    }

    /// Another id of ours for a request; `None` where it is answered.
    pub(super) fn rename(&self, own: u64) -> Option<u64> {
        let mut requests = self.requests();
        let place = requests.places.remove(&own)?;
        Some(requests.insert(place))
    }

    /// What tells that this one is cancelled.
    pub(super) fn flag(&self, id: &RequestId) -> Arc<AtomicBool> {
        self.requests().place(id).map(|place| Arc::clone(&place.cancelled)).unwrap_or_default()
    }

    pub(super) fn is_cancelled(&self, id: &RequestId) -> bool {
        self.requests().place(id).is_some_and(Place::is_cancelled)
    }

    /// By the client's id, which it may use again; what reads stops, and the place is taken until it has ended. Our id, where there is
    /// such a request.
    pub(super) fn cancel(&self, id: &RequestId) -> Option<u64> {
        let mut requests = self.requests();
        let own = requests.ids.remove(id)?;
        requests.places.get(&own).inspect(|place| place.cancel()).map(|_| own)
    }

    pub(super) fn cancel_all(&self) {
        self.requests().places.values().for_each(Place::cancel);
    }

    /// `None` where nothing waits for an answer.
    pub(super) fn end(&self, id: &RequestId) -> Option<Place> {
        let own = own(id)?;
        let mut requests = self.requests();
        let place = requests.places.remove(&own)?;
        if requests.ids.get(&place.id) == Some(&own) {
            requests.ids.remove(&place.id);
        }
        Some(place)
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
