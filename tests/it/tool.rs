//! The tool as programs and models call it: typed, as JSON, and in the forms of the providers.

use std::thread;

use capread::{
    Cancel, Definition, Error, Format, Limits, Message, ReadOutput, ReadRequest, ReadTool, Root, ToolCall, Window,
    answer,
};
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Tree, assert_fails};

const NEVER: fn() -> bool = || false;

/// The file of the contract's example: 4 lines, 27 bytes.
fn notes() -> Tree {
    Tree::new(&["notes.txt = line 1\nline 2\nline 3\nline 4", "empty = ", "blank = 1\n2\n\n\n5\n6\n7\n8\n9\n", "d/"])
}

fn call(tree: &Tree, arguments: &Value) -> Value {
    answer(&tree.tool().call_json(arguments, &NEVER))
}

/// The parts of a call make the answer that the whole one makes.
#[test]
fn a_call_can_be_taken_apart() {
    let tree = notes();
    let tool = tree.tool();
    for line in [
        r#"{"id":1.0,"name":"read","arguments":{"path":"notes.txt","limit":1}}"#,
        r#"{"functionCall":{"name":"read","args":{"path":"../x"}}}"#,
        r#"{"type":"tool_use","id":"t","name":"write","input":{"path":"notes.txt"}}"#,
        "no call",
    ] {
        let call = || match Message::parse(line) {
            Message::Call(call) => call,
            Message::Cancel { .. } => panic!("{line}"),
        };
        let (request, reply) = call().into_parts();
        assert_eq!(reply.id(), call().id());
        assert_eq!(reply.name(), if line.contains("write") { "write" } else { "read" });
        let result = tool.call_parsed(request, &NEVER, &|_| {});
        assert_eq!(reply.answer(&result), call().run(&tool, &NEVER));
    }
}

#[test]
fn answers_with_the_shape_of_the_contract() {
    let tree = notes();
    let version = tree.root().open("notes.txt").unwrap().version().to_string();
    assert_eq!(
        call(&tree, &json!({"path": "notes.txt", "offset": 2, "limit": 2})),
        json!({
            "content": [{"type": "text", "text": "line 2\nline 3\n\n[1 more lines in file. Use offset=4 to continue.]"}],
            "structuredContent": {
                "path": "notes.txt", "startLine": 2, "endLine": 3, "totalLines": 4, "truncatedBy": "limit", "nextOffset": 4,
                "nextColumn": null, "bytes": 13, "fileSize": 27, "encoding": "utf-8", "bom": false, "replacements": 0, "controls": 0, "lineEnds": "lf",
                "finalNewline": false, "links": 1, "version": version, "changedDuringRead": false,
            },
            "isError": false,
        })
    );
    assert_eq!(
        call(&tree, &json!({"path": "a/../../x"})),
        json!({
            "content": [{"type": "text", "text": "Path is outside the allowed root: a/../../x (resolves to ../x)"}],
            "structuredContent": {"code": "outside_root", "input": "a/../../x", "path": "../x"},
            "isError": true,
        })
    );
    assert_eq!(
        call(&tree, &json!({"path": "./nope//x"})),
        json!({
            "content": [{"type": "text", "text": "File does not exist: nope/x"}],
            "structuredContent": {"code": "not_found", "input": "./nope//x", "path": "nope/x", "os": "ENOENT"},
            "isError": true,
        })
    );
    assert_eq!(
        call(&tree, &json!({"path": "notes.txt/x"}))["structuredContent"],
        json!({"code": "not_found", "input": "notes.txt/x", "path": "notes.txt/x", "os": "ENOTDIR"})
    );
    assert_eq!(
        call(&tree, &json!({"path": "/etc/passwd"}))["structuredContent"],
        json!({"code": "outside_root", "input": "/etc/passwd", "path": null})
    );
    assert_eq!(
        call(&tree, &json!({"path": "d/"})),
        json!({
            "content": [{"type": "text", "text": "Not a regular file: d (directory)"}],
            "structuredContent": {
                "code": "not_a_file", "input": "d/", "path": "d", "entries": [], "moreEntries": 0,
            },
            "isError": true,
        })
    );
}

#[test]
fn tells_the_facts_of_a_window() {
    let tree = Tree::new(&["f = \u{feff}a\r\n\u{1b}b\nc", "h => f"]);
    tree.file("g", b"\xff\n\xff");
    let tool = tree.tool().with_limits(Limits::default().max_lines(2).unwrap().max_bytes(4).unwrap());
    let facts = |arguments: Value| tool.call_json(&arguments, &NEVER).unwrap().to_json();
    let version = tree.root().open("f").unwrap().version().to_string();
    assert_eq!(
        facts(json!({"path": "./d/../f"})),
        json!({
            "path": "f", "startLine": 1, "endLine": 1, "totalLines": 3, "truncatedBy": "bytes", "nextOffset": 2,
            "nextColumn": null, "bytes": 2,
            "fileSize": 10, "encoding": "utf-8", "bom": true, "replacements": 0, "controls": 0, "lineEnds": "crlf",
            "finalNewline": false, "links": 2, "version": version, "changedDuringRead": false,
        })
    );
    let second = facts(json!({"path": "f", "offset": 2}));
    for (field, value) in [
        ("bytes", json!(4)),
        ("controls", json!(1)),
        ("lineEnds", json!("lf")),
        ("truncatedBy", json!(null)),
        ("nextOffset", json!(null)),
    ] {
        assert_eq!(second[field], value, "{field} of {second}");
    }
    let broken = facts(json!({"path": "g"}));
    assert_eq!((&broken["replacements"], &broken["bytes"], &broken["fileSize"]), (&json!(1), &json!(3), &json!(3)));
    let by_lines = tree.tool().with_limits(Limits::default().max_lines(2).unwrap());
    assert_eq!(by_lines.call_json(&json!({"path": "f"}), &NEVER).unwrap().to_json()["truncatedBy"], "lines");
    assert_eq!(by_lines.call_json(&json!({"path": "f"}), &NEVER).unwrap().to_json()["lineEnds"], "mixed");
}

#[test]
fn an_empty_file_starts_at_1_and_ends_at_0() {
    let result = call(&notes(), &json!({"path": "empty"}));
    assert_eq!(result["content"], json!([{"type": "text", "text": ""}]));
    let facts = &result["structuredContent"];
    assert_eq!(
        (&facts["startLine"], &facts["endLine"], &facts["totalLines"], &facts["lineEnds"], &facts["finalNewline"]),
        (&json!(1), &json!(0), &json!(0), &json!(null), &json!(false))
    );
}

#[rstest]
#[case("10", Some(10))]
#[case("10.0", Some(10))]
#[case("1e1", Some(10))]
#[case("1E+1", Some(10))]
#[case("100e-1", Some(10))]
#[case(r#""10""#, Some(10))]
#[case(r#""10.0""#, Some(10))]
#[case(r#""1e1""#, Some(10))]
#[case("1", Some(1))]
#[case("9007199254740993", Some(9_007_199_254_740_993))]
#[case("1e19", Some(10_000_000_000_000_000_000))]
#[case("18446744073709551615", Some(u64::MAX))]
#[case(r#""18446744073709551615""#, Some(u64::MAX))]
#[case("null", None)]
fn takes_whole_numbers_as_models_write_them(#[case] number: &str, #[case] expected: Option<u64>) {
    let number: Value = serde_json::from_str(number).unwrap();
    let request = ReadRequest::from_json(&json!({"path": "f", "offset": number})).unwrap();
    assert_eq!((request.offset, request.limit), (expected, None));
    let request = ReadRequest::from_json(&json!({"path": "f", "limit": number})).unwrap();
    assert_eq!((request.offset, request.limit), (None, expected));
}

#[rstest]
#[case("2.5", "2.5")]
#[case("-1", "-1")]
#[case("-1.0", "-1.0")]
#[case("0.1", "0.1")]
#[case("true", "true")]
#[case("false", "false")]
#[case("1e20", "1e+20")]
#[case("-9223372036854775808", "-9223372036854775808")]
#[case(r#""ten""#, r#""ten""#)]
#[case(r#""""#, r#""""#)]
#[case(r#"" ""#, r#"" ""#)]
#[case(r#""2.5""#, r#""2.5""#)]
#[case(r#""-1""#, r#""-1""#)]
#[case(r#""1e20""#, r#""1e20""#)]
#[case(r#""1e999""#, r#""1e999""#)]
#[case(r#""18446744073709551616""#, r#""18446744073709551616""#)]
#[case(r#""0x10""#, r#""0x10""#)]
#[case(r#""10 20""#, r#""10 20""#)]
#[case(r#""NaN""#, r#""NaN""#)]
#[case(r#""Infinity""#, r#""Infinity""#)]
#[case(r#""true""#, r#""true""#)]
#[case(r#""null""#, r#""null""#)]
#[case(r#""1\n\u001b[2J""#, r#""1\n\u{1b}[2J""#)]
#[case("[10]", "an array")]
#[case("[]", "an array")]
#[case(r#"{"value": 10}"#, "an object")]
fn refuses_what_is_no_whole_number(#[case] number: &str, #[case] found: &str) {
    let number: Value = serde_json::from_str(number).unwrap();
    for field in ["offset", "limit"] {
        // Even where the path would be refused too.
        for path in ["f", "../x"] {
            let error = notes().tool().call_json(&json!({"path": path, field: number}), &NEVER).unwrap_err();
            assert_eq!(error.code(), "invalid_argument");
            assert_eq!(error.to_string(), format!("{field} must be a positive integer, found {found}"));
            assert_eq!(error.input(), Some(path));
        }
    }
}

/// Told by its digits or rounded, as `serde_json` keeps it: that depends on what else is built with it.
#[test]
fn refuses_two_to_the_64th() {
    let number: Value = serde_json::from_str("18446744073709551616").unwrap();
    let error = notes().tool().call_json(&json!({"path": "f", "limit": number}), &NEVER).unwrap_err();
    assert_eq!(error.to_string(), format!("limit must be a positive integer, found {number}"));
    assert!(["1.8446744073709552e+19", "18446744073709551616"].contains(&number.to_string().as_str()), "{number}");
}

#[rstest]
#[case(json!(0))]
#[case(json!(0.0))]
#[case(json!("0"))]
fn refuses_zero(#[case] zero: Value) {
    for field in ["offset", "limit"] {
        for path in ["notes.txt", "../x", "nope"] {
            let result = notes().tool().call_json(&json!({"path": path, field: zero}), &NEVER);
            assert_fails(result, "invalid_argument", &format!("{field} must be a positive integer"));
        }
    }
}

#[test]
fn no_number_is_too_large_to_read_with() {
    let tree = notes();
    let huge =
        |offset: u64, limit: u64| tree.tool().call(&ReadRequest::new("notes.txt").offset(offset).limit(limit), &NEVER);
    for offset in [5, 1 << 32, 1 << 63, u64::MAX - 1, u64::MAX] {
        let message = format!("Offset {offset} is beyond end of file (4 lines total)");
        assert_fails(huge(offset, u64::MAX), "offset_beyond_end", &message);
        assert_fails(
            tree.tool().call_json(&json!({"path": "notes.txt", "offset": offset, "limit": u64::MAX}), &NEVER),
            "offset_beyond_end",
            &message,
        );
    }
    assert_eq!(huge(3, u64::MAX).unwrap().to_string(), "line 3\nline 4");
    let most = Limits::default().max_lines(u64::MAX).unwrap().max_bytes(u64::MAX).unwrap();
    let tool = tree.tool().with_limits(most);
    assert_eq!(tool.call(&ReadRequest::new("notes.txt").offset(4), &NEVER).unwrap().to_string(), "line 4");
}

#[rstest]
#[case("encoding", json!("gbk"), "\"gbk\"")]
#[case("Path", json!("f"), "\"f\"")]
#[case("offset ", json!(1), "1")]
#[case("", json!([]), "an array")]
#[case("a\u{1b}", json!({}), "an object")]
fn refuses_fields_that_it_does_not_know(#[case] field: &str, #[case] value: Value, #[case] found: &str) {
    let error = ReadRequest::from_json(&json!({"path": "notes.txt", field: value})).unwrap_err();
    assert_eq!((error.code(), error.input()), ("invalid_argument", Some("notes.txt")));
    let message = error.to_string();
    let name = field.escape_debug().to_string();
    assert!(message.starts_with(&format!("unknown field {name}, found {found} ")), "{message}");
    // Absent is absent, as strict mode writes it.
    assert_eq!(ReadRequest::from_json(&json!({"path": "f", field: null})).unwrap(), ReadRequest::new("f"));
}

#[rstest]
#[case(json!({}), "path must be a string, found nothing")]
#[case(json!({"path": null}), "path must be a string, found nothing")]
#[case(json!({"offset": 1}), "path must be a string, found nothing")]
#[case(json!({"path": 5}), "path must be a string, found 5")]
#[case(json!({"path": true}), "path must be a string, found true")]
#[case(json!({"path": ["f"]}), "path must be a string, found an array")]
#[case(json!({"path": {}}), "path must be a string, found an object")]
#[case(json!({"file_path": 5}), "file_path must be a string, found 5")]
#[case(json!({"path": ""}), "path must not be empty")]
#[case(json!({"file": ""}), "path must not be empty")]
#[case(json!({"path": "a\0b"}), "path must not contain a NUL byte")]
#[case(json!([]), "arguments must be an object, found an array")]
#[case(json!("notes.txt"), "arguments must be an object, found \"notes.txt\"")]
#[case(json!(7), "arguments must be an object, found 7")]
#[case(json!(null), "arguments must be an object, found nothing")]
fn refuses_arguments_without_a_path(#[case] arguments: Value, #[case] message: &str) {
    assert_fails(notes().tool().call_json(&arguments, &NEVER), "invalid_argument", message);
}

#[rstest]
#[case("file_path")]
#[case("filePath")]
#[case("file")]
fn takes_the_names_of_other_tools_for_a_path_that_is_absent(#[case] alias: &str) {
    let expected = ReadRequest::new("f").limit(3);
    assert_eq!(ReadRequest::from_json(&json!({alias: "f", "limit": 3})).unwrap(), expected);
    assert_eq!(ReadRequest::from_json(&json!({alias: "f", "limit": 3, "path": null})).unwrap(), expected);
    let error = ReadRequest::from_json(&json!({alias: "g", "path": "f"})).unwrap_err();
    assert_eq!(error.code(), "invalid_argument");
    assert!(error.to_string().contains(alias) && error.to_string().contains("\"g\""), "{error}");
}

#[test]
fn does_not_choose_between_two_other_names() {
    for (one, other) in [("file_path", "filePath"), ("file_path", "file"), ("filePath", "file")] {
        let error = ReadRequest::from_json(&json!({one: "f", other: "g"})).unwrap_err();
        assert_eq!(error.code(), "invalid_argument");
        assert!(error.to_string().contains("unknown field"), "{error}");
    }
}

#[rstest]
#[case::empty("", "[File is empty.]")]
#[case::mark_only("\u{feff}", "[File is empty.]")]
#[case::one_empty_line("\n", "[Lines 1-1 of 1 are empty.]")]
#[case::empty_lines("\n\n\n", "[Lines 1-3 of 3 are empty.]")]
#[case::lines_of_spaces("  \n\t\n", "  \n\t\n\n[Lines 1-2 of 2 are empty.]")]
#[case::lines_of_windows("\r\n\r\n", "\r\n\r\n\n[Lines 1-2 of 2 are empty.]")]
#[case::text("one\n", "one")]
#[case::text_among_empty_lines("\n\none\n\n", "\n\none\n")]
#[case::text_like_a_note("[File is empty.]", "[File is empty.]")]
fn the_text_for_a_model_is_never_blank(#[case] file: &str, #[case] text: &str) {
    let tree = Tree::new(&[]);
    tree.file("f", file.as_bytes());
    let output = tree.tool().call(&ReadRequest::new("f"), &NEVER).unwrap();
    assert_eq!(output.to_model_text(), text);
    assert!(!output.to_model_text().trim().is_empty());
    assert_eq!(output.to_string(), output.window.text);
}

#[test]
fn a_window_of_empty_lines_is_told_by_its_numbers_and_goes_on() {
    let tree = notes();
    let tool = tree.tool();
    let text = |request: ReadRequest| tool.call(&request, &NEVER).unwrap().to_model_text();
    let blank = || ReadRequest::new("blank").offset(3);
    let hint = |left: u64, next: u64| format!("\n\n[{left} more lines in file. Use offset={next} to continue.]");
    assert_eq!(text(blank().limit(2)), "[Lines 3-4 of 9 are empty.]".to_owned() + &hint(5, 5));
    assert_eq!(text(blank().limit(1)), "[Lines 3-3 of 9 are empty.]".to_owned() + &hint(6, 4));
    assert_eq!(text(blank().limit(3)), "\n\n5".to_owned() + &hint(4, 6));
}

/// A call in each form, with these arguments, and the answer in it.
fn forms(arguments: &Value, text: &str, plain: Value) -> Vec<(Value, Value)> {
    let is_error = plain["isError"].clone();
    let with_id = |mut plain: Value| {
        plain["id"] = json!(1);
        plain
    };
    let key = if is_error == json!(true) { "error" } else { "output" };
    vec![
        (json!({"id": 1, "name": "read", "arguments": arguments}), with_id(plain)),
        (
            json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": arguments}),
            json!({
                "type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": text}], "is_error": is_error,
            }),
        ),
        (
            json!({"id": "call_1", "type": "function", "function": {"name": "read", "arguments": arguments}}),
            json!({"role": "tool", "tool_call_id": "call_1", "content": text}),
        ),
        (
            json!({"type": "function_call", "call_id": "c", "name": "read", "arguments": arguments}),
            json!({"type": "function_call_output", "call_id": "c", "output": text}),
        ),
        (
            json!({"functionCall": {"id": "x", "name": "read", "args": arguments}}),
            json!({"functionResponse": {"id": "x", "name": "read", "response": {key: text}}}),
        ),
        (
            json!({"functionCall": {"name": "read", "args": arguments}}),
            json!({"functionResponse": {"name": "read", "response": {key: text}}}),
        ),
    ]
}

#[track_caller]
fn parsed(message: &Value) -> ToolCall {
    match Message::parse(&message.to_string()) {
        Message::Call(call) => call,
        Message::Cancel { id } => panic!("{message} cancels {id}"),
    }
}

#[track_caller]
fn answered(call: ToolCall, tool: &ReadTool, cancel: &dyn Cancel) -> Value {
    let answer = call.run(tool, cancel);
    assert!(!answer.contains('\n'), "{answer}");
    serde_json::from_str(&answer).unwrap()
}

#[track_caller]
fn run(tool: &ReadTool, message: &Value) -> Value {
    answered(parsed(message), tool, &NEVER)
}

#[test]
fn answers_each_form_in_its_own() {
    let tree = notes();
    let tool = tree.tool();
    for (arguments, text) in [
        (
            json!({"path": "notes.txt", "offset": 2, "limit": 2}),
            "line 2\nline 3\n\n[1 more lines in file. Use offset=4 to continue.]",
        ),
        (json!({"path": "notes.txt", "offset": 4, "limit": null}), "line 4"),
        (json!({"path": "a/../../x"}), "Path is outside the allowed root: a/../../x (resolves to ../x)"),
        (json!({"path": "nope"}), "File does not exist: nope"),
        (json!({"path": "d"}), "Not a regular file: d (directory)"),
        (json!({"path": "notes.txt", "offset": 9}), "Offset 9 is beyond end of file (4 lines total)"),
        (json!({"path": "notes.txt", "offset": 2.5}), "offset must be a positive integer, found 2.5"),
        (json!({}), "path must be a string, found nothing"),
    ] {
        let plain = call(&tree, &arguments);
        assert_eq!(plain["content"][0]["text"], text);
        for written in [arguments.clone(), json!(arguments.to_string())] {
            for (message, answer) in forms(&written, text, plain.clone()) {
                assert_eq!(run(&tool, &message), answer, "{message}");
            }
        }
    }
}

#[test]
fn only_the_plain_form_may_have_a_blank_text() {
    let tree = notes();
    let arguments = json!({"path": "empty"});
    for (message, answer) in forms(&arguments, "[File is empty.]", call(&tree, &arguments)) {
        assert_eq!(run(&tree.tool(), &message), answer, "{message}");
    }
    let arguments = json!({"path": "blank", "offset": 3, "limit": 2});
    let text = "[Lines 3-4 of 9 are empty.]\n\n[5 more lines in file. Use offset=5 to continue.]";
    let plain = call(&tree, &arguments);
    assert_eq!(plain["content"][0]["text"], "\n\n\n[5 more lines in file. Use offset=5 to continue.]");
    for (message, answer) in forms(&arguments, text, plain) {
        assert_eq!(run(&tree.tool(), &message), answer, "{message}");
    }
}

/// Takes the text out of an answer in any form.
#[track_caller]
fn take_text(answer: &mut Value) -> String {
    let places = [
        "/content/0/text",
        "/content",
        "/output",
        "/functionResponse/response/error",
        "/functionResponse/response/output",
    ];
    let place = places.iter().find(|place| answer.pointer(place).is_some_and(Value::is_string));
    match place.and_then(|place| answer.pointer_mut(place)).map(Value::take) {
        Some(Value::String(text)) => text,
        _ => panic!("{answer} has no text"),
    }
}

/// Asserts that an answer is `expected` but for its text, and returns that.
#[track_caller]
fn text_beside(mut answer: Value, mut expected: Value) -> String {
    let text = take_text(&mut answer);
    take_text(&mut expected);
    assert_eq!(answer, expected);
    text
}

fn refusal(message: &str) -> Value {
    json!({
        "content": [{"type": "text", "text": message}],
        "structuredContent": {"code": "invalid_argument", "input": null, "path": null},
        "isError": true,
    })
}

#[test]
fn answers_arguments_that_are_no_object() {
    let tool = notes().tool();
    for (arguments, text) in [
        (json!(""), "path must be a string, found nothing"),
        (json!(" "), "path must be a string, found nothing"),
        (json!(null), "path must be a string, found nothing"),
        (json!("[1]"), "arguments must be an object, found an array"),
        (json!("\"notes.txt\""), "arguments must be an object, found \"notes.txt\""),
        (json!([1]), "arguments must be an object, found an array"),
        (json!(5), "arguments must be an object, found 5"),
        (json!("{\"path\": \"\\ud800\"}"), "path must be a string, found text that is no Unicode"),
    ] {
        for (message, answer) in forms(&arguments, text, refusal(text)) {
            assert_eq!(run(&tool, &message), answer, "{message}");
        }
    }
    for broken in ["{\"path\": \"notes.txt\"", "{path: 1}", "{\"path\": \"a\"} x", "nonsense"] {
        for (message, answer) in forms(&json!(broken), "", refusal("")) {
            let text = text_beside(run(&tool, &message), answer);
            assert!(text.starts_with("arguments must be a JSON object, found text that is none: "), "{text}");
        }
    }
}

#[test]
fn answers_a_call_without_arguments() {
    let tool = notes().tool();
    for (mut message, answer) in
        forms(&json!({}), "path must be a string, found nothing", refusal("path must be a string, found nothing"))
    {
        for pointer in ["", "/function", "/functionCall"] {
            for field in ["arguments", "input", "args"] {
                message.pointer_mut(pointer).and_then(Value::as_object_mut).map(|fields| fields.remove(field));
            }
        }
        assert_eq!(run(&tool, &message), answer, "{message}");
    }
}

#[test]
fn answers_a_call_of_another_tool() {
    let tree = notes();
    for (mut message, mut answer) in forms(&json!({"path": "notes.txt"}), "", refusal("")) {
        for place in ["/name", "/function/name", "/functionCall/name"] {
            if let Some(name) = message.pointer_mut(place) {
                *name = json!("write\u{1b}");
            }
        }
        if let Some(name) = answer.pointer_mut("/functionResponse/name") {
            *name = json!("write\u{1b}");
        }
        let text = text_beside(run(&tree.tool(), &message), answer);
        assert!(text.contains("write\\u{1b}") && text.contains("read"), "{text}");
    }
}

#[rstest]
#[case(json!({}), json!(null))]
#[case(json!({"id": 7}), json!(7))]
#[case(json!({"id": "a", "path": "notes.txt"}), json!("a"))]
#[case(json!({"id": [1], "name": 5}), json!([1]))]
#[case(json!({"name": null, "arguments": {"path": "notes.txt"}}), json!(null))]
#[case(json!({"id": 7, "function": "read"}), json!(7))]
#[case(json!({"id": 7, "function": {"arguments": "{}"}}), json!(7))]
#[case(json!({"cancel": 1, "id": 2}), json!(2))]
#[case(json!([]), json!(null))]
#[case(json!([{"id": 1, "name": "read", "arguments": {"path": "notes.txt"}}]), json!(null))]
#[case(json!("read"), json!(null))]
#[case(json!(5), json!(null))]
#[case(json!(null), json!(null))]
fn answers_what_is_no_call(#[case] message: Value, #[case] id: Value) {
    let mut expected = refusal("");
    expected["id"] = id;
    let text = text_beside(run(&notes().tool(), &message), expected);
    assert!(text.contains("tool call"), "{text}");
}

#[test]
fn keeps_an_id_of_any_kind() {
    let tool = notes().tool();
    for id in [json!(1), json!(-1.5), json!("a"), json!(null), json!([1, "a"]), json!({"a": 1}), json!(u64::MAX)] {
        let message = json!({"id": id, "name": "read", "arguments": {"path": "nope"}});
        assert_eq!(parsed(&message).id(), Some(id.to_string().as_str()));
        assert_eq!(run(&tool, &message)["id"], id);
    }
    let message = json!({"name": "read", "arguments": {"path": "nope"}});
    assert_eq!(parsed(&message).id(), None);
    assert_eq!(run(&tool, &message)["id"], json!(null));
}

#[test]
fn recognises_a_wish_to_cancel() {
    for id in [json!(1), json!("call_1"), json!(null)] {
        let Message::Cancel { id: found } = Message::parse(&json!({"cancel": id}).to_string()) else { panic!("{id}") };
        assert_eq!(found, id.to_string());
    }
}

#[test]
fn a_call_that_is_refused_says_why_in_the_plain_form() {
    for (id, told) in [(None, json!(null)), (Some("\"x\"".to_owned()), json!("x"))] {
        let mut expected = refusal("the line is too long");
        expected["id"] = told;
        assert_eq!(answered(ToolCall::refused(id, "the line is too long"), &notes().tool(), &NEVER), expected);
    }
}

#[test]
fn a_cancelled_call_is_cancelled_whatever_it_asks_for() {
    let tree = notes();
    let tool = tree.tool();
    let cancelled = || true;
    for request in [
        ReadRequest::new("notes.txt"),
        ReadRequest::new(""),
        ReadRequest::new("../x"),
        ReadRequest::new("nope").offset(0),
        ReadRequest::new("notes.txt").limit(0),
    ] {
        assert_fails(tool.call(&request, &cancelled), "cancelled", "Operation aborted");
    }
    for arguments in [
        json!({"path": "notes.txt"}),
        json!({"path": "../x"}),
        json!({"path": "notes.txt", "offset": -1}),
        json!({"path": "notes.txt", "tail": 1}),
        json!({}),
        json!("{"),
    ] {
        assert_fails(tool.call_json(&arguments, &cancelled), "cancelled", "Operation aborted");
    }
}

#[test]
fn a_cancelled_call_is_cancelled_in_every_form() {
    let tree = notes();
    let tool = tree.tool();
    let cancelled = || true;
    for arguments in [json!({"path": "notes.txt"}), json!({"path": "notes.txt", "offset": -1}), json!({}), json!("{")] {
        for (message, _) in forms(&arguments, "", refusal("")) {
            let mut answer = answered(parsed(&message), &tool, &cancelled);
            assert_eq!(take_text(&mut answer), "Operation aborted", "{message}");
        }
    }
    let answer =
        answered(parsed(&json!({"id": 1, "name": "read", "arguments": {"path": "notes.txt"}})), &tool, &cancelled);
    assert_eq!((&answer["structuredContent"]["code"], &answer["isError"]), (&json!("cancelled"), &json!(true)));
}

const FORMATS: [Format; 6] =
    [Format::Mcp, Format::Anthropic, Format::OpenAi, Format::OpenAiStrict, Format::OpenAiResponses, Format::Gemini];

fn definition(format: Format) -> Value {
    notes().tool().definition().to_json(format)
}

#[track_caller]
fn schema(format: Format) -> Value {
    let definition = definition(format);
    ["/inputSchema", "/input_schema", "/function/parameters", "/parameters"]
        .iter()
        .find_map(|path| definition.pointer(path))
        .unwrap_or_else(|| panic!("{definition} has no schema"))
        .clone()
}

/// Nothing but what every host takes, and the descriptions, which are prose.
fn bare(mut schema: Value) -> Value {
    for property in schema["properties"].as_object_mut().unwrap().values_mut() {
        let description = property.as_object_mut().unwrap().remove("description").unwrap();
        assert!(description.as_str().unwrap().len() > 10, "{description}");
    }
    schema
}

#[test]
fn has_one_schema_for_all_who_take_it() {
    let canonical = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "offset": {"type": "integer", "minimum": 1},
            "limit": {"type": "integer", "minimum": 1},
            "column": {"type": "integer", "minimum": 1},
            "tail": {"type": "integer", "minimum": 1},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    assert_eq!(bare(notes().tool().definition().schema()), canonical);
    for format in [Format::Mcp, Format::Anthropic, Format::OpenAi, Format::OpenAiResponses] {
        assert_eq!(bare(schema(format)), canonical, "{format:?}");
    }
}

#[test]
fn has_a_schema_for_strict_mode() {
    assert_eq!(
        bare(schema(Format::OpenAiStrict)),
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "offset": {"type": ["integer", "null"]},
                "limit": {"type": ["integer", "null"]},
                "column": {"type": ["integer", "null"]},
                "tail": {"type": ["integer", "null"]},
            "column": {"type": ["integer", "null"]},
            "tail": {"type": ["integer", "null"]},
            },
            "required": ["path", "offset", "limit", "column", "tail"],
            "additionalProperties": false,
        })
    );
    assert!(!definition(Format::OpenAiStrict).to_string().contains("minimum"));
    assert_eq!(definition(Format::OpenAiStrict)["function"]["strict"], true);
    // What strict mode makes a model write is taken.
    let arguments = json!({"path": "f", "offset": null, "limit": null, "column": null, "tail": null});
    assert_eq!(ReadRequest::from_json(&arguments).unwrap(), ReadRequest::new("f"));
}

#[test]
fn has_a_schema_of_single_types_for_gemini() {
    assert_eq!(
        bare(schema(Format::Gemini)),
        json!({
            "type": "OBJECT",
            "properties": {
                "path": {"type": "STRING"},
                "offset": {"type": "INTEGER", "minimum": 1},
                "limit": {"type": "INTEGER", "minimum": 1},
                "column": {"type": "INTEGER", "minimum": 1},
                "tail": {"type": "INTEGER", "minimum": 1},
            "column": {"type": "INTEGER", "minimum": 1},
            "tail": {"type": "INTEGER", "minimum": 1},
            },
            "required": ["path"],
        })
    );
}

#[test]
fn has_the_envelope_of_each_provider() {
    for format in FORMATS {
        let definition = definition(format);
        let inner = definition.get("function").unwrap_or(&definition);
        assert_eq!(inner["name"], "read", "{format:?}");
        assert_eq!(inner["description"], notes().tool().definition().description(), "{format:?}");
    }
    let kinds = FORMATS.map(|format| definition(format)["type"].clone());
    let function = json!("function");
    assert_eq!(kinds, [Value::Null, Value::Null, function.clone(), function.clone(), function, Value::Null]);
    assert_eq!(definition(Format::OpenAiResponses)["strict"], false);
    let mcp = definition(Format::Mcp);
    let title = mcp["annotations"]["title"].as_str().unwrap();
    assert_eq!(
        mcp["annotations"],
        json!({"title": title, "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false})
    );
}

#[test]
fn the_description_names_the_limits_in_force_and_how_to_continue() {
    let describe = |limits: Limits| notes().tool().with_limits(limits).definition().description().to_owned();
    let default = describe(Limits::default());
    assert!(default.contains("2000 lines") && default.contains("50 KiB") && default.contains("offset"), "{default}");
    let other = describe(Limits::default().max_lines(7).unwrap().max_bytes(1000).unwrap());
    assert!(other.contains("7 lines") && other.contains("1000 bytes"), "{other}");
    assert!(!other.contains("2000") && !other.contains("50 KiB"), "{other}");
    for format in FORMATS {
        let definition = definition(format).to_string();
        for alias in ["file_path", "filePath", "\"file\""] {
            assert!(!definition.contains(alias), "{format:?} mentions {alias}");
        }
    }
}

#[test]
fn a_blank_part_of_a_line_is_told_as_such() {
    let tree = Tree::new(&["f = a    b", "g = a    "]);
    let tool = tree.tool().with_limits(Limits::default().max_bytes(2).unwrap());
    let text = |name: &str, column| tool.call(&ReadRequest::new(name).column(column), &NEVER).unwrap().to_model_text();
    assert_eq!(
        text("f", 3),
        "  \n\n[Bytes 3-4 of line 1 are blank.]\n\n[Line 1, bytes 3-4 of 6. Use offset=1 and column=5 to continue.]"
    );
    assert_eq!(text("g", 4), "  \n\n[Bytes 4-5 of line 1 are blank.]");
}

#[test]
fn may_be_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Root>();
    is_shared::<ReadTool>();
    is_shared::<Error>();
    is_shared::<ReadOutput>();
    is_shared::<Window>();
    is_shared::<ToolCall>();
    is_shared::<Message>();
    is_shared::<Definition>();
    is_shared::<capread::RegularFile>();
    let tree = notes();
    let tool = tree.tool();
    let read = |line: u64| tool.call(&ReadRequest::new("notes.txt").offset(line).limit(1), &NEVER).unwrap().window.text;
    let texts = thread::scope(|scope| {
        let threads = [1, 2, 3, 4].map(|line| scope.spawn(move || (0..50).map(|_| read(line)).collect::<Vec<_>>()));
        threads.map(|thread| thread.join().unwrap())
    });
    for (index, texts) in texts.iter().enumerate() {
        assert!(texts.iter().all(|text| *text == format!("line {}", index + 1)), "{texts:?}");
    }
}
