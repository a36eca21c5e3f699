//! A source as the UTF-8 that it decodes to, from any place on.
//!
//! Bytes are decoded in segments. A segment ends where a decoder is in its first state whatever came before, so that another decoder
//! can go on from there; what is remembered of a file are such places. Where none is found, in the middle of what is hardly text,
//! the decoder is kept.

use std::ops::Range;
use std::sync::Arc;

use encoding_rs::{Decoder, DecoderResult, Encoding};

use super::chunks::{to_u64, to_usize};
use super::feed::{End, Raw};
use crate::cancel::Stop;
use crate::error::Result;

/// Bytes that are decoded at once.
const SEGMENT_BYTES: usize = 16 * 1024;

/// Room for text that was decoded before somebody wanted it. Less than a decoder needs for one character would stop it.
const CARRY_BYTES: usize = 4 * 1024;

/// A place where decoding can start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restart {
    /// In the text.
    pub(crate) text: u64,
    /// In the file.
    pub(crate) raw: u64,
}

/// Places of one text, at least so many bytes of the file apart. Shared until something is added.
#[derive(Clone, Debug)]
pub(crate) struct Restarts {
    spacing: u64,
    /// Ascending in both fields. The first is where the text starts.
    places: Arc<Vec<Restart>>,
}

impl Restarts {
    pub(crate) fn new(start: Restart, spacing: u64) -> Self {
        Self { spacing, places: Arc::new(vec![start]) }
    }

    fn start(&self) -> Restart {
        self.places[0]
    }

    /// The last place that is not behind this byte of the text.
    fn before(&self, text: u64) -> Restart {
        let next = self.places.partition_point(|place| place.text <= text);
        self.places[next.saturating_sub(1)]
    }

    fn record(&mut self, place: Restart) {
        if self.places.last().is_none_or(|last| place.raw >= last.raw.saturating_add(self.spacing)) {
            Arc::make_mut(&mut self.places).push(place);
        }
    }

    /// Bytes of memory beside itself.
    pub(crate) fn bytes(&self) -> usize {
        self.places.capacity() * size_of::<Restart>()
    }
}

/// See the module.
pub(crate) struct Decoded<'a> {
    raw: Raw<'a>,
    encoding: &'static Encoding,
    restarts: Restarts,
    /// Where the text ends, once that is known.
    end: End,
    decoder: Decoder,
    /// What the next decoded byte is in the text.
    text: u64,
    /// Bytes of the file: `buffer[done..cut]` are to be decoded, `buffer[cut..filled]` belong to the next segment.
    buffer: Vec<u8>,
    done: usize,
    cut: usize,
    filled: usize,
    /// What `buffer[filled]` would be in the file.
    offset: u64,
    /// Whether the decoder ends with the segment.
    last: bool,
    /// Whether the decoder has given all of the segment: what it holds back may be more than what is not decoded.
    is_through: bool,
    /// Text before `text` that nobody has taken.
    carry: Vec<u8>,
    /// Places in the text that could not be decoded, of those that are watched.
    watched: Option<(Range<u64>, u64)>,
}

impl<'a> Decoded<'a> {
    /// The text that starts where `restarts` do.
    pub(crate) fn new(raw: Raw<'a>, encoding: &'static Encoding, restarts: Restarts) -> Self {
        let start = restarts.start();
        Self {
            raw,
            encoding,
            restarts,
            end: End::Unknown,
            decoder: encoding.new_decoder_without_bom_handling(),
            text: start.text,
            buffer: vec![0; SEGMENT_BYTES],
            done: 0,
            cut: 0,
            filled: 0,
            offset: start.raw,
            last: true,
            is_through: true,
            carry: Vec::new(),
            watched: None,
        }
    }

    pub(crate) fn end(&self) -> End {
        self.end
    }

    pub(crate) fn restarts(&self) -> &Restarts {
        &self.restarts
    }

    /// See [`Feed::read`](super::feed::Feed::read).
    pub(crate) fn read(&mut self, room: &mut [u8], offset: u64, stop: &Stop<'_>) -> Result<usize> {
        if offset != self.text - to_u64(self.carry.len()) {
            self.go_to(offset, stop)?;
        }
        if self.carry.is_empty() && room.len() >= CARRY_BYTES {
            return self.decode_some(room, stop);
        }
        if self.carry.is_empty() {
            let mut text = vec![0; CARRY_BYTES];
            let count = self.decode_some(&mut text, stop)?;
            text.truncate(count);
            self.carry = text;
        }
        let count = self.carry.len().min(room.len());
        room[..count].copy_from_slice(&self.carry[..count]);
        self.carry.drain(..count);
        Ok(count)
    }

    /// Goes to a byte of the text, decoding from the last place before it.
    fn go_to(&mut self, offset: u64, stop: &Stop<'_>) -> Result<()> {
        let place = self.restarts.before(offset);
        if offset < self.text || place.text > self.text {
            self.restart(place);
        }
        self.carry.clear();
        let mut text = vec![0; CARRY_BYTES];
        while self.text < offset {
            let before = self.text;
            let count = self.decode_some(&mut text, stop)?;
            if count == 0 {
                return Ok(());
            }
            if self.text > offset {
                self.carry.extend_from_slice(&text[to_usize(offset - before, count)..count]);
            }
        }
        Ok(())
    }

    fn restart(&mut self, place: Restart) {
        self.decoder = self.encoding.new_decoder_without_bom_handling();
        self.text = place.text;
        self.offset = place.raw;
        (self.done, self.cut, self.filled) = (0, 0, 0);
        self.last = true;
        self.is_through = true;
    }

    /// Places in this part of the text that could not be decoded.
    pub(crate) fn replacements(&mut self, range: Range<u64>, stop: &Stop<'_>) -> Result<u64> {
        self.restart(self.restarts.before(range.start));
        self.carry.clear();
        self.watched = Some((range.clone(), 0));
        let mut text = vec![0; CARRY_BYTES];
        while self.text < range.end && self.decode_some(&mut text, stop)? > 0 {}
        Ok(self.watched.take().map_or(0, |(_, found)| found))
    }

    /// Decodes into `room`, which has some bytes at least; 0 at the end.
    fn decode_some(&mut self, room: &mut [u8], stop: &Stop<'_>) -> Result<usize> {
        loop {
            if self.is_through && !self.next_segment(stop)? {
                return Ok(0);
            }
            let count = self.decode(room);
            if count > 0 {
                return Ok(count);
            }
        }
    }

    /// Decodes what fits of the segment.
    fn decode(&mut self, room: &mut [u8]) -> usize {
        let mut written = 0;
        // Room for one character more, or for what stands in for none.
        while room.len() - written > 8 {
            let (result, read, count) = self.decoder.decode_to_utf8_without_replacement(
                &self.buffer[self.done..self.cut],
                &mut room[written..],
                self.last,
            );
            self.done += read;
            written += count;
            self.text += to_u64(count);
            match result {
                DecoderResult::InputEmpty => {
                    self.finish_segment();
                    break;
                }
                DecoderResult::OutputFull => break,
                DecoderResult::Malformed(..) => {
                    if let Some((range, found)) = &mut self.watched {
                        *found += u64::from(range.contains(&self.text));
                    }
                    let replacement = char::REPLACEMENT_CHARACTER.encode_utf8(&mut room[written..]).len();
                    written += replacement;
                    self.text += to_u64(replacement);
                }
            }
        }
        written
    }

    fn finish_segment(&mut self) {
        self.is_through = true;
        if self.last {
            self.decoder = self.encoding.new_decoder_without_bom_handling();
        }
    }

    /// Reads the next segment; `false` at the end.
    fn next_segment(&mut self, stop: &Stop<'_>) -> Result<bool> {
        let is_fresh = self.last;
        self.buffer.copy_within(self.cut..self.filled, 0);
        self.filled -= self.cut;
        (self.done, self.cut) = (0, 0);
        if is_fresh {
            self.restarts.record(Restart { text: self.text, raw: self.offset - to_u64(self.filled) });
        }
        let mut at_end = false;
        while self.filled < SEGMENT_BYTES && !at_end {
            let count = self.raw.read(&mut self.buffer[self.filled..], self.offset, stop)?;
            self.filled += count;
            self.offset += to_u64(count);
            at_end = count == 0;
        }
        let bytes = &self.buffer[..self.filled];
        let safe = match (at_end, self.raw.end()) {
            // What follows may belong to the last character.
            (true, End::Horizon(_)) => None,
            (true, _) => Some(self.filled),
            (false, _) => last_cut(self.encoding, bytes, is_fresh),
        };
        self.last = safe.is_some();
        self.cut = safe.unwrap_or(self.filled);
        // Where there is nothing more, a decoder that was kept may still hold the start of a character.
        if self.filled > 0 || self.last && !is_fresh {
            self.is_through = false;
            return Ok(true);
        }
        self.end = match self.raw.end() {
            End::Horizon(_) => End::Horizon(self.text),
            _ => End::File(self.text),
        };
        Ok(false)
    }
}

/// The last place in `bytes` at which a decoder is in its first state. `is_fresh`: so it is where they start.
fn last_cut(encoding: &'static Encoding, bytes: &[u8], is_fresh: bool) -> Option<usize> {
    let cut = if encoding == encoding_rs::UTF_8 {
        // Before a byte that starts a character: what came before it is one, or is none.
        bytes.iter().rposition(|byte| !(0x80..0xc0).contains(byte))
    } else if encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE {
        last_cut_in_utf_16(encoding, bytes)
    } else if encoding == encoding_rs::ISO_2022_JP {
        last_cut_in_iso_2022_jp(bytes, is_fresh)
    } else if encoding.is_single_byte() {
        Some(bytes.len())
    } else {
        // No character of more than one byte has such a byte in it, in any of these encodings: not even the digits in GB 18030's.
        bytes.iter().rposition(|byte| *byte < 0x30).map(|at| at + 1)
    };
    cut.filter(|cut| *cut > 0)
}

/// Behind a unit that starts no pair.
fn last_cut_in_utf_16(encoding: &'static Encoding, bytes: &[u8]) -> Option<usize> {
    let high = |unit: &[u8]| if encoding == encoding_rs::UTF_16LE { unit[1] } else { unit[0] };
    let starts_pair = |unit: &[u8]| (0xd8..0xdc).contains(&high(unit));
    bytes.chunks_exact(2).rposition(|unit| !starts_pair(unit)).map(|at| 2 * at + 2)
}

/// Behind a line break in ASCII: no escape sequence came before it, or the last one was `ESC ( B`.
fn last_cut_in_iso_2022_jp(bytes: &[u8], is_fresh: bool) -> Option<usize> {
    let breaks = memchr::memrchr_iter(b'\n', bytes);
    breaks.map(|at| at + 1).find(|cut| match memchr::memrchr(0x1b, &bytes[..*cut]) {
        None => is_fresh,
        Some(escape) => bytes[escape..*cut].starts_with(b"\x1b(B"),
    })
}
