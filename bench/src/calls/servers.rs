//! Who takes part.

use serde_json::json;

use super::Scene;
use super::client::{Client, Round};
use crate::measure::Turn;
use crate::pipe::Pipe;
use crate::process::Program;
use crate::{Result, fixture, jsonl, mcp};

pub(crate) const CAPREAD_MCP: &str = "capread mcp";
pub(crate) const CAPREAD_JSONL: &str = "capread jsonl";
pub(crate) const OFFICIAL: &str = "official file system server";
pub(crate) const OFFICIAL_HEAD: &str = "official file system server, head";

/// How many lines `head` asks for: what capread answers with at most.
const HEAD_LINES: u64 = 2000;

/// Of the first call: no other number in a call or an answer looks like it.
const FIRST_ID: u64 = 1_000_000;

/// A server that runs, under its name.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) client: Client,
}

impl Server {
    /// So many calls. What fails is told with the name.
    pub(crate) fn turn(&mut self, calls: u32) -> Turn<'_, Round> {
        Box::new(move || self.client.turn(calls).map_err(|wrong| format!("{}: {wrong}", self.name).into()))
    }
}

/// Starts all of them anew, and asks each once for the file.
pub(crate) fn start(scene: &Scene) -> Result<Vec<Server>> {
    let mut servers = vec![capread_mcp(scene)?, capread_jsonl(scene)?];
    if let Some(program) = &scene.official {
        servers.push(official(scene, program, OFFICIAL)?);
        servers.push(official(scene, program, OFFICIAL_HEAD)?);
    }
    Ok(servers)
}

fn capread_mcp(scene: &Scene) -> Result<Server> {
    let pipe = mcp::start(&Program::new(&scene.capread).arg("mcp").arg("--root").arg(&scene.tree.root))?;
    serve(scene, CAPREAD_MCP, pipe, &mcp::call(FIRST_ID, "read", &json!({ "path": fixture::FILE })))
}

fn capread_jsonl(scene: &Scene) -> Result<Server> {
    let pipe = Pipe::start(&jsonl::program(&scene.capread, &scene.tree.root))?;
    serve(scene, CAPREAD_JSONL, pipe, &jsonl::call(FIRST_ID, &json!({ "path": fixture::FILE })))
}

/// It wants absolute paths.
fn official(scene: &Scene, program: &Program, name: &'static str) -> Result<Server> {
    let mut arguments = json!({ "path": scene.tree.root.join(fixture::FILE).to_string_lossy() });
    if name == OFFICIAL_HEAD {
        arguments["head"] = HEAD_LINES.into();
    }
    let pipe = mcp::start(&program.clone().arg(&scene.tree.root))?;
    serve(scene, name, pipe, &mcp::call(FIRST_ID, mcp::READ_TEXT_FILE, &arguments))
}

fn serve(scene: &Scene, name: &'static str, pipe: Pipe, request: &str) -> Result<Server> {
    let client = Client::new(pipe, request, FIRST_ID, &scene.tree.text);
    Ok(Server { name, client: client.map_err(|wrong| format!("{name}: {wrong}"))? })
}
