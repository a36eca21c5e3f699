//! Answers on their way out, each a line, flushed.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::ServerJsonRpcMessage;
use tokio::sync::oneshot;

use crate::print;

pub(super) struct Output {
    writer: Mutex<Box<dyn Write + Send>>,
    /// Used up by the first failure; nothing is written from then on. Whoever tells it does not wait for who writes.
    failure: Mutex<Option<oneshot::Sender<io::Error>>>,
}

/// Whose turn it is to write.
pub(super) struct Turn<'a> {
    output: &'a Output,
    writer: MutexGuard<'a, Box<dyn Write + Send>>,
}

impl Output {
    /// The receiver hears when writing has failed.
    pub(super) fn new(writer: impl Write + Send + 'static) -> (Self, oneshot::Receiver<io::Error>) {
        let (failure, failed) = oneshot::channel();
        (Self { writer: Mutex::new(Box::new(writer)), failure: Mutex::new(Some(failure)) }, failed)
    }

    /// Waits while others write.
    pub(super) fn turn(&self) -> Turn<'_> {
        Turn { output: self, writer: self.writer.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    pub(super) fn fail(&self, error: io::Error) {
        if let Some(failure) = self.failure().take() {
            // Fails when the session has ended already.
            let _ = failure.send(error);
        }
    }

    fn failure(&self) -> MutexGuard<'_, Option<oneshot::Sender<io::Error>>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// Waits while the client does not read.
    pub(super) fn write(&mut self, message: &ServerJsonRpcMessage) -> io::Result<()> {
        if self.output.failure().is_none() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let line = simd_json::serde::to_string(message).map_err(io::Error::other);
        line.and_then(|line| print::line(&mut *self.writer, line)).map_err(|error| {
            self.output.fail(error);
            io::ErrorKind::BrokenPipe.into()
        })
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolResult, ContentBlock, RequestId, ServerResult};
    use serde_json::{Value, json};

    use super::*;

    /// What is written for a result with this text.
    fn written(text: &str) -> String {
        let (mut output, input) = (Vec::new(), io::pipe().unwrap());
        let (mut reader, writer) = input;
        let result = ServerResult::CallToolResult(CallToolResult::success(vec![ContentBlock::text(text)]));
        let message = ServerJsonRpcMessage::response(result, RequestId::Number(1));
        Output::new(writer).0.turn().write(&message).unwrap();
        io::Read::read_to_end(&mut reader, &mut output).unwrap();
        String::from_utf8(output).unwrap()
    }

    /// Wherever it stands among those that are looked at together.
    #[test]
    fn every_character_comes_back_and_none_ends_the_line() {
        let chars = ('\0'..='\u{ff}').chain(['\u{2028}', '\u{2029}', '\u{fffd}', '中', '\u{10ffff}']);
        for (c, before) in chars.flat_map(|c| (0..70).map(move |before| (c, before))) {
            let text = format!("{}{c}{}", "x".repeat(before), "y".repeat(70 - before));
            let line = written(&text);
            let is_break = |c: char| c < ' ' || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}');
            assert_eq!(line.find(is_break), line.len().checked_sub(1));
            let answer: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(answer["result"]["content"], json!([{"type": "text", "text": text}]));
        }
    }
}
