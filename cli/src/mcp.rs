//! A server of the Model Context Protocol on standard input and output.
//!
//! The SDK knows the protocol: its revisions, who may ask what and when, and what an answer has in it. Around it stand our own reader
//! of bounded lines, and threads that read files. Until there is a session the SDK's loop reads the input itself; from then on the
//! threads do, and have the SDK handle calls of the tool right there:
//!
//! ```text
//! input -> Opening -> Lines (a transport) -> the SDK's loop -> output
//!
//! input -> Crew: Session ------ calls -> the SDK's handler -> output
//!                   |--- the rest ---> Lines -> the SDK's loop -> output
//! ```
//!
//! Every message takes a share of a budget of bytes from when it is read until its answer is written, so that neither a flood of
//! calls nor a client that takes no answers makes memory grow. When all shares are back, everything is answered.

mod answers;
mod client;
mod message;
mod output;
mod progress;
mod server;
mod session;
mod transport;
mod unanswered;

use std::io::{Read, Write};
use std::sync::Arc;

use capread::{Cancel, Definition, Progress, ReadOutput, ReadRequest};
use rmcp::ServiceExt;
use rmcp::model::RequestId;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::runtime;
use tokio::sync::mpsc;

pub(crate) use self::answers::Answers;
use self::client::Client;
use self::output::Output;
use self::server::Server;
use self::session::{Input, Job, Session};
use self::transport::{Lines, Opening};
use crate::Failure;
use crate::budget::Budget;
use crate::crew::Crew;
use crate::input::LineReader;
use crate::reads::{Call, Reads};

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
    let (output, mut failed) = Output::new(output);
    let client = Arc::new(Client::new(Budget::new(MAX_UNANSWERED_BYTES), output));
    let (tool, answers) = (options.answers.tool(definition), options.answers);
    let server = Arc::new(Server { tool, read, answers, client: Arc::clone(&client) });
    let runtime = runtime::Builder::new_current_thread().enable_time().build().map_err(Failure::Threads)?;
    let mut crew = None;
    let outcome = runtime.block_on(async {
        tokio::select! {
            biased;
            // Whatever still runs is of use to nobody, and ends with the process.
            Ok(error) = &mut failed => Err(Failure::Output(error)),
            outcome = session(client, server, options.jobs, LineReader::new(input), &mut crew) => outcome,
        }
    });
    // Whatever ended the session, this may have been behind it.
    let outcome = failed.try_recv().map_or(outcome, |error| Err(Failure::Output(error)));
    let Some(crew) = crew else { return outcome };
    if outcome.is_err() {
        crew.give_up();
    }
    // A panic of its threads goes on here.
    outcome.and(crew.wait())
}

/// The threads that read are `crew` as soon as there is a session.
async fn session(
    client: Arc<Client>,
    server: Arc<Server>,
    jobs: usize,
    lines: LineReader,
    crew: &mut Option<Arc<Crew<Session>>>,
) -> Result<(), Failure> {
    let (sender, requests) = mpsc::unbounded_channel();
    let opening = Opening::new(lines);
    let transport = Lines { client: Arc::clone(&client), opening: opening.clone(), requests };
    let running = match Arc::clone(&server).serve(transport).await {
        Ok(running) => running,
        // The input may end before there is a session.
        Err(ServerInitializeError::ConnectionClosed(_)) => return opening.leave().map(drop).map_err(Failure::Input),
        Err(error) => return Err(Failure::Session(error.to_string())),
    };
    // The SDK's loop is a task that has not run yet, since nothing was waited for here. It will not find the input.
    if let Some((lines, call)) = opening.leave().map_err(Failure::Input)? {
        // What the session begins with, if it is a call, gets another id, so that what the SDK's loop says to it is of nothing.
        let first = call.and_then(|(request, own)| {
            let own = client.unanswered.rename(own)?;
            Some((own, Job::Call(request, own)))
        });
        let session = Session { client, server, peer: running.peer().clone() };
        *crew = Some(Crew::start(session, jobs, Input { lines, requests: sender }, first)?);
    }
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
