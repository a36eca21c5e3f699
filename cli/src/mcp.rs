//! A server of the Model Context Protocol on standard input and output.
//!
//! The SDK knows the protocol: its revisions, who may ask what and when, and which request is cancelled. Around it stand our own
//! reader of bounded lines, and threads that read files:
//!
//! ```text
//! input -> reader thread -> Lines (a transport) -> the SDK's loop -> Server -> workers
//!                           output <- Lines <-------------------------|
//! ```
//!
//! Every message takes a share of a budget of bytes from when it is read until its answer is written, so that neither a flood of
//! calls nor a client that takes no answers makes memory grow. When all shares are back, everything is answered.

mod answers;
mod message;
mod output;
mod progress;
mod reader;
mod server;
mod transport;
mod unanswered;
mod workers;

use std::io::{Read, Write};
use std::sync::Arc;

use capread::{Cancel, Definition, Progress, ReadOutput, ReadRequest};
use rmcp::ServiceExt;
use rmcp::model::RequestId;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::runtime;
use tokio::sync::mpsc;

pub(crate) use self::answers::Answers;
use self::output::Output;
use self::reader::Reader;
use self::server::Server;
use self::transport::Lines;
use self::unanswered::Unanswered;
use self::workers::Workers;
use crate::Failure;
use crate::budget::Budget;
use crate::reads::{Call, Reads};
use crate::threads::join;

/// Most bytes of memory for what is read and not answered.
const MAX_UNANSWERED_BYTES: usize = 128 * 1024 * 1024;

#[derive(Clone, Copy)]
pub(crate) struct Options {
    /// Reads that run side by side.
    pub(crate) jobs: usize,
    pub(crate) answers: Answers,
}

/// What a call does with its id and arguments.
type Reading = dyn Fn(&RequestId, &str, &dyn Cancel, &Hearing<'_>) -> capread::Result<ReadOutput> + Send + Sync;

/// Who hears how far it has come.
type Hearing<'a> = dyn Fn(Progress) + Sync + 'a;

/// Serves until `input` ends and everything that was read from it is answered, or until `output` fails.
pub(crate) fn serve(
    reads: Reads,
    options: Options,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), Failure> {
    let definition = reads.definition();
    let read = move |id: &RequestId, arguments: &str, cancel: &dyn Cancel, progress: &Hearing<'_>| {
        let id = serde_json::to_string(id).ok();
        let call = Call { id: id.as_deref(), tool: "read", request: ReadRequest::from_json_str(arguments) };
        reads.read(call, cancel, progress)
    };
    serve_reading(Arc::new(read), &definition, options, input, output)
}

fn serve_reading(
    read: Arc<Reading>,
    definition: &Definition,
    options: Options,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), Failure> {
    let workers = Workers::start(options.jobs).map_err(Failure::Threads)?;
    let (budget, unanswered) = (Budget::new(MAX_UNANSWERED_BYTES), Arc::new(Unanswered::default()));
    let (sender, messages) = mpsc::unbounded_channel();
    let reader = Reader { budget: Arc::clone(&budget), unanswered: Arc::clone(&unanswered), messages: sender };
    let reader = reader.start(input).map_err(Failure::Threads)?;
    let tool = options.answers.tool(definition);
    let server = Server::new(read, tool, options.answers, workers, Arc::clone(&unanswered));
    let (output, mut failed) = Output::new(output);
    let transport = Lines { messages, output, budget, unanswered };
    let runtime = runtime::Builder::new_current_thread().enable_time().build().map_err(Failure::Threads)?;
    let outcome = runtime.block_on(async {
        tokio::select! {
            biased;
            // Whatever still runs is of use to nobody, and ends with the process.
            Ok(error) = &mut failed => Err(Failure::Output(error)),
            outcome = session(server, transport) => outcome,
        }
    });
    // The session may have broken off because of it.
    outcome.map_err(|failure| failed.try_recv().map_or(failure, Failure::Output))?;
    join(reader).map_err(Failure::Input)
}

async fn session(server: Server, transport: Lines<impl Write + Send + 'static>) -> Result<(), Failure> {
    let running = match server.serve(transport).await {
        Ok(running) => running,
        // The input may end before anything is asked.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(Failure::Session(error.to_string())),
    };
    match running.waiting().await {
        Ok(QuitReason::Closed) => Ok(()),
        other => Err(Failure::Session(format!("the session broke off: {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use capread::Limits;
    use serde_json::{Value, json};

    use super::*;

    const INPUT: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"x"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read","arguments":{"path":"y"}}}
"#;

    #[test]
    fn a_read_that_panics_is_answered_and_the_session_goes_on() {
        let panics = |_: &RequestId, _: &str, _: &dyn Cancel, _: &Hearing<'_>| panic!("as the test wants it");
        let definition = Definition::new(&Limits::default());
        let options = Options { jobs: 1, answers: Answers::Structured };
        let (output, written) = io::pipe().unwrap();
        assert!(serve_reading(Arc::new(panics), &definition, options, INPUT.as_bytes(), written).is_ok());
        let answers = io::read_to_string(output).unwrap();
        let answers: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let text = "Internal error: the read broke off";
        for (id, answer) in (1..=2).zip(&answers[1..]) {
            let facts = json!({"code": "internal", "input": null, "path": null, "text": text});
            let result =
                json!({"content": [{"type": "text", "text": text}], "structuredContent": facts, "isError": true});
            assert_eq!(*answer, json!({"jsonrpc": "2.0", "id": id, "result": result}));
        }
        assert_eq!(answers.len(), 3);
    }
}
