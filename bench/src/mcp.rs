//! A file server that speaks the Model Context Protocol on its pipes: installed from its registry, started, and called.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::Result;
use crate::pipe::Pipe;
use crate::process::Program;

/// The official file system server, and the version that is compared.
const PACKAGE: &str = "@modelcontextprotocol/server-filesystem";
const VERSION: &str = "2026.8.31";
const SCRIPT: &str = "dist/index.js";

/// The revision of the protocol that the client says it speaks.
const PROTOCOL: &str = "2025-06-18";

/// The package and its version.
pub(crate) fn name() -> String {
    format!("{PACKAGE} {VERSION}")
}

/// Installs the server below `directory`, unless it is there. `node` runs what is returned; it wants the allowed directory.
pub(crate) fn install(directory: &Path) -> Result<Program> {
    let prefix = directory.join(format!("mcp-{VERSION}"));
    let script = prefix.join("node_modules").join(PACKAGE).join(SCRIPT);
    if !script.exists() {
        npm_install(&prefix)?;
    }
    let program = Program::new("node");
    run(program.command().arg("--version"))?;
    Ok(program.arg(script))
}

/// No script of any package runs.
fn npm_install(prefix: &Path) -> Result<()> {
    std::fs::create_dir_all(prefix)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(prefix);
    run(npm.arg(format!("{PACKAGE}@{VERSION}")))
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program}: {}: {}", output.status, message.lines().next().unwrap_or_default()).into())
}

/// Starts the server, and comes to terms with it.
pub(crate) fn start(server: &Program, allowed: &Path) -> Result<Pipe> {
    let mut pipe = Pipe::start(&server.clone().arg(allowed))?;
    let client = json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") });
    let parameters = json!({ "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client });
    pipe.send(&request(0, "initialize", &parameters))?;
    wait_for(&mut pipe, 0)?;
    pipe.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
    // What else it has to say comes before the answer.
    pipe.send(&request(1, "ping", &json!({})))?;
    wait_for(&mut pipe, 1)?;
    Ok(pipe)
}

fn wait_for(pipe: &mut Pipe, id: u64) -> Result<()> {
    loop {
        let message: Value = serde_json::from_str(pipe.next_line()?)?;
        if message["id"] == id && message.get("method").is_none() {
            return Ok(());
        }
    }
}

/// The line that asks for a text file.
pub(crate) fn read(arguments: &Value) -> String {
    request(2, "tools/call", &json!({ "name": "read_text_file", "arguments": arguments }))
}

fn request(id: u64, method: &str, parameters: &Value) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }))
}

/// The text of an answer.
pub(crate) fn text(line: &str) -> Result<String> {
    let answer: Value = serde_json::from_str(line)?;
    match answer["result"]["content"][0]["text"].as_str() {
        Some(text) if answer["result"]["isError"] != true => Ok(text.to_owned()),
        _ => Err(format!("no text: {line}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_one_line() {
        let line = read(&json!({ "path": "a\nb" }));
        assert_eq!(line.find('\n'), Some(line.len() - 1));
    }

    #[test]
    fn takes_the_text_of_an_answer_and_nothing_of_an_error() {
        let answer = |is_error: bool| json!({ "id": 2, "result": { "content": [{ "type": "text", "text": "one" }], "isError": is_error } });
        assert_eq!(text(&answer(false).to_string()).expect("a text"), "one");
        assert!(text(&answer(true).to_string()).expect_err("an error").to_string().starts_with("no text"));
    }
}
