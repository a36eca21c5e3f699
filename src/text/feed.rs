//! Where chunks of text come from: the bytes of a source as they are, or what they decode to.

use super::ReadAt;
use super::chunks::{read_at, to_u64, to_usize};
use super::decoded::Decoded;
use crate::cancel::Stop;
use crate::error::Result;

/// Where a scan ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nobody knows yet.
    Unknown,
    /// There are so many bytes.
    File(u64),
    /// There are more, and nothing from this byte on may be looked at.
    Horizon(u64),
}

/// See the module. Offsets are those of the text.
pub(crate) enum Feed<'a> {
    Raw(Raw<'a>),
    Decoded(Box<Decoded<'a>>),
}

impl Feed<'_> {
    /// As far as it is known: a read that finds no more makes it the file's.
    pub(crate) fn end(&self) -> End {
        match self {
            Self::Raw(raw) => raw.end,
            Self::Decoded(decoded) => decoded.end(),
        }
    }

    /// Reads up to `room.len()` bytes at `offset`; 0 at the end.
    pub(crate) fn read(&mut self, room: &mut [u8], offset: u64, stop: &Stop<'_>) -> Result<usize> {
        match self {
            Self::Raw(raw) => raw.read(room, offset, stop),
            Self::Decoded(decoded) => decoded.read(room, offset, stop),
        }
    }
}

/// A source as it is.
#[derive(Clone, Copy)]
pub(crate) struct Raw<'a> {
    pub(crate) source: &'a dyn ReadAt,
    /// The first byte that may not be looked at.
    horizon: u64,
    end: End,
}

impl<'a> Raw<'a> {
    pub(crate) fn new(source: &'a dyn ReadAt, horizon: u64) -> Self {
        let end = match source.known_size() {
            None => End::Unknown,
            Some(size) if size <= horizon => End::File(size),
            Some(_) => End::Horizon(horizon),
        };
        Self { source, horizon, end }
    }

    pub(crate) fn end(&self) -> End {
        self.end
    }

    pub(crate) fn read(&mut self, room: &mut [u8], offset: u64, stop: &Stop<'_>) -> Result<usize> {
        let bound = match self.end {
            End::File(end) | End::Horizon(end) => end,
            End::Unknown => self.horizon,
        };
        let wanted = to_usize(bound.saturating_sub(offset), room.len());
        if wanted == 0 {
            self.look_behind_horizon(offset, stop)?;
            return Ok(0);
        }
        let count = read_at(self.source, &mut room[..wanted], offset, || stop.check())?;
        if count == 0 {
            self.end = End::File(offset);
        }
        stop.tell(offset + to_u64(count), self.source.known_size());
        Ok(count)
    }

    /// What no size is known of goes on behind the horizon where one byte more can be had.
    fn look_behind_horizon(&mut self, offset: u64, stop: &Stop<'_>) -> Result<()> {
        if self.end == End::Unknown {
            let more = read_at(self.source, &mut [0], offset, || stop.check())? > 0;
            self.end = if more { End::Horizon(offset) } else { End::File(offset) };
        }
        Ok(())
    }
}
