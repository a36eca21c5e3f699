//! What docs/setup.md shows: programs in other languages that drive `capread jsonl`, and configurations that start `capread mcp`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;

use crate::mcp::session::Session;
use crate::support::{capread, directory};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn setup() -> String {
    fs::read_to_string(repository().join("docs/setup.md")).unwrap()
}

/// The blocks of code in that language, in their order.
fn blocks<'a>(document: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    document.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// A root as the snippets want it: a small file, and one whose lines take minutes to count.
fn root() -> TempDir {
    let directory = directory(&[("root/a.txt", b"one\ntwo\n"), ("secret", b"OUT\n")]);
    let large = fs::File::create(directory.path().join("root/large.log")).unwrap();
    (&large).write_all(&b"line\n".repeat(2000)).unwrap();
    large.set_len(1 << 40).unwrap();
    directory
}

fn snippet(file: &str) -> PathBuf {
    repository().join("tests/clients/snippets").join(file)
}

/// What a program prints, where it is there.
fn printed(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    Some(String::from_utf8(output.stdout).unwrap())
}

fn python_is_there() -> bool {
    printed("python3", &["--version"]).is_some()
}

/// Node leaves the types of TypeScript out by itself since 22.18.
fn node_takes_typescript() -> bool {
    printed("node", &["--print", "process.features.typescript"]).is_some_and(|how| how.trim() == "strip")
}

#[expect(clippy::print_stderr, reason = "who runs the tests should know")]
fn not_tested(why: &str) {
    eprintln!("NOT TESTED: {why}");
}

#[test]
fn the_snippet_in_python_reads_cancels_and_ends() {
    if python_is_there() {
        return reads_cancels_and_ends("python3", "reader.py");
    }
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "python3 is missing");
    not_tested("python3 is missing");
}

/// An older Node is no failure even where CI is true: `tests/clients/run` brings its own, and looks at the types.
#[test]
fn the_snippet_in_typescript_reads_cancels_and_ends() {
    if node_takes_typescript() {
        return reads_cancels_and_ends("node", "reader.ts");
    }
    not_tested("node is missing, or too old for TypeScript");
}

#[track_caller]
fn reads_cancels_and_ends(interpreter: &str, file: &str) {
    let directory = root();
    let output = Command::new(interpreter)
        // The first versions that take TypeScript warn of it.
        .env("NODE_NO_WARNINGS", "1")
        .arg(snippet(file))
        .arg(assert_cmd::cargo::cargo_bin("capread"))
        .args(["jsonl", "--root", "root", "--jobs", "2", "--deadline", "60s"])
        .current_dir(&directory)
        .output()
        .unwrap();
    // Nothing but what the sandbox tells of itself.
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.lines().all(|line| line.starts_with("capread: sandbox: ")), "{told}");
    let expected = fs::read_to_string(snippet("expected")).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    assert!(output.status.success());
}

#[rstest]
#[case("python", "reader.py")]
#[case("ts", "reader.ts")]
fn the_document_shows_the_snippets_as_they_are(#[case] language: &str, #[case] file: &str) {
    assert_eq!(blocks(&setup(), language), [fs::read_to_string(snippet(file)).unwrap()]);
}

/// The arguments with which a configuration starts the server, wherever it has them.
fn starts(value: &Value) -> Vec<Vec<String>> {
    let texts = |values: &Value| -> Vec<String> {
        values.as_array().into_iter().flatten().filter_map(|value| Some(value.as_str()?.to_owned())).collect()
    };
    let Some(fields) = value.as_object() else { return Vec::new() };
    match (&value["command"], &value["args"]) {
        (Value::String(command), arguments) if command == "capread" => vec![texts(arguments)],
        (Value::Array(_), Value::Null) => vec![texts(&value["command"])[1..].to_vec()],
        _ => fields.values().flat_map(starts).collect(),
    }
}

/// Those that are JSON; the root is made one that is there.
#[test]
fn each_configuration_in_json_starts_a_server() {
    let directory = directory(&[("a.txt", b"one\n")]);
    let document = setup();
    let configurations = blocks(&document, "json");
    assert!(configurations.len() >= 6, "{configurations:?}");
    for configuration in configurations {
        let arguments = starts(&serde_json::from_str(configuration).expect(configuration));
        let [arguments] = arguments.as_slice() else { panic!("{configuration}") };
        assert_eq!(arguments[..2], ["mcp", "--root"], "{configuration}");
        assert_eq!(arguments[2], "/path/to/project", "{configuration}");
        let rest: Vec<&str> = arguments[3..].iter().map(String::as_str).collect();
        let mut session = Session::initialized(&directory, &rest);
        assert_eq!(session.text(serde_json::json!({"path": "a.txt"})), ("one".to_owned(), false));
        session.end();
    }
}

/// The command's options that the document names are there.
#[test]
fn the_document_names_no_option_that_is_not_there() {
    let help = |command: &str| {
        let output = capread(&directory(&[]), &[command, "--help"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let known = help("mcp") + &help("jsonl");
    let document = setup();
    let lines = blocks(&document, "sh").into_iter().flat_map(str::lines);
    let mut options = 0;
    for line in lines.filter(|line| line.starts_with("capread ") || line.contains("reader.")) {
        for option in line.split_whitespace().filter(|word| word.starts_with("--")) {
            assert!(known.contains(option), "{option} in {line}");
            options += 1;
        }
    }
    assert!(options > 10);
}
