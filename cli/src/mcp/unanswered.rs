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

impl Requests {
    fn insert(&mut self, place: Place) -> RequestId {
        self.last += 1;
        let own = RequestId::Number(self.last);
        self.ids.insert(place.id.clone(), own.clone());
        self.places.insert(own.clone(), place);
        own
    }
}

impl Unanswered {
    /// Our id for a request with this one. Fails, and gives the share back, when there is one already: whose an answer were could not be
    /// told.
    pub(super) fn start(&self, id: RequestId, share: Share) -> Result<RequestId, Share> {
        let mut requests = self.requests();
        if requests.ids.contains_key(&id) {
            return Err(share);
        }
        Ok(requests.insert(Place { id, _share: share, cancelled: Arc::default() }))
    }

    /// Another id of ours for a request; `None` where it is answered.
    pub(super) fn rename(&self, own: &RequestId) -> Option<RequestId> {
        let mut requests = self.requests();
        let place = requests.places.remove(own)?;
        Some(requests.insert(place))
    }

    /// What tells that this one is cancelled.
    pub(super) fn flag(&self, own: &RequestId) -> Arc<AtomicBool> {
        self.requests().places.get(own).map(|place| Arc::clone(&place.cancelled)).unwrap_or_default()
    }

    pub(super) fn is_cancelled(&self, own: &RequestId) -> bool {
        self.requests().places.get(own).is_some_and(Place::is_cancelled)
    }

    /// What reads stops, and the client may use the id again; the place is taken until the read has ended. Whether there is one.
    pub(super) fn cancel(&self, id: &RequestId) -> bool {
        let mut requests = self.requests();
        let own = requests.ids.remove(id);
        let place = own.and_then(|own| requests.places.get(&own));
        place.inspect(|place| place.cancel()).is_some()
    }

    pub(super) fn cancel_all(&self) {
        self.requests().places.values().for_each(Place::cancel);
    }

    /// `None` where nothing waits for an answer.
    pub(super) fn end(&self, own: &RequestId) -> Option<Place> {
        let mut requests = self.requests();
        let place = requests.places.remove(own)?;
        if requests.ids.get(&place.id) == Some(own) {
            requests.ids.remove(&place.id);
        }
        Some(place)
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
