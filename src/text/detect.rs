//! Guessing an encoding by what a file starts with.

use std::borrow::Cow;

use chardetng::EncodingDetector;
use encoding_rs::Encoding;

use super::encoding::Coding;

/// Units that are ASCII in the one byte order, and in the other.
#[derive(Default)]
struct Sides {
    little: usize,
    big: usize,
}

impl Sides {
    fn of(head: &[u8], is_counted: fn(u8) -> bool) -> Self {
        let mut sides = Self::default();
        for unit in head.chunks_exact(2) {
            match unit {
                [byte, 0] if is_counted(*byte) => sides.little += 1,
                [0, byte] if is_counted(*byte) => sides.big += 1,
                _ => {}
            }
        }
        sides
    }

    /// The side that has next to all of them, and how many these are.
    fn clear(&self) -> Option<(&'static Encoding, usize)> {
        let is_clear = |side: usize, other: usize| side > 0 && other * 50 <= side;
        match () {
            () if is_clear(self.little, self.big) => Some((encoding_rs::UTF_16LE, self.little)),
            () if is_clear(self.big, self.little) => Some((encoding_rs::UTF_16BE, self.big)),
            () => None,
        }
    }
}

/// UTF-16 without a byte order mark. Text in any language has spaces, line breaks, digits or markup in ASCII, whose other byte is NUL, and
/// has that byte on one side only.
pub(super) fn utf_16(head: &[u8]) -> Option<&'static Encoding> {
    if head.chunks_exact(2).any(|unit| unit == [0, 0]) || is_ascii_with_nuls(head) {
        return None;
    }
    if let Some((encoding, count)) = Sides::of(head, is_text).clear() {
        if count * 40 >= head.len() {
            return decoded(encoding, head).map(|_| encoding);
        }
    }
    // In Chinese they are rare, and a character such as U+4E00 looks like one on the other side; but what looks like a line break or a
    // space there is in hardly any text. The rest must look like text all the more.
    let (encoding, _) = Sides::of(head, |byte| byte.is_ascii_whitespace()).clear()?;
    decoded(encoding, head).filter(|text| text.chars().all(is_written)).map(|_| encoding)
}

/// Whether what looks like units are pairs of ASCII. Units of two such bytes are Chinese and Japanese characters, but never without others
/// of which one byte is no ASCII.
fn is_ascii_with_nuls(head: &[u8]) -> bool {
    let units = head.chunks_exact(2);
    let pairs = units.clone().filter(|unit| unit.iter().all(|byte| is_text(*byte))).count();
    let foreign = units.clone().filter(|unit| unit.iter().any(|byte| *byte != 0 && !is_text(*byte))).count();
    pairs * 20 > units.len() && pairs > foreign * 8
}

/// The text, unless there is something in it that is none.
fn decoded<'a>(encoding: &'static Encoding, head: &'a [u8]) -> Option<Cow<'a, str>> {
    let whole = &head[..head.len() & !1];
    encoding.decode_without_bom_handling_and_without_replacement(&whole[..last_pair(encoding, whole)])
}

/// No control character, nothing for private use, and nothing that is no character: one in eight of what is not text.
fn is_written(c: char) -> bool {
    let is_private = matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..);
    let is_control = c.is_control() && !matches!(c, '\t' | '\n' | '\r');
    !is_private && !is_control && (u32::from(c) & 0xfffe) != 0xfffe
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

/// Whether a file goes on behind its head, which may be cut anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    Nothing,
    Something,
}

/// Anything that has ASCII in it.
pub(super) fn with_ascii(head: &[u8], rest: Rest) -> Coding {
    let is_utf_8 = is_utf_8(head);
    if is_utf_8 && !has_escapes_to_kanji(head) {
        return Coding::Utf8;
    }
    let mut detector = EncodingDetector::new();
    detector.feed(head, rest == Rest::Nothing);
    match detector.guess(None, false) {
        // What has such escapes, and is something else, may be UTF-8 all the same.
        encoding if encoding != encoding_rs::ISO_2022_JP && is_utf_8 => Coding::Utf8,
        encoding => Coding::Other(encoding),
    }
}

/// ISO-2022-JP has no byte that is no ASCII. Whether the rest of it fits is seen by the detector.
fn has_escapes_to_kanji(head: &[u8]) -> bool {
    memchr::memmem::find(head, b"\x1b$").is_some()
}

/// But for a broken place now and then: what has twenty characters of UTF-8 for each is no other encoding by chance.
fn is_utf_8(head: &[u8]) -> bool {
    let (mut characters, mut broken, mut last) = (0, 0, &[][..]);
    for chunk in head.utf8_chunks() {
        characters += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        broken += usize::from(!chunk.invalid().is_empty());
        last = chunk.invalid();
    }
    // A character may be cut at the end.
    let is_cut = std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
    characters >= 20 * broken.saturating_sub(usize::from(is_cut))
}
