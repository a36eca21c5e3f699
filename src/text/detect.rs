//! Guessing an encoding by what a file starts with.

use chardetng::EncodingDetector;
use encoding_rs::Encoding;

use super::encoding::Coding;

/// UTF-16 without a byte order mark. Text in any language has spaces, line breaks, digits or markup in ASCII, whose other byte is NUL, and
/// has that byte on one side only.
pub(super) fn utf_16(head: &[u8]) -> Option<&'static Encoding> {
    let (mut little, mut big, mut units) = (0_usize, 0_usize, 0_usize);
    for unit in head.chunks_exact(2) {
        units += 1;
        match unit {
            [0, 0] => return None,
            [byte, 0] if is_text(*byte) => little += 1,
            [0, byte] if is_text(*byte) => big += 1,
            _ => {}
        }
    }
    // A twentieth on one side, and next to nothing on the other.
    let is_clear = |side: usize, other: usize| side > 0 && side * 20 >= units && other * 50 <= side;
    let encoding = match () {
        () if is_clear(little, big) => encoding_rs::UTF_16LE,
        () if is_clear(big, little) => encoding_rs::UTF_16BE,
        () => return None,
    };
    let whole = &head[..head.len() & !1];
    let (_, broken) = encoding.decode_without_bom_handling(&whole[..last_pair(encoding, whole)]);
    (!broken).then_some(encoding)
}

/// Without a last unit that starts a pair.
fn last_pair(encoding: &'static Encoding, whole: &[u8]) -> usize {
    match whole {
        [.., low, high] => {
            let high = if encoding == encoding_rs::UTF_16LE { *high } else { *low };
            whole.len() - if (0xd8..0xdc).contains(&high) { 2 } else { 0 }
        }
        _ => 0,
    }
}

fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')
}

/// Anything that has ASCII in it.
pub(super) fn with_ascii(head: &[u8]) -> Coding {
    if is_utf_8(head) {
        return Coding::Utf8;
    }
    let mut detector = EncodingDetector::new();
    detector.feed(head, true);
    match detector.guess(None, false) {
        encoding if encoding == encoding_rs::UTF_8 => Coding::Utf8,
        encoding => Coding::Other(encoding),
    }
}

/// But for a character that is cut at the end.
fn is_utf_8(head: &[u8]) -> bool {
    std::str::from_utf8(head).err().is_none_or(|error| error.error_len().is_none())
}
