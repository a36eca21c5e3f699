//! Why a command ended without doing its work.

use std::io;

#[derive(Debug)]
pub(crate) enum Failure {
    Usage(String),
    Input(io::Error),
    Threads(io::Error),
    Session(String),
    Output(io::Error),
}

impl From<capread::Error> for Failure {
    fn from(error: capread::Error) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
