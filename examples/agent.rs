//! The loop of an agent: the model asks for a tool, the answer goes back to it, until it asks for none. Here the model is a script,
//! which gets a name wrong, is told so, and corrects itself. Messages have Anthropic's form.
//! Try `cargo run --example agent -- .`

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};

use capread::{ReadTool, Root};
use serde_json::{Value, json};

/// Arguments in; text for the model out, that of an error too.
type Tool = Box<dyn Fn(&Value) -> Result<String, String>>;

const MAX_TURNS: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    run(&std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()), &mut io::stdout())
}

pub(crate) fn run(directory: &str, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let reader = ReadTool::new(Root::open_ambient(directory)?);
    // What a real model is told of the tool: `reader.definition().to_json(Format::Anthropic)`.
    let read = move |arguments: &Value| match reader.call_json(arguments, &|| false) {
        Ok(output) => Ok(output.to_model_text()),
        Err(error) => Err(error.to_string()),
    };
    let tools = BTreeMap::from([("read", Box::new(read) as Tool)]);
    let mut message = json!({"role": "user", "content": [{"type": "text", "text": "What is this package called?"}]});
    for _ in 0..MAX_TURNS {
        writeln!(out, "{message}")?;
        let answer = model(&message["content"][0]);
        writeln!(out, "{}", json!({"role": "assistant", "content": [answer]}))?;
        if answer["type"] != "tool_use" {
            return Ok(());
        }
        message = json!({"role": "user", "content": [execute(&tools, &answer)]});
    }
    Err("the model comes to no end".into())
}

fn execute(tools: &BTreeMap<&str, Tool>, call: &Value) -> Value {
    let tool = call["name"].as_str().and_then(|name| tools.get(name));
    let result = tool.map_or_else(|| Err(format!("There is no tool {}", call["name"])), |tool| tool(&call["input"]));
    let is_error = result.is_err();
    json!({"type": "tool_result", "tool_use_id": call["id"], "content": result.unwrap_or_else(|error| error), "is_error": is_error})
}

fn model(heard: &Value) -> Value {
    let ask = |id, path| json!({"type": "tool_use", "id": id, "name": "read", "input": {"path": path, "limit": "20"}});
    let text = heard["content"].as_str().unwrap_or_default();
    let told = text.lines().find(|line| line.starts_with("name")).unwrap_or("I cannot tell.");
    match text.split_once("Did you mean ") {
        _ if heard["type"] != "tool_result" => ask("toolu_1", "Crago.toml"),
        Some((_, name)) if heard["is_error"] == true => ask("toolu_2", name.trim_end_matches('?')),
        _ => json!({"type": "text", "text": told}),
    }
}
