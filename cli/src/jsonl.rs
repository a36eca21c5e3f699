//! Tool calls on JSON lines: each answer is one line, flushed.

mod running;

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use capread::{Message, ToolCall};

use self::running::{Running, Ticket};
use crate::budget::{Budget, Share};
use crate::crew::{Crew, Heard, Work};
use crate::input::{Line, LineReader};
use crate::outline::Outline;
use crate::reads::{Call, Reads};
use crate::{Failure, print};

/// Most bytes of memory for calls that are not answered.
const MAX_UNANSWERED_BYTES: usize = 64 * 1024 * 1024;

/// What a call takes beside the bytes of its line: itself, its flag, and its place among the running ones.
const CALL_BYTES: usize = 512;

/// How often an id is kept beside the call's own.
const COPIES_OF_ID: usize = 2;

/// A call, its place among those that are not answered, and its share of the memory for them.
struct Job {
    call: ToolCall,
    ticket: Ticket,
    _share: Share,
}

/// What the threads share.
struct Calls<W> {
    reads: Reads,
    budget: Arc<Budget>,
    running: Running,
    output: Mutex<W>,
}

/// Answers calls from `input` until it ends, and then the ones that are still running. Ends early when `output` fails.
pub(crate) fn serve(
    reads: Reads,
    jobs: usize,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), Failure> {
    let calls = Calls {
        reads,
        budget: Budget::new(MAX_UNANSWERED_BYTES),
        running: Running::default(),
        output: Mutex::new(output),
    };
    Crew::start(calls, jobs, LineReader::new(input), None)?.wait()
}

impl<W: Write + Send + 'static> Work for Calls<W> {
    type Input = LineReader;
    type Job = Job;

    fn hear(&self, lines: &mut LineReader) -> io::Result<Option<Heard<Job>>> {
        Ok(next_message(lines)?.map(|(message, bytes)| match message {
            Message::Call(call) => self.job(call, bytes),
            Message::Cancel { id } => Heard::Cancellation(self.running.cancel(&id)),
        }))
    }

    fn has_more(&self, lines: &LineReader) -> bool {
        lines.has_line()
    }

    fn perform(&self, Job { call, ticket, _share }: Job) -> io::Result<()> {
        let (request, reply) = call.into_parts();
        let call = Call { id: reply.id(), tool: reply.name(), request };
        let answer = reply.answer(&self.reads.read(call, ticket.flag(), &|_| {}));
        self.running.finish(&ticket);
        print::line(&mut *self.output.lock().unwrap_or_else(PoisonError::into_inner), answer)
    }

    fn abandon(&self) {
        self.running.cancel_all();
    }
}

impl<W> Calls<W> {
    fn job(&self, call: ToolCall, bytes: usize) -> Heard<Job> {
        let share = self.budget.take(bytes + COPIES_OF_ID * call.id().map_or(0, str::len) + CALL_BYTES);
        let ticket = self.running.start(call.id());
        Heard::InTurn(ticket.number(), Job { call, ticket, _share: share })
    }
}

/// And the bytes of its line. Blank lines are passed over.
fn next_message(lines: &mut LineReader) -> io::Result<Option<(Message, usize)>> {
    loop {
        let mut outline = Outline::default();
        return Ok(match lines.next_line(|part| outline.see(part))? {
            Some(Line::Text(text)) if text.trim_ascii().is_empty() => continue,
            Some(Line::Text(text)) => Some((parse(text), text.len())),
            Some(Line::TooLong) => Some((refused(&outline, "a line must be at most 1 MiB"), 0)),
            None => None,
        });
    }
}

fn parse(line: &[u8]) -> Message {
    let refused = |error| Message::Call(ToolCall::refused(None, &format!("a tool call must be UTF-8: {error}")));
    std::str::from_utf8(line).map_or_else(refused, Message::parse)
}

/// With the id where the line seems to have one.
fn refused(outline: &Outline, reason: &str) -> Message {
    let id = outline.call_id().or_else(|| outline.id());
    Message::Call(ToolCall::refused(id.map(str::to_owned), reason))
}
