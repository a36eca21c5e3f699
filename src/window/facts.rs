//! What an editor needs to know of the lines of a window.

use std::ops::RangeInclusive;

use memchr::{memchr, memchr_iter};

use super::LineEnds;

/// [`is_control`](crate::is_control) on UTF-8, one kind at a time: each is a search for a byte that text seldom has.
pub(super) fn count_controls(text: &str, terminated: bool) -> u64 {
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
    // Those of line breaks are none.
    let count = count_c0(bytes) - count_crlf(bytes, terminated) + c1.count() + bidi.count();
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// C0 and DEL, without tab and line feed: all below the space, less these. Each is a count that takes a few instructions for many bytes.
fn count_c0(bytes: &[u8]) -> usize {
    let counted = bytes.chunks(255).map(|chunk| usize::from(chunk.iter().map(|byte| is_c0(*byte)).sum::<u8>()));
    counted.sum::<usize>() - bytecount::count(bytes, b'\t') - bytecount::count(bytes, b'\n')
}

fn is_c0(byte: u8) -> u8 {
    u8::from(byte & 0xe0 == 0) + u8::from(byte == 0x7f)
}

/// Line breaks `\r\n`, with that of the last line, which is not in the text.
fn count_crlf(bytes: &[u8], terminated: bool) -> usize {
    let followed = memchr_iter(b'\r', bytes).filter(|at| bytes.get(at + 1) == Some(&b'\n')).count();
    followed + usize::from(terminated && bytes.last() == Some(&b'\r'))
}

pub(super) fn line_ends(text: &str, terminated: bool) -> Option<LineEnds> {
    let bytes = text.as_bytes();
    if memchr(b'\r', bytes).is_none() {
        return (terminated || memchr(b'\n', bytes).is_some()).then_some(LineEnds::Lf);
    }
    let breaks = bytecount::count(bytes, b'\n') + usize::from(terminated);
    match count_crlf(bytes, terminated) {
        _ if breaks == 0 => None,
        0 => Some(LineEnds::Lf),
        crlf if crlf == breaks => Some(LineEnds::CrLf),
        _ => Some(LineEnds::Mixed),
    }
}
