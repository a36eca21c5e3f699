//! Lines of input and output as a transport of the SDK.

use std::future::ready;
use std::io::{self, Write};
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::output::Output;
use super::reader::Received;
use super::unanswered::Unanswered;
use crate::budget::Budget;

/// Ends only when all that was read is answered: the SDK would wait for that no longer than five seconds.
pub(super) struct Lines<W> {
    pub(super) messages: mpsc::UnboundedReceiver<Received>,
    pub(super) output: Output<W>,
    pub(super) budget: Arc<Budget>,
    pub(super) unanswered: Arc<Unanswered>,
}

impl<W: Write> Lines<W> {
    /// What the SDK is to hear of.
    fn admit(&mut self, received: Received) -> Option<ClientJsonRpcMessage> {
        match received {
            Received::Request(message) => Some(*message),
            // The SDK would end the session at one that comes before the first request.
            Received::Cancellation(message, id, _share) => self.unanswered.end(&id).map(|_| *message),
            Received::Refusal(answer, _share) => {
                // Who waits for the failure is told by the output.
                let _ = self.output.write(&answer);
                None
            }
        }
    }

    fn write(&mut self, mut message: ServerJsonRpcMessage) -> io::Result<()> {
        if let Some(id) = answered(&mut message) {
            match self.unanswered.end(id) {
                Some(place) if !place.is_cancelled() => *id = place.id().clone(),
                _ => return Ok(()),
            }
        }
        self.output.write(&message)
    }
}

impl<W: Write + Send + 'static> Transport<RoleServer> for Lines<W> {
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        ready(self.write(item))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        while let Some(received) = self.messages.recv().await {
            if let Some(message) = self.admit(received) {
                return Some(message);
            }
        }
        self.budget.unused().await;
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
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
