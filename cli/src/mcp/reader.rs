//! The thread that reads the input and takes its lines apart.

use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::thread::JoinHandle;

use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use tokio::sync::mpsc;

use super::message::Message;
use super::unanswered::Unanswered;
use crate::budget::{Budget, Share};
use crate::input::{Line, LineReader};
use crate::outline::Outline;
use crate::threads::spawn;

/// What an unanswered message takes beside the bytes of its line, most of it the SDK's task; measured.
const MESSAGE_BYTES: usize = 8 * 1024;

/// A message, with its share of the budget where it is not among the unanswered requests.
pub(super) enum Received {
    Request(Box<ClientJsonRpcMessage>),
    /// Of the request that has this id of ours.
    Cancellation(Box<ClientJsonRpcMessage>, RequestId, Share),
    /// An answer already.
    Refusal(Box<ServerJsonRpcMessage>, Share),
}

/// What the thread works with.
pub(super) struct Reader {
    pub(super) budget: Arc<Budget>,
    pub(super) unanswered: Arc<Unanswered>,
    pub(super) messages: mpsc::UnboundedSender<Received>,
}

impl Reader {
    /// The messages end with the input, and the thread says how that ended.
    pub(super) fn start(self, input: impl Read + Send + 'static) -> io::Result<JoinHandle<io::Result<()>>> {
        spawn(move || self.read(input))
    }

    fn read(&self, input: impl Read) -> io::Result<()> {
        let mut lines = LineReader::new(BufReader::new(input));
        while let Some((message, bytes)) = next_message(&mut lines)? {
            let share = self.budget.take(bytes + MESSAGE_BYTES);
            if let Some(received) = self.receive(message, share) {
                // Fails when the session has ended, and the process is about to.
                let _ = self.messages.send(received);
            }
        }
        Ok(())
    }

    /// Stops a read that is cancelled here, where no writing holds it up. The SDK hears of all in the order in which it was said.
    fn receive(&self, message: Message, share: Share) -> Option<Received> {
        match message {
            Message::Request(request, id) => Some(match self.unanswered.start(id.clone(), share) {
                Ok(own) => Received::Request(Box::new(ClientJsonRpcMessage::request(*request, own))),
                Err(share) => Received::Refusal(twice(id), share),
            }),
            Message::Cancellation(mut cancellation, id) => {
                let own = self.unanswered.cancel(&id)?;
                cancellation.params.request_id = Some(own.clone());
                let message = ClientJsonRpcMessage::notification((*cancellation).into());
                Some(Received::Cancellation(Box::new(message), own, share))
            }
            Message::Refused(answer) => Some(Received::Refusal(answer, share)),
            Message::Passed => None,
        }
    }
}

fn twice(id: RequestId) -> Box<ServerJsonRpcMessage> {
    let error = ErrorData::invalid_request("Invalid request: another request has this id", None);
    Box::new(ServerJsonRpcMessage::error(error, Some(id)))
}

/// And how many bytes it takes.
fn next_message(lines: &mut LineReader<BufReader<impl Read>>) -> io::Result<Option<(Message, usize)>> {
    let mut outline = Outline::default();
    Ok(match lines.next_line(|part| outline.see(part))? {
        Some(Line::Text(text)) if text.trim_ascii().is_empty() => Some((Message::Passed, 0)),
        Some(Line::Text(text)) => Some((Message::parse(text), text.len())),
        Some(Line::TooLong) => {
            let error = ErrorData::invalid_request("Invalid request: a line must be at most 1 MiB", None);
            Some((Message::refused(error, request_id(&outline)), 0))
        }
        None => None,
    })
}

fn request_id(outline: &Outline) -> Option<RequestId> {
    serde_json::from_str(outline.id().filter(|_| outline.has_method())?).ok()
}
