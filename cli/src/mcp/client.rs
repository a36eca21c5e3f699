//! The client: what it asks, and what it is answered.

use std::io;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{ClientRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage};

use super::message::Message;
use super::output::Output;
use super::unanswered::Unanswered;
use crate::budget::{Budget, Share};
use crate::input::{Line, LineReader};
use crate::outline::Outline;

/// What an unanswered message takes beside the bytes of its line, most of it the SDK's task; measured.
const MESSAGE_BYTES: usize = 8 * 1024;

/// A message.
pub(super) enum Received {
    /// With our id.
    Request(Box<ClientRequest>, u64),
    /// Of the request with this id of ours. What reads for it stops already.
    Cancellation(u64),
    /// An answer already, with the share of the budget.
    Refusal(Box<ServerJsonRpcMessage>, Share),
    /// Nothing to do.
    Passed,
}

/// See the module.
pub(super) struct Client {
    pub(super) budget: Arc<Budget>,
    pub(super) unanswered: Unanswered,
    output: Output,
}

impl Client {
    pub(super) fn new(budget: Arc<Budget>, output: Output) -> Self {
        Self { budget, unanswered: Unanswered::default(), output }
    }

    /// Waits for the next message. `None` at the end.
    pub(super) fn hear(&self, lines: &mut LineReader) -> io::Result<Option<Received>> {
        let Some((message, bytes)) = next_message(lines)? else { return Ok(None) };
        let share = self.budget.take(bytes + MESSAGE_BYTES);
        Ok(Some(match message {
            Message::Request(request, id) => match self.unanswered.start(id.clone(), share) {
                Ok(own) => Received::Request(request, own),
                Err(share) => Received::Refusal(twice(id), share),
            },
            Message::Cancellation(id) => self.unanswered.cancel(&id).map_or(Received::Passed, Received::Cancellation),
            Message::Refused(answer) => Received::Refusal(answer, share),
            Message::Passed => Received::Passed,
        }))
    }

    /// Writes the answer to a request that we know by this id of ours, unless it is cancelled; or a notification.
    pub(super) fn tell(&self, mut message: ServerJsonRpcMessage) -> io::Result<()> {
        let Some(id) = answered(&mut message) else { return self.write(&message) };
        // Whoever waits for its turn to write can still be cancelled.
        let mut turn = self.output.turn();
        match self.unanswered.end(id) {
            Some(place) if !place.is_cancelled() => {
                *id = place.id().clone();
                let written = turn.write(&message);
                // Its share is free only now: when all are, everything is answered.
                drop(place);
                written
            }
            _ => Ok(()),
        }
    }

    /// Writes how far a request has come, which we know by this id of ours, unless it is cancelled.
    pub(super) fn tell_progress(&self, own: &RequestId, news: &ServerJsonRpcMessage) {
        let mut turn = self.output.turn();
        if !self.unanswered.is_cancelled(own) {
            // A client that is gone is noticed elsewhere.
            let _ = turn.write(news);
        }
    }

    /// Writes what has the client's id.
    pub(super) fn write(&self, message: &ServerJsonRpcMessage) -> io::Result<()> {
        self.output.turn().write(message)
    }

    /// Stops all reads; nothing is written any more.
    pub(super) fn abandon(&self) {
        self.unanswered.cancel_all();
        self.output.fail(io::Error::other("a thread broke off"));
    }
}

/// The request that this is the answer to.
fn answered(message: &mut ServerJsonRpcMessage) -> Option<&mut RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&mut response.id),
        JsonRpcMessage::Error(error) => error.id.as_mut(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

fn twice(id: RequestId) -> Box<ServerJsonRpcMessage> {
    let error = ErrorData::invalid_request("Invalid request: another request has this id", None);
    Box::new(ServerJsonRpcMessage::error(error, Some(id)))
}

/// And how many bytes it takes.
fn next_message(lines: &mut LineReader) -> io::Result<Option<(Message, usize)>> {
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
