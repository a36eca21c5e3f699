//! What the SDK hears and says.

use std::future::ready;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::client::{Client, Received};
use super::unanswered::as_id;
use crate::input::LineReader;

/// A call of the tool, with our id.
pub(super) type Call = (Box<ClientRequest>, u64);

/// The input while there is no session yet: the SDK asks for one message after the other then, and answers each before the next.
#[derive(Clone)]
pub(super) struct Opening(Arc<Mutex<State>>);

enum State {
    Open(LineReader, Option<Call>),
    Ended(io::Result<()>),
    /// Others read the input.
    Left,
}

impl Opening {
    pub(super) fn new(lines: LineReader) -> Self {
        Self(Arc::new(Mutex::new(State::Open(lines, None))))
    }

    /// The next request, if the input is here and has one. Waits on the thread of the caller, who has nothing else to do.
    fn next(&self, client: &Client) -> Option<ClientJsonRpcMessage> {
        let mut state = self.state();
        while let State::Open(lines, last_call) = &mut *state {
            match client.hear(lines) {
                Ok(Some(Received::Request(request, own))) => {
                    let is_call = matches!(*request, ClientRequest::CallToolRequest(_));
                    *last_call = is_call.then(|| (request.clone(), own));
                    return Some(ClientJsonRpcMessage::request(*request, as_id(own)));
                }
                Ok(Some(Received::Refusal(answer, _share))) => {
                    // Who waits for the failure is told by the output.
                    if client.write(&answer).is_err() {
                        *state = State::Ended(Ok(()));
                    }
                }
                Ok(Some(Received::Cancellation(_) | Received::Passed)) => {}
                Ok(None) => *state = State::Ended(Ok(())),
                Err(error) => *state = State::Ended(Err(error)),
            }
        }
        None
    }

    fn has_ended(&self) -> bool {
        matches!(*self.state(), State::Ended(_))
    }

    /// The input, for others to read on, unless it has ended, and the last request where that was a call. Fails as the input has.
    pub(super) fn leave(&self) -> io::Result<Option<(LineReader, Option<Call>)>> {
        match std::mem::replace(&mut *self.state(), State::Left) {
            State::Open(lines, last_call) => Ok(Some((lines, last_call))),
            State::Ended(result) => result.map(|()| None),
            State::Left => Ok(None),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends only when all that was read is answered: the SDK would wait for that no longer than five seconds.
pub(super) struct Lines {
    pub(super) client: Arc<Client>,
    pub(super) opening: Opening,
    /// In a session, what is not for the threads that read.
    pub(super) requests: mpsc::UnboundedReceiver<ClientJsonRpcMessage>,
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        ready(self.client.tell(item))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        if let Some(request) = self.opening.next(&self.client) {
            return Some(request);
        }
        if self.opening.has_ended() {
            return None;
        }
        if let Some(request) = self.requests.recv().await {
            return Some(request);
        }
        self.client.budget.unused().await;
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
