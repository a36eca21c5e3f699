//! Tool calls on JSON lines: one thread reads them, several answer, each answer is one line, flushed.

mod queue;
mod running;

use std::io::{self, BufReader, Read, Write};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use capread::{Message, ToolCall};

use self::queue::Queue;
use self::running::{Running, Ticket};
use crate::input::{Line, LineReader};
use crate::reads::{Call, Reads};
use crate::{Failure, print};

/// Most bytes of memory for calls that wait. Reading goes on beyond what is answered, so that a caller may send all its calls before
/// it takes the first answer.
const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;

/// What a waiting call takes beside the bytes of its line: itself, its flag, and its place among the running ones.
const CALL_BYTES: usize = 512;

/// A call, and its place among those that are not answered.
struct Job {
    call: ToolCall,
    ticket: Ticket,
}

/// What the reading thread and the answering threads share.
struct Shared<W> {
    reads: Reads,
    queue: Queue<Job>,
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
    let queue = Queue::new(MAX_WAITING_BYTES);
    let shared = Arc::new(Shared { reads, queue, running: Running::default(), output: Mutex::new(output) });
    let (withdrawn, to_answer) = mpsc::channel();
    let canceller = start(&shared, move |shared| shared.answer_all(to_answer.into_iter()))?;
    let first = start(&shared, Shared::answer_calls)?;
    // Where the machine gives no more threads, fewer do the same work.
    let others = (1..jobs).map_while(|_| start(&shared, Shared::answer_calls).ok());
    let workers: Vec<_> = std::iter::once(first).chain(others).collect();
    // Joined last, and only when all went well: after the output has failed it may wait for input for ever.
    let reader = start(&shared, move |shared| shared.read_calls(input, &withdrawn))?;
    workers.into_iter().try_for_each(join).map_err(Failure::Output)?;
    join(reader).map_err(Failure::Input)?;
    join(canceller).map_err(Failure::Output)
}

fn start<W: Write + Send + 'static>(
    shared: &Arc<Shared<W>>,
    work: impl FnOnce(&Shared<W>) -> io::Result<()> + Send + 'static,
) -> Result<JoinHandle<io::Result<()>>, Failure> {
    let shared = Arc::clone(shared);
    thread::Builder::new().spawn(move || work(&shared)).map_err(Failure::Threads)
}

fn join(thread: JoinHandle<io::Result<()>>) -> io::Result<()> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl<W: Write> Shared<W> {
    /// Queues the calls. Whatever ends the input, what was read is answered.
    fn read_calls(&self, input: impl Read, withdrawn: &mpsc::Sender<Job>) -> io::Result<()> {
        let mut lines = LineReader::new(BufReader::new(input));
        let result = loop {
            match lines.next_line() {
                Ok(Some(line)) => self.take(&line, withdrawn),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.queue.close();
        result
    }

    fn take(&self, line: &Line<'_>, withdrawn: &mpsc::Sender<Job>) {
        let (message, bytes) = match line {
            Line::Text(text) if text.trim_ascii().is_empty() => return,
            Line::Text(text) => (parse(text), text.len()),
            Line::TooLong => (Message::Call(ToolCall::refused("a line must be at most 1 MiB")), 0),
        };
        match message {
            Message::Call(call) => {
                let ticket = self.running.start(call.id());
                self.queue.push(Job { call, ticket }, bytes + CALL_BYTES);
            }
            Message::Cancel { id } => {
                self.running.cancel(&id);
                // Calls that still wait are answered at once, by a thread of their own: all others may be busy for long.
                for job in self.queue.withdraw(|job| job.ticket.is_cancelled()) {
                    // Fails only when nobody takes answers any more.
                    let _ = withdrawn.send(job);
                }
            }
        }
    }

    fn answer_calls(&self) -> io::Result<()> {
        self.answer_all(std::iter::from_fn(|| self.queue.pop()))
    }

    fn answer_all(&self, jobs: impl Iterator<Item = Job>) -> io::Result<()> {
        for Job { call, ticket } in jobs {
            let (request, reply) = call.into_parts();
            let call = Call { id: reply.id(), tool: reply.name(), request };
            let answer = reply.answer(&self.reads.read(call, ticket.flag(), &|_| {}));
            self.running.finish(&ticket);
            let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = print::line(&mut *output, answer) {
                // Nobody is left to read for: neither what waits nor what runs.
                self.queue.abandon();
                self.running.cancel_all();
                return Err(error);
            }
        }
        Ok(())
    }
}

fn parse(line: &[u8]) -> Message {
    let refused = |error| Message::Call(ToolCall::refused(&format!("a tool call must be UTF-8: {error}")));
    std::str::from_utf8(line).map_or_else(refused, Message::parse)
}
