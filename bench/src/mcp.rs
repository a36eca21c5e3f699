//! Servers that speak the Model Context Protocol on their pipes, started and called; and a file server among them, installed from its
//! registry.

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

/// What runs it.
const NODE: &str = "node";

/// Where file servers are installed; git looks past it.
pub(crate) const SERVERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/servers");

/// What reads a text file there.
pub(crate) const READ_TEXT_FILE: &str = "read_text_file";

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
    runtime()?;
    Ok(Program::new(NODE).arg(script))
}

/// What runs the server, and its version.
pub(crate) fn runtime() -> Result<String> {
    Ok(format!("{NODE} {}", run(Command::new(NODE).arg("--version"))?.trim_start_matches('v')))
}

/// No script of any package runs.
fn npm_install(prefix: &Path) -> Result<()> {
    std::fs::create_dir_all(prefix)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(prefix);
    run(npm.arg(format!("{PACKAGE}@{VERSION}"))).map(drop)
}

/// What the command prints.
fn run(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?.trim().to_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program}: {}: {}", output.status, message.lines().next().unwrap_or_default()).into())
}

/// Starts a server, and comes to terms with it.
pub(crate) fn start(server: &Program) -> Result<Pipe> {
    let mut pipe = Pipe::start(server)?;
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

/// The line that calls a tool.
pub(crate) fn call(id: u64, tool: &str, arguments: &Value) -> String {
    request(id, "tools/call", &json!({ "name": tool, "arguments": arguments }))
}

fn request(id: u64, method: &str, parameters: &Value) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }))
}

/// The text of an answer.
pub(crate) fn text(line: &str) -> Result<String> {
    let answer: Value = serde_json::from_str(line)?;
    // `capread jsonl` answers with the result itself.
    result_text(answer.get("result").unwrap_or(&answer))
}

/// The text of what a tool came to.
pub(crate) fn result_text(result: &Value) -> Result<String> {
    match result["content"][0]["text"].as_str() {
        Some(text) if result["isError"] != true => Ok(text.to_owned()),
        _ => Err(format!("no text: {result}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_one_line() {
        let line = call(2, READ_TEXT_FILE, &json!({ "path": "a\nb" }));
        assert_eq!(line.find('\n'), Some(line.len() - 1));
    }

    #[test]
    fn takes_the_text_of_an_answer_and_nothing_of_an_error() {
        let answer = |is_error: bool| json!({ "id": 2, "result": { "content": [{ "type": "text", "text": "one" }], "isError": is_error } });
        assert_eq!(text(&answer(false).to_string()).expect("a text"), "one");
        assert!(text(&answer(true).to_string()).expect_err("an error").to_string().starts_with("no text"));
    }
}
