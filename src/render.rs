//! What a window says in words: the hint how to read on, and the notes that stand for text which would be blank.

use std::fmt;

use crate::display::ByteCount;
use crate::window::{Cut, Window};

/// How to read on after a window. `Display` is the hint that the model gets.
///
/// ```
/// # use capread::{Limits, Selection, Window};
/// # fn main() -> Result<(), capread::Error> {
/// let text: &[u8] = b"one\ntwo\nthree\n";
/// let window = Window::read(text, Selection::default().limit(1)?, &Limits::default(), &|| false)?;
/// let continuation = window.continuation().expect("two more lines");
/// assert_eq!(continuation.next_offset(), 2);
/// assert_eq!(continuation.to_string(), "[2 more lines in file. Use offset=2 to continue.]");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Continuation {
    cut: Cut,
    start_line: u64,
    end_line: u64,
    total_lines: u64,
}

impl Continuation {
    /// The line to go on from, always the one after the last returned.
    #[must_use]
    pub fn next_offset(&self) -> u64 {
        self.end_line + 1
    }
}

impl fmt::Display for Continuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cut, start_line, end_line, total_lines } = *self;
        let next = self.next_offset();
        let showing = format_args!("Showing lines {start_line}-{end_line} of {total_lines}").to_string();
        match cut {
            Cut::Limit => {
                write!(f, "[{} more lines in file. Use offset={next} to continue.]", total_lines - end_line)
            }
            Cut::Lines => write!(f, "[{showing}. Use offset={next} to continue.]"),
            Cut::Bytes { max_bytes } => {
                write!(f, "[{showing} ({} limit). Use offset={next} to continue.]", ByteCount(max_bytes))
            }
        }
    }
}

impl Window {
    /// How to read on; `None` when the window reaches the end of the file.
    #[must_use]
    pub fn continuation(&self) -> Option<Continuation> {
        let Self { start_line, end_line, total_lines, .. } = *self;
        self.cut.map(|cut| Continuation { cut, start_line, end_line, total_lines })
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
        let Window { start_line, end_line, total_lines, .. } = window;
        if *total_lines == 0 {
            f.write_str("[File is empty.]")?;
        } else {
            // Spaces are content, so they stay; lines of nothing are told by their numbers alone.
            if window.text.bytes().any(|byte| byte != b'\n') {
                write!(f, "{}\n\n", window.text)?;
            }
            write!(f, "[Lines {start_line}-{end_line} of {total_lines} are empty.]")?;
        }
        match window.continuation() {
            Some(hint) => write!(f, "\n\n{hint}"),
            None => Ok(()),
        }
    }
}
