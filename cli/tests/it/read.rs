use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{capread, directory, spawn};

#[track_caller]
fn prints(files: &[(&str, &[u8])], arguments: &[&str], expected: &str) {
    let directory = directory(files);
    capread(&directory, arguments).assert().success().stdout(expected.to_owned()).stderr("");
}

#[track_caller]
fn fails(code: i32, files: &[(&str, &[u8])], arguments: &[&str], message: &str) {
    let directory = directory(files);
    capread(&directory, arguments).assert().code(code).stdout("").stderr(format!("{message}\n"));
}

#[rstest]
#[case::final_newline("a\nb\n")]
#[case::no_final_newline("a\nb")]
#[case::empty("")]
#[case::one_empty_line("\n")]
#[case::empty_lines("\n\n\n")]
#[case::carriage_returns("a\r\nb\r\n")]
fn prints_a_whole_file_as_its_bytes(#[case] content: &str) {
    prints(&[("f", content.as_bytes())], &["read", "f"], content);
}

#[test]
fn prints_the_hint_after_one_empty_line() {
    let files: &[(&str, &[u8])] = &[("f", b"a\nb\nc\n")];
    prints(files, &["read", "f", "--limit", "2"], "a\nb\n\n[1 more lines in file. Use offset=3 to continue.]\n");
    prints(files, &["read", "f", "--offset", "3", "--limit", "1"], "c\n");
    prints(
        files,
        &["read", "f", "--max-lines", "1", "--offset", "2"],
        "b\n\n[Showing lines 2-2 of 3. Use offset=3 to continue.]\n",
    );
    let lines = "x".repeat(600) + "\n" + &"y".repeat(600);
    let expected = "x".repeat(600) + "\n\n[Showing lines 1-1 of 2 (1 KiB limit). Use offset=2 to continue.]\n";
    prints(&[("f", lines.as_bytes())], &["read", "f", "--max-bytes", "1KiB"], &expected);
}

#[test]
fn prints_the_last_lines_and_what_comes_before_them() {
    let lines = (1..=100).fold(String::new(), |lines, line| lines + &line.to_string() + "\n");
    let files: &[(&str, &[u8])] = &[("f", lines.as_bytes()), ("g", b"a\nb")];
    prints(
        files,
        &["read", "f", "--tail", "2"],
        "99\n100\n\n[Showing lines 99-100 of 100. Use offset=1 and limit=98 to read what comes before.]\n",
    );
    prints(files, &["read", "g", "--tail", "2"], "a\nb");
    prints(files, &["read", "g", "--tail", "9"], "a\nb");
    // Under the budgets the newest lines stay.
    prints(
        files,
        &["read", "f", "--tail", "50", "--max-bytes", "6"],
        "99\n100\n\n[Showing lines 99-100 of 100. Use offset=1 and limit=98 to read what comes before.]\n",
    );
    for (arguments, message) in [
        (["--tail", "0"].as_slice(), "tail must be a positive integer"),
        (&["--tail", "1", "--offset", "1"], "tail and offset exclude each other"),
        (&["--tail", "1", "--limit", "1"], "tail and limit exclude each other"),
    ] {
        fails(1, files, &[&["read", "f"], arguments].concat(), message);
    }
}

#[test]
fn leaves_out_the_total_or_ends_where_a_scan_must() {
    let files: &[(&str, &[u8])] = &[("f", b"a\nb\nc\n")];
    prints(
        files,
        &["read", "f", "--no-total", "--limit", "1"],
        "a\n\n[At least 1 more lines in file. Use offset=2 to continue.]\n",
    );
    prints(
        files,
        &["read", "f", "--max-scan-bytes", "5"],
        "a\nb\n\n[Showing lines 1-2 of at least 3. The rest lies beyond the scan limit (5 bytes).]\n",
    );
    let arguments = ["read", "f", "--offset", "3", "--max-scan-bytes", "5"];
    fails(1, files, &arguments, "Line 3 lies beyond the scan limit (5 bytes)");
    fails(2, files, &["read", "f", "--max-scan-bytes", "0"], "error: max_scan_bytes must be a positive integer");
}

#[test]
fn reads_a_file_only_in_the_version_that_is_wanted() {
    let directory = directory(&[("f", b"one\n")]);
    let read =
        |arguments: &[&str]| capread(&directory, &[&["read", "f", "--json"], arguments].concat()).output().unwrap();
    let result: Value = serde_json::from_slice(&read(&[]).stdout).unwrap();
    let version = result["structuredContent"]["version"].as_str().unwrap();
    assert_eq!(result["structuredContent"]["changedDuringRead"], false);
    assert_eq!(read(&["--if-version", version]).status.code(), Some(0));
    fs::write(directory.path().join("f"), "two and more\n").unwrap();
    let changed = read(&["--if-version", version]);
    let result: Value = serde_json::from_slice(&changed.stdout).unwrap();
    assert_eq!((changed.status.code(), &result["structuredContent"]["code"]), (Some(1), &"changed".into()));
    assert_eq!(result["content"][0]["text"], "File changed since it was last read");
}

#[rstest]
#[case::outside(&["read", "../x"], "Path is outside the allowed root: ../x")]
#[case::missing(&["read", "nope"], "File does not exist: nope")]
#[case::directory(&["read", "d"], "Not a regular file: d (directory). It has: g")]
#[case::offset_zero(&["read", "f", "--offset", "0"], "offset must be a positive integer")]
#[case::limit_zero(&["read", "f", "--limit", "0"], "limit must be a positive integer")]
#[case::offset_behind_the_end(&["read", "f", "--offset", "9"], "Offset 9 is beyond end of file (1 lines total)")]
#[case::empty_path(&["read", ""], "path must not be empty")]
#[case::deadline(&["read", "f", "--deadline", "0s"], "Read took longer than 0 s")]
fn a_failed_read_is_status_1_and_its_message(#[case] arguments: &[&str], #[case] message: &str) {
    fails(1, &[("f", b"a\n"), ("d/g", b"")], arguments, message);
}

#[rstest]
#[case::no_lines(&["read", "f", "--max-lines", "0"], "error: max_lines must be a positive integer")]
#[case::no_bytes(&["read", "f", "--max-bytes", "0"], "error: max_bytes must be a positive integer")]
#[case::missing_root(&["read", "f", "--root", "nope"], "error: cannot open root: File does not exist: nope")]
#[case::root_is_a_file(&["read", "f", "--root", "f"], "error: cannot open root: root must be a directory: f")]
#[case::jsonl_root_is_a_file(&["jsonl", "--root", "f"], "error: cannot open root: root must be a directory: f")]
fn what_cannot_start_is_status_2(#[case] arguments: &[&str], #[case] message: &str) {
    fails(2, &[("f", b"a\n")], arguments, message);
}

/// An option of the contract that does not work yet is refused by its name, not ignored.
#[rstest]
fn refuses_what_it_does_not_know(#[values("--nonsense", "--tails", "-x")] option: &str) {
    let directory = directory(&[("f", b"a\n")]);
    let output = capread(&directory, &["read", "f", option]).assert().code(2).stdout("");
    let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(stderr.starts_with(&format!("error: unexpected argument '{option}' found")), "{stderr}");
}

#[test]
fn takes_relative_paths_from_the_first_root_and_absolute_ones_from_any() {
    let directory = directory(&[("a/f", b"IN a\n"), ("b/g", b"IN b\n"), ("c/s", b"OUT\n")]);
    let absolute = |name: &str| directory.path().join(name).display().to_string();
    let read = |path: &str| capread(&directory, &["read", path, "--root", "a", "--root", "b"]).assert();
    read("f").success().stdout("IN a\n");
    read(&absolute("b/g")).success().stdout("IN b\n");
    read("g").code(1).stderr("File does not exist: g\n");
    let outside = absolute("c/s");
    read(&outside).code(1).stderr(format!("Path is outside the allowed root: {outside}\n"));
}

#[test]
fn denies_what_patterns_match_from_arguments_and_files() {
    let files: &[(&str, &[u8])] = &[
        (".env", b"OUT\n"),
        ("a/key.pem", b"OUT\n"),
        ("secret/x", b"OUT\n"),
        ("a/f", b"IN\n"),
        ("deny.txt", b"# keys\n*.pem\n\nsecret/\n"),
    ];
    let denied = |path: &str, options: &[&str]| {
        let message = format!("Path is denied by policy: {path}");
        fails(1, files, &[&["read", path], options].concat(), &message);
    };
    for path in [".env", "a/key.pem", "secret/x", "secret", "secret/missing"] {
        denied(path, &["--deny", ".env", "--deny-from", "deny.txt"]);
    }
    denied(".env", &["--deny", "*.pem", "--deny", ".env"]);
    prints(files, &["read", "a/f", "--deny", ".env", "--deny-from", "deny.txt"], "IN\n");
}

/// The file may come with what is read: a `.gitignore` that somebody else wrote.
#[test]
fn a_file_of_patterns_excepts_nothing_from_what_is_denied_by_argument() {
    let files: &[(&str, &[u8])] =
        &[(".env", b"OUT\n"), ("a.key", b"IN\n"), ("deny.txt", b"*.key\n!*.key\n!.env\n!*\n")];
    let [deny, from] = [["--deny", ".env"], ["--deny-from", "deny.txt"]];
    for options in [[deny, from].concat(), [from, deny].concat()] {
        fails(1, files, &[&["read", ".env"], &options[..]].concat(), "Path is denied by policy: .env");
        prints(files, &[&["read", "a.key"], &options[..]].concat(), "IN\n");
    }
}

#[test]
fn a_policy_that_cannot_be_had_is_an_error_at_start() {
    let directory = directory(&[("f", b"a\n")]);
    let stderr = |arguments: &[&str]| {
        let output = capread(&directory, arguments).assert().code(2).stdout("");
        String::from_utf8(output.get_output().stderr.clone()).unwrap()
    };
    let told = stderr(&["read", "f", "--deny", "[z-a]"]);
    assert!(told.starts_with("error: deny pattern [z-a] does not parse: "), "{told}");
    let told = stderr(&["read", "f", "--deny", "./.env"]);
    assert!(
        told.starts_with("error: deny pattern ./.env does not parse: no path has a component '.' or '..'"),
        "{told}"
    );
    let root = directory.path().canonicalize().unwrap();
    let [below, top] = ["secrets/", ""].map(|name| root.join(name).to_str().unwrap().to_owned());
    let absolute = "patterns start at the root, and so does a leading /";
    for (pattern, reason) in [
        ("", "it is empty"),
        ("  ", "it is empty"),
        ("#x", "a name that starts with # is \\#"),
        ("#*#", "a name that starts with # is \\#"),
        ("~/x", "patterns start at the root, and ~ is a name there"),
        (&below, absolute),
        (&top, absolute),
    ] {
        let told = format!("error: --deny '{pattern}' denies nothing: {reason}\n");
        assert_eq!(stderr(&["read", "f", "--root", ".", "--deny", pattern]), told);
    }
    std::fs::write(directory.path().join("old"), ".env\r*.pem\r").unwrap();
    let told = stderr(&["read", "f", "--deny-from", "old"]);
    assert_eq!(told, "error: old: deny pattern .env\\r*.pem\\r does not parse: it has a line break in it\n");
    let told = stderr(&["jsonl", "--deny-from", "nope"]);
    assert!(told.starts_with("error: cannot read nope: "), "{told}");
}

#[rstest]
fn reads_the_same_with_every_resolver(#[values("auto", "kernel", "walk")] resolver: &str) {
    prints(&[("a/b/f", b"IN\n")], &["read", "a/b/f", "--resolver", resolver, "--one-file-system"], "IN\n");
}

#[test]
fn suggests_what_may_have_been_meant() {
    let files: &[(&str, &[u8])] = &[("src/main.rs", b"IN\n"), ("src/.env", b"OUT\n")];
    fails(1, files, &["read", "src/mian.rs"], "File does not exist: src/mian.rs. Did you mean src/main.rs?");
    fails(1, files, &["read", "scr/main.rs"], "File does not exist: scr/main.rs. Did you mean src?");
    fails(1, files, &["read", "src/.evn"], "File does not exist: src/.evn. Did you mean src/.env?");
    fails(1, files, &["read", "src/.evn", "--deny", ".env"], "File does not exist: src/.evn");
}

#[rstest]
#[case("10")]
#[case("soon")]
#[case("-1s")]
fn refuses_a_deadline_that_is_no_time(#[case] time: &str) {
    let directory = directory(&[("f", b"a\n")]);
    capread(&directory, &["read", "f", &format!("--deadline={time}")]).assert().code(2).stdout("");
}

#[test]
fn reads_beneath_another_root_by_relative_and_absolute_path() {
    let directory = directory(&[("in/f", b"IN\n"), ("in-secret/s", b"OUT\n")]);
    let root = directory.path().join("in");
    let absolute = root.join("f");
    let outside = directory.path().join("in-secret/s");
    capread(&directory, &["read", "f", "--root", "in"]).assert().success().stdout("IN\n");
    capread(&directory, &["read", absolute.to_str().unwrap(), "--root", "in"]).assert().success().stdout("IN\n");
    let message = format!("Path is outside the allowed root: {}\n", outside.display());
    capread(&directory, &["read", outside.to_str().unwrap(), "--root", "in"])
        .assert()
        .code(1)
        .stdout("")
        .stderr(message);
}

#[test]
fn prints_json_for_success_and_failure() {
    let directory = directory(&[("notes.txt", b"line 1\nline 2\nline 3\nline 4")]);
    let read = |arguments: &[&str], code| -> Value {
        let output = capread(&directory, arguments).assert().code(code).stderr("");
        serde_json::from_slice(&output.get_output().stdout).unwrap()
    };
    let version = read(&["read", "notes.txt", "--json"], 0)["structuredContent"]["version"].clone();
    let facts = json!({
        "path": "notes.txt", "startLine": 2, "endLine": 3, "totalLines": 4, "truncatedBy": "limit", "nextOffset": 4, "nextColumn": null,
        "bytes": 13, "fileSize": 27, "encoding": "utf-8", "bom": false, "replacements": 0, "controls": 0,
        "lineEnds": "lf", "finalNewline": false, "links": 1, "version": version, "changedDuringRead": false,
    });
    let text = "line 2\nline 3\n\n[1 more lines in file. Use offset=4 to continue.]";
    assert_eq!(
        read(&["read", "notes.txt", "--offset", "2", "--limit", "2", "--json"], 0),
        json!({"content": [{"type": "text", "text": text}], "structuredContent": facts, "isError": false})
    );
    assert_eq!(
        read(&["read", "a/../../x", "--json"], 1),
        json!({
            "content": [{"type": "text", "text": "Path is outside the allowed root: a/../../x (resolves to ../x)"}],
            "structuredContent": {"code": "outside_root", "input": "a/../../x", "path": "../x"},
            "isError": true,
        })
    );
    assert_eq!(
        read(&["read", "nope", "--json"], 1)["structuredContent"],
        json!({"code": "not_found", "input": "nope", "path": "nope", "os": "ENOENT"})
    );
}

#[test]
fn takes_a_path_that_is_not_utf_8() {
    let directory = directory(&[]);
    let name = OsStr::from_bytes(b"\xff\xfe");
    fs::write(directory.path().join(name), "IN\n").unwrap();
    capread(&directory, &["read"]).arg(name).assert().success().stdout("IN\n");
    capread(&directory, &["read"])
        .arg(OsStr::from_bytes(b"\xfd"))
        .assert()
        .code(1)
        .stderr("File does not exist: \u{fffd}\n");
}

#[test]
fn a_closed_pipe_is_success() {
    // More than a pipe holds, so that the write must meet the closed end.
    let line = "x".repeat(1000) + "\n";
    let directory = directory(&[("f", line.repeat(1000).as_bytes())]);
    let mut child = spawn(&directory, &["read", "f", "--max-bytes", "1MiB"]);
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

/// As a shell that limits the size of files has it, and without asking not to be killed.
#[test]
fn an_output_that_may_not_grow_is_an_error() {
    let directory = directory(&[("f", &b"text\n".repeat(1000))]);
    let script = r#"ulimit -f 1; exec "$0" read f >out"#;
    let output = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(assert_cmd::cargo::cargo_bin("capread"))
        .current_dir(&directory)
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), stderr.as_str()),
        (Some(1), "error: cannot write the answer: File too large (os error 27)\n")
    );
}

/// The second thread of a long scan has a stack of its own size.
#[test]
fn a_small_stack_for_threads_is_no_danger_to_a_large_file() {
    let directory = directory(&[("f", &b"a line\n".repeat(4 << 20))]);
    let mut command = capread(&directory, &["read", "f", "--limit", "1"]);
    let expected = "a line\n\n[4194303 more lines in file. Use offset=2 to continue.]\n";
    command.env("RUST_MIN_STACK", "65536").assert().success().stdout(expected).stderr("");
}
