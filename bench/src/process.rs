//! Whole processes, from their start to their end, and what they used.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4;

use crate::Result;
use crate::clock::Took;

/// A program and its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    path: PathBuf,
    arguments: Vec<OsString>,
}

/// Programs of which each reads what the one before it writes.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    programs: Vec<Program>,
    /// What the first one reads; nothing by default.
    input: Option<PathBuf>,
}

impl Program {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), arguments: Vec::new() }
    }

    pub(crate) fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// In the locale in which text tools look at bytes, which is the fastest one.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).env("LC_ALL", "C");
        command
    }

    fn spawn(&self, input: Stdio, output: Stdio, errors: Stdio) -> Result<Child> {
        let spawned = self.command().stdin(input).stdout(output).stderr(errors).spawn();
        spawned.map_err(|error| format!("cannot run {}: {error}", self.path.display()).into())
    }
}

impl From<Program> for Pipeline {
    fn from(program: Program) -> Self {
        Self { programs: vec![program], input: None }
    }
}

impl Pipeline {
    /// The next program.
    pub(crate) fn pipe(mut self, program: Program) -> Self {
        self.programs.push(program);
        self
    }

    /// What the first program reads.
    pub(crate) fn input(self, path: PathBuf) -> Self {
        Self { input: Some(path), ..self }
    }

    /// What the last program writes.
    pub(crate) fn output(&self) -> Result<String> {
        let mut children = self.spawn(Stdio::piped, Stdio::inherit)?;
        let mut text = String::new();
        if let Some(mut output) = children.last_mut().and_then(|last| last.stdout.take()) {
            output.read_to_string(&mut text)?;
        }
        self.wait(&mut children)?;
        Ok(text)
    }

    /// Runs it with its output thrown away, and what a server says of itself.
    pub(crate) fn time(&self) -> Result<Took> {
        let wall = Instant::now();
        let mut children = self.spawn(Stdio::null, Stdio::null)?;
        let cpu = self.wait(&mut children)?;
        Ok(Took { cpu, wall: wall.elapsed() })
    }

    fn spawn(&self, output: fn() -> Stdio, errors: fn() -> Stdio) -> Result<Vec<Child>> {
        let (last, others) = self.programs.split_last().ok_or("no program")?;
        let mut input =
            self.input.as_ref().map_or_else(|| Ok(Stdio::null()), |path| File::open(path).map(Stdio::from))?;
        let mut children = Vec::new();
        for program in others {
            let mut child = program.spawn(input, Stdio::piped(), errors())?;
            input = child.stdout.take().map_or_else(Stdio::null, Stdio::from);
            children.push(child);
        }
        children.push(last.spawn(input, output(), errors())?);
        Ok(children)
    }

    /// What all of them used. The last one must succeed; the others may be told that nobody reads on.
    fn wait(&self, children: &mut [Child]) -> Result<Duration> {
        let mut cpu = Duration::ZERO;
        let mut status = None;
        for child in children {
            let used = child.wait4()?;
            cpu += used.rusage.utime + used.rusage.stime;
            status = Some(used.status);
        }
        match status {
            Some(status) if !status.success() => Err(format!("{:?}: {status}", self.programs).into()),
            _ => Ok(cpu),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hands_on_what_each_program_writes() {
        let pipeline =
            Pipeline::from(Program::new("printf").arg("a\\nb\\nc\\n")).pipe(Program::new("tail").arg("-n").arg("2"));
        assert_eq!(pipeline.output().expect("output"), "b\nc\n");
    }

    #[test]
    fn tells_a_failure_of_the_last_program() {
        let error = Pipeline::from(Program::new("false")).time().expect_err("a failure");
        assert!(error.to_string().contains("exit status: 1"), "{error}");
    }

    #[test]
    fn counts_what_the_processes_used() {
        let busy = Program::new("sh").arg("-c").arg("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
        assert!(Pipeline::from(busy).time().expect("a time").cpu > Duration::ZERO);
    }
}
