//! The window: what a call selects, what the limits leave of it, and what is known of the file around them.

mod facts;
mod part;

use crate::cancel::{Cancel, Stop};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{From, Limits, Selection};
use crate::text::{self, Count, Ended, Lines, Memo, ReadAt, Start};
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
    /// Whether the file starts with a byte order mark, which is not in the text.
    pub bom: bool,
    /// Places in the window that were no UTF-8, each replaced by U+FFFD.
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
        Scan { selection, limits }.run(&source, &mut Memo::none(), &stop)
    }

    /// The line to go on from; `None` when the window reaches the end of the file, or the end of what may be looked at.
    #[must_use]
    pub fn next_offset(&self) -> Option<u64> {
        self.continuation()?.next_offset()
    }
}

/// How a window is found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan<'a> {
    pub(crate) selection: Selection,
    pub(crate) limits: &'a Limits,
}

impl Scan<'_> {
    pub(crate) fn run(self, source: &dyn ReadAt, memo: &mut Memo, stop: &Stop<'_>) -> Result<Window> {
        let mut lines = Lines::new(source, self.limits.scan_bytes().get(), memo, stop);
        let start = match lines.known_start() {
            Some(start) => start,
            None => text::mark_bytes(lines.head(text::SNIFF_BYTES)?, source.known_size())?,
        };
        lines.start_at(start);
        let window = match self.selection.from {
            From::Line(offset) => self.forward(lines, offset.get())?,
            From::Last(_) => self.backward(lines, start)?,
        };
        Ok(Window { bom: start > 0, ..window })
    }

    /// The most lines, and the most bytes.
    fn budgets(self) -> (u64, u64) {
        let lines = self.selection.wanted().map_or(self.limits.lines(), |wanted| wanted.min(self.limits.lines()));
        (lines.get(), self.limits.bytes().get())
    }

    fn forward(self, mut lines: Lines<'_>, offset: u64) -> Result<Window> {
        let (max_lines, max_bytes) = self.budgets();
        if !self.limits.counts_rest() {
            lines.leave_rest();
        }
        let start = lines.skip_to(offset - 1, text::room(max_bytes))?;
        match start {
            Start::Horizon => return Err(self.beyond_horizon(Some(offset))),
            Start::End if offset > 1 => {
                let total = lines.count_rest()?.known_lines();
                return Err(ErrorKind::OffsetBeyondEnd { offset, total }.into());
            }
            Start::End | Start::Line => {}
        }
        let part = Part::decode(lines.take(max_lines, max_bytes)?, max_bytes, Side::First);
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
        Ok(part.into_window(offset, end_line, count, cut))
    }

    fn backward(self, mut lines: Lines<'_>, text_start: u64) -> Result<Window> {
        let (max_lines, max_bytes) = self.budgets();
        let count = lines.count_rest()?;
        let Some(totals) = count.totals() else { return Err(self.beyond_horizon(None)) };
        let taken = lines.take_last(max_lines, max_bytes, totals, text_start)?;
        let part = Part::decode(taken, max_bytes, Side::Last);
        if totals.lines > 0 && part.lines == 0 {
            return Err(self.no_line(&part, totals.lines));
        }
        let start_line = totals.lines.saturating_sub(part.lines) + 1;
        let cut = (start_line > 1).then(|| part.cut(self.selection, self.limits));
        Ok(part.into_window(start_line, totals.lines, count, cut))
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
        Window {
            start_line,
            end_line,
            total_lines: count.totals().map(|totals| totals.lines),
            known_lines: count.known_lines(),
            cut,
            bom: false,
            replacements: self.replacements,
            controls: facts::count_controls(&self.text, self.terminated),
            line_ends: facts::line_ends(&self.text, self.terminated),
            final_newline: count.totals().map(|totals| totals.terminated),
            changed_during_read: false,
            text: self.text,
        }
    }
}
