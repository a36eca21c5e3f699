//! A child that answers lines on its pipes, as an agent keeps one.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use crate::Result;
use crate::clock::{CpuClock, Length};
use crate::process::Program;

/// What a child that is kept does before it is timed: those that compile while they run get as fast as they can.
pub(crate) const WARM_UP: Length = Length::AtLeast(Duration::from_secs(1));

/// Ended when dropped.
#[derive(Debug)]
pub(crate) struct Pipe {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Pipe {
    pub(crate) fn start(program: &Program) -> Result<Self> {
        let mut command = program.command();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let input = child.stdin.take().ok_or("no standard input")?;
        let output = BufReader::with_capacity(64 * 1024, child.stdout.take().ok_or("no standard output")?);
        Ok(Self { child, input, output, line: String::new() })
    }

    /// What the child uses of the processor.
    pub(crate) fn clock(&self) -> Result<CpuClock> {
        CpuClock::of_process(self.child.id())
    }

    /// Sends a line, which has its line break, in one write.
    pub(crate) fn send(&mut self, line: &str) -> Result<()> {
        Ok(self.input.write_all(line.as_bytes())?)
    }

    /// Sends a line, and waits for the next one that comes.
    pub(crate) fn ask(&mut self, line: &str) -> Result<&str> {
        self.send(line)?;
        self.next_line()
    }

    pub(crate) fn next_line(&mut self) -> Result<&str> {
        self.line.clear();
        match self.output.read_line(&mut self.line)? {
            0 => Err("the child has ended".into()),
            _ => Ok(&self.line),
        }
    }

    /// The line that came last.
    pub(crate) fn last_line(&self) -> &str {
        &self.line
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // Fails only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gets_a_line_for_a_line() {
        let mut pipe = Pipe::start(&Program::new("cat")).expect("a child");
        assert_eq!(pipe.ask("one\n").expect("an answer"), "one\n");
        assert_eq!(pipe.ask("two\n").expect("an answer"), "two\n");
        assert_eq!(pipe.last_line(), "two\n");
    }

    #[test]
    fn tells_that_the_child_has_ended() {
        let mut pipe = Pipe::start(&Program::new("true")).expect("a child");
        assert_eq!(pipe.next_line().expect_err("the end").to_string(), "the child has ended");
    }
}
