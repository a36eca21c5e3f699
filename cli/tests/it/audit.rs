//! The record of what was read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp::session::Session;
use crate::support::{behind_sandbox_line, capread, directory, spawn};

const FILES: &[(&str, &[u8])] = &[("a.txt", b"CONTENT one\nCONTENT two\n"), ("d/.env", b"CONTENT\n"), ("empty", b"")];

const UNAUDITED: &str = "Cannot read a.txt: the read could not be audited: No space left on device";

/// The lines of the file `audit`, each of which must be whole and tell no content.
#[track_caller]
fn audit(directory: &TempDir) -> Vec<Value> {
    let text = fs::read_to_string(directory.path().join("audit")).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    assert!(!text.contains("CONTENT"), "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// What does not change from run to run.
fn facts(line: &Value) -> Value {
    let mut line = line.clone();
    line.as_object_mut().unwrap().retain(|name, _| !["time", "durationMicros"].contains(&name.as_str()));
    line
}

fn failed(id: impl Into<Value>, input: impl Into<Value>, outcome: &str) -> Value {
    json!({"id": id.into(), "tool": "read", "input": input.into(), "resolved": null, "outcome": outcome, "startLine": null, "endLine": null, "bytes": null})
}

fn whole(id: impl Into<Value>) -> Value {
    json!({"id": id.into(), "tool": "read", "input": "a.txt", "resolved": "a.txt", "outcome": "ok", "startLine": 1, "endLine": 2, "bytes": 23})
}

#[test]
fn a_line_tells_when_what_was_read_and_what_came_of_it() {
    let directory = directory(FILES);
    std::os::unix::fs::symlink("../a.txt", directory.path().join("d/link")).unwrap();
    let read = |arguments: &[&str]| capread(&directory, &[&["read", "--audit", "audit"], arguments].concat()).assert();
    read(&["./d//link", "--offset", "2"]).success();
    read(&["empty"]).success();
    read(&["../x"]).code(1);
    read(&["nope", "--json"]).code(1);
    read(&["d/.env", "--deny", ".env"]).code(1);
    read(&["a.txt", "--offset", "0"]).code(1);
    read(&["a.txt", "--deadline", "0s"]).code(1);
    let lines = audit(&directory);
    assert_eq!(
        lines.iter().map(facts).collect::<Vec<_>>(),
        [
            json!({"id": null, "tool": "read", "input": "./d//link", "resolved": "a.txt", "outcome": "ok", "startLine": 2, "endLine": 2, "bytes": 11}),
            json!({"id": null, "tool": "read", "input": "empty", "resolved": "empty", "outcome": "ok", "startLine": 1, "endLine": 0, "bytes": 0}),
            failed(Value::Null, "../x", "outside_root"),
            failed(Value::Null, "nope", "not_found"),
            failed(Value::Null, "d/.env", "denied"),
            failed(Value::Null, "a.txt", "invalid_argument"),
            failed(Value::Null, "a.txt", "deadline"),
        ]
    );
    for line in &lines {
        let time = line["time"].as_str().unwrap();
        assert!(humantime_shape(time), "{time}");
        assert!(line["durationMicros"].as_u64().unwrap() < 60_000_000);
    }
    let file = fs::metadata(directory.path().join("audit")).unwrap();
    assert_eq!((file.mode() & 0o7777, file.is_file()), (0o600, true));
}

#[test]
fn has_the_fields_that_its_documentation_tells() {
    let document = include_str!("../../../docs/protocol.md").split_once("\n# The audit").unwrap().1;
    let examples = document.split_once("```json\n").unwrap().1.split_once("```").unwrap().0;
    let directory = directory(FILES);
    let calls = "{\"id\":1,\"name\":\"read\",\"arguments\":{\"path\":\"a.txt\"}}\n".repeat(2);
    capread(&directory, &["jsonl", "--audit", "audit"]).write_stdin(calls).assert().success();
    let names = |line: &Value| line.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let told: Vec<_> = examples.lines().map(|line| names(&serde_json::from_str(line).unwrap())).collect();
    assert_eq!(told, audit(&directory).iter().map(names).collect::<Vec<_>>());
}

/// `2026-11-30T20:01:15.124226Z`
fn humantime_shape(time: &str) -> bool {
    let digits: String = time.chars().map(|char| if char.is_ascii_digit() { '0' } else { char }).collect();
    digits == "0000-00-00T00:00:00.000000Z"
}

#[test]
fn what_cannot_start_is_no_read_and_opens_no_door() {
    let directory = directory(FILES);
    let stderr = |arguments: &[&str]| {
        let output = capread(&directory, &[&["read", "a.txt"], arguments].concat()).assert().code(2).stdout("");
        String::from_utf8(output.get_output().stderr.clone()).unwrap()
    };
    assert_eq!(stderr(&["--audit", "d"]), "error: cannot open d: Is a directory (os error 21)\n");
    assert_eq!(
        stderr(&["--audit", "no/audit"]),
        "error: cannot open no/audit: No such file or directory (os error 2)\n"
    );
    fs::create_dir(directory.path().join("real")).unwrap();
    for (link, target) in [("link", "elsewhere"), ("away", "real"), ("stderr", "/dev/stderr")] {
        std::os::unix::fs::symlink(target, directory.path().join(link)).unwrap();
    }
    for (path, name) in [("link", "link"), ("away/audit", "away"), ("d/../away/audit", "away"), ("stderr", "stderr")] {
        let told = format!("{name} is a symbolic link, and none is followed; name the file by its real path");
        assert_eq!(stderr(&["--audit", path]), format!("error: cannot open {path}: {told}\n"));
    }
    assert!(!directory.path().join("elsewhere").exists() && !directory.path().join("real/audit").exists());
    // Neither with a reader nor without one.
    let fifo = directory.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let told = "error: cannot open fifo: it is not a regular file\n";
    assert_eq!(stderr(&["--audit", "fifo"]), told);
    let _reader = File::options().read(true).write(true).open(&fifo).unwrap();
    assert_eq!(stderr(&["--audit", "fifo"]), told);
    assert!(stderr(&["--audit-errors", "ignore"]).starts_with("error: the following required arguments"));
    assert!(stderr(&["--audit", "audit", "--audit-errors", "maybe"]).starts_with("error: invalid value 'maybe'"));
    stderr(&["--audit", "audit", "--root", "nope"]);
    assert!(!directory.path().join("audit").exists());
}

#[test]
fn keeps_a_file_that_is_there_and_its_mode() {
    let directory = directory(FILES);
    let path = directory.path().join("audit");
    fs::write(&path, "{\"before\":1}\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    capread(&directory, &["read", "a.txt", "--audit", "audit"]).assert().success();
    let lines = audit(&directory);
    assert_eq!((&lines[0], facts(&lines[1])), (&json!({"before": 1}), whole(Value::Null)));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
}

const FORMS: [&str; 5] = [
    r#"{"id":1,"name":"read","arguments":{"path":"a.txt"}}"#,
    r#"{"type":"tool_use","id":"t","name":"read","input":{"path":"a.txt"}}"#,
    r#"{"id":"c","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.txt\"}"}}"#,
    r#"{"type":"function_call","call_id":"r","name":"read","arguments":"{\"path\":\"a.txt\"}"}"#,
    r#"{"functionCall":{"name":"read","args":{"path":"a.txt"}}}"#,
];

#[test]
fn jsonl_records_each_answer_whatever_the_call() {
    let directory = directory(FILES);
    let long = format!(r#"{{"id":8,"name":"read","arguments":{{"path":"{}"}}}}"#, "x".repeat(100_000));
    let hostile = r#"{"id":"\u001b[2J\n","name":"read","arguments":{"path":"a\n{\"outcome\":\"ok\"}\u202e\u0085"}}"#;
    let others = [
        r#"{"id":6,"name":"read","arguments":{"path":"../x","limit":"many"}}"#,
        r#"{"id":7,"name":"write","arguments":{"path":"a.txt"}}"#,
        &long,
        hostile,
        "no call",
    ];
    let input = [FORMS.as_slice(), &others].concat().join("\n");
    let arguments = ["jsonl", "--jobs", "1", "--audit", "audit"];
    let output = capread(&directory, &arguments).write_stdin(input).assert().success();
    assert_eq!(output.get_output().stdout.lines().count(), 10);
    let lines: Vec<_> = audit(&directory).iter().map(facts).collect();
    let mut unknown = failed(7, Value::Null, "invalid_argument");
    unknown["tool"] = json!("write");
    let cut = "x".repeat(4096) + "…";
    assert_eq!(
        lines,
        [
            whole(1),
            whole("t"),
            whole("c"),
            whole("r"),
            whole(Value::Null),
            failed(6, "../x", "invalid_argument"),
            unknown,
            failed(8, cut, "invalid_argument"),
            failed("\u{1b}[2J\n", "a\n{\"outcome\":\"ok\"}\u{202e}\u{85}", "not_found"),
            failed(Value::Null, Value::Null, "invalid_argument"),
        ]
    );
    let text = fs::read_to_string(directory.path().join("audit")).unwrap();
    assert!(text.chars().all(|char| char == '\n' || !capread::is_control(char)));
}

/// A file whose lines take minutes to count: text where it is looked at, then a hole.
fn endless(directory: &TempDir) {
    let file = File::create(directory.path().join("endless")).unwrap();
    (&file).write_all(&b"CONTENT\n".repeat(2000)).unwrap();
    file.set_len(1 << 42).unwrap();
}

const WITHOUT_END: [&str; 5] = ["--max-scan-bytes", "4TiB", "--jobs", "1", "--audit"];

#[test]
fn jsonl_records_what_is_cancelled() {
    let directory = directory(FILES);
    endless(&directory);
    let input = r#"{"id":1,"name":"read","arguments":{"path":"endless"}}
{"id":2,"name":"read","arguments":{"path":"a.txt"}}
{"cancel":2}
{"cancel":1}
"#;
    let arguments = [&["jsonl"], &WITHOUT_END[..], &["audit"]].concat();
    capread(&directory, &arguments).write_stdin(input).assert().success();
    let outcomes = by_id(&audit(&directory));
    assert_eq!(
        outcomes,
        [("1", "cancelled"), ("2", "cancelled")].map(|(id, code)| (id.to_owned(), code.to_owned())).into()
    );
}

fn by_id(lines: &[Value]) -> BTreeMap<String, String> {
    let of = |line: &Value| (line["id"].to_string(), line["outcome"].as_str().unwrap().to_owned());
    let outcomes: BTreeMap<_, _> = lines.iter().map(of).collect();
    assert_eq!(outcomes.len(), lines.len(), "one line a call: {lines:?}");
    outcomes
}

#[test]
fn mcp_records_what_is_read_refused_and_cancelled() {
    let directory = directory(FILES);
    endless(&directory);
    let arguments = [&WITHOUT_END[..], &["audit"]].concat();
    for start in [Session::initialized, Session::stateless] {
        let mut session = start(&directory, &arguments);
        session.call("first", json!({"path": "a.txt"}));
        assert_eq!(session.next()["id"], "first");
        session.call(2, json!({"path": "../x"}));
        assert_eq!(session.next()["id"], 2);
        session.call(3, json!({"path": "a.txt", "offset": true}));
        assert_eq!(session.next()["id"], 3);
        // One that reads, and one that waits behind it.
        session.call(4, json!({"path": "endless"}));
        session.call(5, json!({"path": "a.txt"}));
        session.cancel(5);
        session.cancel(4);
        session.call(6, json!({"path": "a.txt"}));
        assert_eq!(session.next()["id"], 6);
        // No read at all.
        session.request(7, "tools/call", json!({"name": "write", "arguments": {}}));
        assert_eq!(session.next()["id"], 7);
        session.end();
        let lines = audit(&directory);
        let expected = [
            ("\"first\"", "ok"),
            ("2", "outside_root"),
            ("3", "invalid_argument"),
            ("4", "cancelled"),
            ("5", "cancelled"),
            ("6", "ok"),
        ];
        assert_eq!(by_id(&lines), expected.map(|(id, code)| (id.to_owned(), code.to_owned())).into());
        assert_eq!(facts(&lines[0]), whole("first"));
        fs::remove_file(directory.path().join("audit")).unwrap();
    }
}

#[test]
fn a_read_that_cannot_be_recorded_is_not_answered() {
    let directory = directory(FILES);
    let full = ["--audit", "/dev/full"];
    let read = |arguments: &[&str]| capread(&directory, &[&["read"], arguments, &full].concat()).assert().code(1);
    read(&["a.txt"]).stdout("").stderr(format!("{UNAUDITED}\n"));
    let facts = json!({"code": "io", "input": "a.txt", "path": null});
    let answer = json!({"content": [{"type": "text", "text": UNAUDITED}], "structuredContent": facts, "isError": true});
    let output = read(&["a.txt", "--json"]).stderr("");
    assert_eq!(serde_json::from_slice::<Value>(&output.get_output().stdout).unwrap(), answer);
    // Not even what came of it.
    for path in ["nope", "d", "../x"] {
        read(&[path]).stderr(format!("Cannot read {path}: the read could not be audited: No space left on device\n"));
    }

    let arguments = ["jsonl", "--jobs", "1", "--audit", "/dev/full"];
    let output = capread(&directory, &arguments).write_stdin(FORMS.join("\n")).assert().success();
    let stdout = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert_eq!((stdout.lines().count(), stdout.matches(UNAUDITED).count()), (5, 5));
    assert!(!stdout.contains("CONTENT"));

    for start in [Session::initialized, Session::stateless] {
        let mut session = start(&directory, &["--audit", "/dev/full", "--structured"]);
        assert_eq!(session.text(json!({"path": "a.txt"})), (UNAUDITED.to_owned(), true));
        assert_eq!(
            session.text(json!({})).0,
            "Cannot read file: the read could not be audited: No space left on device"
        );
    }
}

#[test]
fn reads_go_on_unrecorded_where_that_is_wanted() {
    let directory = directory(FILES);
    let ignore = ["--audit", "/dev/full", "--audit-errors", "ignore"];
    let told = "capread: audit: cannot write (No space left on device (os error 28)); reads go on, unrecorded\n";
    let content = std::str::from_utf8(FILES[0].1).unwrap();
    capread(&directory, &[&["read", "a.txt"][..], &ignore].concat()).assert().success().stdout(content).stderr(told);
    let output = capread(&directory, &[&["jsonl"][..], &ignore].concat()).write_stdin(FORMS.join("\n")).assert();
    let output = output.success();
    let stdout = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert_eq!(stdout.matches("CONTENT one").count(), 5);
    // Once, however many are lost.
    assert_eq!(behind_sandbox_line(&output.get_output().stderr), told);
}

#[test]
fn standard_error_takes_the_lines_too() {
    let directory = directory(FILES);
    let output = capread(&directory, &["read", "a.txt", "--audit", "/dev/stderr"]).assert().success();
    assert_eq!(facts(&serde_json::from_slice(&output.get_output().stderr).unwrap()), whole(Value::Null));
    // Where it is a file that cannot be read, and has something in it.
    let path = directory.path().join("audit");
    fs::write(&path, "{}\n").unwrap();
    for _ in 0..2 {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("capread"));
        command.args(["read", "a.txt", "--audit", "/dev/stderr"]).current_dir(&directory);
        assert!(command.stderr(File::options().append(true).open(&path).unwrap()).status().unwrap().success());
    }
    assert_eq!(audit(&directory)[1..].iter().map(facts).collect::<Vec<_>>(), [whole(Value::Null), whole(Value::Null)]);
}

/// Another process has the file open, and its disk is full in the middle of a line, between two lines of this one.
#[test]
fn a_line_that_another_process_tears_spoils_none_of_this_one() {
    let directory = directory(FILES);
    let mut child = spawn(&directory, &["jsonl", "--jobs", "1", "--audit", "audit"]);
    let (mut input, mut answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let path = directory.path().join("audit");
    let mut other = File::options().append(true).create(true).open(&path).unwrap();
    for _ in 0..3 {
        writeln!(input, "{}", FORMS[0]).unwrap();
        answers.read_line(&mut String::new()).unwrap();
        other.write_all(b"{\"time\":").unwrap();
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    let text = fs::read_to_string(&path).unwrap();
    let whole_lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    assert_eq!(whole_lines.map(|line| facts(&line)).collect::<Vec<_>>(), [whole(1), whole(1), whole(1)], "{text}");
}

/// A disk that is full in the middle of a line: the reads fail from there on, and what follows when there is room again is whole.
#[test]
fn a_line_that_was_torn_spoils_no_other() {
    let directory = directory(FILES);
    // A limit of 512 or 1024 bytes for the file.
    let script = r#"ulimit -f 1; exec "$0" jsonl --jobs 1 --audit audit"#;
    let mut child = Command::new("sh")
        .args(["-c", script])
        .arg(assert_cmd::cargo::cargo_bin("capread"))
        .current_dir(&directory)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let calls = format!("{}\n", FORMS[0]).repeat(20);
    child.stdin.take().unwrap().write_all(calls.as_bytes()).unwrap();
    let answers = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let answered = answers.matches("CONTENT one").count();
    assert!((1..20).contains(&answered), "{answered}");
    assert_eq!(answers.matches("could not be audited").count(), 20 - answered);

    let path = directory.path().join("audit");
    let torn = fs::read_to_string(&path).unwrap();
    assert!(!torn.ends_with('\n'), "{torn}");
    assert_eq!(torn.matches('\n').count(), answered);
    for _ in 0..2 {
        capread(&directory, &["read", "a.txt", "--audit", "audit"]).assert().success();
    }
    let text = fs::read_to_string(&path).unwrap();
    let whole_lines = text.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count();
    assert_eq!((whole_lines, text.lines().count()), (answered + 2, answered + 3), "{text}");
}

/// Two processes, and several threads in each.
#[rstest]
#[case::jsonl(1)]
#[case::two_at_once(2)]
fn every_one_of_many_reads_at_once_has_a_whole_line(#[case] processes: usize) {
    const CALLS: usize = 2000;
    let directory = directory(FILES);
    let begun = Instant::now();
    let children: Vec<_> = (0..processes)
        .map(|process| {
            let mut child = spawn(&directory, &["jsonl", "--jobs", "8", "--audit", "audit"]);
            let mut input = child.stdin.take().unwrap();
            std::thread::spawn(move || {
                for call in 0..CALLS {
                    let path = ["a.txt", "../x", "nope", "empty"][call % 4];
                    let id = format!("{process}-{call}");
                    writeln!(input, "{}", json!({"id": id, "name": "read", "arguments": {"path": path}})).unwrap();
                }
            });
            child
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.stdout.lines().count(), CALLS);
    }
    let lines = audit(&directory);
    let ids: BTreeSet<_> = lines.iter().map(|line| line["id"].to_string()).collect();
    assert_eq!((lines.len(), ids.len()), (processes * CALLS, processes * CALLS));
    assert_eq!(lines.iter().filter(|line| line["outcome"] == "ok").count(), processes * CALLS / 2);
    assert!(begun.elapsed() < Duration::from_secs(60));
}
