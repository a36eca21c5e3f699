//! How names and numbers look in messages: control characters escaped, length bounded.

use std::fmt;

/// Most characters of a path or value that a message shows; a longer one loses its middle.
const SHOWN_CHARS: usize = 240;

/// Whether `c` is a control character or a bidirectional formatting character that can make text display as something else.
///
/// These are the general category `Cc` (C0, DEL and C1) except tab and line feed, and the embeddings, overrides and isolates of
/// [UAX #9](https://www.unicode.org/reports/tr9/) (U+202A to U+202E, U+2066 to U+2069), which "Trojan Source" attacks use.
/// [`Window::controls`](crate::Window::controls) counts them, except a carriage return before a line feed.
///
/// ```
/// assert!(capread::is_control('\u{1b}'));
/// assert!(capread::is_control('\u{202e}'));
/// assert!(!capread::is_control('\t'));
/// ```
#[must_use]
pub fn is_control(c: char) -> bool {
    match c {
        '\t' | '\n' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => c.is_control(),
    }
}

/// Displays a name or value on one line: controls as Rust escapes, the middle of a long one as `…`.
pub(crate) struct Shown<'a>(pub(crate) &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.chars().count();
        if count <= SHOWN_CHARS {
            return write_escaped(f, self.0.chars());
        }
        let kept = SHOWN_CHARS / 2;
        write_escaped(f, self.0.chars().take(kept))?;
        f.write_str("…")?;
        write_escaped(f, self.0.chars().skip(count - kept))
    }
}

fn write_escaped(f: &mut fmt::Formatter<'_>, chars: impl Iterator<Item = char>) -> fmt::Result {
    for c in chars {
        // Line and paragraph separators break the line of some displays, though they end no line of a file.
        if is_control(c) || matches!(c, '\t' | '\n' | '\u{2028}' | '\u{2029}') {
            fmt::Display::fmt(&c.escape_debug(), f)?;
        } else {
            fmt::Write::write_char(f, c)?;
        }
    }
    Ok(())
}

/// A number of bytes in a message: a multiple of 1 GiB as GiB, any other multiple of 1024 as KiB.
pub(crate) struct ByteCount(pub(crate) u64);

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KIB: u64 = 1 << 10;
        const GIB: u64 = 1 << 30;
        match self.0 {
            bytes if bytes >= GIB && bytes % GIB == 0 => write!(f, "{} GiB", bytes / GIB),
            bytes if bytes >= KIB && bytes % KIB == 0 => write!(f, "{} KiB", bytes / KIB),
            bytes => write!(f, "{bytes} bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_could_rewrite_a_terminal_or_a_line() {
        let name = "a\u{1b}[2Jb\nc\td\u{85}\u{202e}\u{2028}";
        assert_eq!(Shown(name).to_string(), "a\\u{1b}[2Jb\\nc\\td\\u{85}\\u{202e}\\u{2028}");
    }

    #[test]
    fn shortens_the_middle_at_character_boundaries() {
        let name = "中".repeat(SHOWN_CHARS) + "é";
        let shown = Shown(&name).to_string();
        assert_eq!(shown.chars().count(), SHOWN_CHARS + 1);
        assert!(shown.starts_with('中') && shown.contains('…') && shown.ends_with('é'));
        assert_eq!(Shown(&"x".repeat(SHOWN_CHARS)).to_string(), "x".repeat(SHOWN_CHARS));
    }
}
