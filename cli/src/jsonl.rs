//! Tool calls on JSON lines: one thread reads them, several answer, each answer is one line, flushed.

mod input;
mod queue;

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use capread::{Message, ReadTool, ToolCall};
use serde_json::Value;

use self::input::{Line, LineReader};
use self::queue::Queue;
use crate::print;

/// Most bytes of memory for calls that wait. Reading goes on beyond what is answered, so that a caller may send all its calls before
/// it takes the first answer.
const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;

/// What a waiting call takes beside the bytes of its line: itself, its flag, and its place among the running ones.
const CALL_BYTES: usize = 512;

/// A call, and the flag that cancels it.
struct Job {
    call: ToolCall,
    cancelled: Arc<AtomicBool>,
}

/// What the reading thread and the answering threads share.
struct Shared<W> {
    tool: ReadTool,
    queue: Queue<Job>,
    running: Running,
    output: Mutex<W>,
}

/// Answers calls from `input` until it ends, and then the ones that are still running. Ends early when `output` fails.
pub(crate) fn serve(
    tool: ReadTool,
    jobs: usize,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> io::Result<()> {
    let queue = Queue::new(MAX_WAITING_BYTES);
    let shared = Arc::new(Shared { tool, queue, running: Running::default(), output: Mutex::new(output) });
    // Not joined: it may wait for input for ever after the output has failed.
    thread::spawn({
        let shared = Arc::clone(&shared);
        move || shared.read_calls(input)
    });
    let first = start_worker(&shared)?;
    // Where the machine gives no more threads, fewer do the same work.
    let others = (1..jobs).map_while(|_| start_worker(&shared).ok());
    let workers: Vec<_> = std::iter::once(first).chain(others).collect();
    workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

fn start_worker<W: Write + Send + 'static>(shared: &Arc<Shared<W>>) -> io::Result<JoinHandle<io::Result<()>>> {
    let shared = Arc::clone(shared);
    thread::Builder::new().spawn(move || shared.answer_calls())
}

impl<W: Write> Shared<W> {
    fn read_calls(&self, input: impl Read) {
        let mut lines = LineReader::new(BufReader::new(input));
        while let Some(line) = lines.next_line() {
            let (message, bytes) = match line {
                Line::Text(text) if text.trim_ascii().is_empty() => continue,
                Line::Text(text) => (parse(text), text.len()),
                Line::TooLong => (Message::Call(ToolCall::refused(None, "a line must be at most 1 MiB")), 0),
            };
            match message {
                Message::Cancel { id } => self.running.cancel(&id),
                Message::Call(call) => {
                    let cancelled = self.running.start(call.id());
                    self.queue.push(Job { call, cancelled }, bytes + CALL_BYTES);
                }
            }
        }
        self.queue.close();
    }

    fn answer_calls(&self) -> io::Result<()> {
        while let Some(Job { call, cancelled }) = self.queue.pop() {
            let id = call.id().cloned();
            let answer = call.run(&self.tool, &*cancelled);
            self.running.finish(id.as_ref(), &cancelled);
            let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = print::json(&mut *output, &answer) {
                self.queue.abandon();
                return Err(error);
            }
        }
        Ok(())
    }
}

fn parse(line: &[u8]) -> Message {
    serde_json::from_slice(line).map_or_else(
        |error| Message::Call(ToolCall::refused(None, &format!("a line must be a JSON object: {error}"))),
        |value: Value| Message::parse(&value),
    )
}

/// The flags of the calls that are not answered yet, by their ids. Two calls may have the same id; a cancel means both.
#[derive(Default)]
struct Running(Mutex<HashMap<String, Vec<Arc<AtomicBool>>>>);

impl Running {
    fn start(&self, id: Option<&Value>) -> Arc<AtomicBool> {
        let flag = Arc::new(AtomicBool::new(false));
        if let Some(id) = id {
            self.flags().entry(id.to_string()).or_default().push(Arc::clone(&flag));
        }
        flag
    }

    fn cancel(&self, id: &Value) {
        for flag in self.flags().get(&id.to_string()).into_iter().flatten() {
            flag.store(true, Ordering::Relaxed);
        }
    }

    fn finish(&self, id: Option<&Value>, flag: &Arc<AtomicBool>) {
        let Some(id) = id.map(Value::to_string) else { return };
        let mut running = self.flags();
        if let Some(flags) = running.get_mut(&id) {
            flags.retain(|other| !Arc::ptr_eq(other, flag));
            if flags.is_empty() {
                running.remove(&id);
            }
        }
    }

    fn flags(&self) -> std::sync::MutexGuard<'_, HashMap<String, Vec<Arc<AtomicBool>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
