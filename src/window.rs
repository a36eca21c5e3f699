//! The window: what a call selects, what the limits leave of it, and what is known of the file around them.

mod facts;
mod part;

use std::ops::RangeInclusive;

use crate::cancel::{Cancel, Stop};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{From, Limits, Selection};
use crate::text::{self, Count, Ended, Length, Lines, Memo, Missing, PartOfLine, ReadAt, Start, TextEncoding};
use facts::Facts;
use part::{Part, Side};

/// Why a window ends before the file does, or one of the last lines starts behind the file's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cut {
    /// The call wanted no more lines.
    Limit,
    /// The application allows no more lines.
    Lines,
    /// The next line would not fit into the application's byte budget.
    Bytes {
        /// The budget.
        max_bytes: u64,
    },
    /// The rest lies behind the bytes that a read may look at.
    Scan {
        /// How many these are.
        max_scan_bytes: u64,
    },
}

/// How the lines of a window end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnds {
    /// All with `\n`.
    Lf,
    /// All with `\r\n`.
    CrLf,
    /// Some this way, some the other.
    Mixed,
}

/// The lines that one read returns, and what it knows of the file around them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Window {
    /// The lines, with `\n` between them and none behind the last. A `\r` before a line break stays in its line.
    pub text: String,
    /// The first line, 1-based.
    pub start_line: u64,
    /// The last line; 0 for the empty file.
    pub end_line: u64,
    /// Lines in the file; `None` where they were not counted to the end. A final line break ends the last line and starts no new one.
    pub total_lines: Option<u64>,
    /// Lines that are known to be there: all of them, or at least one more than the window's last.
    pub known_lines: u64,
    /// Why the window does not have all lines from where it was to start; `None` when it has.
    pub cut: Option<Cut>,
    /// Where in its line the text lies, where a part of one line was asked for.
    pub columns: Option<Columns>,
    /// The encoding of the file, by its name in the Encoding Standard.
    pub encoding: &'static str,
    /// Whether the file starts with a byte order mark, which is not in the text.
    pub bom: bool,
    /// Places in the window that could not be decoded, each replaced by U+FFFD.
    pub replacements: u64,
    /// Control and bidirectional-override characters in the window, as [`is_control`](crate::is_control) tells them, without the
    /// `\r` of a line break.
    pub controls: u64,
    /// How the window's lines end; `None` where none of them has a line break.
    pub line_ends: Option<LineEnds>,
    /// Whether the file ends with a line break; `None` where nobody looked.
    pub final_newline: Option<bool>,
    /// Whether the file is another one than when it was opened, so that the window may be of several states. As fine as the clock of
    /// its file system; a write that had begun when the file was opened, and had not ended, does not show. `false` for anything but a
    /// file.
    pub changed_during_read: bool,
}

/// A part of a line, in bytes of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The first byte, 1-based.
    pub start: u64,
    /// The last byte; one less than the first for an empty line.
    pub end: u64,
    /// Bytes of the line; `None` where it was not read to its end.
    pub length: Option<u64>,
    /// Bytes that the line is known to have.
    pub known_length: u64,
}

/// Whether lines are returned with their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineNumbers {
    /// They are not.
    #[default]
    Off,
    /// Each line starts with its number and a tab, which count for the budgets. A part of a line has none.
    On,
}

impl Window {
    /// The window that `selection` asks for, within `limits`, of any bytes: see [`ReadAt`].
    pub fn read(
        source: &(impl ReadAt + ?Sized),
        selection: Selection,
        limits: &Limits,
        cancel: &dyn Cancel,
    ) -> Result<Self> {
        let stop = Stop::new(cancel, limits.allowed_time());
        stop.check()?;
        Scan::new(selection, limits).run(&source, &mut Memo::none(), &stop)
    }

    /// The line to go on from; `None` when the window reaches the end of the file, or the end of what may be looked at.
    #[must_use]
    pub fn next_offset(&self) -> Option<u64> {
        self.continuation()?.next_offset()
    }

    /// Where in that line to go on; `None` for its start.
    #[must_use]
    pub fn next_column(&self) -> Option<u64> {
        self.continuation()?.next_column()
    }
}

/// How a window is found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan<'a> {
    pub(crate) selection: Selection,
    pub(crate) limits: &'a Limits,
    pub(crate) encoding: TextEncoding,
    pub(crate) numbers: LineNumbers,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(selection: Selection, limits: &'a Limits) -> Self {
        Self { selection, limits, encoding: TextEncoding::default(), numbers: LineNumbers::default() }
    }

    pub(crate) fn run(self, source: &dyn ReadAt, memo: &mut Memo, stop: &Stop<'_>) -> Result<Window> {
        let mut lines = Lines::new(source, self.limits.scan_bytes().get(), memo, stop);
        let form = lines.begin(self.encoding, source.known_size())?;
        let window = match (self.selection.from, self.selection.column) {
            (From::Line(offset), None) => self.forward(&mut lines, offset.get()),
            (From::Line(offset), Some(column)) => self.part_of_line(&mut lines, offset.get(), column.get()),
            (From::Last(_), _) => self.backward(&mut lines),
        };
        lines.remember();
        Ok(Window { bom: form.bom, encoding: form.coding.name(), ..window? })
    }

    /// The most lines, and the most bytes.
    fn budgets(self) -> (u64, u64) {
        let lines = self.selection.wanted().map_or(self.limits.lines(), |wanted| wanted.min(self.limits.lines()));
        (lines.get(), self.limits.bytes().get())
    }

    fn forward(self, lines: &mut Lines<'_>, offset: u64) -> Result<Window> {
        let (max_lines, max_bytes) = self.budgets();
        let start = self.go_to(lines, offset)?;
        let taken = lines.take(max_lines, max_bytes)?;
        let text_start = taken.start;
        let mut part = Part::decode(taken, max_bytes, Side::First, self.first_number(offset));
        if start == Start::Line && part.lines == 0 {
            return Err(self.no_line(&part, offset));
        }
        let end_line = offset - 1 + part.lines;
        let count = if self.limits.counts_rest() || lines.is_end(part.next(end_line))? {
            lines.count_rest()?
        } else {
            Count::AtLeast(end_line + 1)
        };
        let cut = (end_line < count.known_lines()).then(|| part.cut(self.selection, self.limits));
        if cut.is_some() {
            lines.go_on_from(part.next(end_line));
        }
        part.replacements += lines.replacements(text_start, part.raw_bytes, &part.text)?;
        Ok(part.into_window(offset, end_line, count, cut))
    }

    /// Goes to the start of a line, or to the end of an empty file.
    fn go_to(self, lines: &mut Lines<'_>, offset: u64) -> Result<Start> {
        if !self.limits.counts_rest() {
            lines.leave_rest();
        }
        match lines.skip_to(offset - 1, text::room(self.limits.bytes().get()))? {
            Start::Horizon => Err(self.beyond_horizon(Some(offset))),
            Start::End if offset > 1 => {
                let total = lines.count_rest()?.known_lines();
                Err(ErrorKind::OffsetBeyondEnd { offset, total }.into())
            }
            start => Ok(start),
        }
    }

    fn backward(self, lines: &mut Lines<'_>) -> Result<Window> {
        let (max_lines, max_bytes) = self.budgets();
        let count = lines.count_rest()?;
        let Some(totals) = count.totals() else { return Err(self.beyond_horizon(None)) };
        let taken = lines.take_last(max_lines, max_bytes, totals)?;
        let text_end = taken.start + text::to_u64(taken.raw.len());
        let first = (totals.lines + 1).saturating_sub(taken.lines);
        let mut part = Part::decode(taken, max_bytes, Side::Last, self.first_number(first));
        if totals.lines > 0 && part.lines == 0 {
            return Err(self.no_line(&part, totals.lines));
        }
        let start_line = totals.lines.saturating_sub(part.lines) + 1;
        let cut = (start_line > 1).then(|| part.cut(self.selection, self.limits));
        part.replacements += lines.replacements(text_end - part.raw_bytes, part.raw_bytes, &part.text)?;
        Ok(part.into_window(start_line, totals.lines, count, cut))
    }

    fn part_of_line(self, lines: &mut Lines<'_>, offset: u64, column: u64) -> Result<Window> {
        let max_bytes = self.limits.bytes().get();
        self.go_to(lines, offset)?;
        let part = match lines.part_of_line(column - 1, max_bytes)? {
            Ok(part) => part,
            Err(Missing::Beyond(length)) => {
                return Err(ErrorKind::ColumnBeyondEnd { column, line: offset, length }.into());
            }
            Err(Missing::Horizon) => return Err(self.beyond_horizon(Some(offset))),
        };
        // The line's end may be the file's.
        let count = if self.limits.counts_rest() || part.is_last() && lines.skip_to(offset, 1)? == Start::End {
            lines.count_rest()?
        } else {
            Count::AtLeast(offset + u64::from(part.is_last()))
        };
        let goes_on = !part.is_last() || offset < count.known_lines();
        let cut = if part.ends_at_horizon() {
            Cut::Scan { max_scan_bytes: self.limits.scan_bytes().get() }
        } else {
            Cut::Bytes { max_bytes }
        };
        // The empty file has no line.
        let end_line = offset.min(count.known_lines());
        let terminated =
            part.is_last() && (offset < count.known_lines() || count.totals().is_some_and(|totals| totals.terminated));
        Ok(Window {
            columns: Some(part.columns()),
            cut: goes_on.then_some(cut),
            ..Window::of_text(part.text, part.replacements, terminated, offset..=end_line, count)
        })
    }

    /// The number that the first of the lines is to have.
    fn first_number(self, line: u64) -> Option<u64> {
        (self.numbers == LineNumbers::On).then_some(line)
    }

    /// Why not even one line could be taken.
    fn no_line(self, part: &Part, line: u64) -> Error {
        match part.ended {
            Ended::Horizon => self.beyond_horizon(Some(line)),
            _ => ErrorKind::LineTooLong { line, max_bytes: self.limits.bytes().get() }.into(),
        }
    }

    fn beyond_horizon(self, line: Option<u64>) -> Error {
        ErrorKind::ScanLimit { line, max_scan_bytes: self.limits.scan_bytes().get() }.into()
    }
}

impl Part {
    fn into_window(self, start_line: u64, end_line: u64, count: Count, cut: Option<Cut>) -> Window {
        let window = Window::of_text(self.text, self.replacements, self.terminated, start_line..=end_line, count);
        Window { cut, ..window }
    }
}

impl PartOfLine {
    fn columns(&self) -> Columns {
        let (length, known_length) = match self.length {
            Length::Exactly(length) => (Some(length), length),
            Length::AtLeast(known) => (None, known),
        };
        Columns { start: self.start + 1, end: self.end(), length, known_length }
    }
}

impl Window {
    /// The facts of some lines. `terminated`: whether the last of them has a line break.
    fn of_text(text: String, replacements: u64, terminated: bool, lines: RangeInclusive<u64>, count: Count) -> Self {
        let breaks = lines.end().saturating_sub(*lines.start());
        let Facts { controls, line_ends } = Facts::of(&text, text::to_usize(breaks, text.len()), terminated);
        Self {
            start_line: *lines.start(),
            end_line: *lines.end(),
            total_lines: count.totals().map(|totals| totals.lines),
            known_lines: count.known_lines(),
            cut: None,
            columns: None,
            encoding: "",
            bom: false,
            replacements,
            controls,
            line_ends,
            final_newline: count.totals().map(|totals| totals.terminated),
            changed_during_read: false,
            text,
        }
    }
}
