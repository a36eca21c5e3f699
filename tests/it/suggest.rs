//! What a read says that may have been meant, where nothing is.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use capread::{Error, ReadRequest, ReadTool, Roots};

use crate::support::{Shared, Tree, assert_fails, root_at, without_privileges};
use crate::world::{mode, proc};

/// One line of a table: a tree, and what must be suggested there for some requests.
struct Row<'a>(&'a [&'a str], &'a [(&'a str, &'a [&'a str])]);

#[track_caller]
fn check(rows: &[Row<'_>]) {
    for Row(entries, requests) in rows {
        let tree = Tree::new(entries);
        check_in(&tree, &tree.tool(), requests);
    }
}

#[track_caller]
fn check_in(tree: &Tree, tool: &ReadTool, requests: &[(&str, &[&str])]) {
    for (request, suggestions) in requests {
        let request = tree.fill(request);
        let error = fail(tool, &request);
        let suggestions: Vec<_> = suggestions.iter().map(|path| tree.fill(path)).collect();
        assert_eq!(error.code(), "not_found", "{request}");
        assert_eq!(error.suggestions(), suggestions, "{request}");
        let path = error.path().unwrap();
        assert_eq!(error.to_string(), format!("File does not exist: {path}{}", question(&suggestions)));
    }
}

#[track_caller]
fn fail(tool: &ReadTool, request: &str) -> Error {
    tool.call(&ReadRequest::new(request), &|| false).unwrap_err()
}

fn question(suggestions: &[String]) -> String {
    match suggestions {
        [] => String::new(),
        [one] => format!(". Did you mean {one}?"),
        [one, two] => format!(". Did you mean {one} or {two}?"),
        [one, two, three] => format!(". Did you mean {one}, {two} or {three}?"),
        more => panic!("more than three: {more:?}"),
    }
}

#[test]
fn suggests_names_like_the_missing_one() {
    check(&[
        Row(
            &["src/main.rs"],
            &[
                ("src/mian.rs", &["src/main.rs"]),
                ("src/man.rs", &["src/main.rs"]),
                ("src/main.r", &["src/main.rs"]),
                ("src/MAIN.RS", &["src/main.rs"]),
                ("{R}/src/mian.rs", &["src/main.rs"]),
                ("./src//x/../mian.rs", &["src/main.rs"]),
                ("src/lib.rs", &[]),
                ("src/x", &[]),
            ],
        ),
        Row(&["main.rs"], &[("mian.rs", &["main.rs"]), ("{R}/mian.rs", &["main.rs"])]),
        Row(&["fil", "file1", "file2", "filed", "files", "zzzz"], &[("file", &["fil", "file1", "file2"])]),
        Row(
            &["README.md", "Readme.md", "readme.txt", "redme.md"],
            &[("readme.md", &["README.md", "Readme.md", "readme.txt"])],
        ),
        Row(
            &["main", "main.rs", "main.test.rs"],
            &[("main.js", &["main", "main.rs"]), ("main.", &["main", "main.rs"])],
        ),
        Row(&[".env", ".env.local"], &[(".evn", &[".env"]), (".env.x", &[".env", ".env.local"])]),
        // One letter of three, and no more.
        Row(&["b", "ba", "acb", "abcdef"], &[("a", &[]), ("ab", &[]), ("abc", &["acb"]), ("abxxef", &["abcdef"])]),
        Row(&["Größe.txt", "naïve.md"], &[("größe.txt", &["Größe.txt"]), ("naive.md", &["naïve.md"])]),
        Row(&["p|", "pipe|", "dir1/"], &[("pipes", &["pipe"]), ("dir2", &["dir1"])]),
    ]);
}

#[test]
fn suggests_in_the_deepest_directory_that_is_there() {
    check(&[
        Row(
            &["src/main.rs", "main.rs"],
            &[
                ("scr/main.rs", &["src"]),
                ("scr/x/y/z", &["src"]),
                ("src/x/main.rs", &[]),
                // A file is no directory, whatever lies beside it.
                ("main.rs/mian.rs", &[]),
                ("src/main.rs/x", &[]),
            ],
        ),
        Row(
            &["src/deep/er/main.rs", "l -> src/deep", "src/up -> .."],
            &[
                ("l/er/mian.rs", &["l/er/main.rs"]),
                ("l/re/main.rs", &[]),
                ("l/era/main.rs", &["l/er"]),
                ("src/up/src/deep/er/mian.rs", &["src/up/src/deep/er/main.rs"]),
                ("src/dep/er/main.rs", &["src/deep"]),
            ],
        ),
    ]);
}

/// Names that are long are compared as a whole only: the work for one must not grow with its square.
#[test]
fn compares_long_names_by_their_case_alone() {
    let (long, typo) = ("n".repeat(80), "n".repeat(79) + "m");
    check(&[
        Row(&[&long], &[(&typo, &[]), (&long.to_uppercase(), &[&long]), (&(long.clone() + ".rs"), &[&long])]),
        Row(&[&"n".repeat(64)], &[(&("n".repeat(63) + "m"), &[&"n".repeat(64)])]),
    ]);
}

#[test]
fn suggests_nothing_from_outside() {
    let tree = Tree::new(&["O/main.rs", "out -> ../elsewhere", "far -> {O}", "main.rs -> ../elsewhere/main.rs", "d/"]);
    let tool = tree.tool();
    for request in
        ["../elsewhere/mian.rs", "out/mian.rs", "far/mian.rs", "main.rs", "{O}/mian.rs", "../ap", "..", "out/x/y"]
    {
        let error = fail(&tool, &tree.fill(request));
        assert_eq!((error.code(), error.suggestions()), ("outside_root", &[] as &[String]), "{request}");
    }
    // The name of a link is inside; where it leads is not told.
    check_in(&tree, &tool, &[("mian.rs", &["main.rs"]), ("d/mian.rs", &[]), ("d/../otu/x", &["out"])]);
}

#[test]
fn suggests_nothing_by_the_text_of_a_link() {
    check(&[
        Row(
            &["main.rs", "l -> mian.rs", "m -> l", "d/n -> ../mian.rs", "e -> nope/x", "a -> {R}/mian.rs"],
            &[("l", &[]), ("m", &[]), ("d/n", &[]), ("e", &[]), ("a", &[]), ("l/x", &[]), ("e/x", &[])],
        ),
        // Behind the link it is the request's own name that is missing.
        Row(&["d/main.rs", "l -> d"], &[("l/mian.rs", &["l/main.rs"])]),
    ]);
}

#[test]
fn suggests_nothing_for_what_is_there() {
    let tree = Tree::new(&["main.rs", "main.r/", "man|", "loop -> loop", "x -> ."]);
    for (request, code) in [("main.r", "not_a_file"), ("man", "not_a_file"), ("loop", "too_many_links")] {
        let error = fail(&tree.tool(), request);
        assert_eq!((error.code(), error.suggestions()), (code, &[] as &[String]), "{request}");
    }
    // Nor is there a way so far.
    let error = fail(&tree.tool(), &("x/".repeat(41) + "mian.rs"));
    assert_eq!((error.code(), error.suggestions()), ("too_many_links", &[] as &[String]));
}

#[cfg(feature = "policy")]
#[test]
fn suggests_nothing_that_is_denied() {
    let tree = Tree::new(&[
        ".env",
        ".env.example",
        "secret/key",
        "secrets/key",
        "d/main.rs",
        "d/main.c",
        "l -> d",
        "notes -> .env",
    ]);
    let tool = |patterns: &[&str]| ReadTool::new(tree.root().with_policy(capread::Policy::deny(patterns).unwrap()));
    check_in(
        &tree,
        &tool(&[]),
        &[
            (".evn", &[".env"]),
            ("l/mian.rs", &["l/main.rs"]),
            ("secert/key", &["secret", "secrets"]),
            ("note", &["notes"]),
        ],
    );
    check_in(&tree, &tool(&[".env"]), &[(".evn", &[]), ("env.example", &[".env.example"])]);
    check_in(&tree, &tool(&[".env*", "!.env.example"]), &[("env.example", &[".env.example"]), ("env", &[])]);
    check_in(&tree, &tool(&["secret/"]), &[("secert/key", &["secrets"]), ("secrets/kye", &["secrets/key"])]);
    check_in(&tree, &tool(&["*.rs"]), &[("d/mian.c", &["d/main.c"]), ("d/main.r", &["d/main.c"])]);
    // By where it leads, and by where it lies, not only by its name.
    check_in(&tree, &tool(&[".env"]), &[("note", &[])]);
    check_in(&tree, &tool(&["/d/main.rs"]), &[("d/main.r", &["d/main.c"]), ("l/main.r", &["l/main.c"])]);
    check_in(&tree, &tool(&["*"]), &[]);
    let error = fail(&tool(&["*"]), "d/mian.rs");
    assert_eq!((error.code(), error.suggestions()), ("denied", &[] as &[String]));
}

/// What is suggested is asked for next, and a policy judges a path as asked too.
#[cfg(feature = "policy")]
#[test]
fn suggests_nothing_that_would_be_denied_when_asked_for() {
    let tree = Tree::new(&["d/main.rs", "l -> d"]);
    let tool = ReadTool::new(tree.root().with_policy(capread::Policy::deny(["/l/main.rs"]).unwrap()));
    assert_eq!(fail(&tool, "l/main.rs").code(), "denied");
    check_in(&tree, &tool, &[("l/mian.rs", &[]), ("d/mian.rs", &["d/main.rs"])]);
}

#[cfg(feature = "policy")]
#[test]
fn suggests_no_file_that_is_denied_for_its_links() {
    let policy = || capread::Policy::deny([""; 0]).unwrap();
    let tree = Tree::new(&["one.txt", "two.txt => one.txt", "only.txt", "l.txt -> two.txt"]);
    let tool = |policy| ReadTool::new(tree.root().with_policy(policy));
    check_in(&tree, &tool(policy()), &[("onn.txt", &["one.txt", "only.txt"]), ("ll.txt", &["l.txt"])]);
    check_in(&tree, &tool(policy().deny_hard_links()), &[("onn.txt", &["only.txt"]), ("ll.txt", &[])]);
}

/// Names that are denied take no place of others.
#[cfg(feature = "policy")]
#[test]
fn suggests_what_is_allowed_behind_better_names_that_are_denied() {
    let tree = Tree::new(&["file1", "file2", "file3", "file4", "filing", "filling"]);
    let tool = ReadTool::new(tree.root().with_policy(capread::Policy::deny(["file?"]).unwrap()));
    check_in(&tree, &tree.tool(), &[("filein", &["file1", "file2", "file3"])]);
    check_in(&tree, &tool, &[("filein", &["filing", "filling"])]);
}

/// A process that has ended and is not waited for has no program: its link is there, and leads nowhere.
#[test]
fn suggests_no_link_that_is_there_and_leads_nowhere() {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let exe = format!("{}/exe", child.id());
    while proc().join(&exe).read_link().is_ok() {
        std::thread::yield_now();
    }
    assert!(proc().join(&exe).is_symlink());
    let error = fail(&ReadTool::new(root_at(proc())), &exe);
    assert_eq!((error.code(), error.suggestions()), ("outside_root", &[] as &[String]));
    child.wait().unwrap();
}

#[test]
fn suggests_paths_of_the_root_that_was_asked() {
    let tree = Tree::new(&[
        "main.rs",
        "l -> {T}/other",
        "T/other/main.rs = IN: other",
        "T/other/sub/file.txt = IN: sub",
        "T/other/back -> {R}",
        "O/main.rs",
    ]);
    let other = || root_at(tree.fill("{T}/other"));
    let tool = ReadTool::new(Roots::from(tree.root()).and(other()));
    check_in(
        &tree,
        &tool,
        &[
            ("mian.rs", &["main.rs"]),
            ("{T}/other/mian.rs", &["{T}/other/main.rs"]),
            ("{T}/other/sbu/file.txt", &["{T}/other/sub"]),
            ("l/mian.rs", &["l/main.rs"]),
            ("l/sub/flie.txt", &["l/sub/file.txt"]),
            ("l/back/mian.rs", &["l/back/main.rs"]),
            ("{T}/other/back/mian.rs", &["{T}/other/back/main.rs"]),
        ],
    );
    for request in ["{T}/othre/main.rs", "{O}/mian.rs", "../other/mian.rs"] {
        let error = fail(&tool, &tree.fill(request));
        assert_eq!((error.code(), error.suggestions()), ("outside_root", &[] as &[String]), "{request}");
    }
    #[cfg(feature = "policy")]
    {
        let policy = capread::Policy::deny(["main.rs"]).unwrap();
        let tool = ReadTool::new(Roots::from(tree.root()).and(other().with_policy(policy)));
        check_in(
            &tree,
            &tool,
            &[
                ("l/mian.rs", &[]),
                ("{T}/other/mian.rs", &[]),
                ("mian.rs", &["main.rs"]),
                ("l/back/mian.rs", &["l/back/main.rs"]),
            ],
        );
    }
}

/// What is suggested can be asked for as it stands, and is written on one line.
#[test]
fn escapes_names_where_they_are_shown_only() {
    let tree = Tree::new(&["a\u{1b}[2J\nbcdef.txt", "d/\u{202e}file name"]);
    let error = fail(&tree.tool(), "a[2Jbcdef.txt");
    assert_eq!(error.suggestions(), ["a\u{1b}[2J\nbcdef.txt"]);
    assert_eq!(error.to_string(), "File does not exist: a[2Jbcdef.txt. Did you mean a\\u{1b}[2J\\nbcdef.txt?");
    assert_eq!(tree.tool().call(&ReadRequest::new(&error.suggestions()[0]), &|| false).unwrap().window.start_line, 1);
    let error = fail(&tree.tool(), "d/file name");
    assert_eq!(error.to_string(), "File does not exist: d/file name. Did you mean d/\\u{202e}file name?");
}

#[test]
fn leaves_names_out_that_cannot_be_asked_for() {
    let tree = Tree::new(&["d/main.rs"]);
    for name in [&b"d/main\xff.rs"[..], b"d/\xffmain.rs"] {
        fs::write(tree.path().join(OsStr::from_bytes(name)), "").unwrap();
    }
    check_in(&tree, &tree.tool(), &[("d/man.rs", &["d/main.rs"])]);
    // Nor is anything like a name that cannot be compared.
    let request = ReadRequest::new(OsStr::from_bytes(b"d/mai\xfe.rs"));
    let error = tree.tool().call(&request, &|| false).unwrap_err();
    assert_eq!((error.code(), error.suggestions()), ("not_found", &[] as &[String]));
}

#[test]
fn a_directory_that_cannot_be_listed_suggests_nothing() {
    without_privileges("suggest::a_directory_that_cannot_be_listed_suggests_nothing", || {
        let tree = Tree::new(&["main.rs", "d/main.rs", "closed/main.rs"]);
        tree.chmod("d", 0o311);
        tree.chmod("closed", 0o600);
        tree.chmod("", 0o311);
        let tool = tree.tool();
        check_in(&tree, &tool, &[("d/mian.rs", &[]), ("mian.rs", &[]), ("nope/x", &[])]);
        let error = fail(&tool, "closed/mian.rs");
        assert_eq!((error.code(), error.suggestions()), ("permission_denied", &[] as &[String]));
        for name in ["", "d", "closed"] {
            tree.chmod(name, 0o755);
        }
        tree.close();
    });
}

#[test]
fn can_be_stopped_while_it_looks() {
    let tree = Tree::new(&["empty/"]);
    for number in 0..520 {
        tree.file(&format!("d/file{number:04}"), b"");
    }
    let asked = |request: &str| {
        let asked = Shared::new(0);
        let cancel = || {
            asked.set(asked.get() + 1);
            false
        };
        let error = tree.tool().call(&ReadRequest::new(request), &cancel).unwrap_err();
        assert_eq!(error.code(), "not_found");
        asked.get()
    };
    let (all, before) = (asked("d/fill0000"), asked("empty/fill0000"));
    assert!(all >= before + 520 / 256, "asked {all} times, {before} of them before the names were compared");
    for at in before..all {
        assert_stops(&tree, at);
    }
}

/// However many names there are, and however long the way to them is.
#[cfg(feature = "policy")]
#[test]
fn can_be_stopped_while_a_policy_is_asked() {
    let tree = Tree::new(&[]);
    for number in 0..520 {
        tree.file(&format!("d/file.{number:04}"), b"");
    }
    let policy = capread::Policy::deny(["file.0*"]).unwrap();
    let tool = ReadTool::new(tree.root().with_policy(policy));
    let looks = |at: usize| {
        let asked = Shared::new(0);
        let cancel = || asked.replace(asked.get() + 1) >= at;
        let error = tool.call(&ReadRequest::new("d/file.x"), &cancel).unwrap_err();
        (error.code(), asked.get())
    };
    let (code, all) = looks(usize::MAX);
    assert!(code == "not_found" && all > 520, "{code} after {all} looks at the flag");
    for at in (0..all).step_by(7) {
        assert_eq!(looks(at), ("cancelled", at + 1));
    }
}

#[track_caller]
fn assert_stops(tree: &Tree, at: usize) {
    let asked = Shared::new(0);
    let cancel = || asked.replace(asked.get() + 1) >= at;
    let result = tree.tool().call(&ReadRequest::new("d/fill0000"), &cancel);
    assert_fails(result, "cancelled", "Operation aborted");
    assert_eq!(asked.get(), at + 1, "it went on after it was told to stop");
}

#[test]
fn can_be_stopped_on_its_way_to_the_directory() {
    let tree = Tree::new(&["d/file0000"]);
    // At the start and by the kernel, or on the walk; then on the second walk and before names are compared.
    let walks = if mode().asks_the_kernel() { 2..5 } else { 1..6 };
    for at in walks {
        assert_stops(&tree, at);
    }
}

#[cfg(feature = "json")]
#[test]
fn the_json_of_an_error_has_them() {
    use serde_json::json;
    let tree = Tree::new(&["src/main.rs", "src/main.c", "a\u{1b}bcd"]);
    let answer = |path: &str| capread::answer(&tree.tool().call_json(&json!({"path": path}), &|| false));
    assert_eq!(
        answer("./src/main.r"),
        json!({
            "content": [{
                "type": "text",
                "text": "File does not exist: src/main.r. Did you mean src/main.c or src/main.rs?",
            }],
            "structuredContent": {
                "code": "not_found", "input": "./src/main.r", "path": "src/main.r", "os": "ENOENT",
                "suggestions": ["src/main.c", "src/main.rs"],
            },
            "isError": true,
        })
    );
    assert_eq!(answer("abcd")["structuredContent"]["suggestions"], json!(["a\u{1b}bcd"]));
    for request in ["nope", "../src/main.r", "src", "src/main.c/x"] {
        let facts = &answer(request)["structuredContent"];
        assert!(facts["code"].is_string() && facts.get("suggestions").is_none(), "{facts}");
    }
}
