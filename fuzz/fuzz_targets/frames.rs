//! See [`capread_fuzz::frames`]. The command is a program without a library, so its loops are compiled into this one.
#![no_main]
#![expect(clippy::disallowed_methods, reason = "what the macro expands to can write a file of results")]

/// As they are there: what the loops do not use of them is not used here.
#[allow(dead_code, clippy::wildcard_imports, reason = "the command uses more of it")]
#[path = "../../cli/src"]
mod command {
    pub(crate) mod audit;
    pub(crate) mod budget;
    pub(crate) mod crew;
    pub(crate) mod failure;
    pub(crate) mod input;
    pub(crate) mod jsonl;
    pub(crate) mod mcp;
    pub(crate) mod outline;
    pub(crate) mod print;
    pub(crate) mod reads;
    pub(crate) mod threads;
}

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use capread_fuzz::frames::{check_jsonl, check_mcp, tool};
use libfuzzer_sys::fuzz_target;

use crate::command::failure::Failure;
use crate::command::{audit, budget, crew, input, jsonl, mcp, outline, print, reads, threads};

/// What the command tells its operator is told to nobody.
fn log(_: impl std::fmt::Display) {}

/// Standard output, to look at afterwards.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn reads() -> reads::Reads {
    reads::Reads::new(tool().clone(), None)
}

fuzz_target!(|bytes: &[u8]| {
    let (input, output) = (bytes.to_vec(), Output::default());
    jsonl::serve(reads(), 2, io::Cursor::new(input.clone()), output.clone()).expect("input and output work");
    check_jsonl(&input, &output.take());

    let options = mcp::Options { jobs: 2, answers: mcp::Answers::Plain };
    mcp::serve(reads(), options, io::Cursor::new(input.clone()), output.clone()).expect("input and output work");
    check_mcp(&input, &output.take());
});
