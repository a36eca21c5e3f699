//! Many clients at once, over both protocols, with cancels and malformed frames between the calls.
//!
//! `CAPREAD_LOAD=10000 cargo test -p capread-cli --test it load -- --nocapture --test-threads 1` is a longer run, with so many reads
//! a client, and prints the figures.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp::session::initialize;
use crate::support::{directory, spawn};

const CLIENTS: u64 = 16;

/// Reads of one client where nobody wants more.
const READS: u64 = 1000;

/// Calls of one client that are not answered yet, so that cancels find some.
const AT_ONCE: usize = 8;

/// Longer than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What memory may differ by from after the first tenth to the end: what is remembered of files, and what the allocator keeps.
const MAX_GROWTH: u64 = 8 * 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Protocol {
    Jsonl,
    Mcp,
}

impl Protocol {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Jsonl => &["jsonl", "--jobs", "4"],
            Self::Mcp => &["mcp", "--root", ".", "--jobs", "4"],
        }
    }

    fn call(self, id: u64, arguments: &Value) -> Value {
        match self {
            Self::Jsonl => json!({"id": id, "name": "read", "arguments": arguments}),
            Self::Mcp => {
                let params = json!({"name": "read", "arguments": arguments});
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
            }
        }
    }

    fn cancel(self, id: u64) -> Value {
        match self {
            Self::Jsonl => json!({"cancel": id}),
            Self::Mcp => {
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
            }
        }
    }

    fn result(self, answer: &Value) -> &Value {
        if self == Self::Jsonl { answer } else { &answer["result"] }
    }
}

/// What a client has seen.
#[derive(Default)]
struct Seen {
    answered: u64,
    cancelled: u64,
    refused: u64,
    latencies: Vec<Duration>,
    handles: [u64; 2],
    memory: [u64; 2],
}

/// A server and who talks to it.
struct Client {
    protocol: Protocol,
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Value>,
    malformed: u64,
    /// When each call that is not answered yet was sent, what must come back, and whether it was cancelled.
    waiting: HashMap<u64, (Instant, &'static str, bool)>,
    seen: Seen,
}

impl Drop for Client {
    fn drop(&mut self) {
        // One that failed leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Arguments, and how the answer's text starts.
fn read(number: u64) -> (Value, &'static str) {
    match number % 8 {
        0 => (json!({"path": "small"}), "one"),
        1 => (json!({"path": "large", "offset": 90_000, "limit": 2}), "line"),
        2 => (json!({"path": "large", "tail": 3}), "line"),
        3 => (json!({"path": "missing"}), "File does not exist"),
        4 => (json!({"path": "../x"}), "Path is outside"),
        5 => (json!({"path": "small", "limit": "1", "offset": 2.0}), "two"),
        6 => (json!({"path": "small", "limit": -1}), "limit must be"),
        _ => (json!({"path": "d"}), "Not a regular file"),
    }
}

const MALFORMED: [&str; 4] = ["garbage", "[1]", "{\"id\":", "\u{fffd}"];

impl Client {
    fn start(protocol: Protocol, directory: &TempDir) -> Self {
        let mut child = spawn(directory, protocol.arguments());
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (lines, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let _ = lines.send(serde_json::from_str::<Value>(&line.unwrap()).expect("an answer is JSON"));
            }
        });
        Self { protocol, child, input, answers, malformed: 0, waiting: HashMap::new(), seen: Seen::default() }
    }

    fn say(&mut self, message: &str) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn next(&self) -> Value {
        self.answers.recv_timeout(PATIENCE).expect("an answer")
    }

    fn initialize(&mut self) {
        let params = initialize("2025-11-25");
        self.say(&json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params}).to_string());
        assert_eq!(self.next()["id"], "i");
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    fn run(mut self, reads: u64) -> Seen {
        if self.protocol == Protocol::Mcp {
            self.initialize();
        }
        for number in 0..reads {
            if number == reads / 10 {
                (self.seen.handles[0], self.seen.memory[0]) = usage(self.child.id());
            }
            self.ask(number);
            while self.wanted() >= AT_ONCE {
                let answer = self.next();
                self.take(&answer);
            }
        }
        while self.wanted() > 0 || self.seen.refused < self.malformed {
            let answer = self.next();
            self.take(&answer);
        }
        (self.seen.handles[1], self.seen.memory[1]) = usage(self.child.id());
        self.end();
        assert_eq!((self.seen.answered + self.seen.cancelled, self.seen.refused), (reads, self.malformed));
        std::mem::take(&mut self.seen)
    }

    /// Sends a call, and now and then a cancel or what is no call behind it.
    fn ask(&mut self, number: u64) {
        let ((arguments, text), is_cancelled) = (read(number), number % 16 == 10);
        self.waiting.insert(number, (Instant::now(), text, is_cancelled));
        self.say(&self.protocol.call(number, &arguments).to_string());
        if is_cancelled {
            self.say(&self.protocol.cancel(number).to_string());
        }
        if number % 25 == 7 {
            self.say(MALFORMED[usize::try_from(number / 25).unwrap() % MALFORMED.len()]);
            self.malformed += 1;
        }
    }

    /// Calls that must be answered yet.
    fn wanted(&self) -> usize {
        self.waiting.values().filter(|(_, _, cancelled)| !cancelled).count()
    }

    /// To the end of the output: what is answered twice is seen here.
    fn end(&mut self) {
        drop(self.input.take());
        while let Ok(answer) = self.answers.recv_timeout(PATIENCE) {
            self.take(&answer);
        }
        assert!(self.child.wait().unwrap().success());
        // A cancelled call of MCP gets no answer, and that is all that is left.
        assert!(self.waiting.is_empty() || self.protocol == Protocol::Mcp, "{:?}", self.waiting);
        assert_eq!(self.wanted(), 0, "{:?}", self.waiting);
        self.seen.cancelled += u64::try_from(self.waiting.len()).unwrap();
    }

    fn take(&mut self, answer: &Value) {
        let Some(id) = answer["id"].as_u64() else {
            let code = &answer["structuredContent"]["code"];
            assert!(answer["error"]["code"].is_i64() || code == "invalid_argument", "{answer}");
            self.seen.refused += 1;
            return;
        };
        let (sent, expected, cancelled) = self.waiting.remove(&id).unwrap_or_else(|| panic!("once more: {answer}"));
        let text = self.protocol.result(answer)["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        if cancelled && text == "Operation aborted" {
            self.seen.cancelled += 1;
            return;
        }
        assert!(text.starts_with(expected), "{answer}");
        self.seen.answered += 1;
        self.seen.latencies.push(sent.elapsed());
    }
}

/// Open handles, and bytes of memory in use.
fn usage(process: u32) -> (u64, u64) {
    let handles = fs::read_dir(format!("/proc/{process}/fd")).unwrap().count();
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    (u64::try_from(handles).unwrap(), 1024 * memory.trim().trim_end_matches(" kB").parse::<u64>().unwrap())
}

fn files() -> TempDir {
    let large = (0..100_000).fold(String::new(), |text, line| text + "line " + &line.to_string() + "\n");
    directory(&[("small", b"one\ntwo\nthree\n"), ("large", large.as_bytes()), ("d/f", b"")])
}

#[rstest]
fn answers_16_clients_once_each_and_grows_nothing(#[values(Protocol::Jsonl, Protocol::Mcp)] protocol: Protocol) {
    let reads = std::env::var("CAPREAD_LOAD").map_or(READS, |reads| reads.parse().expect("a number of reads"));
    let directory = files();
    let begun = Instant::now();
    let seen: Vec<Seen> = thread::scope(|scope| {
        let client = |_| {
            let client = Client::start(protocol, &directory);
            scope.spawn(move || client.run(reads))
        };
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let time = begun.elapsed();
    let sum = |of: fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>();
    let mut latencies: Vec<_> = seen.iter().flat_map(|seen| &seen.latencies).copied().collect();
    latencies.sort_unstable();
    let growth = seen.iter().map(|seen| seen.memory[1].saturating_sub(seen.memory[0])).max().unwrap();
    println!(
        "| {protocol:?} | {} | {} | {} | {:.1} s | {:.1} ms, {:.1} ms | {} to {} | {} KiB, {} KiB |",
        sum(|seen| seen.answered),
        sum(|seen| seen.cancelled),
        sum(|seen| seen.refused),
        time.as_secs_f64(),
        latencies[latencies.len() / 2].as_secs_f64() * 1e3,
        latencies[latencies.len() * 99 / 100].as_secs_f64() * 1e3,
        seen.iter().map(|seen| seen.handles[0]).max().unwrap(),
        seen.iter().map(|seen| seen.handles[1]).max().unwrap(),
        seen.iter().map(|seen| seen.memory[1]).max().unwrap() / 1024,
        growth / 1024,
    );
    let most = |at: usize| seen.iter().map(move |seen| seen.handles[at]).max().unwrap();
    // Of either time, each of the four jobs may have a directory and a file open.
    assert!(most(1) <= most(0) + 2 * 4, "handles: {} and then {}", most(0), most(1));
    assert!(growth <= MAX_GROWTH, "{growth} bytes more");
}
