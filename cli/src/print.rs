//! Answers on standard output.

use std::fmt::Write as _;
use std::io::{self, Write};

use capread::{Window, is_control};
use memchr::memchr2;
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
pub(crate) fn escaped_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if is_control(c) { push_escape(&mut shown, c) } else { shown.push(c) }
    }
    shown
}

fn push_escape(json: &mut String, c: char) {
    write!(json, "\\u{:04x}", u32::from(c)).expect("a string takes all");
}

/// JSON on one line, in one write: whoever reads it is woken once.
pub(crate) fn line(out: &mut impl Write, json: String) -> io::Result<()> {
    let mut line = unbroken(json);
    line.push('\n');
    out.write_all(line.as_bytes())?;
    out.flush()
}

/// The same JSON without the line breaks of Unicode, at which some programs end a line: Node's `readline`, and Python's
/// `splitlines`. Only strings can have them, and those of ASCII are escaped in JSON anyway.
pub(crate) fn unbroken(json: String) -> String {
    if memchr2(FIRST_BYTES[0], FIRST_BYTES[1], json.as_bytes()).is_none() {
        return json;
    }
    let mut line = String::with_capacity(json.len());
    for c in json.chars() {
        if LINE_BREAKS.contains(&c) { push_escape(&mut line, c) } else { line.push(c) }
    }
    line
}

/// Next line, line separator, paragraph separator.
const LINE_BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// With which those start in UTF-8.
const FIRST_BYTES: [u8; 2] = [0xC2, 0xE2];

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

    #[test]
    fn an_unbroken_line_says_the_same() {
        for text in ["a\u{85}b\u{2028}c\u{2029}", "é 中 → \u{2027}\u{202a}", "\n\r\u{b}\u{c}\u{1c}"] {
            let value = serde_json::json!({ text: [text] });
            let mut line = Vec::new();
            super::line(&mut line, value.to_string()).unwrap();
            let line = String::from_utf8(line).unwrap();
            let breaks = |c: char| LINE_BREAKS.contains(&c) || matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}');
            assert_eq!(line.find(breaks), Some(line.len() - 1), "{line}");
            assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
        }
    }

    #[test]
    fn every_line_break_is_looked_for() {
        assert!(LINE_BREAKS.iter().all(|c| FIRST_BYTES.contains(&c.to_string().as_bytes()[0])));
    }
}
