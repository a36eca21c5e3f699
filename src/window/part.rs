//! The text of the lines that were taken.

use super::Cut;
use crate::limits::{Limits, Selection};
use crate::text::{self, Ended, Place, Taken, to_u64};

/// Lines as text, within the byte budget.
pub(super) struct Part {
    pub(super) text: String,
    pub(super) lines: u64,
    pub(super) replacements: u64,
    /// Whether the last line has a line break.
    pub(super) terminated: bool,
    pub(super) ended: Ended,
    /// Behind the last byte that the text was made of.
    end: u64,
}

/// Which lines stay where all are too many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    First,
    Last,
}

impl Part {
    /// Decoding can only make text longer, so of the lines that fit undecoded those on one side fit decoded.
    pub(super) fn decode(taken: Taken, max_bytes: u64, side: Side) -> Self {
        let Taken { raw, start, lines, terminated, ended } = taken;
        let end = start + to_u64(raw.len());
        match String::from_utf8(raw) {
            Ok(text) => Self { text, lines, replacements: 0, terminated, ended, end },
            Err(error) => {
                let raw = error.into_bytes();
                let fitting = Fitting::of(&raw, max_bytes, side);
                let (raw, dropped) = match side {
                    Side::First => (&raw[..fitting.raw], raw.len() - fitting.raw),
                    Side::Last => (&raw[raw.len() - fitting.raw..], 0),
                };
                let (text, replacements) = text::decode(raw, fitting.decoded);
                let (all, end) = (fitting.lines == lines, end - to_u64(dropped));
                Self {
                    text,
                    lines: fitting.lines,
                    replacements,
                    terminated: terminated || dropped > 0,
                    ended: if all { ended } else { Ended::Bytes },
                    end,
                }
            }
        }
    }

    /// Where the line behind the last one starts, given the line breaks before it.
    pub(super) fn next(&self, breaks: u64) -> Place {
        Place { offset: self.end + 1, breaks }
    }

    /// Why there are no more lines. `max_lines` counts as the cause only where the call asked for more.
    pub(super) fn cut(&self, selection: Selection, limits: &Limits) -> Cut {
        match self.ended {
            Ended::Bytes => Cut::Bytes { max_bytes: limits.bytes().get() },
            Ended::Horizon => Cut::Scan { max_scan_bytes: limits.scan_bytes().get() },
            Ended::Lines | Ended::File if selection.wanted().is_some_and(|wanted| wanted <= limits.lines()) => {
                Cut::Limit
            }
            Ended::Lines | Ended::File => Cut::Lines,
        }
    }
}

/// Lines on one side that fit decoded.
#[derive(Default)]
struct Fitting {
    lines: u64,
    /// Their bytes, with one for each break between them.
    raw: usize,
    /// The same of their text.
    decoded: usize,
}

impl Fitting {
    fn of(raw: &[u8], max_bytes: u64, side: Side) -> Self {
        let is_break = |byte: &u8| *byte == b'\n';
        match side {
            Side::First => Self::count(raw.split(is_break), max_bytes),
            Side::Last => Self::count(raw.rsplit(is_break), max_bytes),
        }
    }

    fn count<'a>(lines: impl Iterator<Item = &'a [u8]>, max_bytes: u64) -> Self {
        let mut fitting = Self::default();
        for line in lines {
            let separator = usize::from(fitting.lines > 0);
            let decoded = fitting.decoded + separator + text::decoded_len(line);
            if to_u64(decoded) > max_bytes {
                break;
            }
            fitting = Self { lines: fitting.lines + 1, raw: fitting.raw + separator + line.len(), decoded };
        }
        fitting
    }
}
