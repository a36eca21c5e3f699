//! Tool calls in the forms of the model providers, and the answers that belong to them.

use serde_core::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::json::{Answer, Fields};
use super::{NAME, ReadOutput, ReadRequest, ReadTool};
use crate::cancel::Cancel;
use crate::display::Shown;
use crate::error::{Error, Result};

/// One message of an agent: a tool call, or a wish to cancel one.
#[derive(Debug)]
pub enum Message {
    /// A call to answer. What is no call at all becomes one whose answer says so.
    Call(ToolCall),
    /// `{"cancel": id}`: the call with this id is not wanted any more.
    Cancel {
        /// The id of that call, as JSON text.
        id: String,
    },
}

/// A tool call in the form of one provider.
#[derive(Debug)]
pub struct ToolCall {
    reply: Reply,
    request: Result<ReadRequest>,
}

/// What makes the answer to a call, in the form that belongs to it.
#[derive(Debug)]
pub struct Reply {
    form: Form,
    /// JSON text, as it was written. Absent in some calls of Gemini.
    id: Option<String>,
    name: String,
}

/// Whose form a call has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    Anthropic,
    OpenAiChat,
    OpenAiResponses,
    Gemini,
}

impl Message {
    /// Recognises a message, one JSON object, by its fields.
    ///
    /// ```
    /// use capread::{Message, ReadTool, Root};
    /// use serde_json::{Value, json};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # std::fs::write(directory.path().join("a.txt"), "one\n").expect("a file");
    /// let tool = ReadTool::new(Root::open_ambient(directory.path())?);
    /// let call = r#"{"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{\"path\": \"a.txt\"}"}}"#;
    /// if let Message::Call(call) = Message::parse(call) {
    ///     assert_eq!(call.id(), Some(r#""call_1""#));
    ///     let answer: Value = serde_json::from_str(&call.run(&tool, &|| false))?;
    ///     assert_eq!(answer, json!({"role": "tool", "tool_call_id": "call_1", "content": "one"}));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn parse(message: &str) -> Self {
        let fields: Fields<'_> = match serde_json::from_str(message) {
            Ok(fields) => fields,
            Err(error) => {
                return Self::Call(ToolCall::refused(None, &format!("a tool call must be a JSON object: {error}")));
            }
        };
        match fields.get("cancel").filter(|_| fields.len() == 1) {
            Some(id) => Self::Cancel { id: one_line(id) },
            None => Self::Call(
                recognise(&fields)
                    .unwrap_or_else(|| ToolCall::refused(any_id(&fields), "not a tool call in any of the known forms")),
            ),
        }
    }
}

/// Text as it was written, unless it was written on several lines.
fn one_line(value: &RawValue) -> String {
    let text = value.get();
    if !text.contains(['\n', '\r']) {
        return text.to_owned();
    }
    serde_json::from_str::<Value>(text).map_or_else(|_| "null".to_owned(), |value| value.to_string())
}

fn id_in(fields: &Fields<'_>, name: &str) -> Option<String> {
    fields.get(name).map(|id| one_line(id))
}

fn text_in(fields: &Fields<'_>, name: &str) -> Option<String> {
    serde_json::from_str(fields.get(name)?.get()).ok()
}

fn object_in<'a>(fields: &Fields<'a>, name: &str) -> Option<Fields<'a>> {
    serde_json::from_str(fields.get(name)?.get()).ok()
}

/// Where the forms have their ids.
fn any_id(fields: &Fields<'_>) -> Option<String> {
    let nested = || id_in(&object_in(fields, "functionCall")?, "id");
    id_in(fields, "call_id").or_else(|| id_in(fields, "id")).or_else(nested)
}

fn recognise(fields: &Fields<'_>) -> Option<ToolCall> {
    let kind = text_in(fields, "type");
    if kind.as_deref() == Some("tool_use") {
        ToolCall::read_from(Form::Anthropic, id_in(fields, "id"), fields, "input")
    } else if kind.as_deref() == Some("function_call") {
        ToolCall::read_from(Form::OpenAiResponses, id_in(fields, "call_id"), fields, "arguments")
    } else if let Some(function) = object_in(fields, "function") {
        ToolCall::read_from(Form::OpenAiChat, id_in(fields, "id"), &function, "arguments")
    } else if let Some(call) = object_in(fields, "functionCall") {
        ToolCall::read_from(Form::Gemini, id_in(&call, "id"), &call, "args")
    } else {
        ToolCall::read_from(Form::Plain, id_in(fields, "id"), fields, "arguments")
    }
}

impl ToolCall {
    fn read_from(form: Form, id: Option<String>, call: &Fields<'_>, arguments: &str) -> Option<Self> {
        let name = text_in(call, "name")?;
        let request = if name == NAME {
            ReadRequest::from_json_str(&text_of_arguments(call, arguments))
        } else {
            Err(Error::invalid(format!("unknown tool \"{}\" (the tool is called {NAME})", Shown(&name))))
        };
        Some(Self { reply: Reply { form, id, name }, request })
    }

    /// A call in the plain form whose answer is an error with `reason`: for a message that is none. The id is JSON text.
    #[must_use]
    pub fn refused(id: Option<String>, reason: &str) -> Self {
        Self { reply: Reply { form: Form::Plain, id, name: NAME.to_owned() }, request: Err(Error::invalid(reason)) }
    }

    /// What the answer will be recognised by, where the call has one: JSON text, as it was written.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.reply.id()
    }

    /// What is asked, for [`ReadTool::call_parsed`], and what makes the answer of the result.
    pub fn into_parts(self) -> (Result<ReadRequest>, Reply) {
        (self.request, self.reply)
    }

    /// Reads, and gives the answer in the form that belongs to the call: JSON on one line.
    #[must_use]
    pub fn run(self, tool: &ReadTool, cancel: &dyn Cancel) -> String {
        let (request, reply) = self.into_parts();
        reply.answer(&tool.call_parsed(request, cancel, &|_| {}))
    }
}

impl Reply {
    /// The call's id: JSON text, as it was written.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The name of the tool that is called, which need not be this one.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The answer: JSON on one line.
    #[must_use]
    pub fn answer(&self, result: &Result<ReadOutput>) -> String {
        let id = self.id.as_deref().unwrap_or("null");
        match self.form {
            Form::Plain => with_id("id", id, &Answer(result)),
            Form::Anthropic => {
                let content = json!([{"type": "text", "text": text_of(result)}]);
                let answer = json!({"type": "tool_result", "content": content, "is_error": result.is_err()});
                with_id("tool_use_id", id, &answer)
            }
            Form::OpenAiChat => with_id("tool_call_id", id, &json!({"role": "tool", "content": text_of(result)})),
            Form::OpenAiResponses => {
                with_id("call_id", id, &json!({"type": "function_call_output", "output": text_of(result)}))
            }
            Form::Gemini => gemini(self.id.as_deref(), &self.name, result),
        }
    }
}

/// The text of the arguments. They may be an object, or a text that holds one; absent, `null` or an empty text is an empty object.
fn text_of_arguments(call: &Fields<'_>, name: &str) -> String {
    let text = text_in(call, name).or_else(|| call.get(name).map(|value| value.get().to_owned()));
    text.filter(|text| !text.trim().is_empty() && text != "null").unwrap_or_else(|| "{}".to_owned())
}

fn text_of(result: &Result<ReadOutput>) -> String {
    match result {
        Ok(output) => output.to_model_text(),
        Err(error) => error.to_string(),
    }
}

/// An object that starts with an id, which stays as its caller wrote it: taken apart, a number would lose digits.
fn with_id(key: &str, id: &str, fields: &impl Serialize) -> String {
    let mut answer = format!("{{\"{key}\":{id},");
    answer.push_str(text(fields).trim_start_matches('{'));
    answer
}

/// As in [`Answer`], nothing here can fail.
fn text(told: &impl Serialize) -> String {
    serde_json::to_string(told).unwrap_or_default()
}

/// `output` and `error` are the keys that Gemini's documentation names for a function's response.
fn gemini(id: Option<&str>, name: &str, result: &Result<ReadOutput>) -> String {
    let key = if result.is_ok() { "output" } else { "error" };
    let response = json!({"name": name, "response": {key: text_of(result)}});
    let response = id.map_or_else(|| text(&response), |id| with_id("id", id, &response));
    format!("{{\"functionResponse\":{response}}}")
}
