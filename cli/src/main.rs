//! `capread`: confined reads for people, and for agents tool calls on JSON lines and an MCP server.

mod args;
mod audit;
mod budget;
mod crew;
mod failure;
mod input;
mod jsonl;
mod mcp;
mod outline;
mod print;
mod progress;
mod reads;
mod sandbox;
mod stdio;
mod threads;

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use capread::{Definition, ReadRequest};
use clap::Parser;
use nix::sys::signal::{SigSet, Signal};

use crate::args::{Announce, Args, Command, JsonlArgs, McpArgs, ReadArgs, SchemaArgs};
use crate::failure::Failure;
use crate::reads::Call;

/// The read failed.
const FAILED: u8 = 1;

/// The command was used wrongly: an option, a limit or a root that cannot be.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    block_file_size_signal();
    let outcome = match Args::parse().command {
        Command::Read(args) => read(&args),
        Command::Jsonl(args) => jsonl(&args),
        Command::Mcp(args) => mcp(&args),
        Command::Schema(args) => schema(&args),
    };
    match outcome {
        Ok(code) => code,
        Err(Failure::Usage(error)) => report(&format!("error: {error}"), WRONG_USAGE),
        // Whoever closed the pipe has read enough.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Failure::Input(error)) => report(&format!("error: cannot read the calls: {error}"), FAILED),
        Err(Failure::Threads(error)) => report(&format!("error: cannot start a thread: {error}"), FAILED),
        Err(Failure::Session(error)) => report(&format!("error: {error}"), FAILED),
        Err(Failure::Output(error)) => report(&format!("error: cannot write the answer: {error}"), FAILED),
    }
}

/// Where a file may not grow (`ulimit -f`), writing to it is an error, and does not end the process. Before any thread starts: they
/// inherit it.
fn block_file_size_signal() {
    // Fails for no signal that there is.
    let _ = SigSet::from(Signal::SIGXFSZ).thread_block();
}

/// One line for whoever runs a server.
fn log(message: impl Display) {
    // As in `report`.
    let _ = writeln!(io::stderr(), "capread: {message}");
}

/// Nobody is left to tell when standard error is closed, so a failure to write there is passed over.
fn report(message: &str, code: u8) -> ExitCode {
    let _ = writeln!(io::stderr(), "{message}");
    ExitCode::from(code)
}

fn read(args: &ReadArgs) -> Result<ExitCode, Failure> {
    let reads = args.tool.start(Announce::Trouble)?.with_line_numbers(args.line_numbers());
    let mut request = ReadRequest::new(&args.path);
    request.offset = args.offset;
    request.limit = args.limit;
    request.column = args.column;
    request.tail = args.tail;
    request.if_version.clone_from(&args.if_version);
    let result = progress::shown(|progress| {
        let call = Call { id: None, tool: "read", request: Ok(request) };
        reads.read(call, &|| false, progress)
    });
    let code = if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) };
    match result {
        result if args.json => print::json(&mut stdio::output(), &capread::answer(&result), args.controls())?,
        Ok(output) => print::text(&mut stdio::output(), &output.window, args.controls())?,
        Err(error) => return Ok(report(&error.to_string(), FAILED)),
    }
    Ok(code)
}

fn jsonl(args: &JsonlArgs) -> Result<ExitCode, Failure> {
    // The machine's cores are counted before the sandbox hides the files that tell them.
    let jobs = args.jobs.count();
    let reads = args.tool.start(Announce::Everything)?;
    jsonl::serve(reads, jobs, stdio::input(), stdio::output())?;
    Ok(ExitCode::SUCCESS)
}

fn mcp(args: &McpArgs) -> Result<ExitCode, Failure> {
    let answers = if args.structured { mcp::Answers::Structured } else { mcp::Answers::Plain };
    // As in `jsonl`.
    let options = mcp::Options { jobs: args.jobs.count(), answers };
    let reads = args.tool.start(Announce::Everything)?;
    mcp::serve(reads, options, stdio::input(), stdio::output())?;
    Ok(ExitCode::SUCCESS)
}

fn schema(args: &SchemaArgs) -> Result<ExitCode, Failure> {
    let definition = Definition::new(&args.limits.limits()?);
    print::pretty_json(&mut stdio::output(), &definition.to_json(args.format.into()))?;
    Ok(ExitCode::SUCCESS)
}
