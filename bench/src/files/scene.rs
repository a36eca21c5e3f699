//! What the cases need: the files, and the programs that read them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::corpus::Corpus;
use crate::process::{Pipeline, Program};
use crate::{Result, mcp, release};

/// Made once for the run.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) corpus: Corpus,
    /// The command, as it is released.
    pub(crate) capread: PathBuf,
    /// The same, linked statically, where it could be built.
    pub(crate) capread_static: Option<PathBuf>,
    /// The file system server, where it could be installed.
    pub(crate) server: Option<Program>,
    /// Who takes part beside capread, and in which version.
    pub(crate) others: Vec<String>,
    /// Who does not take part, and why.
    pub(crate) left_out: Vec<String>,
}

impl Scene {
    /// Builds the command, and installs the server in `servers`.
    pub(crate) fn new(corpus: Corpus, servers: &Path) -> Result<Self> {
        let (capread, others) = (release::build()?, text_tools()?);
        let mut scene = Self { corpus, capread, capread_static: None, server: None, others, left_out: Vec::new() };
        match release::build_static() {
            Ok(capread) => scene.capread_static = Some(capread),
            Err(error) => scene.left_out.push(format!("capread, linked statically: {error}")),
        }
        match mcp::install(servers) {
            Ok(server) => {
                scene.server = Some(server);
                scene.others.push(mcp::name());
            }
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

/// What the text tools say that they are.
fn text_tools() -> Result<Vec<String>> {
    ["wc", "sed", "tail", "head"].map(|tool| first_line(Program::new(tool).arg("--version"))).into_iter().collect()
}

fn first_line(program: Program) -> Result<String> {
    let output = Pipeline::from(program).output()?;
    Ok(output.lines().next().unwrap_or_default().to_owned())
}
