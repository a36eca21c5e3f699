//! What the cases need: the files, and the programs that read them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::corpus::Corpus;
use crate::process::Program;
use crate::{Result, mcp, release};

/// Made once for the run.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) corpus: Corpus,
    /// The command, as it is released.
    pub(crate) capread: PathBuf,
    /// The file system server, where it could be installed.
    pub(crate) server: Option<Program>,
    /// Who does not take part, and why.
    pub(crate) left_out: Vec<String>,
}

impl Scene {
    /// Builds the command, and installs the server in `servers`.
    pub(crate) fn new(corpus: Corpus, servers: &Path) -> Result<Self> {
        let mut scene = Self { corpus, capread: release::build()?, server: None, left_out: Vec::new() };
        match mcp::install(servers) {
            Ok(server) => scene.server = Some(server),
            Err(error) => scene.left_out.push(format!("{}: {error}", mcp::name())),
        }
        Ok(scene)
    }

    /// A file with this one call in it, for a process to read.
    pub(crate) fn request(&self, call: &str) -> Result<PathBuf> {
        let path = self.corpus.root.join("request.jsonl");
        fs::write(&path, call)?;
        Ok(path)
    }
}
