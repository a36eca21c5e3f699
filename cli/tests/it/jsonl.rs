use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{behind_sandbox_line, capread, directory, spawn};

/// The answers to `input`, a JSON value a line.
#[track_caller]
fn answers(directory: &TempDir, arguments: &[&str], input: &[u8]) -> Vec<Value> {
    let arguments = [&["jsonl"], arguments].concat();
    let output = capread(directory, &arguments).write_stdin(input).assert().success();
    assert_eq!(behind_sandbox_line(&output.get_output().stderr), "");
    output
        .get_output()
        .stdout
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

#[track_caller]
fn in_order(input: &[u8]) -> Vec<Value> {
    answers(&directory(&[("a.txt", b"one\ntwo\n"), ("empty", b"")]), &["--jobs", "1"], input)
}

fn code(answer: &Value) -> &str {
    answer["structuredContent"]["code"].as_str().unwrap_or("none")
}

#[test]
fn answers_each_form_in_its_own() {
    let hint = "one\n\n[1 more lines in file. Use offset=2 to continue.]";
    let input =
        br#"{"id":{"any":["json",1e2,12345678901234567890123]},"name":"read","arguments":{"path":"a.txt","limit":1}}
{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a.txt","limit":1}}
{"id":"call_1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.txt\",\"limit\":1}"}}
{"type":"function_call","id":"fc_1","call_id":"c","name":"read","arguments":"{\"path\":\"a.txt\",\"limit\":1}"}
{"functionCall":{"id":"x","name":"read","args":{"path":"a.txt","limit":1}}}
"#;
    let answers = in_order(input);
    let id: Value = serde_json::from_str(r#"{"any":["json",1e2,12345678901234567890123]}"#).unwrap();
    assert_eq!(answers[0]["id"], id);
    assert_eq!(answers[0]["content"], json!([{"type": "text", "text": hint}]));
    assert_eq!(answers[0]["structuredContent"]["nextOffset"], 2);
    assert_eq!(answers[0]["isError"], false);
    assert_eq!(
        answers[1..],
        [
            json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": hint}], "is_error": false}),
            json!({"role": "tool", "tool_call_id": "call_1", "content": hint}),
            json!({"type": "function_call_output", "call_id": "c", "output": hint}),
            json!({"functionResponse": {"id": "x", "name": "read", "response": {"output": hint}}}),
        ]
    );
}

#[test]
fn gives_every_id_back_as_it_was_written() {
    for id in [
        "1e2",
        "1.0",
        "12345678901234567890123",
        "-0",
        r#""\u0061""#,
        r#"{"a":1,"a":2}"#,
        "[[],  {}]",
        r#""\ud800""#,
        "null",
    ] {
        let input = format!(r#"{{"name":"read","id":{id},"arguments":{{"path":"nope"}}}}"#);
        let directory = directory(&[]);
        let output = capread(&directory, &["jsonl"]).write_stdin(input).assert().success();
        let answer = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        assert!(answer.starts_with(&format!(r#"{{"id":{id},"content":"#)), "{answer}");
    }
}

/// Of a call that can be told from its fields, only the arguments are wrong.
#[test]
fn a_call_with_odd_arguments_keeps_its_id_and_form() {
    let deep = format!(r#"{{"path":"a.txt","x":{}{}}}"#, "[".repeat(1000), "]".repeat(1000));
    for (arguments, text) in [
        (r#"{"path":"\ud800"}"#, "path must be a string, found text that is no Unicode"),
        (&deep, "unknown field x, found an array (fields: path, offset, limit, column, tail and if_version)"),
        (
            r#"{"path":"a.txt","limit":{"$serde_json::private::Number":"1"}}"#,
            "limit must be a positive integer, found an object",
        ),
        (r#"{"path":"a.txt","limit":1e20}"#, "limit must be a positive integer, found 1e20"),
        (
            r#"{"path":"a.txt","limit":9007199254740992.5}"#,
            "limit must be a positive integer, found 9007199254740992.5",
        ),
        (
            r#"{"path":"a.txt","offset":9007199254740993.0}"#,
            "Offset 9007199254740993 is beyond end of file (2 lines total)",
        ),
    ] {
        let input = format!(r#"{{"type":"tool_use","id":"t","name":"read","input":{arguments}}}"#);
        let expected = json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": text}], "is_error": true});
        assert_eq!(in_order(input.as_bytes()), [expected], "{arguments}");
    }
}

#[test]
fn a_failed_read_is_an_answer_in_each_form() {
    let input = br#"{"id":1,"name":"read","arguments":{"path":"../x"}}
{"type":"tool_use","id":"t","name":"read","input":{"path":"../x"}}
{"id":"c","type":"function","function":{"name":"read","arguments":"{\"path\":\"../x\"}"}}
{"type":"function_call","call_id":"r","name":"read","arguments":"{\"path\":\"../x\"}"}
{"functionCall":{"name":"read","args":{"path":"../x"}}}
"#;
    let text = "Path is outside the allowed root: ../x";
    assert_eq!(
        in_order(input),
        [
            json!({
                "id": 1, "content": [{"type": "text", "text": text}], "isError": true,
                "structuredContent": {"code": "outside_root", "input": "../x", "path": "../x"},
            }),
            json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": text}], "is_error": true}),
            json!({"role": "tool", "tool_call_id": "c", "content": text}),
            json!({"type": "function_call_output", "call_id": "r", "output": text}),
            json!({"functionResponse": {"name": "read", "response": {"error": text}}}),
        ]
    );
}

#[test]
fn gives_a_provider_no_blank_text() {
    let input = br#"{"type":"tool_use","id":"t","name":"read","input":{"path":"empty"}}
{"id":1,"name":"read","arguments":{"path":"empty"}}
"#;
    let answers = in_order(input);
    assert_eq!(answers[0]["content"][0]["text"], "[File is empty.]");
    assert_eq!(answers[1]["content"][0]["text"], "");
}

#[test]
fn goes_on_after_lines_that_are_no_calls() {
    let deep = "[".repeat(100_000);
    let mut input = Vec::new();
    for line in
        ["garbage", "[1]", "{}", r#"{"id":5}"#, r#"{"id":6,"name":"write","arguments":{"path":"a.txt"}}"#, &deep]
    {
        input.extend_from_slice(line.as_bytes());
        input.push(b'\n');
    }
    input.extend_from_slice(b"\xff\xfe\n \n\n{\"id\":7,\"name\":\"read\",\"arguments\":{\"path\":\"a.txt\"}}");
    let answers = in_order(&input);
    let told: Vec<_> = answers.iter().map(|answer| (answer["id"].clone(), code(answer))).collect();
    let refused = |id: Value| (id, "invalid_argument");
    let null = || refused(Value::Null);
    assert_eq!(
        told,
        [null(), null(), null(), refused(json!(5)), refused(json!(6)), null(), null(), (json!(7), "none")]
    );
}

#[test]
fn refuses_a_line_over_1_mib_and_goes_on() {
    let long =
        format!("{{\"id\":1,\"name\":\"read\",\"arguments\":{{\"path\":\"{}\"}}}}\n", "x".repeat(5 * 1024 * 1024));
    let answers =
        in_order(format!("{long}{{\"id\":2,\"name\":\"read\",\"arguments\":{{\"path\":\"a.txt\"}}}}\n").as_bytes());
    assert_eq!(answers.len(), 2);
    assert_eq!((&answers[0]["id"], code(&answers[0])), (&json!(1), "invalid_argument"));
    assert_eq!(answers[0]["content"][0]["text"], "a line must be at most 1 MiB");
    assert_eq!((&answers[1]["id"], code(&answers[1])), (&json!(2), "none"));
}

#[test]
fn a_line_over_1_mib_is_refused_with_the_id_that_it_seems_to_have() {
    let path = format!(r#""path": "{}""#, "x".repeat(2 * 1024 * 1024));
    let long = |id: &str| format!(r#"{{{id}"name": "read", "arguments": {{{path}}}}}"#).into_bytes();
    let lines =
        [long(""), long(r#""id": {"a": 1}, "#), long(r#""id": "x", "#), long(r#""id": "fc_1", "call_id": "c", "#)];
    let told: Vec<_> = in_order(&lines.join(&b'\n')).iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(told, [json!(null), json!(null), json!("x"), json!("c")]);
}

#[test]
fn takes_a_byte_order_mark_for_none() {
    let input = "\u{feff}{\"id\":1,\"name\":\"read\",\"arguments\":{\"path\":\"a.txt\"}}\n\u{feff}\n";
    let answers = in_order(input.as_bytes());
    assert_eq!((answers.len(), &answers[0]["id"], code(&answers[0])), (1, &json!(1), "none"));
}

/// Some programs end a line where Unicode does.
#[test]
fn an_answer_is_one_line_for_every_program() {
    let text = "a\u{2028}{\"id\":2}\u{2029}b\u{85}c\u{b}d\u{c}e\u{1c}f";
    let directory = directory(&[("a.txt", format!("{text}\n").as_bytes())]);
    let call = "{\"id\":\"\u{2028}\",\"name\":\"read\",\"arguments\":{\"path\":\"a.txt\"}}\n";
    let output = capread(&directory, &["jsonl"]).write_stdin(call).assert().success();
    let line = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    let ends = |c: char| matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    assert_eq!(line.find(ends), Some(line.len() - 1), "{line:?}");
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&answer["id"], &answer["content"][0]["text"]), (&json!("\u{2028}"), &json!(text)));
}

/// Of a process, in KiB.
fn memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

/// Nobody takes an answer, and each call is cancelled: what is not read any more stays in the pipe.
#[test]
fn cancelled_calls_whose_answers_nobody_takes_do_not_pile_up() {
    let directory = directory(&[("a.txt", b"one\n")]);
    let mut child = spawn(&directory, &["jsonl", "--jobs", "1"]);
    let mut input = child.stdin.take().unwrap();
    let id = "x".repeat(500_000);
    let call = format!(
        "{{\"id\":\"{id}\",\"name\":\"read\",\"arguments\":{{\"path\":\"a.txt\"}}}}\n{{\"cancel\":\"{id}\"}}\n"
    );
    let sent = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let sending = std::sync::Arc::clone(&sent);
    let writer = std::thread::spawn(move || {
        // Fails when the child is killed.
        while input.write_all(call.as_bytes()).is_ok() {
            sending.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    });
    // Until no more is taken.
    let (mut before, mut now) = (u64::MAX, 0);
    while now != before {
        std::thread::sleep(std::time::Duration::from_secs(2));
        (before, now) = (now, sent.load(std::sync::atomic::Ordering::Relaxed));
    }
    let memory = memory(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    writer.join().unwrap();
    assert!((20..200).contains(&now), "{now} calls");
    assert!(memory < 128 * 1024, "{memory} KiB");
}

#[test]
fn answers_10_000_mixed_calls_once_each() {
    let directory = directory(&[("a.txt", b"one\ntwo\n"), ("d/b.txt", b"three\n")]);
    let expected_code = |n: u32| match n % 5 {
        0 | 1 => "none",
        2 => "not_found",
        3 => "outside_root",
        _ => "invalid_argument",
    };
    let paths = ["a.txt", "d/b.txt", "nope", "../x", ""].into_iter().cycle();
    let calls = (0..10_000).zip(paths).map(|(n, path)| json!({"id": n, "name": "read", "arguments": {"path": path}}));
    let input = calls.map(|call| call.to_string()).collect::<Vec<_>>().join("\n");
    let answers = answers(&directory, &["--jobs", "4"], input.as_bytes());
    let by_id: HashMap<u64, &Value> = answers.iter().map(|answer| (answer["id"].as_u64().unwrap(), answer)).collect();
    assert_eq!((answers.len(), by_id.len()), (10_000, 10_000));
    for n in 0..10_000 {
        assert_eq!(code(by_id[&u64::from(n)]), expected_code(n), "call {n}");
    }
}

#[test]
fn answers_before_it_is_asked_again() {
    let directory = directory(&[("a.txt", b"one\ntwo\n")]);
    let mut child = spawn(&directory, &["jsonl"]);
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for id in 0..3 {
        writeln!(input, "{}", json!({"id": id, "name": "read", "arguments": {"path": "a.txt"}})).unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["id"], id);
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// A file whose lines would take minutes to count: text where it is looked at, then a hole.
fn endless(directory: &TempDir) {
    let file = fs::File::create(directory.path().join("endless")).unwrap();
    (&file).write_all(&b"line\n".repeat(2000)).unwrap();
    file.set_len(1 << 40).unwrap();
}

#[test]
fn cancels_every_call_of_an_id_and_no_other() {
    let directory = directory(&[("a.txt", b"one\n")]);
    endless(&directory);
    let call = |id: Value, path: &str| json!({"id": id, "name": "read", "arguments": {"path": path}});
    let input = [
        call(json!("x"), "endless"),
        call(json!("x"), "endless"),
        call(json!(1), "a.txt"),
        json!({"cancel": "unknown"}),
        json!({"cancel": 1.5}),
        json!({"cancel": "x"}),
    ];
    let input = input.map(|line| format!("{line}\n")).concat();
    let mut answers = answers(&directory, &["--jobs", "3"], input.as_bytes());
    answers.sort_by_key(|answer| answer["id"].to_string());
    let told: Vec<_> = answers.iter().map(|answer| (answer["id"].clone(), code(answer))).collect();
    assert_eq!(told, [(json!("x"), "cancelled"), (json!("x"), "cancelled"), (json!(1), "none")]);
    assert_eq!(answers[0]["content"][0]["text"], "Operation aborted");
}

#[test]
fn ends_a_read_at_the_deadline() {
    let directory = directory(&[]);
    endless(&directory);
    let input = br#"{"id":1,"name":"read","arguments":{"path":"endless"}}"#;
    let answers = answers(&directory, &["--deadline", "50ms"], input);
    assert_eq!(answers[0]["content"][0]["text"], "Read took longer than 0.05 s");
    assert_eq!(code(&answers[0]), "deadline");
}

#[test]
fn ends_when_nobody_takes_the_answers() {
    let directory = directory(&[("a.txt", b"one\n")]);
    let mut child = spawn(&directory, &["jsonl"]);
    let mut input = child.stdin.take().unwrap();
    drop(child.stdout.take());
    writeln!(input, "{}", json!({"id": 1, "name": "read", "arguments": {"path": "a.txt"}})).unwrap();
    // The input stays open: the process must end by itself.
    assert!(child.wait().unwrap().success());
}

#[test]
fn answers_a_cancelled_call_that_still_waits_at_once() {
    let directory = directory(&[("a.txt", b"one\n")]);
    endless(&directory);
    let mut child = spawn(&directory, &["jsonl", "--jobs", "1"]);
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for (id, path) in [(1, "endless"), (2, "a.txt"), (3, "a.txt")] {
        writeln!(input, "{}", json!({"id": id, "name": "read", "arguments": {"path": path}})).unwrap();
    }
    let mut cancel = |id: u32| {
        writeln!(input, "{}", json!({"cancel": id})).unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        (answer["id"].clone(), code(&answer).to_owned(), answer["structuredContent"]["path"].clone())
    };
    // The first goes on for hours, so the second can have no other thread to thank.
    assert_eq!(cancel(2), (json!(2), "cancelled".to_owned(), json!("a.txt")));
    assert_eq!(cancel(1), (json!(1), "cancelled".to_owned(), json!("endless")));
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn ends_when_nobody_takes_the_answers_though_a_read_is_running() {
    let directory = directory(&[("a.txt", b"one\n")]);
    endless(&directory);
    let mut child = spawn(&directory, &["jsonl", "--jobs", "2"]);
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut call = |id: u32, path: &str| {
        writeln!(input, "{}", json!({"id": id, "name": "read", "arguments": {"path": path}})).unwrap();
    };
    call(1, "endless");
    call(2, "a.txt");
    output.read_line(&mut String::new()).unwrap();
    drop(output);
    call(3, "a.txt");
    assert!(child.wait().unwrap().success());
}

#[test]
fn an_input_that_cannot_be_read_is_told_after_the_answers() {
    let directory = directory(&[("a.txt", b"one\n")]);
    let folder = fs::File::open(directory.path()).unwrap();
    let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("capread"))
        .arg("jsonl")
        .current_dir(&directory)
        .stdin(folder)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = behind_sandbox_line(&output.stderr);
    assert_eq!(told, "error: cannot read the calls: Is a directory (os error 21)\n");
}

#[test]
fn answers_many_calls_of_one_id() {
    let directory = directory(&[("a.txt", b"one\n")]);
    let input = "{\"id\":1,\"name\":\"read\",\"arguments\":{\"path\":\"a.txt\"}}\n".repeat(20_000);
    let answers = answers(&directory, &[], input.as_bytes());
    assert_eq!(answers.len(), 20_000);
    assert!(answers.iter().all(|answer| answer["id"] == 1 && code(answer) == "none"));
}

#[test]
fn refuses_no_jobs_and_too_many() {
    for jobs in ["0", "-1", "1025", "99999", "many"] {
        capread(&directory(&[]), &["jsonl", &format!("--jobs={jobs}")]).assert().code(2).stdout("");
    }
}

/// Whoever notices it: what is cancelled is answered by another thread than what is read.
#[test]
fn ends_when_nobody_takes_the_answers_of_cancelled_calls() {
    let directory = directory(&[]);
    endless(&directory);
    for _ in 0..50 {
        let (output, stdout) = std::io::pipe().unwrap();
        drop(output);
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("capread"))
            .args(["jsonl", "--jobs", "1", "--max-scan-bytes", "4TiB"])
            .current_dir(&directory)
            .stdin(std::process::Stdio::piped())
            .stdout(stdout)
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let calls = [1, 2].map(|id| format!(r#"{{"id":{id},"name":"read","arguments":{{"path":"endless"}}}}"#));
        let input = format!("{}\n{}\n{{\"cancel\":2}}\n{{\"cancel\":1}}\n", calls[0], calls[1]);
        let mut stdin = child.stdin.take().unwrap();
        let _ = stdin.write_all(input.as_bytes());
        // It stays open.
        assert!(child.wait().unwrap().success());
        drop(stdin);
    }
}

/// The input ends with an error while cancelled calls are answered.
#[test]
fn what_was_cancelled_is_answered_though_the_input_cannot_be_read() {
    const CALLS: usize = 5000;
    let directory = directory(&[]);
    endless(&directory);
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("capread"))
        .args(["jsonl", "--jobs", "1", "--max-scan-bytes", "4TiB"])
        .current_dir(&directory)
        .stdin(std::os::fd::OwnedFd::from(theirs.try_clone().unwrap()))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // Unread on this side when it is closed, so that the other side's next read fails.
    (&theirs).write_all(b"x").unwrap();
    drop(theirs);
    let call = |id: usize| format!("{{\"id\":{id},\"name\":\"read\",\"arguments\":{{\"path\":\"endless\"}}}}\n");
    let input: String =
        (0..=CALLS).map(|number| call(number.min(1))).chain(["{\"cancel\":1}\n{\"cancel\":0}\n".to_owned()]).collect();
    let answers = BufReader::new(child.stdout.take().unwrap());
    let counted = std::thread::spawn(move || answers.lines().count());
    (&ours).write_all(input.as_bytes()).unwrap();
    drop(ours);
    assert_eq!((child.wait().unwrap().code(), counted.join().unwrap()), (Some(1), CALLS + 1));
}

/// Who shares the pipes with the command may have made them non-blocking, which the command can neither prevent nor undo.
#[test]
fn waits_on_pipes_that_do_not_block() {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    const CALLS: usize = 200;
    let directory = directory(&[("a.txt", &b"text text text\n".repeat(3000))]);
    for arguments in [&["jsonl"][..], &["mcp", "--root", "."]] {
        let (stdin, mut input) = std::io::pipe().unwrap();
        let (output, stdout) = std::io::pipe().unwrap();
        for end in [std::os::fd::AsFd::as_fd(&stdin), std::os::fd::AsFd::as_fd(&stdout)] {
            fcntl_setfl(end, fcntl_getfl(end).unwrap() | OFlags::NONBLOCK).unwrap();
        }
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("capread"));
        command.args(arguments).current_dir(&directory).stdin(stdin).stdout(stdout);
        let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
        drop(command);
        // It waits for the first call.
        std::thread::sleep(std::time::Duration::from_millis(200));
        let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
        for id in 0..CALLS {
            let line = if arguments[0] == "jsonl" {
                format!(r#"{{"id":{id},"name":"read","arguments":{{"path":"a.txt"}}}}"#)
            } else {
                format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"read","arguments":{{"path":"a.txt"}},"_meta":{meta}}}}}"#
                )
            };
            writeln!(input, "{line}").unwrap();
        }
        drop(input);
        // Until the pipe is full.
        std::thread::sleep(std::time::Duration::from_millis(200));
        let answers: Vec<Value> =
            BufReader::new(output).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        assert!(child.wait().unwrap().success());
        assert_eq!(answers.len(), CALLS);
        assert!(answers.iter().all(|answer| answer.to_string().contains("text text text")));
    }
}
