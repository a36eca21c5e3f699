//! What a call selects, and what the application allows.

use std::num::NonZeroU64;
use std::time::Duration;

use crate::error::{Error, Result};

/// The application's ceiling on one read: a request can ask for less, never for more.
///
/// | limit | default | bound |
/// |---|---|---|
/// | [`max_lines`](Self::max_lines) | 2000 | at least 1 |
/// | [`max_bytes`](Self::max_bytes) | 51200 (50 KiB) | at least 1 |
/// | [`max_scan_bytes`](Self::max_scan_bytes) | 16 GiB | at least 1 |
/// | [`deadline`](Self::deadline) | none | any; with 0 every read fails |
/// | [`no_total`](Self::no_total) | totals are counted | |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    max_lines: NonZeroU64,
    max_bytes: NonZeroU64,
    max_scan_bytes: NonZeroU64,
    deadline: Option<Duration>,
    totals: Totals,
}

/// Whether the rest of a file is counted behind the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Totals {
    Counted,
    LeftOut,
}

impl Limits {
    const MAX_LINES: NonZeroU64 = NonZeroU64::new(2000).expect("is not zero");
    const MAX_BYTES: NonZeroU64 = NonZeroU64::new(50 * 1024).expect("is not zero");
    const MAX_SCAN_BYTES: NonZeroU64 = NonZeroU64::new(16 << 30).expect("is not zero");

    /// Most lines in one window.
    pub fn max_lines(self, lines: u64) -> Result<Self> {
        Ok(Self { max_lines: positive("max_lines", lines)?, ..self })
    }

    /// Most bytes in one window, as UTF-8, with one for each line break between lines. Memory grows to it, so choose it as what a
    /// model should be given at once.
    pub fn max_bytes(self, bytes: u64) -> Result<Self> {
        Ok(Self { max_bytes: positive("max_bytes", bytes)?, ..self })
    }

    /// Bytes of a file that are looked at, from its start: what lies behind them cannot be read, and the lines there are not counted.
    ///
    /// A window behind them fails with [`ErrorKind::ScanLimit`](crate::ErrorKind::ScanLimit); one before them comes without a total.
    pub fn max_scan_bytes(self, bytes: u64) -> Result<Self> {
        Ok(Self { max_scan_bytes: positive("max_scan_bytes", bytes)?, ..self })
    }

    /// Longest time that one read may take; then it fails with [`ErrorKind::Deadline`](crate::ErrorKind::Deadline). It is looked at
    /// wherever [`Cancel`](crate::Cancel) is asked.
    #[must_use]
    pub fn deadline(self, allowed: Duration) -> Self {
        Self { deadline: Some(allowed), ..self }
    }

    /// Stops a read right behind its window: the total number of lines is not counted, and unknown unless the window reaches the end. A
    /// read of the last lines ([`Selection::tail`]) counts all the same, since they have numbers.
    #[must_use]
    pub fn no_total(self) -> Self {
        Self { totals: Totals::LeftOut, ..self }
    }

    pub(crate) fn lines(&self) -> NonZeroU64 {
        self.max_lines
    }

    pub(crate) fn bytes(&self) -> NonZeroU64 {
        self.max_bytes
    }

    pub(crate) fn scan_bytes(&self) -> NonZeroU64 {
        self.max_scan_bytes
    }

    pub(crate) fn allowed_time(&self) -> Option<Duration> {
        self.deadline
    }

    pub(crate) fn counts_rest(&self) -> bool {
        self.totals == Totals::Counted
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_lines: Self::MAX_LINES,
            max_bytes: Self::MAX_BYTES,
            max_scan_bytes: Self::MAX_SCAN_BYTES,
            deadline: None,
            totals: Totals::Counted,
        }
    }
}

fn positive(name: &str, value: u64) -> Result<NonZeroU64> {
    NonZeroU64::new(value).ok_or_else(|| Error::invalid(format!("{name} must be a positive integer")))
}

/// The lines that a call asks for. The default is all, from line 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    pub(crate) from: From,
    pub(crate) limit: Option<NonZeroU64>,
    pub(crate) column: Option<NonZeroU64>,
}

/// Where a selection starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Line(NonZeroU64),
    /// So many lines before the end.
    Last(NonZeroU64),
}

impl Selection {
    /// From line `offset` on, 1-based; 0 is refused.
    pub fn from_line(offset: u64) -> Result<Self> {
        Ok(Self { from: From::Line(positive("offset", offset)?), ..Self::default() })
    }

    /// The last `lines` lines; 0 is refused. Where the limits allow fewer, these are the newest.
    ///
    /// ```
    /// use capread::{Limits, Selection, Window};
    ///
    /// # fn main() -> Result<(), capread::Error> {
    /// let log: &[u8] = b"one\ntwo\nthree\n";
    /// let window = Window::read(log, Selection::tail(2)?, &Limits::default(), &|| false)?;
    /// assert_eq!((window.text.as_str(), window.start_line), ("two\nthree", 2));
    /// # Ok(())
    /// # }
    /// ```
    pub fn tail(lines: u64) -> Result<Self> {
        Ok(Self { from: From::Last(positive("tail", lines)?), ..Self::default() })
    }

    /// At most `lines` lines; 0 is refused. With [`tail`](Self::tail) these are the newest.
    pub fn limit(self, lines: u64) -> Result<Self> {
        Ok(Self { limit: Some(positive("limit", lines)?), ..self })
    }

    /// Of the first line alone, the part that starts at this byte of its text, 1-based; 0 is refused. A column within a character is
    /// moved back to its start. With [`tail`](Self::tail) it means nothing.
    ///
    /// ```
    /// use capread::{Limits, Selection, Window};
    ///
    /// # fn main() -> Result<(), capread::Error> {
    /// let file: &[u8] = b"one\na long line\n";
    /// let limits = Limits::default().max_bytes(6)?;
    /// let window = Window::read(file, Selection::from_line(2)?.column(3)?, &limits, &|| false)?;
    /// assert_eq!(window.to_string(), "long l\n\n[Line 2, bytes 3-8 of 11. Use offset=2 and column=9 to continue.]");
    /// # Ok(())
    /// # }
    /// ```
    pub fn column(self, column: u64) -> Result<Self> {
        Ok(Self { column: Some(positive("column", column)?), ..self })
    }

    /// The most lines that the call wants.
    pub(crate) fn wanted(self) -> Option<NonZeroU64> {
        match self.from {
            From::Line(_) => self.limit,
            From::Last(lines) => Some(self.limit.map_or(lines, |limit| limit.min(lines))),
        }
    }
}

impl Default for Selection {
    fn default() -> Self {
        Self { from: From::Line(NonZeroU64::MIN), limit: None, column: None }
    }
}
