//! The MCP server over pipes, in raw lines of both eras.

pub(crate) mod session;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

use self::session::{STATELESS, Session, WITH_INITIALIZE, initialize, meta};
use crate::support::{behind_sandbox_line, capread, directory, spawn};

const FILES: &[(&str, &[u8])] = &[
    ("a.txt", b"one\ntwo\nthree\n"),
    ("lines", b"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"),
    ("empty", b""),
    ("blank", b"\n\n\n"),
];

/// A session of each era.
fn eras(directory: &TempDir, arguments: &[&str]) -> [Session; 2] {
    [Session::initialized(directory, arguments), Session::stateless(directory, arguments)]
}

/// A file whose lines take minutes to count: text where it is looked at, then a hole.
fn endless(directory: &TempDir) {
    let file = File::create(directory.path().join("endless")).unwrap();
    (&file).write_all(&b"line\n".repeat(2000)).unwrap();
    file.set_len(1 << 42).unwrap();
}

const WITHOUT_END: [&str; 2] = ["--max-scan-bytes", "4TiB"];

fn error_code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

#[test]
fn agrees_on_each_revision_that_has_initialize() {
    for version in WITH_INITIALIZE {
        let mut session = Session::start(&directory(FILES), &[]);
        let answer = session.ask("initialize", initialize(version));
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert!(session.read(json!({"path": "a.txt"})).get("resultType").is_none());
        assert_eq!(session.end(), Vec::<Value>::new());
    }
}

#[rstest]
#[case::newer(STATELESS)]
#[case::unknown("1999-01-01")]
fn falls_back_to_the_newest_revision_that_has_initialize(#[case] version: &str) {
    let mut session = Session::start(&directory(FILES), &[]);
    assert_eq!(session.ask("initialize", initialize(version))["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn says_who_it_is() {
    let mut session = Session::start(&directory(FILES), &[]);
    let result = session.ask("initialize", initialize("2025-11-25"))["result"].clone();
    assert_eq!(result["serverInfo"], json!({"name": "capread", "version": env!("CARGO_PKG_VERSION")}));
    assert_eq!(result["capabilities"], json!({"tools": {}}));
    assert!(result["instructions"].as_str().unwrap().len() < 200);

    let mut session = Session::stateless(&directory(FILES), &[]);
    let found = session.ask("server/discover", json!({}))["result"].clone();
    assert_eq!(
        found["_meta"]["io.modelcontextprotocol/serverInfo"],
        json!({"name": "capread", "version": env!("CARGO_PKG_VERSION")})
    );
    assert_eq!(found["capabilities"], json!({"tools": {}}));
    assert_eq!(found["supportedVersions"], json!([&WITH_INITIALIZE[..], &[STATELESS]].concat()));
}

#[test]
fn lists_the_one_tool_as_its_schema_is_printed() {
    let directory = directory(FILES);
    let printed = capread(&directory, &["schema", "--max-lines", "7"]).assert().success();
    let printed: Value = serde_json::from_slice(&printed.get_output().stdout).unwrap();
    for mut session in eras(&directory, &["--max-lines", "7"]) {
        let listed = session.ask("tools/list", json!({}));
        assert_eq!(listed["result"]["tools"], json!([printed]));
        assert_eq!(error_code(&session.ask("tools/list", json!({"cursor": "x"}))), INVALID_PARAMS);
    }
}

#[test]
fn answers_a_call_that_is_the_first_message_of_all() {
    let directory = directory(FILES);
    let mut session = Session::stateless(&directory, &[]);
    let result = session.read(json!({"path": "a.txt", "limit": 1}));
    let text = "one\n\n[2 more lines in file. Use offset=2 to continue.]";
    assert_eq!(
        result,
        json!({"resultType": "complete", "content": [{"type": "text", "text": text}], "isError": false})
    );
}

#[test]
fn a_stateless_request_must_say_its_revision() {
    let directory = directory(FILES);
    let mut session = Session::start(&directory, &[]);
    assert_eq!(error_code(&session.ask("tools/list", json!({}))), INVALID_PARAMS);
    let answer = session.ask("tools/list", json!({"_meta": meta("2099-01-01")}));
    assert_eq!(answer["error"]["data"]["supported"].as_array().map(Vec::len), Some(5), "{answer}");
    // And the session is still to begin, in whichever era.
    assert_eq!(session.ask("initialize", initialize("2025-06-18"))["result"]["protocolVersion"], "2025-06-18");
}

#[test]
fn nothing_before_the_first_request_ends_the_session() {
    let mut session = Session::start(&directory(FILES), &[]);
    session.cancel(1);
    session.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    session.say(&json!({"jsonrpc": "2.0", "method": "notifications/unheard-of", "params": {}}));
    session.say(&json!({"jsonrpc": "2.0", "id": 0, "result": {}}));
    assert_eq!(session.ask("ping", json!({}))["result"], json!({}));
    assert_eq!(session.ask("initialize", initialize("2025-11-25"))["result"]["serverInfo"]["name"], "capread");
}

#[rstest]
#[case::text(r#""10""#)]
#[case::float("10.0")]
#[case::float_in_text(r#""10.0""#)]
#[case::exponent("1e1")]
fn takes_numbers_as_models_write_them(#[case] number: &str) {
    let arguments = format!(r#"{{"file_path":"lines","offset":{number},"limit":{number},"tail":null}}"#);
    let directory = directory(FILES);
    let mut session = Session::initialized(&directory, &[]);
    let call = format!(r#""method":"tools/call","params":{{"name":"read","arguments":{arguments}}}"#);
    session.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":1,{call}}}\n").as_bytes());
    assert_eq!(session.next()["result"]["content"][0]["text"], "10\n11\n12");
}

#[rstest]
#[case::zero(r#"{"path":"a.txt","offset":0}"#, "offset must be a positive integer")]
#[case::negative(r#"{"path":"a.txt","offset":-1}"#, "offset must be a positive integer, found -1")]
#[case::fraction(r#"{"path":"a.txt","limit":2.5}"#, "limit must be a positive integer, found 2.5")]
#[case::large(r#"{"path":"a.txt","limit":1e20}"#, "limit must be a positive integer, found 1e20")]
#[case::beyond_floats(r#"{"path":"a.txt","limit":1e400}"#, "limit must be a positive integer, found 1e400")]
#[case::digits(
    r#"{"path":"a.txt","offset":9007199254740993.0}"#,
    "Offset 9007199254740993 is beyond end of file (3 lines total)"
)]
#[case::no_text(r#"{"path":"\ud800"}"#, "path must be a string, found text that is no Unicode")]
#[case::no_path("{}", "path must be a string, found nothing")]
#[case::null("null", "path must be a string, found nothing")]
#[case::outside(r#"{"path":"../x"}"#, "Path is outside the allowed root: ../x")]
#[case::missing(r#"{"path":"b.txt"}"#, "File does not exist: b.txt. Did you mean a.txt?")]
#[case::directory(r#"{"path":"."}"#, "Not a regular file: . (directory). It has: a.txt, blank, empty, lines")]
fn a_failed_read_is_a_result(#[case] arguments: &str, #[case] message: &str) {
    let directory = directory(FILES);
    let mut session = Session::initialized(&directory, &[]);
    let call = format!(r#""method":"tools/call","params":{{"name":"read","arguments":{arguments}}}"#);
    session.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":1,{call}}}\n").as_bytes());
    let expected = json!({"content": [{"type": "text", "text": message}], "isError": true});
    assert_eq!(session.next(), json!({"jsonrpc": "2.0", "id": 1, "result": expected}));
    assert_eq!(session.text(json!({"path": "a.txt"})), ("one\ntwo\nthree".to_owned(), false));
}

#[test]
fn malformed_calls_and_unknown_tools_are_protocol_errors() {
    for mut session in eras(&directory(FILES), &[]) {
        for (method, params, code) in [
            ("tools/call", json!({"name": "write", "arguments": {"path": "a.txt"}}), INVALID_PARAMS),
            ("tools/call", json!({"arguments": {"path": "a.txt"}}), INVALID_PARAMS),
            ("tools/call", json!({"name": 1, "arguments": {"path": "a.txt"}}), INVALID_PARAMS),
            ("tools/call", json!({"name": "read", "arguments": [1]}), INVALID_PARAMS),
            ("tools/call", json!({"name": "read", "arguments": "{\"path\":\"a.txt\"}"}), INVALID_PARAMS),
            ("resources/list", json!({}), METHOD_NOT_FOUND),
            ("prompts/get", json!({"name": "x"}), METHOD_NOT_FOUND),
            ("logging/setLevel", json!({"level": "debug"}), METHOD_NOT_FOUND),
            ("nonsense", json!({}), METHOD_NOT_FOUND),
            (&"x".repeat(10_000), json!({}), METHOD_NOT_FOUND),
            ("tools/call", json!({"name": "x".repeat(10_000)}), INVALID_PARAMS),
            ("tools/call", json!("x".repeat(10_000)), INVALID_PARAMS),
        ] {
            let answer = session.ask(method, params);
            assert_eq!(error_code(&answer), code, "{method}: {answer}");
            assert!(answer["error"]["message"].as_str().unwrap().len() < 500, "{answer:.1000}");
        }
        assert_eq!(session.end(), Vec::<Value>::new());
    }
}

#[test]
fn no_answer_is_blank() {
    for mut session in eras(&directory(FILES), &[]) {
        assert_eq!(session.text(json!({"path": "empty"})).0, "[File is empty.]");
        let blank = session.text(json!({"path": "blank", "offset": 2})).0;
        assert_eq!(blank.trim(), "[Lines 2-3 of 3 are empty.]");
    }
}

/// Whether the value is what a schema of the few words that we use says; a word that is not known here fails.
#[track_caller]
fn assert_conforms(value: &Value, schema: &Value) {
    let kinds = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    let is_kind = |kind: &Value| match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other} is not known to this test"),
    };
    assert!(kinds.iter().any(is_kind), "{value} is none of {kinds:?}");
    for (word, rule) in schema.as_object().unwrap() {
        match word.as_str() {
            "type" | "description" => {}
            "enum" => assert!(rule.as_array().unwrap().contains(value), "{value} is none of {rule}"),
            "required" => {
                let missing = rule.as_array().unwrap().iter().find(|name| value.get(name.as_str().unwrap()).is_none());
                assert_eq!(missing, None, "in {value}");
            }
            "items" => value.as_array().unwrap().iter().for_each(|item| assert_conforms(item, rule)),
            "properties" => {
                for (name, value) in value.as_object().unwrap() {
                    assert_conforms(value, rule.get(name).unwrap_or_else(|| panic!("{name} is not in the schema")));
                }
            }
            other => panic!("{other} is not known to this test"),
        }
    }
}

#[test]
fn structured_results_conform_and_hold_the_text() {
    let directory = directory(FILES);
    for mut session in eras(&directory, &["--structured", "--max-lines", "5"]) {
        let tool = session.ask("tools/list", json!({}))["result"]["tools"][0].clone();
        for arguments in [
            json!({"path": "a.txt"}),
            json!({"path": "a.txt", "limit": 1}),
            json!({"path": "lines"}),
            json!({"path": "lines", "tail": 2}),
            json!({"path": "lines", "offset": 10, "column": 2}),
            json!({"path": "empty"}),
            json!({"path": "blank"}),
            json!({"path": "b.txt"}),
            json!({"path": "."}),
            json!({"path": "../x"}),
            json!({"path": "/etc/passwd"}),
            json!({"path": ""}),
            json!({"path": 5}),
            json!({"path": "a.txt", "offset": 0}),
            json!({"path": "a.txt", "offset": 9}),
            json!({"path": "a.txt", "if_version": "x"}),
            json!({}),
        ] {
            let result = session.read(arguments.clone());
            let facts = &result["structuredContent"];
            assert_conforms(facts, &tool["outputSchema"]);
            assert_eq!(facts["text"], result["content"][0]["text"], "{arguments}");
            assert_eq!(result["isError"], json!(facts.get("code").is_some()), "{arguments}");
        }
        let facts = session.read(json!({"path": "a.txt", "offset": 2}))["structuredContent"].clone();
        let printed = capread(&directory, &["read", "a.txt", "--offset", "2", "--json"]).assert().success();
        let mut printed: Value = serde_json::from_slice(&printed.get_output().stdout).unwrap();
        printed["structuredContent"]["text"] = json!("two\nthree");
        assert_eq!(facts, printed["structuredContent"]);
    }
}

#[test]
fn without_the_option_there_are_no_facts_and_no_schema_for_them() {
    for mut session in eras(&directory(FILES), &[]) {
        assert!(session.ask("tools/list", json!({}))["result"]["tools"][0].get("outputSchema").is_none());
        for path in ["a.txt", "b.txt"] {
            assert!(session.read(json!({"path": path})).get("structuredContent").is_none());
        }
    }
}

#[test]
fn goes_on_after_lines_that_are_no_messages() {
    let directory = directory(FILES);
    for begin in [Session::start, Session::initialized] {
        let mut session = begin(&directory, &[]);
        for (line, id, code) in [
            ("garbage", json!(null), PARSE_ERROR),
            ("{", json!(null), PARSE_ERROR),
            ("\u{fffd}\u{fffd}", json!(null), PARSE_ERROR),
            ("[1,", json!(null), PARSE_ERROR),
            ("[]", json!(null), INVALID_REQUEST),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, json!(null), INVALID_REQUEST),
            ("1", json!(null), INVALID_REQUEST),
            ("{}", json!(null), INVALID_REQUEST),
            (r#"{"id":1,"method":"ping"}"#, json!(1), INVALID_REQUEST),
            (r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#, json!("x"), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, json!(null), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, json!(null), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}"#, json!(null), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":2}"#, json!(2), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":3,"method":4}"#, json!(3), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":3,"method":"ping","result":{}}"#, json!(3), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":4,"method":"initialize","params":{}}"#, json!(4), INVALID_PARAMS),
            (&"[".repeat(100_000), json!(null), PARSE_ERROR),
        ] {
            session.send(format!("{line}\n\n \t\r\n").as_bytes());
            let answer = session.next();
            let told = answer.get("id").cloned().unwrap_or_default();
            assert_eq!((told, error_code(&answer)), (id, code), "{line:.80}");
        }
        session.send(b"\xff\xfe\n");
        assert_eq!(error_code(&session.next()), PARSE_ERROR);
        session.send(b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\r\n");
        assert_eq!(session.next()["id"], 5);
        assert_eq!(session.end(), Vec::<Value>::new());
    }
}

#[test]
fn refuses_a_line_over_1_mib_without_keeping_it() {
    let directory = directory(FILES);
    let mut session = Session::initialized(&directory, &[]);
    session.text(json!({"path": "a.txt"}));
    let before = session.peak_memory();
    let arguments = format!(r#"{{"path":"a.txt","x":"{}"}}"#, "x".repeat(64 * 1024 * 1024));
    let params = format!(r#""params":{{"name":"read","arguments":{arguments}}}"#);
    for line in [
        format!("{{\"jsonrpc\":\"2.0\",\"id\":\"long\",\"method\":\"tools/call\",{params}}}\n"),
        format!("{{\"method\":\"tools/call\",{params},\"jsonrpc\":\"2.0\",\"id\":\"long\"}}\n"),
    ] {
        session.send(line.as_bytes());
        let answer = session.next();
        assert_eq!((&answer["id"], error_code(&answer)), (&json!("long"), INVALID_REQUEST), "{answer}");
        assert_eq!(answer["error"]["message"], "Invalid request: a line must be at most 1 MiB");
    }
    session.send(&[&b"x".repeat(16 * 1024 * 1024)[..], b"\n"].concat());
    let answer = session.next();
    assert_eq!((answer.get("id"), error_code(&answer)), (None, INVALID_REQUEST));
    assert_eq!(session.text(json!({"path": "a.txt"})).0, "one\ntwo\nthree");
    let grown = session.peak_memory() - before;
    assert!(grown < 8 * 1024 * 1024, "grown by {grown} bytes");
}

#[test]
fn the_end_of_the_input_is_no_error_whenever_it_comes() {
    let directory = directory(FILES);
    assert_eq!(Session::start(&directory, &[]).end(), Vec::<Value>::new());

    let mut session = Session::stateless(&directory, &[]);
    session.ask("server/discover", json!({}));
    assert_eq!(session.end(), Vec::<Value>::new());

    let mut session = Session::initialized(&directory, &[]);
    session.send(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(session.end(), [json!({"jsonrpc": "2.0", "id": 1, "result": {}})]);
}

#[test]
fn calls_that_were_read_are_answered_after_the_end_of_the_input() {
    let directory = directory(&[("a.txt", &b"line\n".repeat(1_000_000))]);
    for mut session in eras(&directory, &["--jobs", "2"]) {
        for id in 0..50 {
            session.call(id, json!({"path": "a.txt", "offset": 999_000}));
        }
        let mut ids: Vec<_> = session.end().iter().map(|answer| answer["id"].as_u64()).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq((0..50).map(Some)));
    }
}

/// The SDK alone would wait for five seconds.
#[test]
fn a_call_that_takes_long_is_answered_after_the_end_of_the_input() {
    let directory = directory(&[]);
    endless(&directory);
    let mut session = Session::initialized(&directory, &["--deadline", "6s", "--max-scan-bytes", "4TiB"]);
    session.call(1, json!({"path": "endless"}));
    let answers = session.end();
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["result"]["content"][0]["text"], "Read took longer than 6 s");
}

#[test]
fn a_cancelled_call_stops_and_gets_no_answer() {
    let directory = directory(FILES);
    endless(&directory);
    for mut session in eras(&directory, &[&["--jobs", "1"], &WITHOUT_END[..]].concat()) {
        session.call("endless", json!({"path": "endless"}));
        session.call("waiting", json!({"path": "endless"}));
        session.call("wanted", json!({"path": "a.txt"}));
        session.says_nothing_for(Duration::from_millis(100));
        session.cancel("unknown");
        session.cancel("waiting");
        // The only thread is taken until the first one stops.
        session.says_nothing_for(Duration::from_millis(100));
        let begun = Instant::now();
        session.cancel("endless");
        assert_eq!(session.next()["id"], "wanted");
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        session.cancel("wanted");
        assert_eq!(session.end(), Vec::<Value>::new());
    }
}

/// The first call with the id may still run, and end, while the second one waits, or reads.
#[test]
fn an_id_that_is_used_again_after_a_cancellation_is_that_of_the_new_call() {
    let directory = directory(FILES);
    endless(&directory);
    for mut session in eras(&directory, &[&["--jobs", "1"], &WITHOUT_END[..]].concat()) {
        for pause in (0..300).map(|number| Duration::from_micros(number % 10 * 30)) {
            session.call("x", json!({"path": "endless"}));
            session.cancel("x");
            std::thread::sleep(pause);
            session.call("x", json!({"path": "a.txt"}));
            session.call("after", json!({"path": "a.txt"}));
            for id in ["x", "after"] {
                let answer = session.next();
                assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(id), &json!(false)), "{answer}");
            }
        }
        assert_eq!(session.end(), Vec::<Value>::new());
    }
}

#[test]
fn what_is_refused_waits_for_no_read() {
    let directory = directory(FILES);
    endless(&directory);
    for mut session in eras(&directory, &[&["--jobs", "1"], &WITHOUT_END[..]].concat()) {
        for id in ["reads", "waits"] {
            session.call(id, json!({"path": "endless"}));
        }
        session.send(b"no message\n");
        assert_eq!(error_code(&session.next()), PARSE_ERROR);
        session.call("waits", json!({"path": "a.txt"}));
        assert_eq!(error_code(&session.next()), INVALID_REQUEST);
        for (method, params) in [("tools/list", json!(7)), ("tools/call", json!({"name": "write", "arguments": {}}))] {
            session.request("refused", method, params);
            assert_eq!(error_code(&session.next()), INVALID_PARAMS);
        }
        for id in ["reads", "waits"] {
            session.cancel(id);
        }
        assert_eq!(session.end(), Vec::<Value>::new());
    }
}

/// The answer is there, but the client takes none.
#[test]
fn a_call_that_is_cancelled_while_its_answer_waits_for_another_gets_none() {
    let directory = directory(&[("large", &b"a line that is read\n".repeat(20_000)), ("small", b"one\n")]);
    let mut child =
        spawn(&directory, &["mcp", "--root", ".", "--jobs", "4", "--max-bytes", "1MiB", "--max-lines", "20000"]);
    let mut input = child.stdin.take().unwrap();
    let mut say = |message: Value| {
        writeln!(input, "{message}").unwrap();
        std::thread::sleep(Duration::from_millis(150));
    };
    let call = |id: &str, path: &str| {
        let params = json!({"name": "read", "arguments": {"path": path}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    say(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
    say(call("large", "large"));
    say(call("small", "small"));
    let params = json!({"requestId": "small"});
    say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    say(call("small", "large"));
    drop(input);
    let answers = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    let answers: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<_> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(0), &json!("large"), &json!("small")]);
    assert_eq!(answers[1]["result"], answers[2]["result"]);
    assert!(child.wait().unwrap().success());
}

/// Neither what comes later with its id, nor the session, whether it has begun or not.
#[test]
fn a_cancellation_of_nothing_stops_nothing() {
    let directory = directory(FILES);
    for mut session in eras(&directory, &[]) {
        for _ in 0..50 {
            session.cancel(7);
            session.call(7, json!({"path": "a.txt"}));
            assert_eq!(session.next()["id"], 7);
        }
        assert_eq!(session.end(), Vec::<Value>::new());
    }
}

#[test]
fn cancelled_calls_are_not_waited_for_at_the_end_of_the_input() {
    let directory = directory(FILES);
    endless(&directory);
    let mut session = Session::initialized(&directory, &WITHOUT_END);
    for id in 0..20 {
        session.call(id, json!({"path": "endless"}));
    }
    for id in 0..20 {
        session.cancel(id);
    }
    assert_eq!(session.end(), Vec::<Value>::new());
}

#[rstest]
#[case::text(json!("token"))]
#[case::number(json!(7))]
fn tells_the_progress_of_a_long_read(#[case] token: Value) {
    let directory = directory(FILES);
    endless(&directory);
    for mut session in eras(&directory, &[&["--deadline", "2s"], &WITHOUT_END[..]].concat()) {
        let call = |path: &str| json!({"name": "read", "arguments": {"path": path}, "_meta": {"progressToken": token.clone()}});
        session.request(1, "tools/call", call("endless"));
        let mut told = Vec::new();
        let answer = loop {
            let message = session.next();
            if message["method"] != "notifications/progress" {
                break message;
            }
            assert_eq!(message["params"]["progressToken"], token);
            assert_eq!(message["params"]["total"].as_f64(), Some(4_398_046_511_104.0));
            told.push(message["params"]["progress"].as_f64().unwrap());
        };
        assert_eq!(answer["result"]["content"][0]["text"], "Read took longer than 2 s");
        assert!((3..=20).contains(&told.len()), "{told:?}");
        assert!(told.is_sorted_by(|before, after| before < after), "{told:?}");
        // A short one is done before there is anything to tell.
        session.request(2, "tools/call", call("a.txt"));
        assert_eq!(session.next()["id"], 2);
        // Who did not ask is told nothing.
        session.call(3, json!({"path": "endless"}));
        assert_eq!(session.next()["id"], 3);
        assert_eq!(session.end(), Vec::<Value>::new());
    }
}

#[test]
fn special_files_hold_nothing_up() {
    let directory = directory(&[("a.txt", b"one\n"), ("d/f", b"")]);
    let fifo = directory.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let listener = std::os::unix::net::UnixListener::bind(directory.path().join("socket")).unwrap();
    let mut session = Session::start(&directory, &["--root", "/dev", "--jobs", "2"]);
    session.ask("initialize", initialize("2025-11-25"));
    let paths = ["fifo", "d", "/dev/zero", "/dev/tty", "socket", "/dev/null"];
    let begun = Instant::now();
    for (id, path) in (0..100).zip(paths.into_iter().cycle()) {
        session.call(id, json!({"path": path}));
    }
    for _ in 0..100 {
        let answer = session.next();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        assert!(text.starts_with("Not a regular file: "), "{text}");
    }
    assert_eq!(session.text(json!({"path": "a.txt"})).0, "one");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(session.end(), Vec::<Value>::new());
    drop(listener);
}

#[test]
fn with_one_job_calls_are_answered_in_order() {
    let directory = directory(&[("large", &b"line\n".repeat(200_000)), ("a.txt", b"one\n")]);
    for mut session in eras(&directory, &["--jobs", "1"]) {
        for id in 0..200 {
            session.call(id, json!({"path": if id % 2 == 0 { "large" } else { "a.txt" }}));
        }
        assert!(session.end().iter().map(|answer| answer["id"].as_u64().unwrap()).eq(0..200));
    }
}

/// All of them are sent before the first answer is taken.
#[test]
fn answers_10_000_mixed_calls_once_each() {
    let directory = directory(&[("a.txt", &b"some line of text\n".repeat(100))]);
    let mut session = Session::initialized(&directory, &["--jobs", "4"]);
    let paths = ["a.txt", "nope", "../x", ""].into_iter().cycle();
    for (id, path) in (0..10_000).zip(paths) {
        session.call(id, json!({"path": path}));
        if id % 100 == 0 {
            session.send(b"{\"jsonrpc\":\n");
        }
    }
    let (refused, answers): (Vec<_>, Vec<_>) = session.end().into_iter().partition(|answer| answer.get("id").is_none());
    assert_eq!(refused.len(), 100);
    let mut ids: Vec<_> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..10_000));
    for answer in &answers {
        let is_read = answer["id"].as_u64().unwrap() % 4 == 0;
        assert_eq!(answer["result"]["isError"], json!(!is_read), "{answer}");
    }
}

/// 3000 answers of 50 KiB are 150 MiB.
#[test]
fn answers_that_nobody_takes_do_not_pile_up() {
    let directory = directory(&[("a.txt", &b"some line of text, one of many\n".repeat(3000))]);
    let mut child = spawn(&directory, &["mcp", "--root", ".", "--jobs", "4"]);
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    writeln!(
        input,
        "{}",
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize("2025-11-25")})
    )
    .unwrap();
    for id in 1..3000 {
        let params = json!({"name": "read", "arguments": {"path": "a.txt"}});
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).unwrap();
    }
    drop(input);
    std::thread::sleep(Duration::from_millis(500));
    let peak = session::peak_memory(child.id());
    assert!(peak < 64 * 1024 * 1024, "{peak} bytes");
    assert_eq!(BufReader::new(output).lines().count(), 3000);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_second_request_with_the_id_of_an_unanswered_one_is_refused() {
    let directory = directory(FILES);
    endless(&directory);
    let mut session = Session::initialized(&directory, &[&["--jobs", "2"], &WITHOUT_END[..]].concat());
    session.call(1, json!({"path": "endless"}));
    session.call(1, json!({"path": "a.txt"}));
    let answer = session.next();
    assert_eq!((&answer["id"], error_code(&answer)), (&json!(1), INVALID_REQUEST));
    session.cancel(1);
    session.call(2, json!({"path": "a.txt"}));
    assert_eq!(session.next()["id"], 2);
    assert_eq!(session.end(), Vec::<Value>::new());
}

#[test]
fn ends_when_nobody_takes_the_answers_though_a_read_is_running() {
    let directory = directory(FILES);
    endless(&directory);
    let mut child = spawn(&directory, &[&["mcp", "--root", "."], &WITHOUT_END[..]].concat());
    let mut input = child.stdin.take().unwrap();
    drop(child.stdout.take());
    let requests = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read", "arguments": {"path": "endless"}, "_meta": meta(STATELESS)}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "read", "arguments": {"path": "a.txt"}, "_meta": meta(STATELESS)}}),
    ];
    for request in requests {
        writeln!(input, "{request}").unwrap();
    }
    // The input stays open: the process must end by itself.
    assert!(child.wait().unwrap().success());
}

#[test]
fn ends_when_nobody_takes_the_first_answer() {
    let directory = directory(FILES);
    let mut child = spawn(&directory, &["mcp", "--root", "."]);
    let mut input = child.stdin.take().unwrap();
    drop(child.stdout.take());
    writeln!(
        input,
        "{}",
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize("2025-11-25")})
    )
    .unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn an_input_that_cannot_be_read_is_told() {
    let directory = directory(FILES);
    let output = Command::new(assert_cmd::cargo::cargo_bin("capread"))
        .args(["mcp", "--root", "."])
        .current_dir(&directory)
        .stdin(File::open(directory.path()).unwrap())
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    let told = behind_sandbox_line(&output.stderr);
    assert_eq!(told, "error: cannot read the calls: Is a directory (os error 21)\n");
}

#[rstest]
#[case::no_root(&[], "the following required arguments were not provided:\n  --root <DIR>")]
#[case::missing(&["--root", "nope"], "cannot open root: File does not exist: nope")]
#[case::one_of_two_missing(&["--root", ".", "--root", "nope"], "cannot open root: File does not exist: nope")]
#[case::file(&["--root", "a.txt"], "cannot open root: root must be a directory: a.txt")]
#[case::jobs(&["--root", ".", "--jobs", "0"], "invalid value '0' for '--jobs <N>'")]
#[case::unknown(&["--root", ".", "--nonsense"], "unexpected argument '--nonsense' found")]
fn does_not_serve_without_a_root_that_can_be_opened(#[case] arguments: &[&str], #[case] message: &str) {
    let directory = directory(FILES);
    let output = capread(&directory, &[&["mcp"], arguments].concat()).assert().code(2).stdout("");
    let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(stderr.starts_with(&format!("error: {message}")), "{stderr}");
}

#[test]
fn reads_from_each_of_its_roots() {
    let directory = directory(&[("a/f", b"IN a\n"), ("b/g", b"IN b\n"), ("a/.env", b"OUT\n")]);
    let mut child = Session::start(&directory, &["--root", "a", "--root", "b", "--deny", ".env"]);
    child.ask("initialize", initialize("2025-11-25"));
    let path = fs::canonicalize(directory.path().join("b/g")).unwrap();
    assert_eq!(child.text(json!({"path": path})).0, "IN b");
    assert_eq!(child.text(json!({"path": "a/.env"})), ("Path is denied by policy: a/.env".to_owned(), true));
}

/// Each request in the documentation that is followed by its answer.
#[test]
fn says_what_its_documentation_says() {
    let directory = directory(&[("notes.txt", b"line 1\nline 2\nline 3\nline 4")]);
    let document = include_str!("../../../docs/protocol.md").split_once("# The MCP server").unwrap().1;
    let document = document.split("\n# ").next().unwrap();
    let mut tried = 0;
    for block in document.split("```json\n").skip(1) {
        let mut lines = block.split("```").next().unwrap().lines().map(|line| serde_json::from_str(line).unwrap());
        let (message, answer): (Value, Option<Value>) = (lines.next().unwrap(), lines.next());
        let Some(answer) = answer.filter(|answer| answer.get("id").is_some()) else { continue };
        let is_stateless = message["params"]["_meta"].is_object();
        let mut session = if is_stateless || message["method"] == "initialize" {
            Session::start(&directory, &[])
        } else {
            Session::initialized(&directory, &[])
        };
        session.say(&message);
        assert_eq!(session.next(), answer);
        tried += 1;
    }
    assert_eq!(tried, 3);
}
