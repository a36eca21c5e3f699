use std::fs;
use std::process::Stdio;

use assert_cmd::Command;
use tempfile::TempDir;

/// A directory with files of these names and contents.
#[track_caller]
pub(crate) fn directory(files: &[(&str, &[u8])]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
    }
    directory
}

/// `capread` with that directory as the current one, and so as the root.
pub(crate) fn capread(directory: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("capread").unwrap();
    command.current_dir(directory).args(arguments);
    command
}

/// The same as a process to talk to, with pipes on both ends.
pub(crate) fn spawn(directory: &TempDir, arguments: &[&str]) -> std::process::Child {
    std::process::Command::new(assert_cmd::cargo::cargo_bin("capread"))
        .current_dir(directory)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What is left of standard error behind the line that tells of the sandbox, with which each server begins.
#[track_caller]
pub(crate) fn behind_sandbox_line(stderr: &[u8]) -> String {
    let stderr = std::str::from_utf8(stderr).unwrap();
    let (first, rest) = stderr.split_once('\n').unwrap();
    assert!(first.starts_with("capread: sandbox: "), "{stderr}");
    rest.to_owned()
}
