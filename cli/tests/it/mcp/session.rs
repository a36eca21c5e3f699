//! A running server to talk to in raw lines.

#![expect(clippy::needless_pass_by_value, reason = "what is passed is written where it is passed")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::spawn;

/// Longer than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The revisions that begin with `initialize`, and the one that has no beginning.
pub(crate) const WITH_INITIALIZE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
pub(crate) const STATELESS: &str = "2026-07-28";

pub(crate) struct Session {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    /// What each request carries.
    meta: Option<Value>,
}

impl Session {
    /// A server over the directory, to which nothing was said yet.
    #[track_caller]
    pub(crate) fn start(directory: &TempDir, arguments: &[&str]) -> Self {
        let mut child = spawn(directory, &[&["mcp", "--root", "."], arguments].concat());
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (lines, receiver) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let _ = lines.send(serde_json::from_str(&line.unwrap()).expect("stdout carries protocol only"));
            }
        });
        Self { child, input, output: receiver, meta: None }
    }

    /// In the era before the stateless revision.
    #[track_caller]
    pub(crate) fn initialized(directory: &TempDir, arguments: &[&str]) -> Self {
        let mut session = Self::start(directory, arguments);
        let answer = session.ask("initialize", initialize("2025-11-25"));
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        session.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    /// In the stateless era, which begins with any request.
    #[track_caller]
    pub(crate) fn stateless(directory: &TempDir, arguments: &[&str]) -> Self {
        let mut session = Self::start(directory, arguments);
        session.meta = Some(meta(STATELESS));
        session
    }

    #[track_caller]
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).and_then(|()| input.flush()).unwrap();
    }

    #[track_caller]
    pub(crate) fn say(&mut self, message: &Value) {
        self.send(format!("{message}\n").as_bytes());
    }

    #[track_caller]
    pub(crate) fn request(&mut self, id: impl Into<Value>, method: &str, mut params: Value) {
        if let Some(meta) = self.meta.as_ref().filter(|_| params.is_object()) {
            let fields = params["_meta"].as_object().cloned().unwrap_or_default();
            params["_meta"] = meta.clone();
            params["_meta"].as_object_mut().unwrap().extend(fields);
        }
        self.say(&json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}));
    }

    #[track_caller]
    pub(crate) fn call(&mut self, id: impl Into<Value>, arguments: Value) {
        self.request(id, "tools/call", json!({"name": "read", "arguments": arguments}));
    }

    /// The next message, whatever it is.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Value {
        self.output.recv_timeout(PATIENCE).expect("a message")
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.request("ask", method, params);
        let answer = self.next();
        assert_eq!(answer["id"], "ask", "{answer}");
        answer
    }

    /// The result of a call.
    #[track_caller]
    pub(crate) fn read(&mut self, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": "read", "arguments": arguments}))["result"].clone()
    }

    /// The text of a call's result, and whether it is an error.
    #[track_caller]
    pub(crate) fn text(&mut self, arguments: Value) -> (String, bool) {
        let result = self.read(arguments);
        let content = result["content"].as_array().unwrap_or_else(|| panic!("{result}"));
        assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")), "{result}");
        (content[0]["text"].as_str().unwrap().to_owned(), result["isError"].as_bool().unwrap())
    }

    #[track_caller]
    pub(crate) fn says_nothing_for(&mut self, time: Duration) {
        assert_eq!(self.output.recv_timeout(time), Err(RecvTimeoutError::Timeout));
    }

    pub(crate) fn cancel(&mut self, id: impl Into<Value>) {
        let params = json!({"requestId": id.into(), "reason": "not wanted"});
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    }

    /// Ends the input, and gives what is answered yet; the server must end well.
    #[track_caller]
    pub(crate) fn end(mut self) -> Vec<Value> {
        drop(self.input.take());
        let mut rest = Vec::new();
        loop {
            match self.output.recv_timeout(PATIENCE) {
                Ok(message) => rest.push(message),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the server goes on after the end of its input"),
            }
        }
        assert_eq!(self.wait().code(), Some(0));
        rest
    }

    #[track_caller]
    pub(crate) fn wait(mut self) -> ExitStatus {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            thread::sleep(Duration::from_millis(2));
        }
        panic!("the server does not end")
    }

    #[track_caller]
    pub(crate) fn peak_memory(&self) -> u64 {
        peak_memory(self.child.id())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The most memory that the process had, in bytes.
#[track_caller]
pub(crate) fn peak_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
}

pub(crate) fn initialize(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
}

pub(crate) fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}
