//! Lines over chunks: skip so many, take some, count the rest, in one pass and one fixed buffer.
//!
//! A line ends at `\n` and nothing else. Chunks end anywhere; nothing here depends on where.

use memchr::{memchr_iter, memrchr};

use crate::cancel::Stop;
use crate::error::{Error, ErrorKind, Result};
use crate::text::ReadAt;

/// The one buffer of a read, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// Line breaks in `bytes`.
fn count_breaks(bytes: &[u8]) -> u64 {
    to_u64(memchr_iter(b'\n', bytes).count())
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// A source as chunks, like [`std::io::BufRead`], with a size that it stops at and a caller who may stop it.
struct Chunks<'a> {
    source: &'a dyn ReadAt,
    stop: &'a Stop<'a>,
    /// Where the source ends, as far as it is known. Lowered to where a read found no more.
    end: Option<u64>,
    /// Where the next read starts: behind the last byte in the buffer.
    offset: u64,
    buffer: Vec<u8>,
    /// `buffer[start..filled]` is read and not consumed.
    start: usize,
    filled: usize,
}

impl<'a> Chunks<'a> {
    fn new(source: &'a dyn ReadAt, stop: &'a Stop<'a>) -> Self {
        let end = source.known_size();
        // One byte at least, so that a read into it can only give 0 at the end.
        let size = end.and_then(|end| usize::try_from(end).ok()).map_or(CHUNK_BYTES, |end| end.clamp(1, CHUNK_BYTES));
        Self { source, stop, end, offset: 0, buffer: vec![0; size], start: 0, filled: 0 }
    }

    fn unread(&self) -> &[u8] {
        &self.buffer[self.start..self.filled]
    }

    /// What is read and not consumed, or the next chunk; empty at the end only.
    fn fill(&mut self) -> Result<&[u8]> {
        if self.start == self.filled {
            self.start = 0;
            self.filled = 0;
            self.read_more()?;
        }
        Ok(self.unread())
    }

    /// The first `count` bytes of the source, or all of it where it has fewer. Nothing may have been consumed.
    fn head(&mut self, count: usize) -> Result<&[u8]> {
        while self.filled < count.min(self.buffer.len()) && self.read_more()? > 0 {}
        Ok(&self.buffer[..self.filled.min(count)])
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.filled, "only what was filled can be consumed");
    }

    /// Appends to the buffer; 0 at the end.
    fn read_more(&mut self) -> Result<usize> {
        let room = &mut self.buffer[self.filled..];
        let left = self.end.map_or(u64::MAX, |end| end.saturating_sub(self.offset));
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(room.len());
        if wanted == 0 {
            return Ok(0);
        }
        self.stop.check()?;
        let count = self.source.read_at(&mut room[..wanted], self.offset).map_err(read_error)?;
        if count == 0 {
            self.end = Some(self.offset);
        }
        self.filled += count;
        self.offset += to_u64(count);
        Ok(count)
    }
}

fn read_error(error: std::io::Error) -> Error {
    // Some regular files of procfs (kmsg) and FUSE block; a non-blocking descriptor says so instead.
    let kind = if error.kind() == std::io::ErrorKind::WouldBlock { ErrorKind::Busy } else { ErrorKind::Io };
    Error::caused(kind, error)
}

/// A position in the lines of a source.
pub(crate) struct Lines<'a> {
    chunks: Chunks<'a>,
    /// Line breaks consumed.
    breaks: u64,
    /// The last byte consumed; `None` at the start of the text.
    last: Option<u8>,
}

/// The bytes of some whole lines, as they stand in the file, without the last one's break.
pub(crate) struct Taken {
    pub(crate) raw: Vec<u8>,
    pub(crate) lines: u64,
    pub(crate) ended: Ended,
}

/// Why no more lines were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As many as were wanted.
    Lines,
    /// The next one would not fit any more.
    Bytes,
    /// The file has no more, and whether the last one has a line break.
    File { terminated: bool },
}

impl<'a> Lines<'a> {
    pub(crate) fn new(source: &'a dyn ReadAt, stop: &'a Stop<'a>) -> Self {
        Self { chunks: Chunks::new(source, stop), breaks: 0, last: None }
    }

    /// See [`Chunks::head`].
    pub(crate) fn head(&mut self, count: usize) -> Result<&[u8]> {
        self.chunks.head(count)
    }

    /// Leaves a byte order mark out of the text.
    pub(crate) fn skip_mark(&mut self, bytes: usize) {
        self.chunks.consume(bytes);
    }

    fn consume(&mut self, bytes: usize, breaks: u64) {
        self.last = self.chunks.unread()[..bytes].last().copied().or(self.last);
        self.breaks += breaks;
        self.chunks.consume(bytes);
    }

    /// Goes to the start of the line behind the next `breaks` line breaks; `false` where no line starts there.
    pub(crate) fn skip(&mut self, breaks: u64) -> Result<bool> {
        let target = self.breaks.saturating_add(breaks);
        loop {
            let left = target - self.breaks;
            let chunk = self.chunks.fill()?;
            if chunk.is_empty() || left == 0 {
                return Ok(!chunk.is_empty());
            }
            let (bytes, found) = up_to_break(chunk, left);
            self.consume(bytes, found);
        }
    }

    /// Takes up to `lines` whole lines whose bytes, with one for each break between them, are at most `max_bytes`. No line fits
    /// when the first is longer; then it is not read to its end.
    ///
    /// What was read behind the last line that fits counts as consumed.
    pub(crate) fn take(&mut self, lines: u64, max_bytes: u64) -> Result<Taken> {
        // One byte over the budget shows whether the last line ends within it.
        let room = usize::try_from(max_bytes).unwrap_or(usize::MAX).saturating_add(1);
        let target = self.breaks.saturating_add(lines);
        let mut raw = Vec::new();
        while raw.len() < room {
            let left = target - self.breaks;
            let chunk = self.chunks.fill()?;
            if chunk.is_empty() {
                return Ok(Taken::all(raw));
            }
            let chunk = &chunk[..chunk.len().min(room - raw.len())];
            let (bytes, found) = up_to_break(chunk, left);
            reserve(&mut raw, bytes, room);
            raw.extend_from_slice(&chunk[..bytes]);
            self.consume(bytes, found);
            if found == left {
                raw.pop();
                return Ok(Taken { raw, lines, ended: Ended::Lines });
            }
        }
        Ok(Taken::fitting(raw))
    }

    /// Counts the rest: the number of all lines, and whether the last one has a line break.
    pub(crate) fn count_rest(&mut self) -> Result<(u64, bool)> {
        loop {
            let chunk = self.chunks.fill()?;
            if chunk.is_empty() {
                break;
            }
            let (bytes, breaks) = (chunk.len(), count_breaks(chunk));
            self.consume(bytes, breaks);
        }
        let terminated = self.last == Some(b'\n');
        let open = u64::from(self.last.is_some() && !terminated);
        Ok((self.breaks + open, terminated))
    }
}

/// Makes room for `bytes` more: twice the room as it is, so that copying stays linear, and never more than `most` in all.
fn reserve(raw: &mut Vec<u8>, bytes: usize, most: usize) {
    if raw.capacity() - raw.len() < bytes {
        let wanted = raw.capacity().saturating_mul(2).clamp(raw.len() + bytes, most.max(raw.len() + bytes));
        raw.reserve_exact(wanted - raw.len());
    }
}

/// The bytes of `chunk` up to and with its `wanted`th line break, or all where it has fewer; and how many breaks they hold.
fn up_to_break(chunk: &[u8], wanted: u64) -> (usize, u64) {
    let found = count_breaks(chunk);
    if found < wanted {
        return (chunk.len(), found);
    }
    let before = usize::try_from(wanted - 1).unwrap_or(usize::MAX);
    let end = memchr_iter(b'\n', chunk).nth(before).map_or(chunk.len(), |index| index + 1);
    (end, wanted)
}

impl Taken {
    /// Everything up to the end of the file fits.
    fn all(mut raw: Vec<u8>) -> Self {
        let terminated = raw.last() == Some(&b'\n');
        let lines = if raw.is_empty() { 0 } else { count_breaks(&raw) + u64::from(!terminated) };
        if terminated {
            raw.pop();
        }
        Self { raw, lines, ended: Ended::File { terminated } }
    }

    /// The whole lines in one byte more than the budget. So a line break in the last byte ends a line that just fits.
    fn fitting(mut raw: Vec<u8>) -> Self {
        let end = memrchr(b'\n', &raw);
        raw.truncate(end.unwrap_or(0));
        let lines = end.map_or(0, |_| count_breaks(&raw) + 1);
        Self { raw, lines, ended: Ended::Bytes }
    }
}
