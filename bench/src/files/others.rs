//! What one would use instead.

use std::fs;
use std::io::Read;
use std::path::Path;

use cap_std::fs::Dir;

use crate::process::{Pipeline, Program};
use crate::{Result, mcp};

use super::answer::Answer;

/// `wc -l`.
pub(crate) fn wc(file: &Path) -> Program {
    Program::new("wc").arg("-l").arg(file)
}

/// What is printed is the answer.
#[expect(clippy::unnecessary_wraps, reason = "other outputs can be wrong")]
pub(crate) fn printed(output: &str) -> Result<Answer> {
    Ok(Answer::Printed(output.to_owned()))
}

/// What the server says is the answer.
pub(crate) fn served(line: &str) -> Result<Answer> {
    Ok(Answer::Printed(mcp::text(line)?))
}

/// The count in what `wc` prints.
pub(crate) fn counted(output: &str) -> Result<Answer> {
    let count = output.split_ascii_whitespace().next().ok_or("no count")?;
    Ok(Answer::Total(count.parse()?))
}

/// `sed -n 'first,lastp;lastq'`.
pub(crate) fn sed(file: &Path, first: u64, last: u64) -> Program {
    Program::new("sed").arg("-n").arg(format!("{first},{last}p;{last}q")).arg(file)
}

/// `tail -n +first | head -n lines`.
pub(crate) fn tail_head(file: &Path, first: u64, lines: u64) -> Pipeline {
    let tail = Program::new("tail").arg("-n").arg(format!("+{first}")).arg(file);
    Pipeline::from(tail).pipe(Program::new("head").arg("-n").arg(lines.to_string()))
}

/// `tail -n lines`.
pub(crate) fn tail(file: &Path, lines: u64) -> Program {
    Program::new("tail").arg("-n").arg(lines.to_string()).arg(file)
}

/// `tail -c +start | head -c bytes`.
pub(crate) fn tail_head_bytes(file: &Path, start: u64, bytes: usize) -> Pipeline {
    let tail = Program::new("tail").arg("-c").arg(format!("+{start}")).arg(file);
    Pipeline::from(tail).pipe(Program::new("head").arg("-c").arg(bytes.to_string()))
}

/// Reads everything, and takes the bytes that were asked for; `start` is 1-based.
pub(crate) fn slice(file: &Path, start: u64, bytes: usize) -> Result<Answer> {
    let text = fs::read_to_string(file)?;
    let from = usize::try_from(start - 1)?;
    Ok(Answer::Printed(text[from..from + bytes].to_owned()))
}

/// Reads everything, splits it into lines, and takes those that were asked for.
pub(crate) fn split(file: &Path, first: u64, count: u64) -> Result<Answer> {
    let text = fs::read_to_string(file)?;
    let lines: Vec<&str> = text.lines().collect();
    let from = usize::try_from(first - 1)?;
    let asked = from..from + usize::try_from(count)?;
    Ok(Answer::Window { text: lines[asked].join("\n"), total: Some(lines.len() as u64) })
}

/// Opens by name and reads to a string: confines nothing.
pub(crate) fn std_fs(file: &Path) -> Result<Answer> {
    Ok(Answer::Printed(fs::read_to_string(file)?))
}

/// Opens in a directory and reads to a string.
pub(crate) fn cap_std(directory: &Dir, path: &Path) -> Result<Answer> {
    let mut text = String::new();
    directory.open(path)?.read_to_string(&mut text)?;
    Ok(Answer::Printed(text))
}
