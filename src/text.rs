//! What the bytes of a file say: is it text at all, and what does it decode to.

mod chunks;
mod count;
mod index;
mod lines;

pub(crate) use chunks::{CHUNK_BYTES, to_u64};
pub(crate) use index::{Memo, Place};
pub(crate) use lines::{Count, Ended, Lines, Start, Taken, room};

use std::io;

use crate::error::{ErrorKind, Result};

/// Bytes at the start of a file in which a NUL means that it is no text.
pub(crate) const SNIFF_BYTES: usize = 8192;

/// The byte order mark in UTF-8, Unicode Standard 23.8.
const UTF_8_MARK: &[u8] = b"\xef\xbb\xbf";

/// The byte order marks of UTF-16, little endian and big endian.
const UTF_16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

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
/// assert_eq!((window.text.as_str(), window.total_lines), ("saved", 3));
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

/// The bytes of the byte order mark that the file starts with, or why it is no text that can be read.
///
/// `head` is the file's first [`SNIFF_BYTES`], or all of it.
pub(crate) fn mark_bytes(head: &[u8], size: Option<u64>) -> Result<u64> {
    if UTF_16_MARKS.iter().any(|mark| head.starts_with(mark)) {
        return Err(ErrorKind::Binary { format: Some("UTF-16 text"), size }.into());
    }
    if memchr::memchr(0, &head[..head.len().min(SNIFF_BYTES)]).is_some() {
        return Err(ErrorKind::Binary { format: None, size }.into());
    }
    Ok(if head.starts_with(UTF_8_MARK) { to_u64(UTF_8_MARK.len()) } else { 0 })
}

/// The text of `raw`, each maximal part that is no UTF-8 replaced by U+FFFD (Unicode Standard 3.9, "substitution of maximal subparts"),
/// and how many were. `length` is that of the text, [`decoded_len`].
///
/// Text never gets shorter by replacing: U+FFFD has three bytes, a maximal subpart at most three.
pub(crate) fn decode(raw: &[u8], length: usize) -> (String, u64) {
    // Once, since it may be as large as the budget: growing it would hold it twice.
    let mut text = String::with_capacity(length);
    let mut replaced = 0;
    for chunk in raw.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            replaced += 1;
        }
    }
    (text, replaced)
}

/// The length of the text that [`decode`] makes.
pub(crate) fn decoded_len(raw: &[u8]) -> usize {
    let replacement = |invalid: &[u8]| if invalid.is_empty() { 0 } else { char::REPLACEMENT_CHARACTER.len_utf8() };
    raw.utf8_chunks().map(|chunk| chunk.valid().len() + replacement(chunk.invalid())).sum()
}
