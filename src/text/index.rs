//! What earlier scans found of a file: where lines start, sparsely, and how many there are.

use std::sync::Arc;

use super::chunks::{CHUNK_BYTES, to_u64, to_usize};
use super::decoded::Restarts;
use super::long_line::Length;
use super::{Form, reserve};

/// Most places that an index holds, 16 bytes each: 256 KiB, whatever the file's size.
const MAX_PLACES: u64 = 16_384;

/// A byte of the file, and the line breaks before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) breaks: u64,
}

/// The lines of a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) lines: u64,
    /// Whether the last one has a line break.
    pub(crate) terminated: bool,
    /// Where the text ends.
    pub(crate) end: u64,
}

/// Places from the start of the text up to where scans have come, at least [`spacing`] bytes apart.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    spacing: u64,
    /// Once the file has been looked at.
    form: Option<Form>,
    /// Ascending in both fields. The first is where the text starts, behind a byte order mark.
    places: Vec<Place>,
    /// The most that there can be.
    most: usize,
    /// Once a scan has reached the end.
    totals: Option<Totals>,
}

impl Index {
    fn new(size: u64) -> Self {
        let spacing = spacing(size);
        // One more than there are gaps, and a last gap that is shorter.
        Self { spacing, form: None, places: Vec::new(), most: to_usize(size / spacing + 2, usize::MAX), totals: None }
    }
}

/// Bytes between the places of a file of `size` bytes: a power of two, and a whole number of chunks.
pub(super) fn spacing(size: u64) -> u64 {
    (size / MAX_PLACES).checked_next_power_of_two().unwrap_or(u64::MAX).max(to_u64(CHUNK_BYTES))
}

/// What one read knows of its file from earlier ones, and adds to it.
#[derive(Clone, Debug)]
pub(crate) struct Memo {
    /// Where line starts are found; `None` where nothing is remembered.
    index: Option<Arc<Index>>,
    /// Exactly where the line starts that follows the last window.
    cursor: Option<Place>,
    /// Where the text of an encoding other than UTF-8 can be decoded from.
    pub(crate) restarts: Option<Restarts>,
    /// The line that was read in parts last.
    pub(crate) line: Option<LongLine>,
}

/// What is known of a line that is read in parts.
#[derive(Clone, Debug)]
pub(crate) struct LongLine {
    /// Line breaks before it.
    pub(crate) breaks: u64,
    /// Bytes of its text, as far as it was read.
    pub(crate) length: Length,
    /// Where it can be decoded from; offsets of its own text where the file is UTF-8.
    pub(crate) restarts: Restarts,
}

impl Memo {
    /// Remembers nothing.
    pub(crate) fn none() -> Self {
        Self { index: None, cursor: None, restarts: None, line: None }
    }

    /// Of a file that nothing is known of yet.
    pub(crate) fn fresh(size: u64) -> Self {
        Self { index: Some(Arc::new(Index::new(size))), ..Self::none() }
    }

    fn index(&self) -> Option<&Index> {
        self.index.as_deref()
    }

    /// Bytes of memory that it holds.
    pub(crate) fn bytes(&self) -> usize {
        let places = self.index().map_or(0, |index| size_of::<Index>() + index.places.capacity() * size_of::<Place>());
        let restarts = self.restarts.iter().chain(self.line.as_ref().map(|line| &line.restarts));
        places + restarts.map(Restarts::bytes).sum::<usize>()
    }

    pub(crate) fn form(&self) -> Option<Form> {
        self.index()?.form
    }

    pub(crate) fn recognise(&mut self, form: Form) {
        if let Some(index) = self.unfinished() {
            index.form = Some(form);
        }
    }

    pub(crate) fn totals(&self) -> Option<Totals> {
        self.index()?.totals
    }

    /// How far scans have come.
    pub(crate) fn last(&self) -> Option<Place> {
        self.index()?.places.last().copied()
    }

    pub(crate) fn spacing(&self) -> Option<u64> {
        Some(self.index()?.spacing)
    }

    /// The last place known that is not behind the start of the line which `breaks` line breaks are before.
    pub(crate) fn nearest(&self, breaks: u64) -> Option<Place> {
        if let Some(cursor) = self.cursor.filter(|cursor| cursor.breaks == breaks) {
            return Some(cursor);
        }
        let places = &self.index()?.places;
        // With as many breaks before it, a place may lie anywhere in the line.
        let before = places.partition_point(|place| place.breaks < breaks);
        places.get(before.saturating_sub(1)).copied()
    }

    /// The index, while there is something to add to it. What others share is copied the first time.
    fn unfinished(&mut self) -> Option<&mut Index> {
        self.index.as_mut().filter(|index| index.totals.is_none()).map(Arc::make_mut)
    }

    /// Unless it lies so far ahead that scans have not come there. The totals may be known before: the end may have been reached from
    /// window to window.
    pub(crate) fn record(&mut self, place: Place) {
        let Some(index) = &mut self.index else { return };
        let is_due = |last: &Place| {
            let ahead = place.offset.saturating_sub(last.offset);
            ahead >= index.spacing && ahead - index.spacing < to_u64(CHUNK_BYTES)
        };
        if index.places.last().is_none_or(is_due) {
            let index = Arc::make_mut(index);
            reserve(&mut index.places, 1, index.most);
            index.places.push(place);
        }
    }

    pub(crate) fn complete(&mut self, totals: Totals) {
        if let Some(index) = self.unfinished() {
            index.totals = Some(totals);
        }
    }

    pub(crate) fn go_on_from(&mut self, cursor: Place) {
        self.cursor = self.index.is_some().then_some(cursor);
    }
}
