//! Requests and results as JSON: what models write is taken with care, what they get has the shape of an MCP tool result.

use serde_json::{Map, Number, Value, json};

use super::{ReadOutput, ReadRequest, ReadTool};
use crate::cancel::{Cancel, Stop};
use crate::display::Shown;
use crate::error::{Error, Request, Result};
use crate::window::{Cut, LineEnds};

/// The fields of a request.
const FIELDS: &str = "path, offset and limit";

/// What models trained on other tools call `path`.
const PATH_ALIASES: [&str; 3] = ["file_path", "filePath", "file"];

/// Most bytes of a request's path that an error repeats unshortened: no valid path is longer.
const MAX_INPUT_BYTES: usize = 4096;

impl ReadRequest {
    /// The arguments of a tool call.
    ///
    /// Whole numbers may be written as `10`, `10.0`, `1e1`, or as a string of one of these; `null` is absent; `file_path`, `filePath`
    /// and `file` are taken for `path` where that is absent. Anything else that does not belong there is an error, which names the
    /// field and what was found.
    ///
    /// ```
    /// use capread::ReadRequest;
    /// use serde_json::json;
    ///
    /// # fn main() -> Result<(), capread::Error> {
    /// let request = ReadRequest::from_json(&json!({"path": "a.txt", "offset": "10", "limit": null}))?;
    /// assert_eq!(request, ReadRequest::new("a.txt").offset(10));
    ///
    /// let error = ReadRequest::from_json(&json!({"path": "a.txt", "offset": 2.5})).unwrap_err();
    /// assert_eq!(error.to_string(), "offset must be a positive integer, found 2.5");
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_json(arguments: &Value) -> Result<Self> {
        let Value::Object(fields) = arguments else {
            return Err(Error::invalid(format!("arguments must be an object, found {}", found(Some(arguments)))));
        };
        let (path_field, path) = path_of(fields)?;
        let mut request = Self::new(path);
        for (name, value) in fields.iter().filter(|(name, value)| *name != path_field && !value.is_null()) {
            request.set(name, value).map_err(|error| error.asked(|| Request::new(path.as_ref(), None)))?;
        }
        Ok(request)
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        match name {
            "offset" => self.offset = Some(integer(name, value)?),
            "limit" => self.limit = Some(integer(name, value)?),
            _ => {
                let name = Shown(name);
                return Err(Error::invalid(format!(
                    "unknown field {name}, found {} (fields: {FIELDS})",
                    found(Some(value))
                )));
            }
        }
        Ok(())
    }
}

/// The field that holds the path, and the path.
fn path_of(fields: &Map<String, Value>) -> Result<(&str, &str)> {
    let given = |name: &str| fields.get(name).filter(|value| !value.is_null());
    let name = ["path"].into_iter().chain(PATH_ALIASES).find(|name| given(name).is_some()).unwrap_or("path");
    match given(name) {
        Some(Value::String(path)) => Ok((name, path)),
        other => Err(Error::invalid(format!("{name} must be a string, found {}", found(other)))),
    }
}

fn integer(field: &str, value: &Value) -> Result<u64> {
    let number = match value {
        Value::Number(number) => whole(number),
        Value::String(text) => serde_json::from_str(text).ok().and_then(|number| whole(&number)),
        _ => None,
    };
    number.ok_or_else(|| Error::invalid(format!("{field} must be a positive integer, found {}", found(Some(value)))))
}

fn whole(number: &Number) -> Option<u64> {
    number.as_u64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
        // By its digits: a cast would turn what is too large, or negative, into some other number.
        format!("{float:.0}").parse().ok()
    })
}

fn found(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "nothing".to_owned(),
        Some(Value::Array(_)) => "an array".to_owned(),
        Some(Value::Object(_)) => "an object".to_owned(),
        Some(Value::String(text)) => format!("\"{}\"", Shown(text)),
        Some(scalar) => Shown(&scalar.to_string()).to_string(),
    }
}

impl ReadTool {
    /// Reads what the arguments of a tool call ask for: [`ReadRequest::from_json`], then [`call`](Self::call).
    ///
    /// [`answer`] makes a tool result of what comes back.
    pub fn call_json(&self, arguments: &Value, cancel: &dyn Cancel) -> Result<ReadOutput> {
        Stop::new(cancel, None).check()?;
        self.call(&ReadRequest::from_json(arguments)?, cancel)
    }
}

/// The result of a read in the shape of an MCP tool result: `content`, `structuredContent`, `isError`.
///
/// The text of an empty file is empty here; a model provider takes [`ReadOutput::to_model_text`] instead.
///
/// ```
/// use capread::{ReadTool, Root, answer};
/// use serde_json::json;
///
/// # fn main() -> Result<(), capread::Error> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// let tool = ReadTool::new(Root::open_ambient(directory.path())?);
/// let result = answer(&tool.call_json(&json!({"path": "../x"}), &|| false));
/// assert_eq!(result["isError"], true);
/// assert_eq!(result["structuredContent"], json!({"code": "outside_root", "input": "../x", "path": "../x"}));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn answer(result: &Result<ReadOutput>) -> Value {
    let (text, structured) = match result {
        Ok(output) => (output.to_string(), output.to_json()),
        Err(error) => (error.to_string(), error.to_json()),
    };
    json!({
        "content": [{"type": "text", "text": text}],
        "structuredContent": structured,
        "isError": result.is_err(),
    })
}

impl ReadOutput {
    /// The facts of the window, as `structuredContent` has them.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let window = &self.window;
        json!({
            "path": self.path.to_string_lossy(),
            "startLine": window.start_line,
            "endLine": window.end_line,
            "totalLines": window.total_lines,
            "truncatedBy": window.cut.map(|cut| match cut {
                Cut::Limit => "limit",
                Cut::Lines => "lines",
                Cut::Bytes { .. } => "bytes",
            }),
            "nextOffset": window.next_offset(),
            "bytes": window.text.len(),
            "fileSize": self.file_size,
            "encoding": "utf-8",
            "bom": window.bom,
            "replacements": window.replacements,
            "controls": window.controls,
            "lineEnds": window.line_ends.map(|ends| match ends {
                LineEnds::Lf => "lf",
                LineEnds::CrLf => "crlf",
                LineEnds::Mixed => "mixed",
            }),
            "finalNewline": window.final_newline,
            "links": self.links,
        })
    }
}

impl Error {
    /// The facts of the failure, as `structuredContent` has them; `os` only where the operating system gave an error number, and
    /// `suggestions` only where there are some.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut facts = json!({"code": self.code(), "input": self.input().map(bounded), "path": self.path()});
        if let Some(errno) = self.raw_os_error() {
            facts["os"] = self.os_error_name().map_or_else(|| json!(errno), |name| json!(name));
        }
        if !self.suggestions().is_empty() {
            facts["suggestions"] = json!(self.suggestions());
        }
        facts
    }
}

fn bounded(input: &str) -> String {
    if input.len() <= MAX_INPUT_BYTES { input.to_owned() } else { Shown(input).to_string() }
}
