//! A source as chunks of one fixed buffer, like [`std::io::BufRead`], with an end that nothing goes beyond and a caller who may stop it.

use std::io;

use super::ReadAt;
use super::feed::{End, Feed, Raw};
use crate::cancel::Stop;
use crate::error::{Error, ErrorKind, Result};

/// The one buffer of a read, in bytes, and what a cancelled read waits for.
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
    pub(crate) feed: Feed<'a>,
    pub(crate) stop: &'a Stop<'a>,
    /// Where the next read starts: behind the last byte in the buffer.
    offset: u64,
    buffer: Vec<u8>,
    /// `buffer[start..filled]` is read and not consumed.
    start: usize,
    filled: usize,
}

impl<'a> Chunks<'a> {
    pub(crate) fn new(source: &'a dyn ReadAt, horizon: u64, stop: &'a Stop<'a>) -> Self {
        let feed = Feed::Raw(Raw::new(source, horizon));
        // One byte at least, so that a read into it can only give 0 at the end.
        let size = match feed.end() {
            End::Unknown => CHUNK_BYTES,
            End::File(end) | End::Horizon(end) => to_usize(end, CHUNK_BYTES).max(1),
        };
        Self { feed, stop, offset: 0, buffer: vec![0; size], start: 0, filled: 0 }
    }

    /// See [`Feed::end`].
    pub(crate) fn end(&self) -> End {
        self.feed.end()
    }

    /// Goes on with another feed, from this byte of its text.
    pub(crate) fn change_feed(&mut self, feed: Feed<'a>, position: u64) {
        self.feed = feed;
        self.offset = position;
        self.start = 0;
        self.filled = 0;
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

    /// The last bytes that were consumed, as long as nothing is read after them.
    pub(crate) fn consumed(&self, count: usize) -> &[u8] {
        &self.buffer[self.start - count..self.start]
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
        let most = room.len().min(most);
        let count = self.feed.read(&mut room[..most], self.offset, self.stop)?;
        self.filled += count;
        self.offset += to_u64(count);
        Ok(count)
    }
}

/// One read, unless the caller wants no more; again where a signal interrupted it.
pub(crate) fn read_at(
    source: &dyn ReadAt,
    buffer: &mut [u8],
    offset: u64,
    check: impl Fn() -> Result<()>,
) -> Result<usize> {
    loop {
        check()?;
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
