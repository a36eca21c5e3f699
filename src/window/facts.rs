//! What an editor needs to know of the lines of a window.

use memchr::{memchr_iter, memchr3_iter};

use super::LineEnds;

/// A multiple of the width of vectors that is less than 256.
const BLOCK_BYTES: usize = 224;

/// Of a text with so many line breaks. `terminated`: there is one behind it, too.
pub(super) struct Facts {
    /// See [`is_control`](crate::is_control).
    pub(super) controls: u64,
    pub(super) line_ends: Option<LineEnds>,
}

impl Facts {
    /// One kind of character after the other: each is a search for bytes that text seldom has.
    pub(super) fn of(text: &str, breaks: usize, terminated: bool) -> Self {
        let bytes = text.as_bytes();
        // C0 without tab and line feed: all below the space, less these.
        let c0 = count_below_space(bytes) - bytecount::count(bytes, b'\t') - breaks;
        let crlf = if c0 > 0 { count_crlf(bytes, terminated) } else { 0 };
        let others = memchr3_iter(0x7f, 0xc2, 0xe2, bytes).filter(|at| is_other_control(&bytes[*at..])).count();
        Self {
            // Those of line breaks are none.
            controls: u64::try_from(c0 - crlf + others).unwrap_or(u64::MAX),
            line_ends: line_ends(breaks + usize::from(terminated), crlf),
        }
    }
}

/// Summed up in bytes, block by block of which the count fits into one: so compilers make a few vector instructions of it.
fn count_below_space(bytes: &[u8]) -> usize {
    let count = |block: &[u8]| usize::from(block.iter().map(|byte| u8::from(*byte < b' ')).sum::<u8>());
    let blocks = bytes.chunks_exact(BLOCK_BYTES);
    count(blocks.remainder()) + blocks.map(count).sum::<usize>()
}

/// Line breaks `\r\n`, with that of the last line, which is not in the text.
fn count_crlf(bytes: &[u8], terminated: bool) -> usize {
    let followed = memchr_iter(b'\r', bytes).filter(|at| bytes.get(at + 1) == Some(&b'\n')).count();
    followed + usize::from(terminated && bytes.last() == Some(&b'\r'))
}

/// Whether UTF-8 starts with DEL, with one of C1 (U+0080 to U+009F, in two bytes) or with bidirectional formatting (U+202A to U+202E and
/// U+2066 to U+2069, in three).
fn is_other_control(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0x7f, ..] | [0xc2, 0x80..=0x9f, ..] | [0xe2, 0x80, 0xaa..=0xae, ..] | [0xe2, 0x81, 0xa6..=0xa9, ..]
    )
}

fn line_ends(breaks: usize, crlf: usize) -> Option<LineEnds> {
    match crlf {
        _ if breaks == 0 => None,
        0 => Some(LineEnds::Lf),
        crlf if crlf == breaks => Some(LineEnds::CrLf),
        _ => Some(LineEnds::Mixed),
    }
}
