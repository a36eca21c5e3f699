//! Bytes on standard input, against what each line must be answered with.
//!
//! An input is what comes in, and goes to the loops of `capread jsonl` and `capread mcp` alike, which the target has in itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use capread::{ReadTool, Root};

use crate::json;

/// Reads the dictionaries, which are always there.
#[must_use]
pub fn tool() -> &'static ReadTool {
    static TOOL: LazyLock<ReadTool> = LazyLock::new(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("dictionaries");
        ReadTool::new(Root::open_ambient(root).expect("the folder of this crate"))
    });
    &TOOL
}

/// Whose form an answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "their names")]
pub enum Form {
    Plain,
    Anthropic,
    Chat,
    Responses,
    Gemini,
}

/// An answer of `jsonl`, taken apart.
#[derive(Debug)]
#[expect(missing_docs, reason = "their names")]
pub struct Answer {
    pub form: Form,
    pub id: String,
    pub text: String,
    /// Where the form tells.
    pub is_error: Option<bool>,
    pub code: Option<String>,
}

impl Answer {
    /// Panics where the line is no answer in any form, with these fields and no others.
    #[must_use]
    pub fn parse(line: &str) -> Self {
        assert!(!line.contains('\n'), "an answer is one line: {line}");
        let fields = json::object(line).unwrap_or_else(|| panic!("is no object: {line}"));
        let names: BTreeSet<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        let field = |name: &str| json::field(&fields, name).unwrap_or_else(|| panic!("{name} in {line}"));
        let is = |expected: &[&str]| names.iter().eq(expected.iter().collect::<BTreeSet<_>>());
        let text = |value: &str| json::text(value).unwrap_or_else(|| panic!("a string in {line}"));
        let block = |value: &str| {
            let block = value.strip_prefix('[').and_then(|value| value.strip_suffix(']')).and_then(json::object);
            let block = block.unwrap_or_else(|| panic!("one block in {line}"));
            assert_eq!((block.len(), json::field(&block, "type")), (2, Some(r#""text""#)), "{line}");
            text(json::field(&block, "text").unwrap_or_default())
        };
        let truth = |name: &str| Some(field(name) == "true").filter(|truth| field(name) == truth.to_string());
        let answer = |form, id: &str, text, is_error| Self { form, id: id.to_owned(), text, is_error, code: None };
        if is(&["id", "content", "structuredContent", "isError"]) {
            let facts = json::object(field("structuredContent")).unwrap_or_else(|| panic!("facts in {line}"));
            let code = json::field(&facts, "code").map(text);
            let is_error = truth("isError");
            assert_eq!(is_error, Some(code.is_some()), "{line}");
            return Self { code, ..answer(Form::Plain, field("id"), block(field("content")), is_error) };
        }
        let answer = if is(&["type", "tool_use_id", "content", "is_error"]) {
            assert_eq!(field("type"), r#""tool_result""#);
            let is_error = truth("is_error");
            assert!(is_error.is_some(), "{line}");
            answer(Form::Anthropic, field("tool_use_id"), block(field("content")), is_error)
        } else if is(&["role", "tool_call_id", "content"]) {
            assert_eq!(field("role"), r#""tool""#);
            answer(Form::Chat, field("tool_call_id"), text(field("content")), None)
        } else if is(&["type", "call_id", "output"]) {
            assert_eq!(field("type"), r#""function_call_output""#);
            answer(Form::Responses, field("call_id"), text(field("output")), None)
        } else {
            assert!(is(&["functionResponse"]), "has no known form: {line}");
            let inner = json::object(field("functionResponse")).unwrap_or_else(|| panic!("an object in {line}"));
            let response = json::field(&inner, "response").and_then(json::object).unwrap_or_default();
            let [(key, said)] = response.as_slice() else { panic!("one response in {line}") };
            assert!(key == "output" || key == "error", "{line}");
            answer(Form::Gemini, json::field(&inner, "id").unwrap_or("null"), text(said), Some(key == "error"))
        };
        assert!(!answer.text.trim().is_empty(), "a provider is given blank text: {line}");
        answer
    }
}

/// How often each answer is expected or came.
type Counts<T> = BTreeMap<T, usize>;

fn count<T: Ord>(items: impl IntoIterator<Item = T>) -> Counts<T> {
    items.into_iter().fold(Counts::new(), |mut counts, item| {
        *counts.entry(item).or_default() += 1;
        counts
    })
}

/// The lines that are not passed over. Some programs put a byte order mark in front.
fn lines(input: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = input.split(|byte| *byte == b'\n').map(|line| line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line));
    lines.filter(|line| !line.trim_ascii().is_empty())
}

fn answers(output: &[u8]) -> impl Iterator<Item = &str> {
    let output = std::str::from_utf8(output).expect("answers are UTF-8");
    assert!(output.is_empty() || output.ends_with('\n'), "the last answer is a whole line");
    output.split_terminator('\n')
}

/// Checks what `jsonl` has answered to an input.
pub fn check_jsonl(input: &[u8], output: &[u8]) {
    let answers: Vec<_> = answers(output).map(Answer::parse).collect();
    let expected = count(lines(input).filter_map(expected));
    assert_eq!(count(answers.iter().map(|answer| (answer.form, answer.id.clone()))), expected);
    let cancels = lines(input).filter(|line| is_cancelling(line)).count();
    let cancelled = answers.iter().any(|answer| answer.code.as_deref() == Some("cancelled"));
    assert!(cancels > 0 || !cancelled, "nobody has cancelled anything");
}

fn is_cancelling(line: &[u8]) -> bool {
    let fields = message(line).unwrap_or_default();
    matches!(fields.as_slice(), [(name, _)] if name == "cancel")
}

/// Form and id of the answer to a line; `None` where silence is the answer.
fn expected(line: &[u8]) -> Option<(Form, String)> {
    let Some(fields) = message(line) else { return Some((Form::Plain, "null".to_owned())) };
    if is_cancelling(line) {
        return None;
    }
    let get = |name: &str| json::field(&fields, name);
    let inner = |name: &str| get(name).and_then(json::object);
    let call = |form, id: Option<&str>, name: Option<&str>| {
        name.and_then(json::text).map(|_| (form, id.map_or("null".to_owned(), as_it_comes_back)))
    };
    let nested = inner("functionCall").unwrap_or_default();
    let of_type = |kind: &str| get("type").and_then(json::text).is_some_and(|own| own == kind);
    let recognised = if of_type("tool_use") {
        call(Form::Anthropic, get("id"), get("name"))
    } else if of_type("function_call") {
        call(Form::Responses, get("call_id"), get("name"))
    } else if let Some(function) = inner("function") {
        call(Form::Chat, get("id"), json::field(&function, "name"))
    } else if inner("functionCall").is_some() {
        call(Form::Gemini, json::field(&nested, "id"), json::field(&nested, "name"))
    } else {
        call(Form::Plain, get("id"), get("name"))
    };
    recognised.or_else(|| {
        let id = get("call_id").or_else(|| get("id")).or_else(|| json::field(&nested, "id"));
        Some((Form::Plain, id.map_or("null".to_owned(), as_it_comes_back)))
    })
}

/// An id is given back as it was written, except that a break in its lines would break the answer's.
fn as_it_comes_back(id: &str) -> String {
    if !id.contains('\r') {
        return id.to_owned();
    }
    serde_json::from_str::<serde_json::Value>(id).map_or_else(|_| "null".to_owned(), |id| id.to_string())
}

/// What a message of the Model Context Protocol is known by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Id {
    None,
    Number(i64),
    Text(String),
}

impl Id {
    fn parse(value: &str) -> Option<Self> {
        // A whole number may be written with a point or an exponent, as long as a float is exact there.
        let is_exact = |number: &f64| number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
        let float = || value.parse().ok().filter(is_exact).and_then(|number: f64| format!("{number:.0}").parse().ok());
        let is_number = json::number_end(value) == Some(value.len());
        let number = || value.parse().ok().or_else(float).filter(|_| is_number).map(Self::Number);
        json::text(value).map(Self::Text).or_else(number)
    }
}

/// Checks what `mcp` has answered to an input.
pub fn check_mcp(input: &[u8], output: &[u8]) {
    let expected = count(lines(input).filter_map(expected_id));
    let cancelled: BTreeSet<Id> = lines(input).filter_map(cancelled).collect();
    let has_token = input.windows(13).any(|window| window == b"progressToken") || input.contains(&b'\\');
    let came = count(answers(output).filter_map(|line| {
        let fields = json::object(line).unwrap_or_else(|| panic!("is no object: {line}"));
        assert_eq!(json::field(&fields, "jsonrpc"), Some(r#""2.0""#), "{line}");
        if json::field(&fields, "method").is_some() {
            assert!(has_token, "nobody has asked for {line}");
            return None;
        }
        check_response(line, &fields);
        Some(json::field(&fields, "id").filter(|id| *id != "null").map_or(Id::None, |id| Id::parse(id).expect("an id")))
    }));
    for id in expected.keys().chain(came.keys()) {
        let [expected, came] = [&expected, &came].map(|counts| counts.get(id).copied().unwrap_or_default());
        let is_right = came == expected || (came < expected && cancelled.contains(id));
        assert!(is_right, "{came} answers to {expected} messages with the id {id:?}");
    }
}

fn check_response(line: &str, fields: &[(String, &str)]) {
    let [result, error] = ["result", "error"].map(|name| json::field(fields, name).map(json::object));
    match (result, error) {
        (None, Some(Some(error))) => {
            let code = json::field(&error, "code").and_then(|code| code.parse::<i64>().ok());
            assert!(code.is_some_and(|code| (-32700..=-32000).contains(&code)), "{line}");
            assert!(json::field(&error, "message").and_then(json::text).is_some(), "{line}");
        }
        (Some(Some(result)), None) => {
            let Some(content) = json::field(&result, "content") else { return };
            let block = content.strip_prefix('[').and_then(|content| content.strip_suffix(']')).and_then(json::object);
            let text = block.and_then(|block| json::text(json::field(&block, "text")?));
            assert!(text.is_some_and(|text| !text.trim().is_empty()), "{line}");
        }
        _ => panic!("is neither a result nor an error: {line}"),
    }
}

/// The fields of a message, unless it is no object.
fn message(line: &[u8]) -> Option<Vec<(String, &str)>> {
    json::object(std::str::from_utf8(line).ok()?)
}

/// The id of the answer to a line; `None` where silence is the answer.
fn expected_id(line: &[u8]) -> Option<Id> {
    let Some(fields) = message(line) else { return Some(Id::None) };
    let get = |name: &str| json::field(&fields, name);
    let id = match get("id").map(Id::parse) {
        Some(None) => return Some(Id::None),
        Some(Some(id)) => Some(id),
        None => None,
    };
    let is_response = get("result").is_some() || get("error").is_some();
    let is_silent = match (get("method"), is_response) {
        (None, true) => true,
        (Some(_), false) => id.is_none(),
        _ => false,
    };
    (get("jsonrpc") != Some(r#""2.0""#) || !is_silent).then(|| id.unwrap_or(Id::None))
}

/// The request that a line may cancel.
fn cancelled(line: &[u8]) -> Option<Id> {
    let fields = message(line)?;
    let params = json::object(json::field(&fields, "params")?)?;
    let is_cancelling = json::text(json::field(&fields, "method")?)? == "notifications/cancelled";
    Id::parse(json::field(&params, "requestId")?).filter(|_| is_cancelling)
}
