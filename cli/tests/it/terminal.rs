//! What a terminal gets to see, in a pseudo-terminal, pty(7).

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use nix::pty::openpty;
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};
use tempfile::TempDir;

use crate::support::{capread, directory};

/// What `capread` writes with a terminal as its standard output.
#[track_caller]
fn shown(directory: &TempDir, arguments: &[&str]) -> String {
    screen(directory, arguments, |command, terminal| command.stdout(terminal))
}

#[track_caller]
fn screen(directory: &TempDir, arguments: &[&str], attach: fn(&mut Command, OwnedFd) -> &mut Command) -> String {
    let terminal = openpty(None, None).unwrap();
    // As it is written: no `\r` before each `\n`.
    let mut settings = tcgetattr(&terminal.slave).unwrap();
    cfmakeraw(&mut settings);
    tcsetattr(&terminal.slave, SetArg::TCSANOW, &settings).unwrap();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("capread"));
    attach(command.current_dir(directory).args(arguments).stdin(Stdio::null()), terminal.slave);
    let mut child = command.spawn().unwrap();
    // With it goes this process's handle to the other end, so that the end comes when the child ends.
    drop(command);
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let mut screen = File::from(terminal.master);
    // EIO is the end: nobody has the other side open.
    while let Ok(count @ 1..) = screen.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..count]);
    }
    child.wait().unwrap();
    String::from_utf8(bytes).unwrap()
}

const TEXT: &str = "\u{1b}]0;title\u{7} a\tb\r\n\rx\u{9b}2J\u{202e}\u{2066}\u{7f}é中\n\r\n";
const ESCAPED: &str = "\\u{1b}]0;title\\u{7} a\tb\r\n\\rx\\u{9b}2J\\u{202e}\\u{2066}\\u{7f}é中\n\r\n";

#[test]
fn shows_controls_escaped() {
    let directory = directory(&[("f", TEXT.as_bytes()), ("plain", "a\tb\r\né中\n".as_bytes()), ("empty", b"")]);
    assert_eq!(shown(&directory, &["read", "f"]), ESCAPED);
    assert_eq!(shown(&directory, &["read", "plain"]), "a\tb\r\né中\n");
    assert_eq!(shown(&directory, &["read", "empty"]), "");
    let hint = "[2 more lines in file. Use offset=2 to continue.]";
    let first = ESCAPED.split_inclusive('\n').next().unwrap();
    assert_eq!(shown(&directory, &["read", "f", "--limit", "1"]), format!("{first}\n{hint}\n"));
    assert_eq!(shown(&directory, &["read", "f", "-n", "--limit", "1"]), format!("1\t{first}\n{hint}\n"));
}

#[test]
fn shows_how_far_a_long_scan_has_come_and_leaves_nothing_of_it() {
    let directory = directory(&[("f", &b"a line\n".repeat(2000))]);
    File::options().write(true).open(directory.path().join("f")).unwrap().set_len(1 << 40).unwrap();
    let arguments = ["read", "f", "--max-scan-bytes", "4TiB", "--deadline", "1500ms"];
    let errors = screen(&directory, &arguments, |command, terminal| command.stdout(Stdio::null()).stderr(terminal));
    let pictures: Vec<_> = errors.split("\r\u{1b}[K").collect();
    let [before, drawn @ .., after] = &pictures[..] else { panic!("{errors}") };
    assert_eq!((*before, *after), ("", "Read took longer than 1.5 s\n"));
    assert!(drawn.len() > 1 && drawn.iter().all(|line| line.starts_with(['█', '░'])), "{errors}");
    assert!(drawn.iter().all(|line| line.contains(" of 1024.00 GiB, ") && line.ends_with("s left")), "{errors}");
}

#[test]
fn shows_them_as_they_are_where_that_is_wanted() {
    let directory = directory(&[("f", TEXT.as_bytes())]);
    assert_eq!(shown(&directory, &["read", "f", "--raw"]), TEXT);
    // What is no terminal always gets the very bytes.
    for arguments in [&["read", "f"][..], &["read", "f", "--raw"]] {
        capread(&directory, arguments).assert().success().stdout(TEXT);
    }
}

#[test]
fn shows_the_same_json_without_controls() {
    let directory = directory(&[("f", TEXT.as_bytes())]);
    let json = shown(&directory, &["read", "f", "--json"]);
    assert!(!json.contains(capread::is_control), "{json}");
    let piped = capread(&directory, &["read", "f", "--json"]).output().unwrap().stdout;
    let value = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).unwrap();
    assert_eq!(value(json.as_bytes()), value(&piped));
    assert_eq!(shown(&directory, &["read", "f", "--json", "--raw"]).as_bytes(), piped);
}
