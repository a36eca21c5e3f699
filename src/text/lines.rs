//! Lines over chunks: go to one, take some, count the rest, in one pass and one fixed buffer.
//!
//! A line ends at `\n` and nothing else. Chunks end anywhere; nothing here depends on where.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memrchr, memrchr_iter};

use super::chunks::{CHUNK_BYTES, Chunks, to_u64, to_usize};
use super::count::{self, Slots};
use super::decoded::{Decoded, Restart, Restarts};
use super::encoding::Coding;
use super::feed::{End, Feed, Raw};
use super::index::{Memo, Place, Totals, spacing};
use super::{Form, ReadAt, TextEncoding, count_breaks, reserve};
use crate::cancel::Stop;
use crate::error::Result;

/// Bytes in which one line break is looked for.
const BLOCK_BYTES: usize = 2048;

/// A position in the lines of a source.
pub(crate) struct Lines<'a> {
    pub(super) chunks: Chunks<'a>,
    pub(super) memo: &'a mut Memo,
    /// What the chunks came from before a line was decoded by itself.
    pub(super) raw: Option<Raw<'a>>,
    /// Where the text starts.
    start: u64,
    /// Line breaks before the position.
    breaks: u64,
    /// The byte before the position, where it was looked at.
    last: Option<u8>,
    /// Whether nothing is to be read but the window.
    alone: bool,
}

/// Whether a line starts at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Line,
    /// The file ends before.
    End,
    /// The scan may not go there.
    Horizon,
}

/// The bytes of some whole lines, as they stand in the file, without the last one's break.
pub(crate) struct Taken<'a> {
    pub(crate) raw: Cow<'a, [u8]>,
    /// The offset of the first.
    pub(crate) start: u64,
    pub(crate) lines: u64,
    /// Whether the last one has a line break.
    pub(crate) terminated: bool,
    pub(crate) ended: Ended,
}

/// Why no more lines were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As many as were wanted.
    #[default]
    Lines,
    /// The next one would not fit any more.
    Bytes,
    /// The file has no more.
    File,
    /// The scan may not go on.
    Horizon,
}

/// Where counting came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// To the end of the file.
    All(Totals),
    /// As far as a scan may go; so many lines are known to start before there.
    AtLeast(u64),
}

impl Count {
    pub(crate) fn totals(self) -> Option<Totals> {
        match self {
            Self::All(totals) => Some(totals),
            Self::AtLeast(_) => None,
        }
    }

    /// The lines that are there for sure.
    pub(crate) fn known_lines(self) -> u64 {
        match self {
            Self::All(totals) => totals.lines,
            Self::AtLeast(lines) => lines,
        }
    }
}

impl<'a> Lines<'a> {
    /// `horizon` is the first byte that may not be looked at.
    pub(crate) fn new(source: &'a dyn ReadAt, horizon: u64, memo: &'a mut Memo, stop: &'a Stop<'a>) -> Self {
        Self {
            chunks: Chunks::new(source, horizon, stop),
            memo,
            raw: None,
            start: 0,
            breaks: 0,
            last: None,
            alone: false,
        }
    }

    /// The rest of the file will not be counted, so no more of it is read than the window needs.
    pub(crate) fn leave_rest(&mut self) {
        self.alone = true;
    }

    pub(super) fn leaves_rest(&self) -> bool {
        self.alone
    }

    pub(super) fn place(&self) -> Place {
        Place { offset: self.chunks.position(), breaks: self.breaks }
    }

    /// Goes to where the text starts, once it is known what `encoding` makes of the file.
    pub(crate) fn begin(&mut self, encoding: TextEncoding, size: Option<u64>) -> Result<Form> {
        let form = match self.memo.form() {
            Some(form) => form,
            None => encoding.recognise(self.chunks.head(encoding.sample_bytes())?, size)?,
        };
        self.memo.recognise(form);
        match form.coding {
            Coding::Utf8 => self.start = form.start,
            Coding::Other(encoding) => {
                let start = Restart { text: 0, raw: form.start };
                let spacing = self.memo.spacing().unwrap_or(u64::MAX);
                let restarts = self.memo.restarts.take().unwrap_or_else(|| Restarts::new(start, spacing));
                let Feed::Raw(raw) = self.chunks.feed else { unreachable!("begins once") };
                self.chunks.change_feed(Feed::Decoded(Box::new(Decoded::new(raw, encoding, restarts))), 0);
            }
        }
        let start = Place { offset: self.start, breaks: 0 };
        self.memo.record(start);
        self.go_to(start);
        Ok(form)
    }

    /// Keeps where decoding can start for the next read.
    pub(crate) fn remember(&mut self) {
        if let (Feed::Decoded(decoded), None, Some(_)) = (&self.chunks.feed, &self.raw, self.memo.spacing()) {
            self.memo.restarts = Some(decoded.restarts().clone());
        }
    }

    pub(super) fn go_to(&mut self, place: Place) {
        self.chunks.seek(place.offset);
        self.breaks = place.breaks;
        self.last = None;
    }

    /// The next chunk.
    fn fill(&mut self) -> Result<&[u8]> {
        self.fill_at_most(CHUNK_BYTES)
    }

    /// From a place that is worth to be remembered.
    fn fill_at_most(&mut self, most: usize) -> Result<&[u8]> {
        if self.chunks.unread().is_empty() {
            self.memo.record(self.place());
        }
        self.chunks.fill_at_most(most)
    }

    /// The next chunk of a window that has room for so many bytes more.
    fn fill_window(&mut self, room: usize) -> Result<&[u8]> {
        // What was counted before is not counted again.
        let alone = self.alone || self.memo.totals().is_some();
        self.fill_at_most(if alone { room } else { CHUNK_BYTES })
    }

    fn consume(&mut self, bytes: usize, breaks: u64) {
        self.last = self.chunks.unread()[..bytes].last().copied().or(self.last);
        self.breaks += breaks;
        self.chunks.consume(bytes);
    }

    /// Whether the scan may not go on, though the file does.
    fn at_horizon(&self) -> bool {
        matches!(self.chunks.end(), End::Horizon(_))
    }

    /// Goes to the start of the line that `breaks` line breaks are before. Of what comes there a read takes `room` bytes where the rest
    /// is left.
    pub(crate) fn skip_to(&mut self, breaks: u64, room: usize) -> Result<Start> {
        if self.memo.totals().is_some_and(|totals| totals.lines <= breaks) {
            return Ok(Start::End);
        }
        if let Some(place) = self.memo.nearest(breaks).filter(|place| place.offset > self.chunks.position()) {
            self.go_to(place);
        }
        loop {
            let left = breaks - self.breaks;
            let chunk = if left == 0 { self.fill_window(room)? } else { self.fill()? };
            if chunk.is_empty() {
                return Ok(if self.at_horizon() { Start::Horizon } else { Start::End });
            }
            if left == 0 {
                return Ok(Start::Line);
            }
            let (bytes, found) = up_to_break(chunk, left);
            self.consume(bytes, found);
        }
    }

    /// Takes up to `lines` whole lines whose bytes, with one for each break between them, are at most `max_bytes`. No line fits
    /// when the first is longer; then it is not read to its end.
    ///
    /// What was read behind the last line that fits counts as consumed.
    pub(crate) fn take(&mut self, lines: u64, max_bytes: u64) -> Result<Taken<'_>> {
        let room = room(max_bytes);
        let (start, before) = (self.chunks.position(), self.breaks);
        let target = before.saturating_add(lines);
        let mut raw = Vec::new();
        let (bytes, ended) = loop {
            let (left, most) = (target - self.breaks, room - raw.len());
            let chunk = self.fill_window(most)?;
            let chunk = &chunk[..chunk.len().min(most)];
            let is_empty = chunk.is_empty();
            let (bytes, found) = up_to_break(chunk, left);
            self.consume(bytes, found);
            let ended = match self.chunks.end() {
                _ if found == left => Some(Ended::Lines),
                _ if bytes == most => Some(Ended::Bytes),
                End::Horizon(end) if is_empty || self.chunks.position() >= end => Some(Ended::Horizon),
                End::File(end) if is_empty || self.chunks.position() >= end => Some(Ended::File),
                _ => None,
            };
            if let Some(ended) = ended {
                break (bytes, ended);
            }
            reserve(&mut raw, bytes, room);
            raw.extend_from_slice(self.chunks.consumed(bytes));
        };
        let breaks = self.breaks - before;
        let last = self.chunks.consumed(bytes);
        // Most windows lie in one chunk, and need no copy of it.
        if raw.is_empty() {
            return Ok(Taken::new(start, last.into(), breaks, ended));
        }
        reserve(&mut raw, bytes, room);
        raw.extend_from_slice(last);
        Ok(Taken::new(start, raw.into(), breaks, ended))
    }

    /// The last `lines` lines of `totals`, or as many of them as are at most `max_bytes` with one for each break between them; none when
    /// the last one is longer.
    pub(crate) fn take_last(&mut self, lines: u64, max_bytes: u64, totals: Totals) -> Result<Taken<'static>> {
        if totals.lines == 0 {
            return Ok(Taken::new(self.start, Vec::new().into(), 0, Ended::File));
        }
        let end = totals.end - u64::from(totals.terminated);
        // One byte over the budget shows whether the first line starts within it.
        let start = end.saturating_sub(max_bytes.saturating_add(1)).max(self.start);
        let mut raw = self.bytes(start, end)?;
        let (from, ended) = match memrchr_iter(b'\n', &raw).nth(to_usize(lines - 1, usize::MAX)) {
            Some(before) => (before + 1, Ended::Lines),
            None if start == self.start && to_u64(raw.len()) <= max_bytes => (0, Ended::File),
            None => (memchr(b'\n', &raw).map_or(raw.len() + 1, |before| before + 1), Ended::Bytes),
        };
        // Not one line where nothing fits, else one more than there are breaks.
        let lines = raw.get(from..).map_or(0, |raw| count_breaks(raw) + 1);
        raw.drain(..from.min(raw.len()));
        Ok(Taken { start: start + to_u64(from), raw: raw.into(), lines, terminated: totals.terminated, ended })
    }

    /// The bytes of a part, as far as the source has them.
    pub(super) fn bytes(&mut self, start: u64, end: u64) -> Result<Vec<u8>> {
        self.chunks.seek(start);
        let room = to_usize(end - start, usize::MAX);
        let mut raw = Vec::new();
        while raw.len() < room {
            let chunk = self.chunks.fill_at_most(room - raw.len())?;
            if chunk.is_empty() {
                break;
            }
            let count = chunk.len().min(room - raw.len());
            reserve(&mut raw, count, room);
            raw.extend_from_slice(&chunk[..count]);
            self.chunks.consume(count);
        }
        Ok(raw)
    }

    /// Whether the file is known to have nothing from this place on. What was consumed may go beyond it.
    pub(crate) fn is_end(&mut self, place: Place) -> Result<bool> {
        Ok(match self.chunks.end() {
            End::File(end) => place.offset >= end,
            End::Horizon(_) => false,
            End::Unknown => {
                self.chunks.position() <= place.offset && self.chunks.fill()?.is_empty() && !self.at_horizon()
            }
        })
    }

    /// Counts what is left of the file.
    pub(crate) fn count_rest(&mut self) -> Result<Count> {
        if let Some(totals) = self.memo.totals() {
            return Ok(Count::All(totals));
        }
        if let Some(last) = self.memo.last().filter(|last| last.offset > self.chunks.position()) {
            self.go_to(last);
        }
        self.count_in_slots()?;
        loop {
            let chunk = self.fill()?;
            if chunk.is_empty() {
                break;
            }
            let (bytes, breaks) = (chunk.len(), count_breaks(chunk));
            self.consume(bytes, breaks);
        }
        Ok(self.counted())
    }

    /// Counts almost all that is left where that is much; the last chunk stays for whoever wants to know how the file ends. What must be
    /// decoded is not counted so.
    fn count_in_slots(&mut self) -> Result<()> {
        let mut place = self.place();
        let (source, end) = match (&self.chunks.feed, self.chunks.end()) {
            (Feed::Raw(raw), End::File(end) | End::Horizon(end)) => (raw.source, end),
            _ => return Ok(()),
        };
        if end.saturating_sub(place.offset) < count::MIN_BYTES {
            return Ok(());
        }
        let (end, stop) = (end - to_u64(CHUNK_BYTES), self.chunks.stop);
        let bytes = self.memo.spacing().unwrap_or_else(|| spacing(end));
        let slots = Slots { source, range: place.offset..end, bytes };
        let (counts, result) = slots.count(self.chunks.lend_buffer(), stop);
        for breaks in counts {
            self.memo.record(place);
            place = Place { offset: (place.offset + bytes).min(end), breaks: place.breaks + breaks };
            self.go_to(place);
        }
        // The next read goes on from here, if this one may not.
        self.memo.record(place);
        result
    }

    fn counted(&mut self) -> Count {
        let terminated = self.last == Some(b'\n');
        let open = u64::from(self.last.is_some() && !terminated);
        if self.at_horizon() {
            // The file goes on, so behind the last line break another line starts.
            return Count::AtLeast(self.breaks + 1);
        }
        let totals = Totals { lines: self.breaks + open, terminated, end: self.chunks.position() };
        self.memo.complete(totals);
        Count::All(totals)
    }

    /// The next window is likely to start here.
    pub(crate) fn go_on_from(&mut self, cursor: Place) {
        self.memo.go_on_from(cursor);
    }
}

/// One byte over the budget shows whether the last line ends within it.
pub(crate) fn room(max_bytes: u64) -> usize {
    to_usize(max_bytes, usize::MAX).saturating_add(1)
}

/// The bytes of `chunk` up to and with its `wanted`th line break, or all where it has fewer; and how many breaks they hold.
fn up_to_break(chunk: &[u8], wanted: u64) -> (usize, u64) {
    let (mut bytes, mut found) = (0, 0);
    // Counting goes far faster than stopping at each break, so that is done in the last block alone.
    for block in chunk.chunks(BLOCK_BYTES) {
        let breaks = count_breaks(block);
        if found + breaks >= wanted {
            let before = to_usize(wanted - found - 1, usize::MAX);
            let end = memchr_iter(b'\n', block).nth(before).map_or(block.len(), |index| index + 1);
            return (bytes + end, wanted);
        }
        (bytes, found) = (bytes + block.len(), found + breaks);
    }
    (bytes, found)
}

impl<'a> Taken<'a> {
    /// The whole lines of what was read. It has so many line breaks.
    fn new(start: u64, raw: Cow<'a, [u8]>, breaks: u64, ended: Ended) -> Self {
        let terminated = ended != Ended::File || raw.last() == Some(&b'\n');
        let length = match ended {
            Ended::Lines => raw.len() - 1,
            // The last line may go on.
            Ended::Bytes | Ended::Horizon => memrchr(b'\n', &raw).unwrap_or(0),
            Ended::File => raw.len() - usize::from(terminated),
        };
        let lines = breaks + u64::from(!terminated && !raw.is_empty());
        Self { raw: shortened(raw, length), start, lines, terminated, ended }
    }
}

fn shortened(raw: Cow<'_, [u8]>, length: usize) -> Cow<'_, [u8]> {
    match raw {
        Cow::Borrowed(raw) => Cow::Borrowed(&raw[..length]),
        Cow::Owned(mut raw) => {
            raw.truncate(length);
            Cow::Owned(raw)
        }
    }
}
