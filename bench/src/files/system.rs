//! The three kinds of systems: calls in this process, whole processes, and a child that is kept and asked on its pipes.

use crate::Result;
use crate::clock::{self, CpuClock, Length, Took};
use crate::measure::Turn;
use crate::pipe::{Pipe, WARM_UP};
use crate::process::Pipeline;

use super::answer::{Answer, Expected};

/// Who takes part.
pub(crate) trait System {
    /// What a call returns, to be checked once before anything is timed.
    fn answer(&mut self) -> Result<Answer>;

    /// Does some calls, and tells what one took.
    fn turn(&mut self) -> Result<Took>;
}

/// Makes an answer of what a process writes.
pub(crate) type Read = fn(&str) -> Result<Answer>;

/// A system under its name, and what it should answer.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) system: Box<dyn System>,
    pub(crate) expected: Expected,
}

impl Contender {
    pub(crate) fn turn(&mut self) -> Turn<'_> {
        Box::new(|| self.system.turn())
    }

    /// Fails where it does not do what it is measured for.
    pub(crate) fn check(&mut self) -> Result<()> {
        let checked = self.system.answer().and_then(|answer| self.expected.check(&answer));
        checked.map_err(|wrong| format!("{}: {wrong}", self.name).into())
    }
}

/// Calls in this process. Its time is that of all threads, since a call may start some.
struct InProcess<F> {
    length: Length,
    call: F,
}

impl<F: FnMut() -> Result<Answer>> System for InProcess<F> {
    fn answer(&mut self) -> Result<Answer> {
        (self.call)()
    }

    fn turn(&mut self) -> Result<Took> {
        clock::time(CpuClock::PROCESS, self.length, &mut self.call)
    }
}

pub(crate) fn in_process(length: Length, call: impl FnMut() -> Result<Answer> + 'static) -> Box<dyn System> {
    Box::new(InProcess { length, call })
}

/// Processes from start to end.
struct Whole {
    length: Length,
    pipeline: Pipeline,
    read: Read,
}

impl System for Whole {
    fn answer(&mut self) -> Result<Answer> {
        (self.read)(&self.pipeline.output()?)
    }

    fn turn(&mut self) -> Result<Took> {
        Took::mean(self.length, || self.pipeline.time())
    }
}

pub(crate) fn whole(length: Length, pipeline: impl Into<Pipeline>, read: Read) -> Box<dyn System> {
    Box::new(Whole { length, pipeline: pipeline.into(), read })
}

/// A child that is kept, and asked one thing after the other. Its time is that of all its threads; the wall has this side as well.
struct Piped {
    length: Length,
    pipe: Pipe,
    requests: Vec<String>,
    /// Whose turn it is.
    next: usize,
    read: Read,
}

impl Piped {
    fn ask(&mut self) -> Result<()> {
        self.pipe.ask(&self.requests[self.next])?;
        self.next = (self.next + 1) % self.requests.len();
        Ok(())
    }
}

impl System for Piped {
    /// The first one; then the child is warmed up.
    fn answer(&mut self) -> Result<Answer> {
        let answer = (self.read)(self.pipe.ask(&self.requests[self.next])?)?;
        WARM_UP.fill(|| self.ask())?;
        Ok(answer)
    }

    /// The last answer is looked at, outside the time: it must not be an error.
    fn turn(&mut self) -> Result<Took> {
        let took = clock::time(self.pipe.clock()?, self.length, || self.ask())?;
        (self.read)(self.pipe.last_line())?;
        Ok(took)
    }
}

/// Asks `requests` again and again; there must be one.
pub(crate) fn piped(length: Length, pipe: Pipe, requests: Vec<String>, read: Read) -> Box<dyn System> {
    Box::new(Piped { length, pipe, requests, next: 0, read })
}
