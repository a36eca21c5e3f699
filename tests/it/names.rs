//! Names that a model writes otherwise than they are: what is the same after folding is read, what is less alike is suggested.

use std::fs;
use std::path::Path;

use capread::{Error, ReadOutput, ReadRequest, ReadTool, Roots};
use rstest::rstest;

use crate::support::{Shared, Tree, assert_fails, root_at};

fn read(tool: &ReadTool, request: &str) -> Result<ReadOutput, Error> {
    tool.call(&ReadRequest::new(request), &|| false)
}

/// The file of that name is read, and the result names it.
#[track_caller]
fn reads(tree: &Tree, tool: &ReadTool, request: &str, path: &str) {
    let output = read(tool, &tree.fill(request)).unwrap();
    let path = tree.fill(path);
    assert_eq!(output.path, Path::new(&path), "{request:?}");
    assert_eq!(output.window.text, format!("IN: {path}"), "{request:?}");
}

#[track_caller]
fn misses(tree: &Tree, tool: &ReadTool, request: &str, suggestions: &[&str]) {
    let error = read(tool, &tree.fill(request)).unwrap_err();
    assert_eq!(error.code(), "not_found", "{request:?}: {error}");
    let suggestions: Vec<_> = suggestions.iter().map(|path| tree.fill(path)).collect();
    assert_eq!(error.suggestions(), suggestions, "{request:?}");
}

#[rstest]
#[case::no_break_space("a\u{a0}b.txt", "a b.txt")]
#[case::narrow_no_break_space("Screenshot 9.41\u{202f}AM.txt", "Screenshot 9.41 AM.txt")]
#[case::ideographic_space("a\u{3000}b", "a b")]
#[case::curly_quote("it\u{2019}s", "it's")]
#[case::curly_quotes("\u{201c}a\u{201d} \u{2018}b\u{2019}", "\"a\" 'b'")]
#[case::composition("re\u{301}sume\u{301}.txt", "r\u{e9}sum\u{e9}.txt")]
#[case::hangul("\u{1112}\u{1161}\u{11ab}", "\u{d55c}")]
#[case::all_of_them("l\u{2019}e\u{301}te\u{301}\u{202f}!", "l'\u{e9}t\u{e9} !")]
fn reads_the_one_name_that_is_the_same_after_folding(#[case] one: &str, #[case] other: &str) {
    for (there, asked) in [(one, other), (other, one)] {
        let tree = Tree::new(&[there, "x"]);
        let tool = tree.tool();
        reads(&tree, &tool, asked, there);
        reads(&tree, &tool, &format!("./d/..//{asked}"), there);
        // Only the tool does so, and only in the directory where the name is missing.
        assert_fails(tree.root().open(asked), "not_found", &format!("File does not exist: {asked}"));
        misses(&tree, &tool, &format!("x/{asked}"), &[]);
    }
}

#[test]
fn the_exact_name_always_wins() {
    let tree = Tree::new(&["a b", "a\u{a0}b", "a\u{202f}b/", "d e", "d\u{a0}e -> nowhere"]);
    let tool = tree.tool();
    reads(&tree, &tool, "a b", "a b");
    reads(&tree, &tool, "a\u{a0}b", "a\u{a0}b");
    assert_eq!(read(&tool, "a\u{202f}b").unwrap_err().code(), "not_a_file");
    // A link that is there and leads nowhere is there.
    misses(&tree, &tool, "d\u{a0}e", &[]);
}

#[test]
fn two_such_names_are_listed_and_none_is_read() {
    let tree = Tree::new(&["a b", "a\u{a0}b", "a-b", "d\u{2003}e/f", "d\u{a0}e/f", "d.e/f"]);
    let tool = tree.tool();
    misses(&tree, &tool, "a\u{202f}b", &["a b", "a\u{a0}b"]);
    misses(&tree, &tool, "d e/f", &["d\u{a0}e", "d\u{2003}e"]);
    let error = read(&tool, "a\u{202f}b").unwrap_err();
    assert_eq!(error.to_string(), "File does not exist: a\u{202f}b. Did you mean a b or a\u{a0}b?");
}

#[test]
fn folds_each_name_by_itself() {
    let tree = Tree::new(&["my docs/l\u{2019}\u{e9}t\u{e9}/a\u{202f}b.txt", "my docs/x", "l -> my docs"]);
    let tool = tree.tool();
    let there = "my docs/l\u{2019}\u{e9}t\u{e9}/a\u{202f}b.txt";
    reads(&tree, &tool, "my\u{a0}docs/l'e\u{301}te\u{301}/a b.txt", there);
    reads(&tree, &tool, "{R}/my\u{a0}docs/l'e\u{301}te\u{301}/a b.txt", there);
    // Behind a link, by its name.
    let output = read(&tool, "l/l'e\u{301}te\u{301}/a b.txt").unwrap();
    assert_eq!(output.path, Path::new("l/l\u{2019}\u{e9}t\u{e9}/a\u{202f}b.txt"));
    assert_eq!(output.resolved, Path::new(there));
    // What is missing behind a folded name is missing there.
    let error = read(&tool, "my\u{a0}docs/y").unwrap_err();
    assert_eq!((error.input(), error.path()), (Some("my\u{a0}docs/y"), Some("my docs/y")));
    misses(&tree, &tool, "my\u{a0}docs/l'et\u{e9}/y", &["my docs/l\u{2019}\u{e9}t\u{e9}"]);
    assert_fails(read(&tool, "my\u{a0}docs/x/y"), "not_found", "File does not exist: my docs/x/y");
    let request = ReadRequest::new("my\u{a0}docs/x").offset(9);
    let error = tool.call(&request, &|| false).unwrap_err();
    assert_eq!((error.code(), error.path()), ("offset_beyond_end", Some("my docs/x")));
}

/// As deep as a path can be, with every name to be folded.
#[test]
fn folds_as_many_names_as_there_are() {
    let depth = 40;
    let tree = Tree::new(&[&("a b/".repeat(depth) + "f")]);
    reads(&tree, &tree.tool(), &("a\u{a0}b/".repeat(depth) + "f"), &("a b/".repeat(depth) + "f"));
}

#[test]
fn what_is_less_alike_is_only_suggested() {
    let tree = Tree::new(&["README.md", "a_b", "\u{fb01}le", "soft\u{ad}hyphen", "caf\u{e9} x"]);
    let tool = tree.tool();
    misses(&tree, &tool, "readme.md", &["README.md"]);
    misses(&tree, &tool, "a b", &["a_b"]);
    misses(&tree, &tool, "file", &[]);
    misses(&tree, &tool, "softhyphen", &["soft\u{ad}hyphen"]);
    misses(&tree, &tool, "CAFE\u{301}\u{a0}X", &["caf\u{e9} x"]);
}

#[test]
fn a_folded_name_is_walked_as_any_other() {
    let tree = Tree::new(&[
        "O/f",
        "out one -> ../elsewhere",
        "far two -> {O}/f",
        "in three -> x/f",
        "x/f",
        "p four|",
        "self five -> self five",
        "d six/",
        "void seven -> nothing/here",
    ]);
    let tool = tree.tool();
    let code = |request: &str| read(&tool, request).unwrap_err().code();
    assert_eq!(code("out\u{a0}one/f"), "outside_root");
    assert_eq!(code("out\u{a0}one/nope"), "outside_root");
    assert_eq!(code("far\u{a0}two"), "outside_root");
    assert_eq!(code("p\u{a0}four"), "not_a_file");
    assert_eq!(code("self\u{a0}five"), "too_many_links");
    assert_eq!(code("d\u{a0}six"), "not_a_file");
    assert_eq!(code("d\u{a0}six/../../elsewhere/f"), "outside_root");
    misses(&tree, &tool, "void\u{a0}seven", &[]);
    let output = read(&tool, "in\u{a0}three").unwrap();
    assert_eq!((output.path.to_str(), output.resolved.to_str()), (Some("in three"), Some("x/f")));
}

#[test]
fn folds_in_the_root_that_was_asked() {
    let tree = Tree::new(&["a b", "l -> {T}/other", "T/other/c d = IN: {T}/other/c d"]);
    let tool = ReadTool::new(Roots::from(tree.root()).and(root_at(tree.fill("{T}/other"))));
    reads(&tree, &tool, "a\u{a0}b", "a b");
    let output = read(&tool, &tree.fill("{T}/other/c\u{a0}d")).unwrap();
    assert_eq!(output.path, Path::new(&tree.fill("{T}/other/c d")));
    assert_eq!(read(&tool, "l/c\u{a0}d").unwrap().path, Path::new("l/c d"));
}

#[test]
fn folds_nothing_in_a_directory_of_more_than_10_000_entries() {
    let tree = Tree::new(&["a b"]);
    for number in 1..10_000 {
        fs::write(tree.at(&format!("{number:05}")), "").unwrap();
    }
    reads(&tree, &tree.tool(), "a\u{a0}b", "a b");
    tree.file("one more", b"");
    assert_eq!(read(&tree.tool(), "a\u{a0}b").unwrap_err().code(), "not_found");
}

#[cfg(feature = "policy")]
#[test]
fn denied_names_are_as_if_they_were_not_there() {
    use capread::Policy;

    let entries = ["a b", "a\u{a0}b", "my docs/key", "my docs/f", "n o -> a b", "n\u{a0}o", "only -> my docs"];
    let tree = Tree::new(&entries);
    let tool = |patterns: &[&str]| ReadTool::new(tree.root().with_policy(Policy::deny(patterns).unwrap()));
    misses(&tree, &tool(&[]), "a\u{202f}b", &["a b", "a\u{a0}b"]);
    // One of two is denied, and so no second one.
    reads(&tree, &tool(&["a b"]), "a\u{202f}b", "a\u{a0}b");
    misses(&tree, &tool(&["a b", "a\u{a0}b"]), "a\u{202f}b", &[]);
    // As asked for, before anything is looked at.
    assert_eq!(read(&tool(&["a\u{202f}b"]), "a\u{202f}b").unwrap_err().code(), "denied");
    // By where it leads.
    misses(&tree, &tool(&[]), "n\u{202f}o", &["n o", "n\u{a0}o"]);
    reads(&tree, &tool(&["/a b"]), "n\u{202f}o", "n\u{a0}o");
    // A directory on the way, and what lies behind it.
    misses(&tree, &tool(&["my docs"]), "my\u{a0}docs/f", &[]);
    reads(&tree, &tool(&["key"]), "my\u{a0}docs/f", "my docs/f");
    reads(&tree, &tool(&["/my docs", "!/my docs/"]), "my\u{a0}docs/f", "my docs/f");
    // What is denied answers the same whether it is there or not.
    for patterns in [["/my docs/*"], ["/my docs/key"]] {
        let answers = |request: &str| read(&tool(&patterns), request).unwrap_err().to_string();
        let there = answers("my\u{a0}docs/key");
        fs::rename(tree.at("my docs/key"), tree.at("x")).unwrap();
        assert_eq!(answers("my\u{a0}docs/key"), there);
        fs::rename(tree.at("x"), tree.at("my docs/key")).unwrap();
    }
}

#[cfg(feature = "policy")]
#[test]
fn a_file_denied_for_its_links_is_not_folded_to() {
    let tree = Tree::new(&["a b", "c => a b", "d\u{a0}e"]);
    let policy = capread::Policy::deny([""; 0]).unwrap().deny_hard_links();
    let tool = ReadTool::new(tree.root().with_policy(policy));
    misses(&tree, &tool, "a\u{a0}b", &[]);
    reads(&tree, &tool, "d e", "d\u{a0}e");
}

#[test]
fn can_be_stopped_at_any_look_at_the_flag() {
    let tree = Tree::new(&["a b/c d/e f"]);
    let stopped = |at: usize| {
        let asked = Shared::new(0);
        let cancel = || asked.replace(asked.get() + 1) >= at;
        let result = tree.tool().call(&ReadRequest::new("a\u{a0}b/c\u{a0}d/e\u{a0}f"), &cancel);
        (result.map_err(|error| error.code()), asked.get())
    };
    let (result, all) = stopped(usize::MAX);
    assert_eq!(result.unwrap().path, Path::new("a b/c d/e f"));
    for at in 0..all {
        assert_eq!(stopped(at), (Err("cancelled"), at + 1));
    }
}

#[test]
fn suggests_what_is_meant_by_other_ways_to_write_a_path() {
    let tree = Tree::new(&["src/a b.rs", "src/main.rs", "app/x", "main.rs", "@types/x", "%41"]);
    let tool = tree.tool();
    for (request, suggestions) in [
        ("@src/main.rs", &["src/main.rs"][..]),
        ("@main.rs", &["main.rs"]),
        ("@types/x", &[]),
        ("@nope", &[]),
        ("file://{R}/src/main.rs", &["src/main.rs"]),
        ("file:{R}/src/main.rs", &["src/main.rs"]),
        ("file://localhost{R}/src/a%20b.rs", &["src/a b.rs"]),
        ("file://src/main.rs", &["src/main.rs"]),
        ("src/a%20b.rs", &["src/a b.rs"]),
        ("@{R}/src/a%20b.rs", &["src/a b.rs"]),
        ("src%2Fmain.rs", &["src/main.rs"]),
        ("~/src/main.rs", &["src/main.rs"]),
        ("~/app/src/main.rs", &["src/main.rs"]),
        ("app/src/main.rs", &["src/main.rs"]),
        ("app/src", &["src"]),
        ("app/src/mian.rs", &[]),
        ("{R}/app/src/main.rs", &["src/main.rs"]),
        // Where it is there, it is no other.
        ("@@main.rs", &["main.rs"]),
    ] {
        if request == "@types/x" {
            reads(&tree, &tool, request, request);
        } else {
            misses(&tree, &tool, request, suggestions);
        }
    }
    // The root's whole path without its slash.
    let request = tree.fill("{R}/main.rs");
    misses(&tree, &tool, request.trim_start_matches('/'), &["main.rs"]);
    // Before what is only like it.
    misses(&tree, &tool, "@main.r", &["main.rs"]);
    misses(&tree, &tool, "@typo/../@main.rs", &["main.rs"]);
}

#[test]
fn suggests_nothing_outside_by_other_ways_to_write_a_path() {
    let tree = Tree::new(&["O/f", "out -> ../elsewhere", "d/"]);
    let tool = tree.tool();
    for request in ["@{O}/f", "file://{O}/f", "~/../elsewhere/f", "@../elsewhere/f", "%2e%2e/elsewhere/f"] {
        misses(&tree, &tool, request, &[]);
    }
    misses(&tree, &tool, "@out/f", &["out"]);
}

#[cfg(feature = "policy")]
#[test]
fn suggests_nothing_denied_by_other_ways_to_write_a_path() {
    let tree = Tree::new(&["src/.env", "l -> src/.env", "src/x"]);
    let policy = capread::Policy::deny([".env"]).unwrap();
    let tool = ReadTool::new(tree.root().with_policy(policy));
    misses(&tree, &tool, "@src/x", &["src/x"]);
    for request in ["@l", "file://{R}/l", "src/%2eenv", "app/l"] {
        misses(&tree, &tool, request, &[]);
    }
    // Its name is denied wherever it is asked for.
    for request in ["@src/.env", "app/src/.env"] {
        assert_eq!(read(&tool, request).unwrap_err().code(), "denied");
    }
}
