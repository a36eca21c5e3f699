//! The window: what a call selects, what the limits leave of it, and what is known of the file around it.

use std::num::NonZeroU64;
use std::ops::RangeInclusive;
use std::time::Duration;

use memchr::{memchr, memchr_iter};

use crate::cancel::{Cancel, Stop};
use crate::error::{Error, ErrorKind, Result};
use crate::text::{self, Ended, Lines, ReadAt, Taken};

/// The application's ceiling on one read: a request can ask for less, never for more.
///
/// | limit | default | bound |
/// |---|---|---|
/// | [`max_lines`](Self::max_lines) | 2000 | at least 1 |
/// | [`max_bytes`](Self::max_bytes) | 51200 (50 KiB) | at least 1 |
/// | [`deadline`](Self::deadline) | none | any |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    max_lines: NonZeroU64,
    max_bytes: NonZeroU64,
    deadline: Option<Duration>,
}

impl Limits {
    const MAX_LINES: NonZeroU64 = NonZeroU64::new(2000).expect("is not zero");
    const MAX_BYTES: NonZeroU64 = NonZeroU64::new(50 * 1024).expect("is not zero");

    /// Most lines in one window.
    pub fn max_lines(self, lines: u64) -> Result<Self> {
        Ok(Self { max_lines: positive("max_lines", lines)?, ..self })
    }

    /// Most bytes in one window, as UTF-8, with one for each line break between lines. Memory grows to it, so choose it as what a
    /// model should be given at once.
    pub fn max_bytes(self, bytes: u64) -> Result<Self> {
        Ok(Self { max_bytes: positive("max_bytes", bytes)?, ..self })
    }

    /// Longest time that one read may take; then it fails with [`ErrorKind::Deadline`]. It is looked at wherever
    /// [`Cancel`] is asked.
    #[must_use]
    pub fn deadline(self, allowed: Duration) -> Self {
        Self { deadline: Some(allowed), ..self }
    }

    /// The most lines and the most bytes of one window.
    #[cfg(feature = "json")]
    pub(crate) fn budgets(&self) -> (NonZeroU64, NonZeroU64) {
        (self.max_lines, self.max_bytes)
    }

    pub(crate) fn allowed_time(&self) -> Option<Duration> {
        self.deadline
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_lines: Self::MAX_LINES, max_bytes: Self::MAX_BYTES, deadline: None }
    }
}

fn positive(name: &str, value: u64) -> Result<NonZeroU64> {
    NonZeroU64::new(value).ok_or_else(|| Error::invalid(format!("{name} must be a positive integer")))
}

/// The lines that a call asks for. The default is all, from line 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    offset: NonZeroU64,
    limit: Option<NonZeroU64>,
}

impl Selection {
    /// From line `offset` on, 1-based; 0 is refused.
    pub fn from_line(offset: u64) -> Result<Self> {
        Ok(Self { offset: positive("offset", offset)?, limit: None })
    }

    /// At most `lines` lines; 0 is refused.
    pub fn limit(self, lines: u64) -> Result<Self> {
        Ok(Self { limit: Some(positive("limit", lines)?), ..self })
    }
}

impl Default for Selection {
    fn default() -> Self {
        Self { offset: NonZeroU64::MIN, limit: None }
    }
}

/// Why a window ends before the file does.
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
    /// Lines in the file. A final line break ends the last line and starts no new one.
    pub total_lines: u64,
    /// Why the window ends before the file does; `None` when it reaches the end.
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
    /// Whether the file ends with a line break.
    pub final_newline: bool,
}

impl Window {
    /// The window that `selection` asks for, within `limits`, of any bytes: see [`ReadAt`].
    pub fn read(
        source: &(impl ReadAt + ?Sized),
        selection: Selection,
        limits: &Limits,
        cancel: &dyn Cancel,
    ) -> Result<Self> {
        let stop = Stop::new(cancel, limits.deadline);
        stop.check()?;
        Self::scan(&source, selection, limits, &stop)
    }

    pub(crate) fn scan(source: &dyn ReadAt, selection: Selection, limits: &Limits, stop: &Stop<'_>) -> Result<Self> {
        let mut lines = Lines::new(source, stop);
        let bom = text::has_mark(lines.head(text::SNIFF_BYTES)?, source.known_size())?;
        if bom {
            lines.skip_mark(text::MARK_BYTES);
        }
        let start_line = selection.offset.get();
        let starts = lines.skip(start_line - 1)?;
        if !starts && start_line > 1 {
            let (total, _) = lines.count_rest()?;
            return Err(ErrorKind::OffsetBeyondEnd { offset: start_line, total }.into());
        }
        let wanted = selection.limit.unwrap_or(NonZeroU64::MAX).min(limits.max_lines).get();
        let taken = lines.take(wanted, limits.max_bytes.get())?;
        let part = Part::decode(taken, limits.max_bytes.get());
        if starts && part.lines == 0 {
            return Err(ErrorKind::LineTooLong { line: start_line, max_bytes: limits.max_bytes.get() }.into());
        }
        let (total_lines, final_newline) = lines.count_rest()?;
        let end_line = start_line - 1 + part.lines;
        Ok(Self {
            start_line,
            end_line,
            total_lines,
            cut: (end_line < total_lines).then(|| part.cut(selection, limits)),
            bom,
            replacements: part.replacements,
            controls: count_controls(&part.text, part.terminated),
            line_ends: line_ends(&part.text, part.terminated),
            final_newline,
            text: part.text,
        })
    }

    /// The line to go on from; `None` when the window reaches the end of the file.
    #[must_use]
    pub fn next_offset(&self) -> Option<u64> {
        self.cut.map(|_| self.end_line + 1)
    }
}

/// The text of the lines that were taken.
struct Part {
    text: String,
    lines: u64,
    replacements: u64,
    /// Whether the last line has a line break.
    terminated: bool,
    by_bytes: bool,
}

impl Part {
    /// Decoding can only make text longer, so of the lines that fit undecoded the first ones fit decoded.
    fn decode(taken: Taken, max_bytes: u64) -> Self {
        let (terminated, by_bytes) = match taken.ended {
            Ended::Lines => (true, false),
            Ended::Bytes => (true, true),
            Ended::File { terminated } => (terminated, false),
        };
        match String::from_utf8(taken.raw) {
            Ok(text) => Self { text, lines: taken.lines, replacements: 0, terminated, by_bytes },
            Err(error) => Self::decode_lines(&error.into_bytes(), max_bytes, terminated, by_bytes),
        }
    }

    fn decode_lines(raw: &[u8], max_bytes: u64, terminated: bool, by_bytes: bool) -> Self {
        let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        // Once, since it may be as large as the budget: growing it would hold it twice.
        let text = String::with_capacity(max_bytes.min(raw.len().saturating_mul(3)));
        let mut part = Self { text, lines: 0, replacements: 0, terminated, by_bytes };
        for line in raw.split(|byte| *byte == b'\n') {
            if !part.push_line(line, max_bytes) {
                return Self { terminated: true, by_bytes: true, ..part };
            }
        }
        part
    }

    /// Adds the line if it fits.
    fn push_line(&mut self, line: &[u8], max_bytes: usize) -> bool {
        let before = self.text.len();
        if self.lines > 0 {
            self.text.push('\n');
        }
        match text::decode(line, &mut self.text, max_bytes) {
            // The line break alone can be too much, where the line is empty.
            Some(replaced) if self.text.len() <= max_bytes => {
                self.replacements += replaced;
                self.lines += 1;
                true
            }
            _ => {
                self.text.truncate(before);
                false
            }
        }
    }

    /// `max_lines` counts as the cause only where the call asked for more.
    fn cut(&self, selection: Selection, limits: &Limits) -> Cut {
        if self.by_bytes {
            Cut::Bytes { max_bytes: limits.max_bytes.get() }
        } else if selection.limit.is_some_and(|limit| limit <= limits.max_lines) {
            Cut::Limit
        } else {
            Cut::Lines
        }
    }
}

/// [`is_control`](crate::is_control) on UTF-8, one kind at a time: each is a search for a byte that text seldom has.
fn count_controls(text: &str, terminated: bool) -> u64 {
    let bytes = text.as_bytes();
    let is_pair =
        |first: usize, second: RangeInclusive<u8>| bytes.get(first + 1).is_some_and(|byte| second.contains(byte));
    // C1 in two bytes, U+0080 to U+009F.
    let c1 = memchr_iter(0xc2, bytes).filter(|at| is_pair(*at, 0x80..=0x9f));
    // Bidirectional formatting in three, U+202A to U+202E and U+2066 to U+2069.
    let bidi = memchr_iter(0xe2, bytes).filter(|at| match bytes[*at + 1] {
        0x80 => is_pair(*at + 1, 0xaa..=0xae),
        0x81 => is_pair(*at + 1, 0xa6..=0xa9),
        _ => false,
    });
    let returns = memchr_iter(b'\r', bytes).count() - count_crlf(bytes, terminated);
    let count = count_c0(bytes) + returns + c1.count() + bidi.count();
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// C0 and DEL, without tab, line feed and carriage return. Summed in bytes, which the compiler turns into a few instructions for many
/// bytes at once.
fn count_c0(bytes: &[u8]) -> usize {
    let is_c0 = |byte: &u8| matches!(*byte, 0..=0x08 | 0x0b | 0x0c | 0x0e..=0x1f | 0x7f);
    bytes.chunks(255).map(|chunk| usize::from(chunk.iter().map(|byte| u8::from(is_c0(byte))).sum::<u8>())).sum()
}

/// Line breaks `\r\n`, with that of the last line, which is not in the text.
fn count_crlf(bytes: &[u8], terminated: bool) -> usize {
    let followed = memchr_iter(b'\r', bytes).filter(|at| bytes.get(at + 1) == Some(&b'\n')).count();
    followed + usize::from(terminated && bytes.last() == Some(&b'\r'))
}

fn line_ends(text: &str, terminated: bool) -> Option<LineEnds> {
    let bytes = text.as_bytes();
    if memchr(b'\r', bytes).is_none() {
        return (terminated || memchr(b'\n', bytes).is_some()).then_some(LineEnds::Lf);
    }
    let breaks = memchr_iter(b'\n', bytes).count() + usize::from(terminated);
    match count_crlf(bytes, terminated) {
        _ if breaks == 0 => None,
        0 => Some(LineEnds::Lf),
        crlf if crlf == breaks => Some(LineEnds::CrLf),
        _ => Some(LineEnds::Mixed),
    }
}
