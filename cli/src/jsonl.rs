//! Tool calls on JSON lines: one thread reads them, several answer, each answer is one line, flushed.

mod queue;
mod running;

use std::io::{self, BufReader, Read, Write};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use capread::{Message, ToolCall};

use self::queue::Queue;
use self::running::{Running, Ticket};
use crate::budget::{Budget, Share};
use crate::input::{Line, LineReader};
use crate::outline::Outline;
use crate::reads::{Call, Reads};
use crate::threads::{join, spawn};
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

/// What the reading thread and the answering threads share.
struct Shared<W> {
    reads: Reads,
    budget: Arc<Budget>,
    queue: Queue<Job>,
    running: Running,
    output: Mutex<W>,
    /// Why nobody takes answers any more.
    failure: Mutex<Option<io::Error>>,
}

/// Answers calls from `input` until it ends, and then the ones that are still running. Ends early when `output` fails.
pub(crate) fn serve(
    reads: Reads,
    jobs: usize,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), Failure> {
    let shared = Arc::new(Shared {
        reads,
        budget: Budget::new(MAX_UNANSWERED_BYTES),
        queue: Queue::new(),
        running: Running::default(),
        output: Mutex::new(output),
        failure: Mutex::default(),
    });
    let (withdrawn, to_answer) = mpsc::channel();
    let canceller = start(&shared, move |shared| shared.answer_all(to_answer.into_iter()))?;
    let first = start(&shared, Shared::answer_calls)?;
    // Where the machine gives no more threads, fewer do the same work.
    let others = (1..jobs).map_while(|_| start(&shared, Shared::answer_calls).ok());
    let workers: Vec<_> = std::iter::once(first).chain(others).collect();
    let reader = start(&shared, move |shared| shared.read_calls(input, &withdrawn))?;
    workers.into_iter().for_each(join);
    // The others are not waited for when the output has failed, whoever noticed it: the reader may wait for input for ever.
    shared.failed()?;
    let read = join(reader).map_err(Failure::Input);
    join(canceller);
    shared.failed().and(read)
}

fn start<W: Write + Send + 'static, T: Send + 'static>(
    shared: &Arc<Shared<W>>,
    work: impl FnOnce(&Shared<W>) -> T + Send + 'static,
) -> Result<JoinHandle<T>, Failure> {
    let shared = Arc::clone(shared);
    spawn(move || work(&shared)).map_err(Failure::Threads)
}

impl<W: Write> Shared<W> {
    /// Queues the calls. Whatever ends the input, what was read is answered.
    fn read_calls(&self, input: impl Read, withdrawn: &mpsc::Sender<Job>) -> io::Result<()> {
        let mut lines = LineReader::new(BufReader::new(input));
        let result = loop {
            match next_message(&mut lines) {
                Ok(Some((Message::Call(call), bytes))) => self.take(call, bytes),
                Ok(Some((Message::Cancel { id }, _))) => self.cancel(&id, withdrawn),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.queue.close();
        result
    }

    fn take(&self, call: ToolCall, bytes: usize) {
        let share = self.budget.take(bytes + COPIES_OF_ID * call.id().map_or(0, str::len) + CALL_BYTES);
        let ticket = self.running.start(call.id());
        self.queue.push(Job { call, ticket, _share: share });
    }

    /// Calls that still wait are answered at once, by a thread of their own: all others may be busy for long.
    fn cancel(&self, id: &str, withdrawn: &mpsc::Sender<Job>) {
        if self.running.cancel(id) {
            for job in self.queue.withdraw(|job| job.ticket.is_cancelled()) {
                // Fails only when nobody takes answers any more.
                let _ = withdrawn.send(job);
            }
        }
    }

    fn answer_calls(&self) {
        self.answer_all(std::iter::from_fn(|| self.queue.pop()));
    }

    fn answer_all(&self, jobs: impl Iterator<Item = Job>) {
        for Job { call, ticket, _share } in jobs {
            let (request, reply) = call.into_parts();
            let call = Call { id: reply.id(), tool: reply.name(), request };
            let answer = reply.answer(&self.reads.read(call, ticket.flag(), &|_| {}));
            self.running.finish(&ticket);
            let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = print::line(&mut *output, answer) {
                self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                // Nobody is left to read for: neither what waits nor what runs.
                self.queue.abandon();
                self.running.cancel_all();
                return;
            }
        }
    }

    fn failed(&self) -> Result<(), Failure> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(Ok(()), |error| Err(Failure::Output(error)))
    }
}

/// And the bytes of its line. Blank lines are passed over.
fn next_message(lines: &mut LineReader<BufReader<impl Read>>) -> io::Result<Option<(Message, usize)>> {
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
