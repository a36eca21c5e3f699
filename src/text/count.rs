//! Counting the line breaks of a large file on two threads.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::chunks::{CHUNK_BYTES, read_at, to_u64, to_usize};
use super::{ReadAt, count_breaks};
use crate::cancel::Stop;
use crate::error::{Error, Result};

/// Fewer bytes are counted by one thread within a millisecond or two, which a second one is not worth.
pub(crate) const MIN_BYTES: u64 = 16 * 1024 * 1024;

/// The second thread's, whatever the environment says of stacks.
const STACK_BYTES: usize = CHUNK_BYTES + 192 * 1024;

/// A part of a source, cut into slots of equal size that threads take one after the other.
pub(crate) struct Slots<'a> {
    pub(crate) source: &'a dyn ReadAt,
    pub(crate) range: Range<u64>,
    /// Bytes of a slot; the last may have fewer.
    pub(crate) bytes: u64,
}

/// What the threads share.
struct Work<'a> {
    slots: &'a Slots<'a>,
    next: AtomicU64,
    counts: Vec<AtomicU64>,
    scanned: AtomicU64,
    /// The first slot that could not be counted to its end, and why.
    cut: Mutex<Option<(u64, Cut)>>,
}

/// How much of a slot is there.
enum Slot {
    Whole,
    Short,
}

enum Cut {
    /// The source has less than it was said to have.
    Ended,
    Failed(Error),
}

impl Slots<'_> {
    /// The line breaks of each slot, counted on this thread and, where it can be had, another one. `buffer` is this thread's.
    ///
    /// Where the source ends early the last slots are missing; what is read behind those that are there still shows how it ends. Where
    /// counting failed, or was stopped, they are missing from there on.
    pub(crate) fn count(&self, buffer: &mut [u8], stop: &Stop<'_>) -> (Vec<u64>, Result<()>) {
        let work = Work {
            slots: self,
            next: AtomicU64::new(0),
            counts: (0..(self.range.end - self.range.start).div_ceil(self.bytes)).map(|_| AtomicU64::new(0)).collect(),
            scanned: AtomicU64::new(0),
            cut: Mutex::new(None),
        };
        thread::scope(|scope| {
            // A process that may have no more threads counts alone.
            let _ = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || work.help(stop));
            work.run(buffer, || {
                let scanned = work.scanned.load(Ordering::Relaxed);
                stop.tell(self.range.start + scanned, self.source.known_size());
                stop.check()
            });
        });
        work.into_counts()
    }
}

impl Work<'_> {
    /// The second thread. Its buffer is on its stack, and gone with it.
    #[expect(clippy::large_stack_arrays, reason = "a new thread has room for it")]
    fn help(&self, stop: &Stop<'_>) {
        self.run(&mut [0; CHUNK_BYTES], || stop.check());
    }

    fn run(&self, buffer: &mut [u8], check: impl Fn() -> Result<()>) {
        while let Some(slot) = self.take() {
            match self.count(slot, buffer, &check) {
                Ok(Slot::Whole) => {}
                Ok(Slot::Short) => self.cut(slot, Cut::Ended),
                Err(error) => self.cut(slot, Cut::Failed(error)),
            }
        }
    }

    fn take(&self) -> Option<u64> {
        let slot = self.next.fetch_add(1, Ordering::Relaxed);
        (slot < to_u64(self.counts.len())).then_some(slot)
    }

    /// Counts one slot.
    fn count(&self, slot: u64, buffer: &mut [u8], check: impl Fn() -> Result<()>) -> Result<Slot> {
        let mut position = self.slots.range.start + slot * self.slots.bytes;
        let end = (position + self.slots.bytes).min(self.slots.range.end);
        let count = &self.counts[to_usize(slot, usize::MAX)];
        while position < end {
            let wanted = to_usize(end - position, buffer.len());
            let read = read_at(self.slots.source, &mut buffer[..wanted], position, &check)?;
            if read == 0 {
                return Ok(Slot::Short);
            }
            count.fetch_add(count_breaks(&buffer[..read]), Ordering::Relaxed);
            self.scanned.fetch_add(to_u64(read), Ordering::Relaxed);
            position += to_u64(read);
        }
        Ok(Slot::Whole)
    }

    /// No slot behind this one counts any more. All before it are taken, since they are taken in order.
    fn cut(&self, slot: u64, cut: Cut) {
        self.next.store(u64::MAX / 2, Ordering::Relaxed);
        let mut first = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(earlier, _)| slot < *earlier) {
            *first = Some((slot, cut));
        }
    }

    fn into_counts(self) -> (Vec<u64>, Result<()>) {
        let mut counts: Vec<u64> = self.counts.into_iter().map(AtomicU64::into_inner).collect();
        match self.cut.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => (counts, Ok(())),
            Some((slot, cut)) => {
                counts.truncate(to_usize(slot, usize::MAX));
                let result = match cut {
                    Cut::Failed(error) => Err(error),
                    // The slot before it is read again: it has the file's last byte when this one is empty.
                    Cut::Ended => {
                        counts.pop();
                        Ok(())
                    }
                };
                (counts, result)
            }
        }
    }
}
