//! Parts of a line that is too long to be returned whole.

use memchr::memchr;

use super::chunks::{to_u64, to_usize};
use super::decoded::{Decoded, Restart, Restarts};
use super::feed::{End, Feed};
use super::index::{LongLine, Place};
use super::lines::Lines;
use crate::error::Result;

/// Most bytes of one character in UTF-8.
const MAX_CHAR_BYTES: u64 = 4;

/// A part of one line.
pub(crate) struct PartOfLine {
    pub(crate) text: String,
    /// The first byte in the line, counted from 0.
    pub(crate) start: u64,
    /// Places in it that could not be decoded.
    pub(crate) replacements: u64,
    pub(crate) length: Length,
}

/// Bytes of a line's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Exactly(u64),
    AtLeast(u64),
}

/// Why there is no such part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The line has no more bytes than these.
    Beyond(u64),
    /// The scan may not go there.
    Horizon,
}

impl PartOfLine {
    pub(crate) fn end(&self) -> u64 {
        self.start + to_u64(self.text.len())
    }

    /// Whether the line ends with this part.
    pub(crate) fn is_last(&self) -> bool {
        self.length == Length::Exactly(self.end())
    }

    /// Whether the line goes on, but nothing behind this part may be looked at.
    pub(crate) fn ends_at_horizon(&self) -> bool {
        self.length == Length::AtLeast(self.end())
    }
}

impl Lines<'_> {
    /// The part of this line that starts at byte `start` of its text, counted from 0, or with the character that this byte is in, and
    /// is at most `max_bytes` long, or one character. The position stays at the start of the line.
    pub(crate) fn part_of_line(&mut self, start: u64, max_bytes: u64) -> Result<Result<PartOfLine, Missing>> {
        let line = self.place();
        let known = self.memo.line.take().filter(|known| known.breaks == line.breaks);
        let base = self.decode_line(line, known.as_ref());
        let needed = start.saturating_add(max_bytes.max(MAX_CHAR_BYTES)).saturating_add(1);
        let length = match known.map_or(Length::AtLeast(0), |known| known.length) {
            Length::AtLeast(known) if !self.leaves_rest() || known <= needed => self.measure(base, known, needed)?,
            length => length,
        };
        let part = match length {
            Length::Exactly(length) if start > 0 && start >= length => Err(Missing::Beyond(length)),
            Length::AtLeast(length) if start >= length => Err(Missing::Horizon),
            _ => Ok(self.cut(base, start, max_bytes, length)?),
        };
        self.remember_line(line, length);
        Ok(part.map(|part| self.told(part, needed)))
    }

    /// Makes the chunks those of decoded text, and tells where in it the line starts.
    fn decode_line(&mut self, line: Place, known: Option<&LongLine>) -> u64 {
        let Feed::Raw(raw) = self.chunks.feed else { return line.offset };
        let start = Restart { text: 0, raw: line.offset };
        let spacing = self.memo.spacing().unwrap_or(u64::MAX);
        let restarts = known.map_or_else(|| Restarts::new(start, spacing), |known| known.restarts.clone());
        let decoded = Decoded::new(raw, encoding_rs::UTF_8, restarts);
        self.chunks.change_feed(Feed::Decoded(Box::new(decoded)), 0);
        self.raw = Some(raw);
        0
    }

    /// Reads to the end of the line, or as far as is needed where the rest is left, from behind the bytes that are known to be there.
    fn measure(&mut self, base: u64, known: u64, needed: u64) -> Result<Length> {
        self.chunks.seek(base + known);
        let mut length = known;
        loop {
            let chunk = self.chunks.fill()?;
            let (end, is_empty) = (memchr(b'\n', chunk), chunk.is_empty());
            let count = end.unwrap_or(chunk.len());
            length += to_u64(count);
            self.chunks.consume(count);
            if is_empty && matches!(self.chunks.end(), End::Horizon(_)) {
                return Ok(Length::AtLeast(length));
            }
            if is_empty || end.is_some() {
                return Ok(Length::Exactly(length));
            }
            if self.leaves_rest() && length > needed {
                return Ok(Length::AtLeast(length));
            }
        }
    }

    fn cut(&mut self, base: u64, start: u64, max_bytes: u64, length: Length) -> Result<PartOfLine> {
        let (Length::Exactly(known) | Length::AtLeast(known)) = length;
        // A character may start before, and another may end behind.
        let from = start.saturating_sub(MAX_CHAR_BYTES - 1);
        let to = start.saturating_add(max_bytes.max(MAX_CHAR_BYTES)).saturating_add(1).min(known);
        let bytes = self.bytes(base + from, base + to)?;
        let at = |column: u64| to_usize(column.saturating_sub(from), bytes.len());
        let starts_char = |at: usize| bytes.get(at).is_none_or(|byte| !(0x80..0xc0).contains(byte));
        let first = (0..=at(start)).rev().find(|at| starts_char(*at)).unwrap_or(0);
        let whole =
            (first..=(first + to_usize(max_bytes, bytes.len())).min(bytes.len())).rev().find(|at| starts_char(*at));
        // One character at least, so that reading on comes to an end.
        let next = || (first + 1..bytes.len()).find(|at| starts_char(*at)).unwrap_or(bytes.len());
        let last = whole.filter(|last| *last > first).unwrap_or_else(next);
        let text = String::from_utf8_lossy(&bytes[first..last]).into_owned();
        let start = from + to_u64(first);
        let replacements = self.replacements(base + start, to_u64(text.len()), &text)?;
        Ok(PartOfLine { text, start, replacements, length })
    }

    /// What is told of the length does not depend on what was found out before: of a line that goes on behind what is needed for this
    /// part, and is not to be read to its end, only that.
    fn told(&self, part: PartOfLine, needed: u64) -> PartOfLine {
        let (Length::Exactly(length) | Length::AtLeast(length)) = part.length;
        if self.leaves_rest() && length > needed {
            return PartOfLine { length: Length::AtLeast(part.end() + 1), ..part };
        }
        part
    }

    /// Places which could not be decoded in so many bytes from this one on, which are shown as `text`, perhaps with numbers.
    pub(crate) fn replacements(&mut self, start: u64, bytes: u64, text: &str) -> Result<u64> {
        let stop = self.chunks.stop;
        match &mut self.chunks.feed {
            // Only where there is something that stands for them.
            Feed::Decoded(decoded) if text.contains(char::REPLACEMENT_CHARACTER) => {
                decoded.replacements(start..start + bytes, stop)
            }
            _ => Ok(0),
        }
    }

    /// Keeps what was found of the line, and goes back to its start.
    fn remember_line(&mut self, line: Place, length: Length) {
        let Feed::Decoded(decoded) = &self.chunks.feed else { return };
        let restarts = decoded.restarts().clone();
        self.memo.line = self.memo.spacing().map(|_| LongLine { breaks: line.breaks, length, restarts });
        if let Some(raw) = self.raw.take() {
            self.chunks.change_feed(Feed::Raw(raw), line.offset);
        }
        self.go_to(line);
    }
}
