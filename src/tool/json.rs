//! Requests and results as JSON: what models write is taken with care, what they get has the shape of an MCP tool result.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_core::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{ReadOutput, ReadRequest, ReadTool, trace};
use crate::cancel::{Cancel, Progress, Stop};
use crate::display::Shown;
use crate::error::{Error, Request, Result};
use crate::window::{Cut, LineEnds};

/// The fields of a request.
const FIELDS: &str = "path, offset, limit, column, tail and if_version";

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
        Self::from_json_str(&arguments.to_string())
    }

    /// The same for arguments as text. Numbers are judged by their digits, however many there are.
    pub fn from_json_str(arguments: &str) -> Result<Self> {
        let fields = parse_object(arguments)?;
        let (path_field, path) = path_of(&fields)?;
        let mut request = Self::new(&path);
        for (name, value) in fields.iter().filter(|(name, value)| *name != path_field && !is_null(value)) {
            request.set(name, value).map_err(|error| error.asked(|| Request::new(path.as_ref(), None)))?;
        }
        Ok(request)
    }

    fn set(&mut self, name: &str, value: &RawValue) -> Result<()> {
        match name {
            "offset" => self.offset = Some(integer(name, value)?),
            "limit" => self.limit = Some(integer(name, value)?),
            "column" => self.column = Some(integer(name, value)?),
            "tail" => self.tail = Some(integer(name, value)?),
            "if_version" => self.if_version = Some(string(name, value)?),
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

/// The fields of an object, each as its text: what is not asked for is never taken apart, so neither its depth nor its size matters.
pub(super) type Fields<'a> = BTreeMap<String, &'a RawValue>;

fn parse_object(text: &str) -> Result<Fields<'_>> {
    serde_json::from_str(text).map_err(|error| match serde_json::from_str(text) {
        Ok(value) if !text.trim_start().starts_with('{') => {
            Error::invalid(format!("arguments must be an object, found {}", found(Some(value))))
        }
        _ => Error::invalid(format!("arguments must be a JSON object, found text that is none: {error}")),
    })
}

fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

/// The field that holds the path, and the path.
fn path_of(fields: &Fields<'_>) -> Result<(&'static str, String)> {
    let given = |name: &str| fields.get(name).copied().filter(|value| !is_null(value));
    let name = ["path"].into_iter().chain(PATH_ALIASES).find(|name| given(name).is_some()).unwrap_or("path");
    match given(name).map(|value| (value, serde_json::from_str(value.get()))) {
        Some((_, Ok(path))) => Ok((name, path)),
        other => {
            Err(Error::invalid(format!("{name} must be a string, found {}", found(other.map(|(value, _)| value)))))
        }
    }
}

fn string(field: &str, value: &RawValue) -> Result<String> {
    serde_json::from_str(value.get())
        .map_err(|_| Error::invalid(format!("{field} must be a string, found {}", found(Some(value)))))
}

fn integer(field: &str, value: &RawValue) -> Result<u64> {
    let text = serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned());
    whole(text.trim())
        .ok_or_else(|| Error::invalid(format!("{field} must be a positive integer, found {}", found(Some(value)))))
}

/// A whole number in any way that JSON can write it, by its digits: through a float, `9007199254740993.0` would be another number.
fn whole(text: &str) -> Option<u64> {
    let is_number =
        text.starts_with(|first: char| first.is_ascii_digit()) && serde_json::from_str::<&RawValue>(text).is_ok();
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{integer}{fraction}");
    let digits = digits.trim_start_matches('0');
    let zeros = exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    match usize::try_from(zeros.unsigned_abs()).ok().filter(|_| is_number)? {
        _ if digits.is_empty() => Some(0),
        more if zeros >= 0 => format!("{digits}{}", "0".repeat(more.min(MAX_DIGITS))).parse().ok(),
        less => {
            let (whole, fraction) = digits.split_at(digits.len().checked_sub(less)?);
            fraction.bytes().all(|digit| digit == b'0').then(|| whole.parse().ok())?
        }
    }
}

/// More digits than 2⁶⁴ has, so that a number with as many zeros is over it, whatever it starts with.
const MAX_DIGITS: usize = 21;

fn found(value: Option<&RawValue>) -> String {
    let text = value.map_or("null", RawValue::get);
    match text.as_bytes().first() {
        _ if text == "null" => "nothing".to_owned(),
        Some(b'[') => "an array".to_owned(),
        Some(b'{') => "an object".to_owned(),
        Some(b'"') => serde_json::from_str::<String>(text)
            .map_or_else(|_| "text that is no Unicode".to_owned(), |text| format!("\"{}\"", Shown(&text))),
        _ => Shown(text).to_string(),
    }
}

impl ReadTool {
    /// Reads what the arguments of a tool call ask for: [`ReadRequest::from_json`], then [`call`](Self::call).
    ///
    /// [`answer`] makes a tool result of what comes back.
    pub fn call_json(&self, arguments: &Value, cancel: &dyn Cancel) -> Result<ReadOutput> {
        self.call_parsed(ReadRequest::from_json(arguments), cancel, &|_| {})
    }

    /// The same for arguments as text ([`ReadRequest::from_json_str`]), and tells how far the scan has come
    /// ([`call_with_progress`](Self::call_with_progress)).
    pub fn call_json_str(
        &self,
        arguments: &str,
        cancel: &dyn Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<ReadOutput> {
        self.call_parsed(ReadRequest::from_json_str(arguments), cancel, progress)
    }

    /// Reads what was parsed, or says what is wrong with it, as [`call`](Self::call) would: cancellation first, and what is known of
    /// the path. For an application that parses ([`ReadRequest::from_json_str`]) to see what is asked.
    pub fn call_parsed(
        &self,
        request: Result<ReadRequest>,
        cancel: &dyn Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<ReadOutput> {
        match request {
            Ok(request) => self.call_with_progress(&request, cancel, progress),
            Err(error) => {
                let input = error.input().map(PathBuf::from);
                trace::told(input.as_deref(), || Err(self.refuse(error, cancel)))
            }
        }
    }

    fn refuse(&self, error: Error, cancel: &dyn Cancel) -> Error {
        match Stop::new(cancel, None).check() {
            Ok(()) => self.tell_path(error),
            Err(stopped) => self.tell_path(error).because(stopped.kind().clone()),
        }
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
    value(&Answer(result))
}

impl ReadOutput {
    /// The facts of the window, as `structuredContent` has them.
    #[must_use]
    pub fn to_json(&self) -> Value {
        value(&Facts(self))
    }
}

/// Nothing here has keys that are no strings, which is all that could fail.
fn value(told: &impl Serialize) -> Value {
    serde_json::to_value(told).unwrap_or_default()
}

/// See [`answer`]. Written out without a [`Value`] between, which would cost more than the text itself.
pub(super) struct Answer<'a>(pub(super) &'a Result<ReadOutput>);

impl Serialize for Answer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(3))?;
        match self.0 {
            Ok(output) => {
                fields.serialize_entry("content", &[Text(&output.to_string())])?;
                fields.serialize_entry("structuredContent", &Facts(output))?;
            }
            Err(error) => {
                fields.serialize_entry("content", &[Text(&error.to_string())])?;
                fields.serialize_entry("structuredContent", &error.to_json())?;
            }
        }
        fields.serialize_entry("isError", &self.0.is_err())?;
        fields.end()
    }
}

/// A block of content.
pub(super) struct Text<'a>(pub(super) &'a str);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(2))?;
        fields.serialize_entry("type", "text")?;
        fields.serialize_entry("text", self.0)?;
        fields.end()
    }
}

struct Facts<'a>(&'a ReadOutput);

impl Serialize for Facts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Self(output) = self;
        let window = &output.window;
        let mut facts = serializer.serialize_map(Some(18))?;
        facts.serialize_entry("path", &output.path.to_string_lossy())?;
        facts.serialize_entry("startLine", &window.start_line)?;
        facts.serialize_entry("endLine", &window.end_line)?;
        facts.serialize_entry("totalLines", &window.total_lines)?;
        facts.serialize_entry("truncatedBy", &window.cut.map(name_of_cut))?;
        facts.serialize_entry("nextOffset", &window.next_offset())?;
        facts.serialize_entry("nextColumn", &window.next_column())?;
        facts.serialize_entry("bytes", &window.text.len())?;
        facts.serialize_entry("fileSize", &output.file_size)?;
        facts.serialize_entry("encoding", &window.encoding.to_ascii_lowercase())?;
        facts.serialize_entry("bom", &window.bom)?;
        facts.serialize_entry("replacements", &window.replacements)?;
        facts.serialize_entry("controls", &window.controls)?;
        facts.serialize_entry("lineEnds", &window.line_ends.map(name_of_ends))?;
        facts.serialize_entry("finalNewline", &window.final_newline)?;
        facts.serialize_entry("links", &output.links)?;
        facts.serialize_entry("version", &output.version.to_string())?;
        facts.serialize_entry("changedDuringRead", &window.changed_during_read)?;
        facts.end()
    }
}

fn name_of_cut(cut: Cut) -> &'static str {
    match cut {
        Cut::Limit => "limit",
        Cut::Lines => "lines",
        Cut::Bytes { .. } | Cut::Scan { .. } => "bytes",
    }
}

fn name_of_ends(ends: LineEnds) -> &'static str {
    match ends {
        LineEnds::Lf => "lf",
        LineEnds::CrLf => "crlf",
        LineEnds::Mixed => "mixed",
    }
}

impl Error {
    /// The facts of the failure, as `structuredContent` has them; `os` only where the operating system gave an error number, and
    /// `suggestions` only where there are some. Of a directory that could be listed, `entries` are at most 20 of its names and
    /// `moreEntries` how many it has beside them, or at least has where it is a very large one.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut facts = json!({"code": self.code(), "input": self.input().map(bounded), "path": self.path()});
        if let Some(errno) = self.raw_os_error() {
            facts["os"] = self.os_error_name().map_or_else(|| json!(errno), |name| json!(name));
        }
        if !self.suggestions().is_empty() {
            facts["suggestions"] = json!(self.suggestions());
        }
        if let Some(entries) = self.entries() {
            facts["entries"] = json!(entries.names);
            facts["moreEntries"] = json!(entries.more);
        }
        facts
    }
}

fn bounded(input: &str) -> String {
    if input.len() <= MAX_INPUT_BYTES { input.to_owned() } else { Shown(input).to_string() }
}
