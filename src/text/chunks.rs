//! A source as chunks of one fixed buffer, like [`std::io::BufRead`], with an end that nothing goes beyond and a caller who may stop it.

use std::io;

use crate::cancel::Stop;
use crate::error::{Error, ErrorKind, Result};
use crate::text::ReadAt;

/// The one buffer of a read, in bytes. Larger ones win nothing on a calm machine and lose beside neighbours, and this is what a
/// cancelled read waits for.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

pub(crate) fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// At most `most` bytes, as a length.
pub(crate) fn to_usize(count: u64, most: usize) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX).min(most)
}

/// See the module.
pub(crate) struct Chunks<'a> {
    pub(crate) source: &'a dyn ReadAt,
    pub(crate) stop: &'a Stop<'a>,
    end: End,
    /// Where the next read starts: behind the last byte in the buffer.
    offset: u64,
    buffer: Vec<u8>,
    /// `buffer[start..filled]` is read and not consumed.
    start: usize,
    filled: usize,
}

/// Where a scan ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nobody knows where the source ends, and nothing from this byte on may be looked at.
    Unknown { horizon: u64 },
    /// The source has no more than so many bytes.
    File(u64),
    /// The source goes on, and nothing from this byte on may be looked at.
    Horizon(u64),
}

impl End {
    pub(crate) fn new(size: Option<u64>, horizon: u64) -> Self {
        match size {
            None => Self::Unknown { horizon },
            Some(size) if size <= horizon => Self::File(size),
            Some(_) => Self::Horizon(horizon),
        }
    }

    pub(crate) fn offset(self) -> u64 {
        match self {
            Self::Unknown { horizon: end } | Self::File(end) | Self::Horizon(end) => end,
        }
    }
}

impl<'a> Chunks<'a> {
    pub(crate) fn new(source: &'a dyn ReadAt, horizon: u64, stop: &'a Stop<'a>) -> Self {
        let end = End::new(source.known_size(), horizon);
        // One byte at least, so that a read into it can only give 0 at the end.
        let size = match end {
            End::Unknown { .. } => CHUNK_BYTES,
            End::File(end) | End::Horizon(end) => to_usize(end, CHUNK_BYTES).max(1),
        };
        Self { source, stop, end, offset: 0, buffer: vec![0; size], start: 0, filled: 0 }
    }

    /// As far as it is known: a read that finds no more makes it the file's.
    pub(crate) fn end(&self) -> End {
        self.end
    }

    /// The offset of the next byte that is not consumed.
    pub(crate) fn position(&self) -> u64 {
        self.offset - to_u64(self.filled - self.start)
    }

    /// What is read and not consumed.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.buffer[self.start..self.filled]
    }

    /// Goes to another place.
    pub(crate) fn seek(&mut self, position: u64) {
        match usize::try_from(self.offset.saturating_sub(position)) {
            // What is in the buffer stays.
            Ok(back) if position <= self.offset && back <= self.filled => self.start = self.filled - back,
            _ => {
                self.offset = position;
                self.start = 0;
                self.filled = 0;
            }
        }
    }

    /// What is read and not consumed, or the next chunk; empty at the end only.
    pub(crate) fn fill(&mut self) -> Result<&[u8]> {
        self.fill_at_most(CHUNK_BYTES)
    }

    /// The same; where a chunk must be read, no more than so many bytes.
    pub(crate) fn fill_at_most(&mut self, most: usize) -> Result<&[u8]> {
        if self.start == self.filled {
            self.start = 0;
            self.filled = 0;
            self.read_more(most)?;
        }
        Ok(self.unread())
    }

    /// The first `count` bytes of the source, or all of it where it has fewer. Nothing may have been consumed.
    pub(crate) fn head(&mut self, count: usize) -> Result<&[u8]> {
        debug_assert_eq!((self.start, self.position()), (0, 0), "the head comes first");
        while self.filled < count.min(self.buffer.len()) && self.read_more(CHUNK_BYTES)? > 0 {}
        Ok(&self.buffer[..self.filled.min(count)])
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.filled, "only what was filled can be consumed");
    }

    /// The buffer, for whoever reads on by itself from [`position`](Self::position). What it held is lost.
    pub(crate) fn lend_buffer(&mut self) -> &mut [u8] {
        self.offset = self.position();
        self.start = 0;
        self.filled = 0;
        &mut self.buffer
    }

    /// Appends to the buffer; 0 at the end.
    fn read_more(&mut self, most: usize) -> Result<usize> {
        let room = &mut self.buffer[self.filled..];
        let left = self.end.offset().saturating_sub(self.offset);
        let wanted = to_usize(left, room.len().min(most));
        if wanted == 0 {
            // What no size is known of goes on behind the horizon where one byte more can be had.
            if let (End::Unknown { horizon }, false) = (self.end, room.is_empty()) {
                let more = read(self.source, self.stop, &mut room[..1], self.offset)? > 0;
                self.end = if more { End::Horizon(horizon) } else { End::File(self.offset) };
            }
            return Ok(0);
        }
        let count = read(self.source, self.stop, &mut room[..wanted], self.offset)?;
        if count == 0 {
            self.end = End::File(self.offset);
        }
        self.filled += count;
        self.offset += to_u64(count);
        Ok(count)
    }
}

/// One read, before which the caller may stop it.
fn read(source: &dyn ReadAt, stop: &Stop<'_>, buffer: &mut [u8], offset: u64) -> Result<usize> {
    stop.check()?;
    let count = read_at(source, buffer, offset)?;
    stop.tell(offset + to_u64(count), source.known_size());
    Ok(count)
}

/// One read, again where a signal interrupted it.
pub(crate) fn read_at(source: &dyn ReadAt, buffer: &mut [u8], offset: u64) -> Result<usize> {
    loop {
        match source.read_at(buffer, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Some regular files of procfs (kmsg) and FUSE block; a non-blocking descriptor says so instead.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(Error::caused(ErrorKind::Busy, error));
            }
            result => return result.map_err(|error| Error::caused(ErrorKind::Io, error)),
        }
    }
}
