//! Answers on their way out, each a line, flushed.

use std::io::{self, Write};

use rmcp::model::ServerJsonRpcMessage;
use tokio::sync::oneshot;

use crate::print;

pub(super) struct Output<W> {
    writer: W,
    /// Used up by the first failure; nothing is written from then on.
    failure: Option<oneshot::Sender<io::Error>>,
}

impl<W: Write> Output<W> {
    /// The receiver hears when writing has failed.
    pub(super) fn new(writer: W) -> (Self, oneshot::Receiver<io::Error>) {
        let (failure, failed) = oneshot::channel();
        (Self { writer, failure: Some(failure) }, failed)
    }

    /// Waits while the client does not read: what there is to write then grows no more, and what it asks is still taken in.
    pub(super) fn write(&mut self, message: &ServerJsonRpcMessage) -> io::Result<()> {
        let failure = self.failure.take().ok_or(io::ErrorKind::BrokenPipe)?;
        match serde_json::to_string(message).map_err(Into::into).and_then(|line| print::line(&mut self.writer, line)) {
            Ok(()) => self.failure = Some(failure),
            Err(error) => {
                // Fails when the session has ended already.
                let _ = failure.send(error);
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
        Ok(())
    }
}
