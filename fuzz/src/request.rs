//! A model's arguments, against a strict reading of what is promised of them, directly and in a call of each form.
//!
//! An input is text: the arguments.

use std::fmt::Write;

use capread::{Message, ReadRequest, ReadTool, is_control};

use crate::frames::{Answer, Form, tool};
use crate::json;

/// Longest message: what it repeats of the arguments is shortened.
const MAX_MESSAGE_BYTES: usize = 2048;

/// No number that is at most 2⁶⁴ and not zero has so many digits before or behind its point, except zeros at its ends.
const MANY: i64 = 10_000;

/// What the arguments must be taken for. A number that must be positive and is zero is refused with the request or with the call.
type Expected = Option<ReadRequest>;

/// Reads one input directly and in each form.
pub fn check(input: &[u8]) {
    let Ok(arguments) = std::str::from_utf8(input) else { return };
    check_directly(arguments);
    let quoted = serde_json::to_string(arguments).expect("is text");
    check_forms(&quoted, read_text(arguments).is_none());
    // As they stand, where they are a value; a string is one that holds the arguments.
    if let Some(value) = json::value(arguments).filter(|value| !value.contains(['\n', '\r'])) {
        let held = json::text(value).unwrap_or_else(|| value.to_owned());
        check_forms(value, read_text(&held).is_none());
    }
}

/// A text that holds arguments: blank, it is none at all.
fn read_text(text: &str) -> Expected {
    if text.trim().is_empty() || text == "null" { None } else { read(text) }
}

fn check_directly(arguments: &str) {
    match (ReadRequest::from_json_str(arguments), read(arguments)) {
        (Ok(request), expected) => {
            let given = [request.offset, request.limit, request.column, request.tail];
            let positive = Some(request).filter(|_| !given.contains(&Some(0)));
            assert_eq!(positive, expected);
        }
        (Err(error), None) => {
            assert_eq!(error.code(), "invalid_argument");
            check_message(&error.to_string());
        }
        (Err(error), Some(request)) => panic!("{error} instead of {request:?}"),
    }
}

fn check_message(message: &str) {
    assert!(message.len() <= MAX_MESSAGE_BYTES, "{} bytes: {message}", message.len());
    assert!(!message.is_empty() && !message.contains('\n') && !message.chars().any(is_control), "{message:?}");
}

/// A call in each form has an answer in the same, which is an error where the arguments are wrong.
fn check_forms(arguments: &str, wrong: bool) {
    let tool: &ReadTool = tool();
    for (form, call) in [
        (Form::Plain, format!(r#"{{"id":1.50,"name":"read","arguments":{arguments}}}"#)),
        (Form::Anthropic, format!(r#"{{"type":"tool_use","id":1.50,"name":"read","input":{arguments}}}"#)),
        (Form::Chat, format!(r#"{{"id":1.50,"function":{{"name":"read","arguments":{arguments}}}}}"#)),
        (
            Form::Responses,
            format!(r#"{{"type":"function_call","call_id":1.50,"name":"read","arguments":{arguments}}}"#),
        ),
        (Form::Gemini, format!(r#"{{"functionCall":{{"id":1.50,"name":"read","args":{arguments}}}}}"#)),
    ] {
        let Message::Call(parsed) = Message::parse(&call) else { panic!("is no cancelling: {call}") };
        assert_eq!(parsed.id(), Some("1.50"), "{call}");
        let answer = Answer::parse(&parsed.run(tool, &|| false));
        assert_eq!((answer.form, answer.id.as_str()), (form, "1.50"), "{call}");
        if let Some(code) = &answer.code {
            assert!(!wrong || code == "invalid_argument", "{code} for {call}");
            check_message(&answer.text);
        }
        assert!(!wrong || answer.is_error != Some(false), "{answer:?} for {call}");
    }
}

fn read(arguments: &str) -> Expected {
    let fields: Vec<_> = json::object(arguments)?.into_iter().filter(|(_, value)| *value != "null").collect();
    let given = |name: &&str| json::field(&fields, name).is_some();
    let path_field = ["path", "file_path", "filePath", "file"].into_iter().find(given)?;
    let mut request = ReadRequest::new(json::text(json::field(&fields, path_field)?)?);
    for (name, value) in fields.iter().filter(|(name, _)| name != path_field) {
        match name.as_str() {
            "offset" => request.offset = Some(positive(value)?),
            "limit" => request.limit = Some(positive(value)?),
            "column" => request.column = Some(positive(value)?),
            "tail" => request.tail = Some(positive(value)?),
            "if_version" => request.if_version = Some(json::text(value)?),
            _ => return None,
        }
    }
    Some(request)
}

/// A positive whole number up to 2⁶⁴ − 1, or a string of one.
fn positive(value: &str) -> Option<u64> {
    let text = json::text(value).unwrap_or_else(|| value.to_owned());
    let text = text.trim();
    if text.starts_with('-') || json::number_end(text)? != text.len() {
        return None;
    }
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    // So far off that no digit of an input could make up for it.
    let exponent = exponent
        .parse::<i64>()
        .map_or(if exponent.starts_with('-') { -MANY } else { MANY }, |exponent| exponent.clamp(-MANY, MANY));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // All digits with so many zeros around them that the point is somewhere inside, wherever it is moved.
    let mut digits = "0".repeat(usize::try_from(MANY).expect("fits"));
    write!(digits, "{whole}{fraction}{}", &digits.clone()).expect("is text");
    let point = MANY + i64::try_from(whole.len()).expect("fits") + exponent;
    let (whole, fraction) = digits.split_at(usize::try_from(point).expect("is inside"));
    let whole = whole.trim_start_matches('0');
    fraction.bytes().all(|digit| digit == b'0').then(|| whole.parse().ok())?
}
