//! What is in a directory, as far as is looked.

use crate::cancel::Stop;
use crate::error::Result;
use crate::sys::{Entry, Handle};

/// Most entries of a directory that are looked at. With the longest names they take 2.5 MB, for as long as a failed read is explained.
const MAX_ENTRIES: usize = 10_000;

/// Entries between two looks at the caller's flag.
const ENTRIES_BETWEEN_CHECKS: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) entries: Vec<Entry>,
    /// Whether these are all that there are.
    pub(super) is_all: bool,
}

/// `None` for a directory that cannot be listed.
pub(super) fn list(directory: &Handle, stop: &Stop<'_>) -> Result<Option<Listing>> {
    let Ok(mut listed) = directory.entries() else { return Ok(None) };
    let mut listing = Listing::default();
    while listing.entries.len() < MAX_ENTRIES {
        if listing.entries.len() % ENTRIES_BETWEEN_CHECKS == 0 {
            stop.check()?;
        }
        match listed.next() {
            Some(Ok(entry)) => listing.entries.push(entry),
            end => return Ok(Some(Listing { is_all: end.is_none(), ..listing })),
        }
    }
    Ok(Some(Listing { is_all: listed.next().is_none(), ..listing }))
}
