//! The sandbox from outside: what the shipped command does and is kept from. `tests/sandbox.rs` tries it from inside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Child;

use rstest::rstest;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{behind_sandbox_line, capread, directory, spawn};

/// What this kernel can do, as the first line of a server tells it.
const ENFORCED: &str = "capread: sandbox: opens files only to read beneath its roots";

const SERVERS: [&[&str]; 2] = [&["jsonl", "--jobs", "4"], &["mcp", "--jobs", "4", "--root", "."]];

/// Passes over a test where the kernel has no Landlock, unless this is where everything must be there.
fn has_landlock() -> bool {
    let output = capread(&directory(&[]), &["jsonl"]).output().unwrap();
    let is_there = output.stderr.starts_with(ENFORCED.as_bytes());
    assert!(is_there || std::env::var_os("CI").is_none_or(|ci| ci != "true"), "this kernel has no Landlock to try");
    is_there
}

/// A server that has answered in a session, so that all its threads run.
#[track_caller]
fn running(directory: &TempDir, arguments: &[&str]) -> Child {
    let mut child = spawn(directory, arguments);
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}});
    write!(child.stdin.as_mut().unwrap(), "{initialize}\n{ping}\n").unwrap();
    let mut output = BufReader::new(child.stdout.as_mut().unwrap());
    (0..2).for_each(|_| assert!(output.read_line(&mut String::new()).unwrap() > 0));
    child
}

/// What all threads of the process have in this line of their status.
#[track_caller]
fn of_threads(process: u32, name: &str) -> (usize, BTreeSet<String>) {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let values = threads.map(|thread| {
        let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned()
    });
    let values: Vec<_> = values.collect();
    (values.len(), values.into_iter().collect())
}

#[test]
fn every_thread_of_a_server_is_restricted() {
    if !has_landlock() {
        return;
    }
    let directory = directory(&[]);
    for server in SERVERS {
        let mut child = running(&directory, server);
        let (threads, no_new_privileges) = of_threads(child.id(), "NoNewPrivs:");
        assert!(threads >= 5, "{threads}");
        assert_eq!(no_new_privileges, BTreeSet::from(["1".to_owned()]));
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());

        let mut child = running(&directory, &[server, &["--no-sandbox"]].concat());
        // As the thread that started it, and no more.
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        let of_children = of_threads(child.id(), "NoNewPrivs:").1;
        assert!(of_children.iter().all(|value| status.contains(&format!("NoNewPrivs:\t{value}\n"))), "{of_children:?}");
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
}

/// A process in a Landlock domain may not look into one outside, which is how the kernel itself tells whether there is a domain. The
/// root is `/proc`, so capread does not refuse, and the file opens: only its content needs that right.
#[test]
fn the_kernel_refuses_what_a_domain_may_not_see() {
    if !has_landlock() {
        return;
    }
    let directory = directory(&[]);
    let path = format!("{}/io", std::process::id());
    let code = |arguments: &[&str]| -> Value {
        let output = capread(&directory, &[&["read", &path, "--root", "/proc", "--json"], arguments].concat()).output();
        let result: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
        result["structuredContent"]["os"].clone()
    };
    assert_eq!(code(&[]), "EACCES");
    assert_eq!(code(&["--no-sandbox"]), Value::Null);

    // In every thread that answers.
    let call = json!({"id": 1, "name": "read", "arguments": {"path": path}}).to_string() + "\n";
    let arguments = ["jsonl", "--jobs", "4", "--root", "/proc"];
    let output = capread(&directory, &arguments).write_stdin(call.repeat(200)).assert().success();
    let answers = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert_eq!(answers.matches(r#""os":"EACCES""#).count(), 200);
}

#[test]
fn servers_tell_what_is_enforced_and_reads_are_silent() {
    let directory = directory(&[("f", b"IN\n")]);
    for server in SERVERS {
        let output = capread(&directory, server).write_stdin("").output().unwrap();
        assert!(output.status.success());
        assert_eq!(behind_sandbox_line(&output.stderr), "");
        let output = capread(&directory, &[server, &["--no-sandbox"]].concat()).write_stdin("").output().unwrap();
        assert_eq!((output.status.success(), output.stderr.as_slice()), (true, &b""[..]));
    }
    for option in [[].as_slice(), &["--no-sandbox"]] {
        capread(&directory, &[&["read", "f"], option].concat()).assert().success().stdout("IN\n").stderr("");
    }
}

/// `landlock_create_ruleset` and `landlock_restrict_self`, the same on all architectures.
const CREATE_RULESET: i64 = 444;
const RESTRICT_SELF: i64 = 446;

/// What a kernel without it answers, one that was started without, and a container that filters calls.
const ENOSYS: u32 = 38;
const EOPNOTSUPP: u32 = 95;
const EPERM: u32 = 1;

/// Standard error and the text of a server and of a read, where this call of theirs gives this error.
fn with_failing(call: i64, errno: u32) -> [(String, String); 2] {
    let run = move || {
        let rules = BTreeMap::from([(call, Vec::new())]);
        let architecture = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), architecture);
        let filter: BpfProgram = filter.unwrap().try_into().unwrap();
        // For this thread, and what it starts.
        seccompiler::apply_filter(&filter).unwrap();
        let directory = directory(&[("f", b"IN\n")]);
        let call = r#"{"functionCall":{"name":"read","args":{"path":"f"}}}"#;
        [("jsonl", call), ("read", "")].map(|(command, input)| {
            let arguments = if command == "read" { vec![command, "f"] } else { vec![command] };
            let output = capread(&directory, &arguments).write_stdin(input).assert().success();
            let output = output.get_output();
            [&output.stderr, &output.stdout].map(|bytes| String::from_utf8(bytes.clone()).unwrap()).into()
        })
    };
    std::thread::spawn(run).join().unwrap()
}

#[test]
fn reads_without_landlock_where_there_is_none() {
    for errno in [ENOSYS, EOPNOTSUPP, EPERM] {
        let [jsonl, read] = with_failing(CREATE_RULESET, errno);
        let told = "capread: sandbox: none, there is no Landlock here; reads are confined all the same\n";
        assert_eq!(jsonl.0, told);
        assert!(jsonl.1.contains(r#"{"output":"IN"}"#), "{}", jsonl.1);
        assert_eq!(read, (String::new(), "IN\n".to_owned()));
    }
}

#[test]
fn tells_of_landlock_that_fails_and_reads_on() {
    if !has_landlock() {
        return;
    }
    for (stderr, stdout) in with_failing(RESTRICT_SELF, EPERM) {
        assert!(stderr.starts_with("capread: sandbox: none, Landlock failed ("), "{stderr}");
        assert!(stderr.ends_with("; reads are confined all the same\n"), "{stderr}");
        assert!(stdout.contains("IN"), "{stdout}");
    }
}

#[rstest]
#[case::relative("f", &["--root", "in"])]
#[case::through_a_link("f", &["--root", "link"])]
#[case::one_in_the_other("d/g", &["--root", "in", "--root", "in/d"])]
#[case::by_the_walk("d/g", &["--root", "in", "--resolver", "walk"])]
fn reads_beneath_roots_however_they_are_named(#[case] path: &str, #[case] arguments: &[&str]) {
    let directory = directory(&[("in/f", b"IN\n"), ("in/d/g", b"IN\n")]);
    std::os::unix::fs::symlink("in", directory.path().join("link")).unwrap();
    capread(&directory, &[&["read", path], arguments].concat()).assert().success().stdout("IN\n").stderr("");
}

#[test]
fn reads_all_where_the_root_is_all() {
    let directory = directory(&[("f", b"IN\n")]);
    let path = fs::canonicalize(directory.path().join("f")).unwrap();
    let arguments = ["read", path.to_str().unwrap(), "--root", "/"];
    capread(&directory, &arguments).assert().success().stdout("IN\n").stderr("");
}

#[test]
fn goes_on_in_a_root_that_is_renamed_and_ends_well_in_one_that_is_removed() {
    let directory = directory(&[("in/f", b"IN\n")]);
    let path = |name: &str| directory.path().join(name);
    let mut child = spawn(&directory, &["jsonl", "--root", "in"]);
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut read = || -> Value {
        writeln!(input, r#"{{"name":"read","arguments":{{"path":"f"}}}}"#).unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    assert_eq!(read()["content"][0]["text"], "IN");
    fs::create_dir(path("d")).unwrap();
    fs::rename(path("in"), path("d/moved")).unwrap();
    assert_eq!(read()["content"][0]["text"], "IN");
    // What now has the name is another directory.
    fs::create_dir(path("in")).unwrap();
    fs::write(path("in/f"), "OUT\n").unwrap();
    assert_eq!(read()["content"][0]["text"], "IN");
    fs::remove_dir_all(path("d")).unwrap();
    assert_eq!(read()["structuredContent"]["code"], "not_found");
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// The policy and what else is named on the command line is opened before.
#[test]
fn takes_files_from_outside_its_roots_at_start() {
    let directory = directory(&[("in/f", b"IN\n"), ("in/.env", b"OUT\n"), ("deny", b".env\n")]);
    let read = |path: &str| capread(&directory, &["read", path, "--root", "in", "--deny-from", "deny"]).assert();
    read("f").success().stdout("IN\n");
    read(".env").code(1).stderr("Path is denied by policy: .env\n");
}
