//! What a window says in words: the hint how to read on, and the notes that stand for text which would be blank.

use std::fmt;

use crate::display::ByteCount;
use crate::window::{Columns, Cut, Window};

/// How to read on after a window. `Display` is the hint that the model gets.
///
/// ```
/// # use capread::{Limits, Selection, Window};
/// # fn main() -> Result<(), capread::Error> {
/// let text: &[u8] = b"one\ntwo\nthree\n";
/// let window = Window::read(text, Selection::default().limit(1)?, &Limits::default(), &|| false)?;
/// let continuation = window.continuation().expect("two more lines");
/// assert_eq!(continuation.next_offset(), Some(2));
/// assert_eq!(continuation.to_string(), "[2 more lines in file. Use offset=2 to continue.]");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Continuation {
    cut: Cut,
    start_line: u64,
    end_line: u64,
    total: Total,
    columns: Option<Columns>,
}

/// How many lines a file has, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Total {
    Exactly(u64),
    AtLeast(u64),
}

impl Continuation {
    /// The line to go on from: the one after the last returned, or the same where it was returned in part; `None` where what is left comes before the window, or may not
    /// be looked at.
    #[must_use]
    pub fn next_offset(&self) -> Option<u64> {
        if matches!(self.cut, Cut::Scan { .. }) || self.columns.is_none() && self.is_tail() {
            return None;
        }
        if let Some(columns) = self.columns {
            return Some(if columns.is_last() { self.end_line + 1 } else { self.end_line });
        }
        Some(self.end_line + 1)
    }

    /// Where in that line to go on; `None` for its start.
    #[must_use]
    pub fn next_column(&self) -> Option<u64> {
        let columns = self.columns.filter(|columns| !columns.is_last() && self.next_offset().is_some())?;
        Some(columns.end + 1)
    }

    /// A window that reaches the end lacks lines before it.
    fn is_tail(&self) -> bool {
        self.total == Total::Exactly(self.end_line)
    }

    fn fmt_part(&self, f: &mut fmt::Formatter<'_>, columns: Columns) -> fmt::Result {
        let Columns { start, end, length, known_length } = columns;
        let length = length.map_or(Total::AtLeast(known_length), Total::Exactly);
        write!(f, "[Line {}, bytes {start}-{end} of {length}.", self.end_line)?;
        match (self.cut, self.next_column()) {
            (Cut::Scan { max_scan_bytes }, _) => fmt_beyond(f, max_scan_bytes),
            (_, Some(column)) => write!(f, " Use offset={} and column={column} to continue.]", self.end_line),
            (_, None) => write!(f, " Use offset={} to continue.]", self.end_line + 1),
        }
    }

    fn fmt_more(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.total {
            Total::Exactly(total) => write!(f, "[{} more lines in file.", total - self.end_line),
            Total::AtLeast(known) => write!(f, "[At least {} more lines in file.", known - self.end_line),
        }
    }
}

fn fmt_beyond(f: &mut fmt::Formatter<'_>, max_scan_bytes: u64) -> fmt::Result {
    write!(f, " The rest lies beyond the scan limit ({}).]", ByteCount(max_scan_bytes))
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(total) => total.fmt(f),
            Self::AtLeast(known) => write!(f, "at least {known}"),
        }
    }
}

impl fmt::Display for Continuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(columns) = self.columns {
            return self.fmt_part(f, columns);
        }
        let Self { cut, start_line, end_line, total, .. } = self;
        if *cut == Cut::Limit && !self.is_tail() {
            self.fmt_more(f)?;
        } else {
            write!(f, "[Showing lines {start_line}-{end_line} of {total}")?;
            match cut {
                Cut::Bytes { max_bytes } if !self.is_tail() => write!(f, " ({} limit).", ByteCount(*max_bytes))?,
                Cut::Scan { max_scan_bytes } => {
                    f.write_str(".")?;
                    return fmt_beyond(f, *max_scan_bytes);
                }
                _ => f.write_str(".")?,
            }
        }
        match self.next_offset() {
            Some(next) => write!(f, " Use offset={next} to continue.]"),
            None => write!(f, " Use offset=1 and limit={} to read what comes before.]", start_line - 1),
        }
    }
}

impl Columns {
    /// Whether the line ends with them.
    fn is_last(&self) -> bool {
        self.length == Some(self.end)
    }
}

impl Window {
    /// How to read on; `None` when the window has all lines from where it was to start.
    #[must_use]
    pub fn continuation(&self) -> Option<Continuation> {
        let Self { start_line, end_line, columns, .. } = *self;
        self.cut.map(|cut| Continuation { cut, start_line, end_line, total: self.total(), columns })
    }

    fn total(&self) -> Total {
        self.total_lines.map_or(Total::AtLeast(self.known_lines), Total::Exactly)
    }
}

/// The text and, after one empty line, the hint.
impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match self.continuation() {
            Some(hint) => write!(f, "\n\n{hint}"),
            None => Ok(()),
        }
    }
}

/// A window for a model provider, which would refuse a blank text: a note stands for, or after, text that is blank.
pub(crate) struct NeverBlank<'a>(pub(crate) &'a Window);

impl fmt::Display for NeverBlank<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let window = self.0;
        if !window.text.trim().is_empty() {
            return window.fmt(f);
        }
        let Window { start_line, end_line, .. } = window;
        if window.total_lines == Some(0) {
            f.write_str("[File is empty.]")?;
        } else if let Some(Columns { start, end, .. }) = window.columns {
            // Of a line that may have more than this.
            write!(f, "{}\n\n[Bytes {start}-{end} of line {start_line} are blank.]", window.text)?;
        } else {
            // Spaces are content, so they stay; lines of nothing are told by their numbers alone.
            if window.text.bytes().any(|byte| byte != b'\n') {
                write!(f, "{}\n\n", window.text)?;
            }
            write!(f, "[Lines {start_line}-{end_line} of {} are empty.]", window.total())?;
        }
        match window.continuation() {
            Some(hint) => write!(f, "\n\n{hint}"),
            None => Ok(()),
        }
    }
}
