//! What was read, for whoever answers for the agent: a JSON line for each call, appended to a file, and never content.

mod file;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use capread::ReadOutput;
use clap::ValueEnum;
use serde_json::{Value, json};

use self::file::Appended;
use crate::{log, print};

/// Most bytes of a path, an id or a name that a line repeats unshortened: no valid request has a longer path.
const MAX_TEXT_BYTES: usize = 4096;

/// What becomes of a read whose line cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnError {
    /// It fails, and its text is not given out
    Fail,
    /// It is answered all the same, and standard error says so once
    Ignore,
}

pub(crate) struct Audit {
    file: Mutex<Appended>,
    on_error: OnError,
    /// That lines are lost was told.
    is_told: AtomicBool,
}

/// One call. Its outcome is an error's code, or `ok`.
pub(crate) struct Record<'a> {
    pub(crate) begun: SystemTime,
    pub(crate) duration: Duration,
    /// JSON text.
    pub(crate) id: Option<&'a str>,
    pub(crate) tool: &'a str,
    pub(crate) input: Option<&'a str>,
    pub(crate) outcome: &'a str,
    pub(crate) output: Option<&'a ReadOutput>,
}

impl Audit {
    pub(crate) fn open(path: &Path, on_error: OnError) -> io::Result<Self> {
        Ok(Self { file: Mutex::new(Appended::open(path)?), on_error, is_told: AtomicBool::new(false) })
    }

    /// Fails only where an unrecorded read must not be answered.
    pub(crate) fn record(&self, record: &Record<'_>) -> io::Result<()> {
        let line = record.to_line();
        let appended = self.file.lock().unwrap_or_else(PoisonError::into_inner).append(&line);
        match (appended, self.on_error) {
            (Err(error), OnError::Ignore) => {
                if !self.is_told.swap(true, Ordering::Relaxed) {
                    log(format_args!("audit: cannot write ({error}); reads go on, unrecorded"));
                }
                Ok(())
            }
            (appended, _) => appended,
        }
    }
}

impl Record<'_> {
    fn to_line(&self) -> String {
        let window = self.output.map(|output| &output.window);
        let fields = json!({
            "tool": bounded(self.tool),
            "input": self.input.map(bounded),
            "resolved": self.output.map(|output| output.resolved.to_string_lossy()),
            "outcome": self.outcome,
            "startLine": window.map(|window| window.start_line),
            "endLine": window.map(|window| window.end_line),
            "bytes": window.map(|window| window.text.len()),
            "durationMicros": u64::try_from(self.duration.as_micros()).unwrap_or(u64::MAX),
        });
        let fields = fields.to_string();
        let time = humantime::format_rfc3339_micros(self.begun.max(SystemTime::UNIX_EPOCH));
        let line = format!("{{\"time\":\"{time}\",\"id\":{},{}", id(self.id.unwrap_or("null")), &fields[1..]);
        // Nor does it rewrite a terminal that shows it.
        print::unbroken(print::escaped_json(&line))
    }
}

/// As it was written: taken apart, a number would lose digits. What not every reader of JSON takes becomes a text.
fn id(json: &str) -> String {
    if json.len() <= MAX_TEXT_BYTES && serde_json::from_str::<Value>(json).is_ok() {
        json.to_owned()
    } else {
        json!(bounded(json)).to_string()
    }
}

/// Loses its end, and says so, where it is longer than anything valid.
fn bounded(text: &str) -> String {
    match text.char_indices().find(|(index, char)| index + char.len_utf8() > MAX_TEXT_BYTES) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use capread::is_control;

    use super::*;

    fn line(id: Option<&str>, input: &str) -> String {
        let begun = SystemTime::UNIX_EPOCH + Duration::from_millis(1500);
        let (duration, outcome) = (Duration::from_millis(2), "not_found");
        Record { begun, duration, id, tool: "read", input: Some(input), outcome, output: None }.to_line()
    }

    #[test]
    fn has_the_time_in_utc_and_null_for_what_there_is_not() {
        assert_eq!(
            line(None, "a"),
            r#"{"time":"1970-01-01T00:00:01.500000Z","id":null,"tool":"read","input":"a","resolved":null,"outcome":"not_found","startLine":null,"endLine":null,"bytes":null,"durationMicros":2000}"#
        );
    }

    #[test]
    fn is_one_line_of_json_that_rewrites_no_terminal() {
        let name = "\"\\\n\r\u{1b}[2J\u{7f}\u{85}\u{202e}\u{2028}é";
        let line = line(Some("\"\u{202e}\""), name);
        assert!(line.chars().all(|char| !is_control(char) && !matches!(char, '\n' | '\t' | '\u{2028}')), "{line}");
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&line["input"], &line["id"]), (&json!(name), &json!("\u{202e}")));
    }

    #[test]
    fn keeps_ids_as_they_were_written_unless_they_break_the_line() {
        for id in ["1e2", "12345678901234567890123", r#"{"a":1,"a":2}"#, r#""x""#, "[1,\t2]"] {
            assert!(line(Some(id), "a").contains(&format!(r#""id":{id},"#)), "{id}");
        }
        for id in [r#""\ud800""#.to_owned(), "[".repeat(1000) + &"]".repeat(1000), "1".repeat(MAX_TEXT_BYTES + 1)] {
            let line: Value = serde_json::from_str(&line(Some(&id), "a")).unwrap();
            assert!(line["id"].as_str().unwrap().starts_with(&id[..id.len().min(MAX_TEXT_BYTES)]), "{id}");
        }
    }

    #[test]
    fn shortens_what_is_longer_than_anything_valid() {
        for length in [4095, 4096] {
            assert_eq!(bounded(&"x".repeat(length)).len(), length);
        }
        assert_eq!(bounded(&"x".repeat(1 << 20)), "x".repeat(4096) + "…");
        assert_eq!(bounded(&("x".repeat(4095) + "é")), "x".repeat(4095) + "…");
    }
}
