//! Requests judged by their text.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use capread::{ReadRequest, Root};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rstest::rstest;

use crate::support::{
    Row, Tree, assert_fails, check, check_in, in_mode, invalid, missing, outside, root_at, special, text,
};

#[test]
fn judges_requests_by_their_text() {
    check(&[
        Row("1", &["f"], &[("f", text("IN: f"))]),
        Row("2", &["a/b/f"], &[("a/b/f", text("IN: a/b/f"))]),
        Row("3", &["a/b/f"], &[("./a//b/./f", text("IN: a/b/f")), (".//././/a/b/f", text("IN: a/b/f"))]),
        Row("4", &["f"], &[("a/../f", text("IN: f")), ("a/b/c/../../../f", text("IN: f"))]),
        Row("5", &["f", "g"], &[("f/../g", text("IN: g"))]),
        Row("6", &["f"], &[("{R}/f", text("IN: f"))]),
        Row("8", &["f"], &[("{R}//./f", text("IN: f")), ("//{R}/f", text("IN: f"))]),
        Row("9", &["f"], &[("{R}/../app/f", text("IN: f")), ("/..{R}/f", text("IN: f"))]),
        Row("11", &[], &[("/etc/hostname", outside("/etc/hostname"))]),
        Row("12", &[], &[("/nonexistent/x", outside("/nonexistent/x")), ("/", outside("/"))]),
        Row(
            "13",
            &[],
            &[
                ("..", outside("..")),
                ("../", outside("../ (resolves to ..)")),
                ("../.", outside("../. (resolves to ..)")),
                ("a/../..", outside("a/../.. (resolves to ..)")),
            ],
        ),
        Row("14", &["O/s"], &[("../elsewhere/s", outside("../elsewhere/s")), ("{O}/s", outside("{O}/s"))]),
        Row("16", &["f"], &[("../app/f", text("IN: f")), ("a/../../app/./f", text("IN: f"))]),
        Row("17", &["..env", "..."], &[("..env", text("IN: ..env")), ("...", text("IN: ..."))]),
        Row("18", &[], &[("", invalid("path must not be empty"))]),
        Row("19", &[], &[("a\0b", invalid("path must not contain a NUL byte"))]),
        Row("20", &[" "], &[(" ", text("IN:  "))]),
        Row("21", &[], &[(".", special(".", "directory")), ("{R}", special(".", "directory"))]),
        Row("22", &["d/"], &[("d", special("d", "directory")), ("d/", special("d", "directory"))]),
        Row("23", &["f"], &[("f/", text("IN: f")), ("f//", text("IN: f"))]),
        Row("24", &["f"], &[("f/.", text("IN: f"))]),
        Row("25", &["f"], &[("f/x", missing("f/x"))]),
        Row("26", &[], &[("nope", missing("nope")), ("nope/x", missing("nope/x")), ("./nope/", missing("nope"))]),
        Row(
            "30",
            &["%2e%2e", "~", "@", "a\\b", "file:"],
            &[
                ("%2e%2e", text("IN: %2e%2e")),
                ("~", text("IN: ~")),
                ("@", text("IN: @")),
                ("a\\b", text("IN: a\\b")),
                ("..\\x", missing("..\\x")),
                ("%2e%2e/x", missing("%2e%2e/x")),
                ("~/x", missing("~/x")),
                ("file:///x", missing("file:/x")),
            ],
        ),
        Row("57", &["O/s"], &[("@../elsewhere/s", missing("@../elsewhere/s"))]),
    ]);
}

#[test]
fn tells_what_a_refused_path_resolves_to() {
    let tree = Tree::new(&["O/s", "f"]);
    check_in(
        &tree,
        &tree.root(),
        &[
            ("../x", outside("../x")),
            ("a/../../x", outside("a/../../x (resolves to ../x)")),
            ("./../x", outside("./../x (resolves to ../x)")),
            ("../../../../../../../../../../x", outside("../../../../../../../../../../x")),
            ("../app/../../x", outside("../app/../../x (resolves to ../../x)")),
            ("../app/../x/", outside("../app/../x/ (resolves to ../x)")),
            ("nope/../../elsewhere/s", outside("nope/../../elsewhere/s (resolves to ../elsewhere/s)")),
            ("f/../../elsewhere/nope", outside("f/../../elsewhere/nope (resolves to ../elsewhere/nope)")),
            ("../../.kube/config", outside("../../.kube/config")),
            ("{R}/../elsewhere/s", outside("{R}/../elsewhere/s")),
            ("{R}/../x", outside("{R}/../x")),
        ],
    );
}

#[rstest]
#[case("../x", Some("../x"))]
#[case("a/../../x", Some("../x"))]
#[case("..", Some(".."))]
#[case("/etc/../etc/passwd", None)]
#[case("/", None)]
#[case("{R}/../x", None)]
#[case("nope", Some("nope"))]
#[case("{R}/./nope", Some("nope"))]
fn reports_the_path_only_as_far_as_the_request_told_it(#[case] request: &str, #[case] path: Option<&str>) {
    let tree = Tree::new(&[]);
    let request = tree.fill(request);
    let error = tree.root().open(&request).unwrap_err();
    assert_eq!((error.input(), error.path()), (Some(request.as_str()), path));
}

#[test]
fn does_not_take_a_name_that_starts_like_the_root_for_the_root() {
    let tree = Tree::new(&["T/app-secret/s", "T/ap/s", "T/apP/s"]);
    check_in(
        &tree,
        &tree.root(),
        &[
            ("{R}-secret/s", outside("{R}-secret/s")),
            ("../app-secret/s", outside("../app-secret/s")),
            ("{T}/ap/s", outside("{T}/ap/s")),
            ("{T}/apP/s", outside("{T}/apP/s")),
            ("{T}", outside("{T}")),
        ],
    );
}

#[test]
fn decides_without_a_look_at_the_file_system() {
    let tree = Tree::new(&[]);
    let root = tree.root();
    let request = tree.fill("{R}/f");
    tree.close();
    assert_fails(
        root.open("a/../../x"),
        "outside_root",
        "Path is outside the allowed root: a/../../x (resolves to ../x)",
    );
    assert_eq!(root.admit("../app/f/./g/..").unwrap().to_path_buf(), Path::new("f"));
    assert_eq!(root.admit(request).unwrap().to_path_buf(), Path::new("f"));
    assert_fails(root.open("f"), "not_found", "File does not exist: f");
}

#[test]
fn takes_both_spellings_of_a_root_given_through_a_link() {
    let tree = Tree::new(&["f", "T/alias -> app", "T/other/s", "T/other/far -> {R}"]);
    for (given, requests) in [
        ("{T}/alias", ["{T}/alias/f", "{R}/f", "../alias/f", "../app/f", "f"].as_slice()),
        ("{T}/other/far", &["{T}/other/far/f", "{R}/f", "../far/f", "f"]),
        ("{T}/./alias/", &["{T}/alias/f", "{R}/f"]),
        ("{T}/other/../alias", &["{T}/alias/f", "{R}/f", "../alias/f"]),
    ] {
        let root = root_at(tree.fill(given));
        for request in requests {
            check_in(&tree, &root, &[(request, text("IN: f"))]);
        }
        check_in(&tree, &root, &[("{T}/other/s", outside("{T}/other/s")), ("../s", outside("../s"))]);
    }
    // A spelling that the root was not given by is no name of it.
    check_in(&tree, &tree.root(), &[("{T}/alias/f", outside("{T}/alias/f"))]);
}

#[test]
fn knows_a_root_that_is_given_relative_to_the_working_directory() {
    let tree = Tree::new(&["f"]);
    let depth = std::env::current_dir().unwrap().components().count() - 1;
    let given = "../".repeat(depth) + tree.path().to_str().unwrap().strip_prefix('/').unwrap();
    let root = root_at(given);
    check_in(&tree, &root, &[("f", text("IN: f")), ("{R}/f", text("IN: f")), ("../app/f", text("IN: f"))]);
    check_in(&tree, &root, &[("{T}/f", outside("{T}/f")), ("..", outside(".."))]);
}

#[test]
fn does_not_believe_the_text_of_a_root_given_as_link_and_parent() {
    let tree = Tree::new(&["d/", "f", "T/jump -> app/d", "T/x"]);
    // By its text `T/jump/..` is T; it leads to R.
    let root = root_at(tree.fill("{T}/jump/.."));
    check_in(
        &tree,
        &root,
        &[
            ("f", text("IN: f")),
            ("{R}/f", text("IN: f")),
            ("../app/f", text("IN: f")),
            ("{T}/x", outside("{T}/x")),
            ("{T}/jump/../f", outside("{T}/jump/../f")),
            ("../x", outside("../x")),
        ],
    );
}

#[test]
fn takes_every_absolute_path_where_the_root_is_the_top() {
    let tree = Tree::new(&["f", "l -> {R}/f", "m -> ../../../../../../../../../etc"]);
    let root = root_at("/");
    let relative = tree.fill("{R}/f").trim_start_matches('/').to_owned();
    check_in(
        &tree,
        &root,
        &[
            ("{R}/f", text("IN: f")),
            ("//{R}/./f", text("IN: f")),
            (&relative, text("IN: f")),
            (&format!("../../{relative}"), text("IN: f")),
            ("{R}/l", text("IN: f")),
            ("/", special(".", "directory")),
            ("..", special(".", "directory")),
            ("/..", special(".", "directory")),
        ],
    );
    // At the top there is nothing to leave to by text, but a link's `..` is still one too many for the walk.
    assert_eq!(root.open(tree.fill("{R}/m")).unwrap_err().code(), "outside_root");
}

#[track_caller]
fn assert_takes_relative_paths_only(tree: &Tree, root: &Root) {
    check_in(
        tree,
        root,
        &[
            ("f", text("IN: f")),
            ("d/../f", text("IN: f")),
            ("d/l", text("IN: f")),
            ("{R}/f", outside("{R}/f")),
            ("/", outside("/")),
            ("..", outside("..")),
            ("../app/f", outside("../app/f")),
            ("d/../../app/f", outside("d/../../app/f (resolves to ../app/f)")),
            ("absolute", outside("absolute")),
            ("", invalid("path must not be empty")),
        ],
    );
}

#[test]
fn a_root_made_from_a_handle_takes_relative_paths_only() {
    let tree = Tree::new(&["f", "d/l -> ../f", "absolute -> {R}/f"]);
    let directory = Dir::open_ambient_dir(tree.path(), ambient_authority()).unwrap();
    assert_takes_relative_paths_only(&tree, &in_mode(Root::from(directory)));
    let descriptor = OwnedFd::from(fs::File::open(tree.path()).unwrap());
    assert_takes_relative_paths_only(&tree, &in_mode(Root::try_from(descriptor).unwrap()));
}

#[test]
fn refuses_a_root_that_is_no_directory() {
    let tree = Tree::new(&["f", "p|", "l -> f"]);
    let file = OwnedFd::from(fs::File::open(tree.at("f")).unwrap());
    assert_fails(Root::try_from(file), "invalid_argument", "root must be a directory");
    for (name, code) in [
        ("f", "invalid_argument"),
        ("p", "invalid_argument"),
        ("l", "invalid_argument"),
        ("nope", "not_found"),
        ("nope/..", "not_found"),
    ] {
        let error = Root::open_ambient(tree.at(name)).unwrap_err();
        assert_eq!(error.code(), code, "{name}");
        assert!(code != "invalid_argument" || error.to_string().starts_with("root must be a directory"), "{error}");
    }
}

#[test]
fn takes_names_of_up_to_255_bytes() {
    let fits = "n".repeat(255);
    let wide = "é".repeat(127) + "x";
    let tree = Tree::new(&[&fits, &format!("d/{wide}")]);
    let read = |request: &str| tree.read(&tree.root(), request);
    assert_eq!(read(&fits).unwrap(), format!("IN: {fits}"));
    assert_eq!(read(&format!("d/{wide}")).unwrap(), format!("IN: d/{wide}"));
    let name = "n".repeat(256);
    // The text around the name, even one that leaves the root or does not exist, changes nothing.
    for request in [
        name.clone(),
        format!("{name}/f"),
        format!("nope/{name}"),
        format!("../{name}"),
        format!("{name}/../f"),
        format!("/etc/{name}"),
        "é".repeat(128),
    ] {
        let error = read(&request).unwrap_err();
        assert_eq!(error.code(), "invalid_argument", "{request}");
        let message = error.to_string();
        assert!(message.contains("path") && message.contains("255") && message.contains("256"), "{message}");
    }
}

#[test]
fn takes_requests_of_up_to_4096_bytes() {
    let tree = Tree::new(&["f"]);
    let padded = |length: usize| "./".repeat(2047) + &"/".repeat(length - 4095) + "f";
    for length in [4095, 4096] {
        assert_eq!(padded(length).len(), length);
        assert_eq!(tree.read(&tree.root(), padded(length)).unwrap(), "IN: f");
    }
    for request in [padded(4097), "../".repeat(1366), "x".repeat(1 << 20)] {
        let error = tree.read(&tree.root(), &request).unwrap_err();
        assert_eq!(error.code(), "invalid_argument");
        assert!(error.to_string().contains("path must be at most 4096 bytes"), "{error}");
        assert!(error.to_string().len() < 100, "{error}");
    }
}

#[rstest]
#[case::offset_of_a_path_outside(ReadRequest::new("../x").offset(0), "offset must be a positive integer")]
#[case::limit_of_a_path_outside(ReadRequest::new("/etc/passwd").limit(0), "limit must be a positive integer")]
#[case::offset_of_a_missing_file(ReadRequest::new("nope").offset(0), "offset must be a positive integer")]
#[case::limit_of_a_directory(ReadRequest::new(".").limit(0), "limit must be a positive integer")]
#[case::nul_outside(ReadRequest::new("../\0"), "path must not contain a NUL byte")]
#[case::nul_far_behind(ReadRequest::new(format!("../{}\0", "x/".repeat(100))), "path must not contain a NUL byte")]
fn an_invalid_request_is_invalid_wherever_it_leads(#[case] request: ReadRequest, #[case] message: &str) {
    let tree = Tree::new(&[]);
    assert_fails(tree.tool().call(&request, &|| false), "invalid_argument", message);
}

#[test]
fn escapes_control_characters_in_messages() {
    let tree = Tree::new(&[]);
    check_in(
        &tree,
        &tree.root(),
        &[
            ("../a\u{1b}[2J\nb", outside("../a\\u{1b}[2J\\nb")),
            ("/\u{202e}txt.exe\r", outside("/\\u{202e}txt.exe\\r")),
            ("x\u{7f}/../../\ty", outside("x\\u{7f}/../../\\ty (resolves to ../\\ty)")),
            ("no\npe", missing("no\\npe")),
            ("\u{9b}31m", missing("\\u{9b}31m")),
        ],
    );
}

#[test]
fn shortens_long_paths_in_messages() {
    let tree = Tree::new(&[]);
    let request = format!("../{}/{}/{}", "x".repeat(250), "m".repeat(250), "y".repeat(250));
    let error = tree.root().open(&request).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("Path is outside the allowed root: ../xxx"), "{message}");
    assert!(message.ends_with("yyy") && message.contains('…') && !message.contains('m'.to_string().repeat(9).as_str()));
    assert!(message.chars().count() < 300, "{message}");
    assert_eq!(error.input(), Some(request.as_str()));
}

#[test]
fn takes_names_that_are_not_utf_8() {
    let tree = Tree::new(&["d/"]);
    let name = OsStr::from_bytes(b"d/\xff");
    fs::write(tree.path().join(name), "IN: bytes\n").unwrap();
    assert_eq!(tree.read(&tree.root(), Path::new(name)).unwrap(), "IN: bytes");
    let absolute = tree.path().join(name);
    assert_eq!(tree.read(&tree.root(), absolute).unwrap(), "IN: bytes");
    assert_eq!(tree.root().admit(name).unwrap().to_path_buf(), Path::new(name));
    // Another name that looks the same once its bytes are replaced is another name.
    assert_fails(tree.read(&tree.root(), OsStr::from_bytes(b"d/\xfe")), "not_found", "File does not exist: d/\u{fffd}");
    assert_fails(
        tree.read(&tree.root(), OsStr::from_bytes(b"../\xff")),
        "outside_root",
        "Path is outside the allowed root: ../\u{fffd}",
    );
}

/// What the text of a request must give, by rewriting the text until nothing is left to rewrite.
fn naive(spellings: &[String], request: &str) -> Result<String, Option<String>> {
    let names = |text: &str| text.split('/').any(|name| name.len() > 255);
    assert!(!request.is_empty() && !names(request), "no valid request");
    let joined = if request.starts_with('/') { request.to_owned() } else { format!("{}/{request}", spellings[0]) };
    let mut text = format!("{joined}/");
    while let Some(empty) = ["//", "/./"].into_iter().find(|empty| text.contains(empty)) {
        text = text.replace(empty, "/");
    }
    while let Some(up) = text.find("/../") {
        let parent = text[..up].rfind('/').unwrap_or(up);
        text.replace_range(parent..up + 3, "");
    }
    for root in spellings {
        if let Some(rest) = text.strip_prefix(&format!("{root}/")) {
            let rest = rest.trim_end_matches('/');
            return Ok(if rest.is_empty() { ".".to_owned() } else { rest.to_owned() });
        }
    }
    Err((!request.starts_with('/')).then(|| naive_relative(request)))
}

/// A relative path that leads above the root, rewritten likewise; what it starts with stays.
fn naive_relative(request: &str) -> String {
    let mut names: Vec<&str> = request.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    while let Some(at) = (1..names.len()).find(|at| names[*at] == ".." && names[at - 1] != "..") {
        names.drain(at - 1..=at);
    }
    names.join("/")
}

const NASTY: [&str; 24] = [
    "",
    ".",
    "..",
    "..",
    "..",
    "...",
    "..a",
    "a..",
    ".a",
    "a",
    "b",
    "app",
    "app-secret",
    "alias",
    "T",
    " ",
    "~",
    "%2e%2e",
    "\\",
    "..\\",
    "*",
    "\u{202e}",
    "é",
    "\n",
];

fn request() -> impl Strategy<Value = String> {
    let component = prop_oneof![
        8 => proptest::sample::select(NASTY.to_vec()).prop_map(str::to_owned),
        1 => Just("n".repeat(255)),
        1 => "[a-z.]{0,6}",
    ];
    let start =
        proptest::sample::select(vec!["", "", "/", "{R}", "{R}/", "{T}/", "{T}/alias/", "{R}-secret/", "//{R}/../"]);
    let path = (start, proptest::collection::vec(component, 0..10))
        .prop_map(|(start, names)| start.to_owned() + &names.join("/"));
    path.prop_filter("is no valid request", |path| {
        !path.is_empty() && path.split('/').all(|name| name.len() <= 255) && path.len() < 3000
    })
}

#[test]
fn agrees_with_a_naive_normaliser() {
    let tree = Tree::new(&["T/alias -> app"]);
    let roots = [("{R}", ["{R}", "{R}"]), ("{T}/alias", ["{T}/alias", "{R}"])]
        .map(|(given, spellings)| (root_at(tree.fill(given)), spellings.map(|path| tree.fill(path))));
    let (inside, outside) = (Cell::new(0), Cell::new(0));
    let config = ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(&request(), |request| {
        let request = tree.fill(&request);
        for (root, spellings) in &roots {
            let expected = naive(spellings, &request);
            match root.admit(&request) {
                Ok(path) => {
                    let path = path.to_path_buf();
                    prop_assert_eq!(Ok(path.to_str().unwrap().to_owned()), expected);
                    prop_assert!(path.components().all(|name| name.as_os_str() != ".."));
                    prop_assert_eq!(root.admit(&path).unwrap().to_path_buf(), path);
                    inside.set(inside.get() + 1);
                }
                Err(error) => {
                    prop_assert_eq!(error.code(), "outside_root");
                    prop_assert_eq!(Err(error.path().map(str::to_owned)), expected);
                    outside.set(outside.get() + 1);
                }
            }
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    let (inside, outside) = (inside.get(), outside.get());
    assert!(inside > 1000 && outside > 1000, "one side was hardly tried: {inside} inside, {outside} outside");
}

#[test]
fn an_admitted_path_is_written_with_single_slashes() {
    let tree = Tree::new(&[]);
    for (request, path) in [("a//b/./c/", "a/b/c"), (".", "."), ("a/..", "."), ("./../app", ".")] {
        assert_eq!(tree.root().admit(request).unwrap().to_path_buf(), PathBuf::from(path), "{request}");
    }
}
