//! capread as a command: `capread read`, and tool calls on the pipes of `capread jsonl`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::clock::{self, Length, Took};
use crate::pipe::Pipe;
use crate::process::Program;
use crate::{Result, jsonl, mcp};

use super::answer::Answer;
use super::system::System;

/// `capread read`, from line `first`.
pub(crate) fn read(capread: &Path, root: &Path, path: &Path, first: u64) -> Program {
    Program::new(capread).arg("read").arg("--root").arg(root).arg("--offset").arg(first.to_string()).arg(path)
}

/// `capread read`, the last lines.
pub(crate) fn read_tail(capread: &Path, root: &Path, path: &Path, lines: u64) -> Program {
    Program::new(capread).arg("read").arg("--root").arg(root).arg("--tail").arg(lines.to_string()).arg(path)
}

/// A call from line `first`, with its line break.
pub(crate) fn call(path: &Path, first: u64) -> String {
    jsonl::call(1, &json!({ "path": path.to_string_lossy(), "offset": first }))
}

/// What `capread jsonl` answers.
pub(crate) fn answer(line: &str) -> Result<Answer> {
    let answer: Value = serde_json::from_str(line)?;
    Ok(Answer::Window { text: mcp::result_text(&answer)?, total: answer["structuredContent"]["totalLines"].as_u64() })
}

/// A new `capread jsonl` in each turn, that is asked for a whole file, window by window, each from where the one before it says. Its
/// start is in its time; the wall has what this side needs to look at the answers.
struct Paging {
    program: Program,
    path: PathBuf,
}

pub(crate) fn paging(program: Program, path: &Path) -> Box<dyn System> {
    Box::new(Paging { program, path: path.to_path_buf() })
}

impl System for Paging {
    fn answer(&mut self) -> Result<Answer> {
        self.pages(&mut Pipe::start(&self.program)?)
    }

    fn turn(&mut self) -> Result<Took> {
        let mut pipe = Pipe::start(&self.program)?;
        clock::time(pipe.clock()?, Length::Calls(1), || self.pages(&mut pipe))
    }
}

impl Paging {
    fn pages(&self, pipe: &mut Pipe) -> Result<Answer> {
        let (mut bytes, mut next) = (0, Some(1));
        while let Some(first) = next {
            let answer: Value = serde_json::from_str(pipe.ask(&call(&self.path, first))?)?;
            let facts = &answer["structuredContent"];
            // The line break behind the last line is not counted.
            bytes += facts["bytes"].as_u64().ok_or_else(|| format!("no window: {answer}"))? + 1;
            next = facts["nextOffset"].as_u64();
        }
        Ok(Answer::Pages { bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_one_line() {
        let line = call(Path::new("a\nb"), 7);
        assert_eq!(line, "{\"id\":1,\"name\":\"read\",\"arguments\":{\"path\":\"a\\nb\",\"offset\":7}}\n");
    }

    #[test]
    fn takes_the_window_of_an_answer_and_nothing_of_an_error() {
        let line =
            r#"{"id":1,"content":[{"type":"text","text":"one"}],"structuredContent":{"totalLines":3},"isError":false}"#;
        assert_eq!(answer(line).expect("an answer"), Answer::Window { text: "one".to_owned(), total: Some(3) });
        answer(&line.replace("false", "true")).expect_err("an error");
    }
}
