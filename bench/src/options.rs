//! What every benchmark can be told.

use std::fs::File;
use std::path::PathBuf;

use serde_json::Value;

use crate::Result;

/// Where everything goes.
#[derive(clap::Args, Debug)]
pub(crate) struct Places {
    /// Where the files are made, and removed again
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    pub(crate) directory: PathBuf,
    /// Also writes everything as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Places {
    /// Writes the JSON, where it is wanted.
    pub(crate) fn write(&self, json: impl FnOnce() -> Value) -> Result<()> {
        match &self.json {
            Some(path) => Ok(serde_json::to_writer_pretty(File::create(path)?, &json())?),
            None => Ok(()),
        }
    }
}
