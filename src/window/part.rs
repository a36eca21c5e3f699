//! The text of the lines that were taken.

use std::ops::RangeInclusive;

use super::Cut;
use crate::limits::{Limits, Selection};
use crate::text::{self, Ended, Place, Taken, to_u64};

/// Lines as text, within the byte budget.
#[derive(Default)]
pub(super) struct Part {
    pub(super) text: String,
    pub(super) lines: u64,
    pub(super) replacements: u64,
    /// Whether the last line has a line break.
    pub(super) terminated: bool,
    pub(super) ended: Ended,
    /// Bytes that the text was made of, and the first of them where the first lines were kept.
    pub(super) raw_bytes: u64,
    start: u64,
}

/// Which lines stay where all are too many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    First,
    Last,
}

impl Part {
    /// Decoding and numbering can only make text longer, so of the lines that fit without those on one side fit with them. `number` is
    /// that of the first line taken, where lines are to have numbers.
    pub(super) fn decode(taken: Taken<'_>, max_bytes: u64, side: Side, number: Option<u64>) -> Self {
        let Taken { raw, start, lines, terminated, ended } = taken;
        let whole = Self { lines, terminated, ended, raw_bytes: to_u64(raw.len()), start, ..Self::default() };
        match (simdutf8::basic::from_utf8(&raw), number) {
            (Ok(text), None) => Self { text: text.to_owned(), ..whole },
            _ => whole.fit(&raw, max_bytes, side, number),
        }
    }

    /// The lines on one side that fit.
    fn fit(self, raw: &[u8], max_bytes: u64, side: Side, number: Option<u64>) -> Self {
        if self.lines == 0 {
            return self;
        }
        let fitting = Fitting::of(raw, max_bytes, side, number.map(|first| first..=first + self.lines - 1));
        let (kept, dropped) = match side {
            Side::First => (&raw[..fitting.raw], raw.len() - fitting.raw),
            Side::Last => (&raw[raw.len() - fitting.raw..], 0),
        };
        let first = number.map(|first| if side == Side::First { first } else { first + self.lines - fitting.lines });
        let (text, replacements) = text::decode(kept, fitting.text, first.filter(|_| fitting.lines > 0));
        Self {
            text,
            replacements,
            terminated: self.terminated || dropped > 0,
            ended: if fitting.lines == self.lines { self.ended } else { Ended::Bytes },
            lines: fitting.lines,
            raw_bytes: to_u64(fitting.raw),
            ..self
        }
    }

    /// Where the line behind the last one starts, given the line breaks before it.
    pub(super) fn next(&self, breaks: u64) -> Place {
        Place { offset: self.start + self.raw_bytes + 1, breaks }
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

/// Lines on one side that fit.
#[derive(Default)]
struct Fitting {
    lines: u64,
    /// Their bytes, with one for each break between them.
    raw: usize,
    /// The same of their text, with their numbers.
    text: usize,
}

impl Fitting {
    fn of(raw: &[u8], max_bytes: u64, side: Side, numbers: Option<RangeInclusive<u64>>) -> Self {
        let is_break = |byte: &u8| *byte == b'\n';
        match side {
            Side::First => Self::count(raw.split(is_break), max_bytes, numbers),
            Side::Last => Self::count(raw.rsplit(is_break), max_bytes, numbers.map(Iterator::rev)),
        }
    }

    fn count<'a>(
        lines: impl Iterator<Item = &'a [u8]>,
        max_bytes: u64,
        mut numbers: Option<impl Iterator<Item = u64>>,
    ) -> Self {
        let mut fitting = Self::default();
        for line in lines {
            let separator = usize::from(fitting.lines > 0);
            let number = numbers.as_mut().and_then(Iterator::next).map_or(0, text::number_len);
            let text = fitting.text + separator + number + text::decoded_len(line);
            if to_u64(text) > max_bytes {
                break;
            }
            fitting = Self { lines: fitting.lines + 1, raw: fitting.raw + separator + line.len(), text };
        }
        fitting
    }
}
