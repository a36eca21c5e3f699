//! What the threads do in a session: they read calls and answer them. Anything else that is asked is left to the SDK's loop.

use std::io;
use std::sync::Arc;

use futures_util::FutureExt;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetExtensions, GetMeta, ServerJsonRpcMessage};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, Peer, RoleServer, Service};
use tokio::sync::mpsc;

use super::client::{Client, Received};
use super::server::{MayWait, Server};
use super::unanswered::as_id;
use crate::budget::Share;
use crate::crew::{Heard, Work};
use crate::input::LineReader;

pub(super) struct Session {
    pub(super) client: Arc<Client>,
    pub(super) server: Arc<Server>,
    pub(super) peer: Peer<RoleServer>,
}

/// The input, and where what is for the SDK goes.
pub(super) struct Input {
    pub(super) lines: LineReader,
    pub(super) requests: mpsc::UnboundedSender<ClientJsonRpcMessage>,
}

pub(super) enum Job {
    /// Of the tool, with our id.
    Call(Box<ClientRequest>, u64),
    Refusal(Box<ServerJsonRpcMessage>, Share),
}

impl Work for Session {
    type Input = Input;
    type Job = Job;

    fn hear(&self, input: &mut Input) -> io::Result<Option<Heard<Job>>> {
        Ok(self.client.hear(&mut input.lines)?.map(|received| match received {
            Received::Request(request, own) if self.server.has(&request) => Heard::InTurn(own, Job::Call(request, own)),
            Received::Request(request, own) => {
                // Fails when the session has ended, and the process is about to.
                let _ = input.requests.send(ClientJsonRpcMessage::request(*request, as_id(own)));
                Heard::Other
            }
            Received::Refusal(answer, share) => Heard::Aside(Job::Refusal(answer, share)),
            Received::Cancellation(own) => Heard::Cancellation(vec![own]),
            Received::Passed => Heard::Other,
        }))
    }

    fn has_more(&self, input: &Input) -> bool {
        input.lines.has_line()
    }

    fn perform(&self, job: Job) -> io::Result<()> {
        match job {
            Job::Call(request, own) => self.client.tell(self.answer(*request, own)),
            Job::Refusal(answer, _share) => self.client.write(&answer),
        }
    }

    fn abandon(&self) {
        self.client.abandon();
    }
}

impl Session {
    /// Has the SDK handle the request as its own loop would, but on this thread, to which [`MayWait`] makes it one step.
    fn answer(&self, mut request: ClientRequest, own: u64) -> ServerJsonRpcMessage {
        let own = as_id(own);
        let mut context = RequestContext::new(own.clone(), self.peer.clone());
        context.meta = std::mem::take(request.get_meta_mut());
        context.extensions = std::mem::take(request.extensions_mut());
        context.extensions.insert(MayWait);
        let unended = || Err(ErrorData::internal_error("Internal error: the call waits for something", None));
        match self.server.handle_request(request, context).now_or_never().unwrap_or_else(unended) {
            Ok(result) => ServerJsonRpcMessage::response(result, own),
            Err(error) => ServerJsonRpcMessage::error(error, Some(own)),
        }
    }
}
