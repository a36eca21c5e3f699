//! Tool calls in the forms of the model providers, and the answers that belong to them.

use serde_json::{Map, Value, json};

use super::json::answer;
use super::{NAME, ReadOutput, ReadRequest, ReadTool};
use crate::cancel::{Cancel, Stop};
use crate::display::Shown;
use crate::error::{Error, Result};

/// One message of an agent: a tool call, or a wish to cancel one.
#[derive(Debug)]
pub enum Message {
    /// A call to answer. What is no call at all becomes one whose answer says so.
    Call(ToolCall),
    /// `{"cancel": id}`: the call with this id is not wanted any more.
    Cancel {
        /// The id of that call.
        id: Value,
    },
}

/// A tool call in the form of one provider.
#[derive(Debug)]
pub struct ToolCall {
    form: Form,
    /// Absent in some calls of Gemini.
    id: Option<Value>,
    name: String,
    request: Result<ReadRequest>,
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
    /// Recognises a message by its fields.
    ///
    /// ```
    /// use capread::{Message, ReadTool, Root};
    /// use serde_json::json;
    ///
    /// # fn main() -> Result<(), capread::Error> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # std::fs::write(directory.path().join("a.txt"), "one\n").expect("a file");
    /// let tool = ReadTool::new(Root::open_ambient(directory.path())?);
    /// let message = json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.txt"}});
    /// if let Message::Call(call) = Message::parse(&message) {
    ///     assert_eq!(call.run(&tool, &|| false), json!({
    ///         "type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "one"}], "is_error": false,
    ///     }));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn parse(message: &Value) -> Self {
        let Value::Object(fields) = message else {
            return Self::Call(ToolCall::refused(None, "a tool call must be a JSON object"));
        };
        match fields.get("cancel").filter(|_| fields.len() == 1) {
            Some(id) => Self::Cancel { id: id.clone() },
            None => Self::Call(recognise(fields).unwrap_or_else(|| {
                ToolCall::refused(any_id(fields).cloned(), "not a tool call in any of the known forms")
            })),
        }
    }
}

/// Where the forms have their ids.
fn any_id(fields: &Map<String, Value>) -> Option<&Value> {
    let nested = || fields.get("functionCall")?.get("id");
    fields.get("call_id").or_else(|| fields.get("id")).or_else(nested)
}

fn recognise(fields: &Map<String, Value>) -> Option<ToolCall> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let object = |name: &str| fields.get(name).and_then(Value::as_object);
    if text("type") == Some("tool_use") {
        ToolCall::read_from(Form::Anthropic, fields.get("id"), fields, "input")
    } else if text("type") == Some("function_call") {
        ToolCall::read_from(Form::OpenAiResponses, fields.get("call_id"), fields, "arguments")
    } else if let Some(function) = object("function") {
        ToolCall::read_from(Form::OpenAiChat, fields.get("id"), function, "arguments")
    } else if let Some(call) = object("functionCall") {
        ToolCall::read_from(Form::Gemini, call.get("id"), call, "args")
    } else {
        ToolCall::read_from(Form::Plain, fields.get("id"), fields, "arguments")
    }
}

impl ToolCall {
    fn read_from(form: Form, id: Option<&Value>, call: &Map<String, Value>, arguments: &str) -> Option<Self> {
        let name = call.get("name")?.as_str()?;
        let request = if name == NAME {
            parse_arguments(call.get(arguments)).and_then(|arguments| ReadRequest::from_json(&arguments))
        } else {
            Err(Error::invalid(format!("unknown tool \"{}\" (the tool is called {NAME})", Shown(name))))
        };
        Some(Self { form, id: id.cloned(), name: name.to_owned(), request })
    }

    /// A call in the plain form whose answer is an error with `reason`: for a message that is none.
    #[must_use]
    pub fn refused(id: Option<Value>, reason: &str) -> Self {
        Self { form: Form::Plain, id, name: NAME.to_owned(), request: Err(Error::invalid(reason)) }
    }

    /// What the answer will be recognised by, where the call has one.
    #[must_use]
    pub fn id(&self) -> Option<&Value> {
        self.id.as_ref()
    }

    /// Reads, and gives the answer in the form that belongs to the call.
    #[must_use]
    pub fn run(self, tool: &ReadTool, cancel: &dyn Cancel) -> Value {
        let result = Stop::new(cancel, None).check().and(self.request).and_then(|request| tool.call(&request, cancel));
        let id = self.id.unwrap_or(Value::Null);
        let is_error = result.is_err();
        match self.form {
            Form::Plain => with_id(id, answer(&result)),
            Form::Anthropic => json!({
                "type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": text_of(&result)}], "is_error": is_error,
            }),
            Form::OpenAiChat => json!({"role": "tool", "tool_call_id": id, "content": text_of(&result)}),
            Form::OpenAiResponses => json!({"type": "function_call_output", "call_id": id, "output": text_of(&result)}),
            Form::Gemini => gemini(id, &self.name, &result),
        }
    }
}

/// Arguments as an object, or as a text that holds one; absent or an empty text is an empty object.
fn parse_arguments(arguments: Option<&Value>) -> Result<Value> {
    match arguments {
        None | Some(Value::Null) => Ok(json!({})),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(json!({})),
        Some(Value::String(text)) => serde_json::from_str(text).map_err(|error| {
            Error::invalid(format!("arguments must be a JSON object, found text that is none: {error}"))
        }),
        Some(other) => Ok(other.clone()),
    }
}

fn text_of(result: &Result<ReadOutput>) -> String {
    match result {
        Ok(output) => output.to_model_text(),
        Err(error) => error.to_string(),
    }
}

/// The `id` first, for whoever reads the lines.
fn with_id(id: Value, fields: Value) -> Value {
    let mut all = Map::new();
    all.insert("id".to_owned(), id);
    if let Value::Object(fields) = fields {
        all.extend(fields);
    }
    Value::Object(all)
}

/// `output` and `error` are the keys that Gemini's documentation names for a function's response.
fn gemini(id: Value, name: &str, result: &Result<ReadOutput>) -> Value {
    let key = if result.is_ok() { "output" } else { "error" };
    let response = json!({"name": name, "response": {key: text_of(result)}});
    json!({"functionResponse": if id.is_null() { response } else { with_id(id, response) }})
}
