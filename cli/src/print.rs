//! Answers on standard output.

use std::io::{self, Write};

use capread::Window;
use serde_json::Value;

/// The text as it is, then the hint. A window that reaches the end of the file ends as the file does, so that reading a whole file
/// prints its very bytes.
pub(crate) fn text(out: &mut impl Write, window: &Window) -> io::Result<()> {
    write!(out, "{window}")?;
    let ends_with_break =
        window.continuation().is_some() || (window.final_newline == Some(true) && window.total_lines != Some(0));
    if ends_with_break {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// One line, such as of JSON.
pub(crate) fn line(out: &mut impl Write, line: &str) -> io::Result<()> {
    out.write_all(line.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

pub(crate) fn pretty_json(out: &mut impl Write, value: &Value) -> io::Result<()> {
    writeln!(out, "{value:#}")?;
    out.flush()
}
