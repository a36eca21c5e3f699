//! A directory that is asked for as a file: what is in it, as far as it may be told.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use capread::{Error, ReadRequest, ReadTool};

use crate::support::{Shared, Tree, without_privileges};

fn fail(tool: &ReadTool, request: &str) -> Error {
    let error = tool.call(&ReadRequest::new(request), &|| false).unwrap_err();
    assert_eq!(error.code(), "not_a_file", "{request}: {error}");
    error
}

/// `listed` is what the message says behind that it is a directory.
#[track_caller]
fn lists(tool: &ReadTool, request: &str, listed: &str) {
    let error = fail(tool, request);
    let told = if listed.is_empty() { String::new() } else { format!(". It has: {listed}") };
    assert_eq!(error.to_string(), format!("Not a regular file: {} (directory){told}", error.path().unwrap()));
}

#[test]
fn tells_what_is_in_it_by_name() {
    let tree =
        Tree::new(&["src/c.rs", "src/a.rs", "src/b/x", "src/p|", "src/l -> b", "src/.x", "empty/", "up -> src/b/.."]);
    let tool = tree.tool();
    lists(&tool, "src", ".x, a.rs, b/, c.rs, l, p");
    lists(&tool, "./src//b/..", ".x, a.rs, b/, c.rs, l, p");
    lists(&tool, "src/l", "x");
    lists(&tool, "up", ".x, a.rs, b/, c.rs, l, p");
    lists(&tool, ".", "empty/, src/, up");
    lists(&tool, "empty", "");
    let entries = fail(&tool, "empty").entries().cloned().unwrap();
    assert_eq!((entries.names.len(), entries.more, entries.is_all), (0, 0, true));
    // Only the tool looks, and only into directories.
    assert_eq!(tree.root().open("src").unwrap_err().to_string(), "Not a regular file: src (directory)");
    assert_eq!(fail(&tool, "src/p").entries(), None);
}

#[test]
fn tells_20_names_and_counts_the_others() {
    let tree = Tree::new(&[]);
    let names: Vec<_> = (10..32).map(|number| format!("f{number}")).collect();
    for name in &names[..20] {
        tree.file(&format!("d/{name}"), b"");
    }
    lists(&tree.tool(), "d", &names[..20].join(", "));
    tree.file(&format!("d/{}", names[20]), b"");
    lists(&tree.tool(), "d", &(names[..20].join(", ") + " and 1 more"));
    tree.file(&format!("d/{}", names[21]), b"");
    let error = fail(&tree.tool(), "d");
    let entries = error.entries().unwrap();
    assert_eq!((entries.names.as_slice(), entries.more, entries.is_all), (&names[..20], 2, true));
}

#[test]
fn looks_at_10_000_entries_and_says_so() {
    let tree = Tree::new(&["d/"]);
    for number in 0..10_000 {
        fs::write(tree.at(&format!("d/{number:05}")), "").unwrap();
    }
    assert!(fail(&tree.tool(), "d").to_string().ends_with("00018, 00019 and 9980 more"));
    fs::write(tree.at("d/10000"), "").unwrap();
    let error = fail(&tree.tool(), "d");
    assert!(error.to_string().ends_with(" and at least 9980 more"), "{error}");
    assert!(!error.entries().unwrap().is_all);
}

#[test]
fn escapes_and_shortens_names_where_they_are_shown_only() {
    let tree = Tree::new(&["d/a\u{1b}[2J\nb", "d/\u{202e}c/"]);
    let (long, odd) = ("n".repeat(255), OsStr::from_bytes(b"\xff"));
    tree.file(&format!("e/{long}"), b"");
    fs::write(tree.path().join("e").join(odd), "").unwrap();
    lists(&tree.tool(), "d", "a\\u{1b}[2J\\nb, \\u{202e}c/");
    assert_eq!(fail(&tree.tool(), "d").entries().unwrap().names, ["a\u{1b}[2J\nb", "\u{202e}c/"]);
    // What cannot be asked for is counted.
    lists(&tree.tool(), "e", &format!("{}…{} and 1 more", "n".repeat(120), "n".repeat(120)));
    assert_eq!(fail(&tree.tool(), "e").entries().unwrap().names, [long]);
}

#[test]
fn tells_the_entries_of_a_directory_with_a_folded_name() {
    let tree = Tree::new(&["my docs/f"]);
    lists(&tree.tool(), "my\u{a0}docs", "f");
    assert_eq!(fail(&tree.tool(), "my\u{a0}docs").path(), Some("my docs"));
}

#[test]
fn a_directory_that_cannot_be_listed_is_told_without_its_entries() {
    without_privileges("entries::a_directory_that_cannot_be_listed_is_told_without_its_entries", || {
        let tree = Tree::new(&["d/f", "closed/f"]);
        tree.chmod("d", 0o311);
        tree.chmod("closed", 0o000);
        for name in ["d", "closed"] {
            lists(&tree.tool(), name, "");
            assert_eq!(fail(&tree.tool(), name).entries(), None);
            tree.chmod(name, 0o755);
        }
        tree.close();
    });
}

#[cfg(feature = "policy")]
#[test]
fn denied_entries_are_as_if_they_were_not_there() {
    use capread::Policy;

    let tree = Tree::new(&[
        "d/.env",
        "d/key.pem",
        "d/f",
        "d/notes -> .env",
        "d/secret/x",
        "d/dir -> secret",
        "d/one",
        "d/two => d/one",
        "l -> d",
    ]);
    let tool = |policy: Policy| ReadTool::new(tree.root().with_policy(policy));
    let deny = |patterns: &[&str]| tool(Policy::deny(patterns).unwrap());
    lists(&deny(&[]), "d", ".env, dir, f, key.pem, notes, one, secret/, two");
    lists(&deny(&[".env", "*.pem", "secret/"]), "d", "f, one, two");
    // As it lies there and as it is asked for.
    lists(&deny(&["/d/f"]), "l", ".env, dir, key.pem, notes, one, secret/, two");
    lists(&deny(&["/l/f"]), "l", ".env, dir, key.pem, notes, one, secret/, two");
    lists(&deny(&["/l/f"]), "d", ".env, dir, f, key.pem, notes, one, secret/, two");
    lists(&deny(&["d/*"]), "d", "");
    lists(&deny(&["d/*", "!d/f"]), "d", "f");
    lists(&tool(Policy::deny(["notes"]).unwrap().deny_hard_links()), "d", ".env, dir, f, key.pem, secret/");
    let error = deny(&["d"]).call(&ReadRequest::new("d"), &|| false).unwrap_err();
    assert_eq!((error.code(), error.entries()), ("denied", None));
    // Nor are they counted, by whatever they are denied.
    for number in 0..20 {
        tree.file(&format!("d/0{number:02}"), b"");
    }
    let entries = fail(&deny(&[".env", "*.pem", "secret/"]), "d").entries().cloned().unwrap();
    assert_eq!((entries.names.len(), entries.more), (20, 3));
}

#[cfg(feature = "policy")]
#[test]
fn a_policy_of_another_root_holds_for_what_is_told() {
    use capread::{Policy, Roots};

    use crate::support::root_at;

    let tree = Tree::new(&["l -> {T}/other", "T/other/f", "T/other/g", "far -> {T}/other/f"]);
    let other = root_at(tree.fill("{T}/other")).with_policy(Policy::deny(["/f"]).unwrap());
    let tool = ReadTool::new(Roots::from(tree.root()).and(other));
    lists(&tool, "l", "g");
    lists(&tool, ".", "l");
    lists(&tool, &tree.fill("{T}/other"), "g");
}

#[test]
fn can_be_stopped_while_it_looks() {
    let tree = Tree::new(&[]);
    for number in 0..520 {
        tree.file(&format!("d/{number}"), b"");
    }
    let stopped = |at: usize| {
        let asked = Shared::new(0);
        let cancel = || asked.replace(asked.get() + 1) >= at;
        let error = tree.tool().call(&ReadRequest::new("d"), &cancel).unwrap_err();
        (error.code(), asked.get())
    };
    let (code, all) = stopped(usize::MAX);
    assert!(code == "not_a_file" && all > 3, "{code} after {all}");
    for at in 0..all {
        assert_eq!(stopped(at), ("cancelled", at + 1));
    }
}

#[cfg(feature = "json")]
#[test]
fn the_json_of_an_error_has_them() {
    use serde_json::json;

    let tree = Tree::new(&["src/a.rs", "src/b/x"]);
    let answer = |path: &str| capread::answer(&tree.tool().call_json(&json!({"path": path}), &|| false));
    assert_eq!(
        answer("src/"),
        json!({
            "content": [{"type": "text", "text": "Not a regular file: src (directory). It has: a.rs, b/"}],
            "structuredContent": {
                "code": "not_a_file", "input": "src/", "path": "src", "entries": ["a.rs", "b/"], "moreEntries": 0,
            },
            "isError": true,
        })
    );
    assert!(answer("nope")["structuredContent"].get("entries").is_none());
}

#[test]
fn a_binary_file_is_told_by_its_format() {
    let tree = Tree::new(&[]);
    tree.file("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0");
    tree.file("x", b"x\0");
    // By what it is, not by its name, and only where it is no text.
    tree.file("x.png", b"x\0");
    tree.file("text.pdf", b"%PDF-1.7\n%text\n");
    tree.file("late.gif", &[&b"GIF89a"[..], &[b' '; 8192], b"\0"].concat());
    let read = |name: &str| match tree.tool().call(&ReadRequest::new(name), &|| false) {
        Ok(output) => output.window.text.chars().take(6).collect(),
        Err(error) => error.to_string(),
    };
    assert_eq!(read("logo.png"), "Binary files are not supported by read (PNG image, 18 bytes)");
    assert_eq!(read("x"), "Binary files are not supported by read (2 bytes)");
    assert_eq!(read("x.png"), "Binary files are not supported by read (2 bytes)");
    assert_eq!(read("text.pdf"), "%PDF-1");
    assert_eq!(read("late.gif"), "GIF89a");
}
