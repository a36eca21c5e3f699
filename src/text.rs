//! What the bytes of a file say: is it text at all, and what does it decode to.

mod chunks;
mod count;
mod decoded;
#[cfg(feature = "encodings")]
mod detect;
mod encoding;
mod feed;
mod format;
mod index;
mod lines;
mod long_line;

pub(crate) use chunks::{CHUNK_BYTES, to_u64, to_usize};
pub(crate) use encoding::Form;
pub use encoding::TextEncoding;
pub(crate) use index::{Memo, Place};
pub(crate) use lines::{Count, Ended, Lines, Start, Taken, room};
pub(crate) use long_line::{Length, Missing, PartOfLine};

use std::fmt::Write as _;
use std::io;

/// Bytes at the start of a file in which a NUL means that it is no text.
pub(crate) const SNIFF_BYTES: usize = 8192;

/// Bytes that can be read at a position: a file, or anything that a window should be taken from.
///
/// Implemented by [`RegularFile`](crate::RegularFile) and by byte slices. Large sources are read by two threads at once.
///
/// ```
/// use capread::{Limits, Selection, Window};
///
/// # fn main() -> Result<(), capread::Error> {
/// let buffer: &[u8] = b"not\nsaved\nyet\n";
/// let window = Window::read(buffer, Selection::from_line(2)?.limit(1)?, &Limits::default(), &|| false)?;
/// assert_eq!((window.text.as_str(), window.total_lines), ("saved", Some(3)));
/// # Ok(())
/// # }
/// ```
pub trait ReadAt: Sync {
    /// Reads up to `buffer.len()` bytes that start at `offset`; fewer are no sign of the end, 0 is.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The size in bytes where it is known. Nothing behind it is looked at; unknown means read until there is no more.
    fn known_size(&self) -> Option<u64>;
}

impl ReadAt for [u8] {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn known_size(&self) -> Option<u64> {
        u64::try_from(self.len()).ok()
    }
}

/// Makes room for `count` more: twice the room as it is, so that copying stays linear, and never more than `most` in all.
fn reserve<T>(items: &mut Vec<T>, count: usize, most: usize) {
    if items.capacity() - items.len() < count {
        let needed = items.len() + count;
        let wanted = items.capacity().saturating_mul(2).clamp(needed, most.max(needed));
        items.reserve_exact(wanted - items.len());
    }
}

/// Line breaks in `bytes`.
pub(crate) fn count_breaks(bytes: &[u8]) -> u64 {
    to_u64(bytecount::count(bytes, b'\n'))
}

/// Lets a slice (`&[u8]`) be a `&dyn ReadAt`.
impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(buffer, offset)
    }

    fn known_size(&self) -> Option<u64> {
        (**self).known_size()
    }
}

/// The text of some lines of UTF-8, each maximal part that is none replaced by U+FFFD (Unicode Standard 3.9, "substitution of maximal
/// subparts"), and how many were; each line with its number where the first one's is given. `length` is that of the text.
///
/// Text never gets shorter by replacing: U+FFFD has three bytes, a maximal subpart at most three.
pub(crate) fn decode(raw: &[u8], length: usize, first_number: Option<u64>) -> (String, u64) {
    // Once, since it may be as large as the budget: growing it would hold it twice.
    let mut text = String::with_capacity(length);
    let Some(first) = first_number else {
        let replaced = push_decoded(&mut text, raw);
        return (text, replaced);
    };
    let mut replaced = 0;
    for (number, line) in (first..).zip(raw.split(|byte| *byte == b'\n')) {
        if number > first {
            text.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{number}\t");
        replaced += push_decoded(&mut text, line);
    }
    (text, replaced)
}

fn push_decoded(text: &mut String, raw: &[u8]) -> u64 {
    let mut replaced = 0;
    for chunk in raw.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            replaced += 1;
        }
    }
    replaced
}

/// The length of the text that [`decode`] makes of a line.
pub(crate) fn decoded_len(raw: &[u8]) -> usize {
    let replacement = |invalid: &[u8]| if invalid.is_empty() { 0 } else { char::REPLACEMENT_CHARACTER.len_utf8() };
    raw.utf8_chunks().map(|chunk| chunk.valid().len() + replacement(chunk.invalid())).sum()
}

/// The length of a line's number and the tab behind it.
pub(crate) fn number_len(number: u64) -> usize {
    let digits = number.checked_ilog10().unwrap_or(0) + 1;
    to_usize(u64::from(digits), usize::MAX) + 1
}
