//! The calls that are not answered yet, by their ids.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Two calls may have the same id; a cancel means both. So each also has a number of its own.
#[derive(Default)]
pub(super) struct Running {
    numbers: AtomicU64,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    /// By number.
    flags: HashMap<u64, Arc<AtomicBool>>,
    /// The numbers of an id.
    numbers: HashMap<String, BTreeMap<u64, Arc<AtomicBool>>>,
}

/// The place of one call.
pub(super) struct Ticket {
    number: u64,
    id: Option<String>,
    flag: Arc<AtomicBool>,
}

impl Ticket {
    pub(super) fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

impl Running {
    /// A call without an id, or with `null`, can only be cancelled with all others.
    pub(super) fn start(&self, id: Option<&str>) -> Ticket {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let ticket = Ticket { number, id: id.filter(|id| *id != "null").map(str::to_owned), flag: Arc::default() };
        let mut calls = self.calls();
        calls.flags.insert(number, Arc::clone(&ticket.flag));
        if let Some(id) = &ticket.id {
            calls.numbers.entry(id.clone()).or_default().insert(number, Arc::clone(&ticket.flag));
        }
        ticket
    }

    /// The numbers of those with this id that were not cancelled yet, in order.
    pub(super) fn cancel(&self, id: &str) -> Vec<u64> {
        let mut calls = self.calls();
        let cancelled = calls.numbers.remove(id).unwrap_or_default();
        cancelled.values().for_each(set);
        cancelled.into_keys().collect()
    }

    pub(super) fn cancel_all(&self) {
        self.calls().flags.values().for_each(set);
    }

    pub(super) fn finish(&self, ticket: &Ticket) {
        let mut calls = self.calls();
        calls.flags.remove(&ticket.number);
        let Some(id) = &ticket.id else { return };
        if let Some(numbers) = calls.numbers.get_mut(id) {
            numbers.remove(&ticket.number);
            if numbers.is_empty() {
                calls.numbers.remove(id);
            }
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn set(flag: &Arc<AtomicBool>) {
    flag.store(true, Ordering::Relaxed);
}
