//! Answers on standard output.

use std::fmt::Write as _;
use std::io::{self, Write};

use capread::{Window, is_control};
use serde_json::Value;

/// What becomes of characters that could rewrite a terminal, or what is read on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Controls {
    AsTheyAre,
    Escaped,
}

/// The text, then the hint. A window that reaches the end of the file ends as the file does, so that reading a whole file prints its
/// very bytes, where controls are as they are.
pub(crate) fn text(out: &mut impl Write, window: &Window, controls: Controls) -> io::Result<()> {
    let ends_with_break =
        window.continuation().is_some() || (window.final_newline == Some(true) && window.total_lines != Some(0));
    let end = if ends_with_break { "\n" } else { "" };
    match controls {
        Controls::AsTheyAre => write!(out, "{window}{end}")?,
        Controls::Escaped => out.write_all(escaped(&format!("{window}{end}")).as_bytes())?,
    }
    out.flush()
}

/// As Rust writes them, and as error messages have them: `\u{1b}`. The carriage return of a line break stays.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let ends_line = c == '\r' && chars.peek() == Some(&'\n');
        if is_control(c) && !ends_line { shown.extend(c.escape_debug()) } else { shown.push(c) }
    }
    shown
}

/// A result on one line. Escaped, it is the same JSON: controls are in its strings only.
pub(crate) fn json(out: &mut impl Write, value: &Value, controls: Controls) -> io::Result<()> {
    let json = value.to_string();
    match controls {
        Controls::AsTheyAre => line(out, json),
        Controls::Escaped => line(out, escaped_json(&json)),
    }
}

/// All controls are in the Basic Multilingual Plane, so that one escape is one of them.
fn escaped_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if is_control(c) {
            write!(shown, "\\u{:04x}", u32::from(c)).expect("a string takes all");
        } else {
            shown.push(c);
        }
    }
    shown
}

/// One line, such as of JSON, in one write: whoever reads it is woken once.
pub(crate) fn line(out: &mut impl Write, mut line: String) -> io::Result<()> {
    line.push('\n');
    out.write_all(line.as_bytes())?;
    out.flush()
}

pub(crate) fn pretty_json(out: &mut impl Write, value: &Value) -> io::Result<()> {
    writeln!(out, "{value:#}")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_all_but_tabs_and_line_breaks() {
        assert_eq!(escaped("a\tb\r\nc\rd\n"), "a\tb\r\nc\\rd\n");
        assert_eq!(escaped("\r\r\n\r"), "\\r\r\n\\r");
        assert_eq!(
            escaped("\u{1b}[2J\0\u{7f}\u{9b}\u{202e}\u{2066}é中"),
            "\\u{1b}[2J\\0\\u{7f}\\u{9b}\\u{202e}\\u{2066}é中"
        );
    }

    #[test]
    fn escaped_json_says_the_same() {
        let value = serde_json::json!({"a\u{9b}": "\u{1b}\u{7f}\u{202e}\r\n\t\\é"});
        let shown = escaped_json(&value.to_string());
        assert!(!shown.contains(is_control), "{shown}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
    }
}
