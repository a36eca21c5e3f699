//! The tool as models are told of it: one description and one schema, in the form of each provider.

use serde_json::{Map, Value, json};

use super::{NAME, ReadTool};
use crate::display::ByteCount;
use crate::limits::Limits;

/// The form in which an API takes a tool definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A tool in the answer to `tools/list` of the Model Context Protocol.
    Mcp,
    /// An entry of `tools` in Anthropic's Messages API.
    Anthropic,
    /// An entry of `tools` in `OpenAI`'s Chat Completions API.
    OpenAi,
    /// The same in strict mode: all fields required, the optional ones nullable.
    OpenAiStrict,
    /// An entry of `tools` in `OpenAI`'s Responses API.
    OpenAiResponses,
    /// An entry of `functionDeclarations` in Google's Gemini API.
    Gemini,
}

/// The definition of the tool with its limits: plain data, ready to send.
///
/// ```
/// use capread::{Format, ReadTool, Root};
///
/// # fn main() -> Result<(), capread::Error> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// let tool = ReadTool::new(Root::open_ambient(directory.path())?);
/// let definition = tool.definition().to_json(Format::Anthropic);
/// assert_eq!(definition["name"], "read");
/// assert_eq!(definition["input_schema"]["required"][0], "path");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    description: String,
}

impl ReadTool {
    /// The tool as a model should be told of it, with the limits in force.
    #[must_use]
    pub fn definition(&self) -> Definition {
        Definition::new(self.limits())
    }
}

impl Definition {
    /// The definition of a tool with these limits.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        let (max_lines, max_bytes) = (limits.lines(), limits.bytes());
        Self {
            description: format!(
                "Read a text file inside the allowed directory. The answer has whole lines of text, at most {max_lines} lines and \
                 {} a call. When it stops before the end of the file, a last line in brackets says how to continue: call again with \
                 the values that it names. Use offset and limit to read a part of a large file, and tail for its end.",
                ByteCount(max_bytes.get())
            ),
        }
    }

    /// What models call the tool by.
    #[must_use]
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// What comes back, the limits in force, and how to continue.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The canonical JSON schema of the arguments.
    #[must_use]
    pub fn schema(&self) -> Value {
        let integer = |description: &str| json!({"type": "integer", "minimum": 1, "description": description});
        json!({
            "type": "object",
            "properties": properties(json!({"type": "string", "description": PATH}), integer),
            "required": ["path"],
            "additionalProperties": false,
        })
    }

    /// The definition as `format` has it.
    #[must_use]
    pub fn to_json(&self, format: Format) -> Value {
        let (name, description) = (NAME, &self.description);
        match format {
            Format::Mcp => json!({
                "name": name, "title": "Read file", "description": description, "inputSchema": self.schema(),
                "annotations": {
                    "title": "Read file", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false,
                },
            }),
            Format::Anthropic => json!({"name": name, "description": description, "input_schema": self.schema()}),
            Format::OpenAi => json!({
                "type": "function",
                "function": {"name": name, "description": description, "parameters": self.schema()},
            }),
            Format::OpenAiStrict => json!({
                "type": "function",
                "function": {"name": name, "description": description, "parameters": strict_schema(), "strict": true},
            }),
            // This API is strict unless told otherwise.
            Format::OpenAiResponses => json!({
                "type": "function", "name": name, "description": description, "parameters": self.schema(), "strict": false,
            }),
            Format::Gemini => json!({"name": name, "description": description, "parameters": gemini_schema()}),
        }
    }
}

const PATH: &str = "Path of the file, relative to the allowed directory.";

/// The other fields; all are integers.
const INTEGERS: [(&str, &str); 4] = [
    ("offset", "Line number to start from, 1-based. Default: 1."),
    ("limit", "Most lines to return, at least 1. Default: as many as one call may return."),
    (
        "column",
        "Byte of the line offset to start from, 1-based, to read a line in parts that is too long for one call.",
    ),
    ("tail", "Number of lines at the end of the file to return, instead of offset, limit and column."),
];

fn properties(path: Value, integer: impl Fn(&str) -> Value) -> Value {
    let integers = INTEGERS.iter().map(|(name, description)| ((*name).to_owned(), integer(description)));
    std::iter::once(("path".to_owned(), path)).chain(integers).collect::<Map<_, _>>().into()
}

/// Strict mode takes no `minimum` and no optional field; absent is `null`.
fn strict_schema() -> Value {
    let integer = |description: &str| json!({"type": ["integer", "null"], "description": description});
    let names: Vec<_> = std::iter::once("path").chain(INTEGERS.iter().map(|(name, _)| *name)).collect();
    json!({
        "type": "object",
        "properties": properties(json!({"type": "string", "description": PATH}), integer),
        "required": names,
        "additionalProperties": false,
    })
}

/// Gemini takes a subset of `OpenAPI` 3.0: single types, no `additionalProperties`.
fn gemini_schema() -> Value {
    let integer = |description: &str| json!({"type": "INTEGER", "minimum": 1, "description": description});
    json!({
        "type": "OBJECT",
        "properties": properties(json!({"type": "STRING", "description": PATH}), integer),
        "required": ["path"],
    })
}
