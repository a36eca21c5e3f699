//! Calls a server on its pipes, with so many calls at once.
//!
//! One thread writes and reads. It cannot come to a standstill: no more than a few short requests are ever under way, which fit into a
//! pipe, so that no write waits for the server; and while any call waits for its answer, this side reads.

use std::time::Duration;

use super::line::Line;
use super::waiting::Waiting;
use crate::clock::{self, Length};
use crate::pipe::{Pipe, WARM_UP};
use crate::{Result, mcp, stats};

/// What one round came to, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// The server's processor time per call.
    pub(crate) cpu: f64,
    /// The time that passed in the whole round, by the number of calls.
    pub(crate) wall: f64,
    /// How long a call waited for its answer: half of them no longer than this, and 99 of a hundred.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

/// One server, asked for the same thing again and again.
#[derive(Debug)]
pub(crate) struct Client {
    pipe: Pipe,
    request: Line,
    answer: Line,
    at_once: usize,
    waiting: Waiting,
    next_id: u64,
    /// Calls of this turn that are not sent yet.
    unsent: u32,
    latencies: Vec<Duration>,
}

impl Client {
    /// Calls once, with `request`, which has that id. What is answered must be `text`, but for a line break at its end; every later
    /// answer must be the same to the byte, but for the id.
    pub(crate) fn new(mut pipe: Pipe, request: &str, id: u64, text: &str) -> Result<Self> {
        let answer = pipe.ask(request)?;
        if mcp::text(answer)?.trim_end_matches('\n') != text.trim_end_matches('\n') {
            return Err(format!("not the file: {answer}").into());
        }
        let (request, answer) = (Line::new(request, id)?, Line::new(answer, id)?);
        let (waiting, latencies) = (Waiting::default(), Vec::new());
        Ok(Self { pipe, request, answer, at_once: 1, waiting, next_id: id + 1, unsent: 0, latencies })
    }

    /// From now on, so many calls wait for an answer as long as there are any to send. Calls until the server is as fast as it gets.
    pub(crate) fn warm_up(&mut self, at_once: usize) -> Result<()> {
        self.at_once = at_once;
        WARM_UP.fill(|| self.turn(100)).map(drop)
    }

    /// Sends so many calls, and takes all their answers.
    pub(crate) fn turn(&mut self, calls: u32) -> Result<Round> {
        self.unsent = calls;
        self.latencies.clear();
        let took = clock::time(self.pipe.clock()?, Length::Calls(calls), || self.take_one())?;
        let latency = |percent| stats::percentile(self.latencies.iter().copied().map(clock::nanoseconds), percent);
        let (cpu, wall) = (clock::nanoseconds(took.cpu), clock::nanoseconds(took.wall));
        Ok(Round { cpu, wall, p50: latency(50), p99: latency(99) })
    }

    /// Takes one answer, while as many calls wait as may.
    fn take_one(&mut self) -> Result<()> {
        while self.unsent > 0 && self.waiting.count() < self.at_once {
            self.send()?;
        }
        let line = self.pipe.next_line()?;
        let id = self.answer.id(line).ok_or_else(|| format!("another answer than the first: {line}"))?;
        self.latencies.push(self.waiting.end(id)?);
        Ok(())
    }

    fn send(&mut self) -> Result<()> {
        let (id, line) = (self.next_id, self.request.with(self.next_id));
        self.next_id += 1;
        self.unsent -= 1;
        self.waiting.begin(id);
        self.pipe.send(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Program;

    const REQUEST: &str = "{\"id\":1,\"content\":[{\"text\":\"one\"}]}\n";

    /// Of a server that answers with the request, edited.
    fn client(edit: &str, at_once: usize) -> Client {
        let pipe = Pipe::start(&Program::new("sed").arg("-u").arg(edit)).expect("a server");
        let client = Client::new(pipe, REQUEST, 1, "one\n").expect("a client");
        Client { at_once, ..client }
    }

    #[test]
    fn sends_so_many_calls_and_takes_all_answers() {
        for at_once in [1, 8, 100] {
            let mut client = client("", at_once);
            for turn in 1..=3 {
                let round = client.turn(20).expect("a round");
                assert_eq!((client.latencies.len(), client.waiting.count(), client.unsent), (20, 0, 0));
                assert_eq!(client.next_id, 2 + turn * 20);
                assert!(0.0 < round.p50 && round.p50 <= round.p99, "{round:?}");
            }
        }
    }

    #[test]
    fn takes_answers_in_another_order() {
        // Behind the first, each two lines change places.
        client("2~2{N;s/\\(.*\\)\\n\\(.*\\)/\\2\\n\\1/}", 3).turn(6).expect("a round");
    }

    #[test]
    fn fails_on_an_answer_that_differs() {
        let mut client = client("/:30,/s/one/two/", 8);
        let error = client.turn(40).expect_err("an answer that differs");
        assert!(error.to_string().starts_with("another answer than the first: {\"id\":30,"), "{error}");
    }

    #[test]
    fn fails_on_an_answer_to_another_call() {
        let error = client("s/:30,/:29,/", 8).turn(40).expect_err("an id that came before");
        assert_eq!(error.to_string(), "answer 29 is to no call that waits");
    }

    #[test]
    fn fails_on_another_text_at_first() {
        let pipe = Pipe::start(&Program::new("cat")).expect("a server");
        let error = Client::new(pipe, REQUEST, 1, "two").expect_err("another text");
        assert!(error.to_string().starts_with("not the file: "), "{error}");
    }
}
