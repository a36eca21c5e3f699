//! Answers on their way out, each a line, flushed.

use std::io::{self, Write};

use rmcp::model::ServerJsonRpcMessage;
use tokio::sync::oneshot;

use crate::print;

pub(super) struct Output {
    writer: Box<dyn Write + Send>,
    /// Used up by the first failure; nothing is written from then on.
    failure: Option<oneshot::Sender<io::Error>>,
}

impl Output {
    /// The receiver hears when writing has failed.
    pub(super) fn new(writer: impl Write + Send + 'static) -> (Self, oneshot::Receiver<io::Error>) {
        let (failure, failed) = oneshot::channel();
        (Self { writer: Box::new(writer), failure: Some(failure) }, failed)
    }

    /// Waits while the client does not read.
    pub(super) fn write(&mut self, message: &ServerJsonRpcMessage) -> io::Result<()> {
        if self.failure.is_none() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let written = serde_json::to_string(message).map_err(Into::into);
        written.and_then(|line| print::line(&mut self.writer, line)).map_err(|error| {
            self.fail(error);
            io::ErrorKind::BrokenPipe.into()
        })
    }

    pub(super) fn fail(&mut self, error: io::Error) {
        if let Some(failure) = self.failure.take() {
            // Fails when the session has ended already.
            let _ = failure.send(error);
        }
    }
}
