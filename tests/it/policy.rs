//! What a policy denies: by what is asked and by where it leads, and nothing else.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use capread::{ErrorKind, Policy, ReadRequest, ReadTool};
use rstest::rstest;

use crate::support::{
    Expected, Tree, assert_fails, check_in, denied, invalid, mismatches, missing, no_permission, outside, special,
    text, too_many_components, too_many_links, without_privileges,
};

/// One line of a table: its id in the notes, a policy, a tree, and what some requests must give there.
struct Row<'a>(&'a str, &'a [&'a str], &'a [&'a str], &'a [(&'a str, Expected)]);

#[track_caller]
fn check(rows: &[Row<'_>]) {
    let mut wrong = String::new();
    for Row(id, patterns, entries, requests) in rows {
        let tree = Tree::new(entries);
        let root = tree.root().with_policy(Policy::deny(*patterns).unwrap());
        for mismatch in mismatches(&tree, &root, requests) {
            writeln!(wrong, "row {id} {patterns:?} {entries:?}: {mismatch}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn judges_every_spelling_of_a_path() {
    let denied = |told: &'static str| denied(told);
    check(&[
        Row(
            "asked",
            &[".env"],
            &[".env = OUT: secret", "a/.env = OUT: secret", "f", ".environment", "a.env", "env"],
            &[
                (".env", denied(".env")),
                ("a/.env", denied("a/.env")),
                ("./.env", denied(".env")),
                ("a/../.env", denied(".env")),
                ("nope/..//.env", denied(".env")),
                ("../app/.env", denied(".env")),
                ("{R}/.env", denied(".env")),
                ("{R}/a/./.env", denied("a/.env")),
                ("{R}/../app/a/.env", denied("a/.env")),
                ("f", text("IN: f")),
                (".environment", text("IN: .environment")),
                ("a.env", text("IN: a.env")),
                ("env", text("IN: env")),
            ],
        ),
        Row(
            "37",
            &[".env"],
            &[".env = OUT: secret"],
            &[(".env/", denied(".env")), (".env//", denied(".env")), (".env/.", denied(".env"))],
        ),
        Row("37 below", &[".env"], &[".env = OUT: secret"], &[(".env/x", denied(".env/x"))]),
        Row(
            "case",
            &[".env", "Secret", "MAKEFILE"],
            &[".ENV", "secret/x", "SECRET", "d/makefile"],
            &[
                (".ENV", denied(".ENV")),
                (".Env", denied(".Env")),
                ("secret/x", denied("secret/x")),
                ("SECRET", denied("SECRET")),
                ("d/makefile", denied("d/makefile")),
                ("d/Makefile", denied("d/Makefile")),
            ],
        ),
        Row("one for all", &["*"], &["f", "d/f"], &[("f", denied("f")), ("d/f", denied("d/f")), ("d", denied("d"))]),
        Row("the root", &["*"], &[], &[(".", special(".", "directory")), ("{R}", special(".", "directory"))]),
    ]);
}

/// Where the file system does not tell them apart, they are one file.
#[test]
fn letters_match_whatever_their_case_beyond_ascii() {
    let tree = Tree::new(&["É", "d/ПАРОЛЬ"]);
    let root = tree.root().with_policy(Policy::deny(["é", "пароль"]).unwrap());
    check_in(&tree, &root, &[("É", denied("É")), ("é", denied("é")), ("d/ПАРОЛЬ", denied("d/ПАРОЛЬ"))]);
    // One letter in several forms, of which lower or upper case alone leave two.
    for forms in
        [&["Σ", "σ", "ς"][..], &["s", "S", "ſ"], &["ß", "ẞ", "SS", "ss"], &["k", "K", "\u{212a}"], &["µ", "μ", "Μ"]]
    {
        for (pattern, path) in forms.iter().flat_map(|one| forms.iter().map(move |other| (one, other))) {
            let root = tree.root().with_policy(Policy::deny([pattern]).unwrap());
            check_in(&tree, &root, &[(path, denied(path))]);
        }
    }
}

/// In gitignore(5) a brace is a character like any other; names with braces are what templates have. What a shell takes for a list must
/// say that it is none.
#[test]
fn braces_mean_themselves() {
    let tree = Tree::new(&["{a,b}", "{{name}}/f"]);
    let root = tree.root().with_policy(Policy::deny(["\\{a,b}", "{{name}}/f"]).unwrap());
    check_in(&tree, &root, &[("{a,b}", denied("{a,b}")), ("{{name}}/f", denied("{{name}}/f"))]);
}

/// How gitignore files allow some kind of file alone: deny all, look into every directory, and except it.
#[test]
fn an_exception_for_directories_is_none_for_files() {
    let tree = Tree::new(&[".env = OUT: secret", "d/key = OUT: secret", "README.md", "d/e/x.md"]);
    let root = tree.root().with_policy(Policy::deny(["*", "!*/", "!*.md"]).unwrap());
    check_in(
        &tree,
        &root,
        &[
            (".env", denied(".env")),
            ("d/key", denied("d/key")),
            ("README.md", text("IN: README.md")),
            ("d/e/x.md", text("IN: d/e/x.md")),
        ],
    );
}

/// It would deny nothing, or except nothing, and nobody would know.
#[test]
fn refuses_patterns_that_match_nothing() {
    let dots = "no path has a component '.' or '..'";
    let empty = "no path has an empty component";
    let white_space = "it ends with white space that is no space";
    let list = "there are no lists in braces (a brace is \\{)";
    let line_break = "it has a line break in it";
    for (pattern, reason) in [
        ("./.env", dots),
        ("../.env", dots),
        ("/./x", dots),
        ("a/../b", dots),
        ("a/.", dots),
        ("!./.env", dots),
        ("\\./x", dots),
        (".", dots),
        ("../", dots),
        ("sub//x", empty),
        ("//x", empty),
        ("secret//", empty),
        ("/", empty),
        ("!", empty),
        ("!/", empty),
        ("!  ", empty),
        ("!//", empty),
        ("secret\u{a0}", white_space),
        ("secret\t", white_space),
        ("secret\t\r", white_space),
        ("\t", white_space),
        ("secret\n", white_space),
        (".env\r*.pem", line_break),
        (".env\n*.pem", line_break),
        ("*.key\0", "no name has a NUL in it"),
        ("*.{pem,key}", list),
        ("{.env,a/{b,c}}", list),
        ("\u{feff}.env", "it starts with a byte order mark"),
        ("key[[:digit:]]", "a class with a name is not supported"),
        ("a[\\]]", "a backslash in a class is not supported"),
        ("!x[[:alpha:]", "a class with a name is not supported"),
    ] {
        let error = Policy::deny([".env", pattern]).unwrap_err();
        let message = error.to_string();
        assert_eq!(error.code(), "invalid_argument", "{pattern:?}");
        assert!(message.ends_with(&format!(" does not parse: {reason}")), "{pattern:?}: {message}");
    }
    for pattern in [
        "...", "..x/.y", "a/**/b", "**/", "/**", "[.]x", "\u{a0}x", "a\tb", "a \tb", "Icon[\r]", "{a}", "a,b",
        "\\{a,b}", "[{]a,b}",
    ] {
        assert!(Policy::deny([pattern]).is_ok(), "{pattern:?}");
    }
}

#[test]
fn tells_of_a_pattern_without_its_controls() {
    let message = Policy::deny(["\u{1b}]0;x\u{7}["]).unwrap_err().to_string();
    assert!(message.starts_with("deny pattern \\u{1b}]0;x\\u{7}[ does not parse: "), "{message}");
    assert!(!message.contains(capread::is_control), "{message}");
}

#[test]
fn of_two_policies_each_denies_whatever_the_other_excepts() {
    let tree = Tree::new(&[".env", "a.key", "public.key"]);
    let policies = [Policy::deny([".env"]).unwrap(), Policy::deny(["!.env", "*.key", "!public.key"]).unwrap()];
    let [first, second] = policies;
    for policy in [first.clone().and(second.clone()), second.and(first)] {
        let root = tree.root().with_policy(policy);
        let code = |path: &str| root.open(path).err().map_or("ok", |error| error.code());
        assert_eq!([".env", "a.key", "public.key"].map(code), ["denied", "denied", "ok"]);
    }
}

/// git denies each of these paths, and a file system that ignores case may take each for one that is denied.
#[test]
fn ignoring_case_never_denies_less() {
    check(&[
        Row(
            "an exception by another case",
            &["*.key", "!PUBLIC.key"],
            &["public.key = OUT: secret", "PUBLIC.key", "Public.Key"],
            &[
                ("public.key", denied("public.key")),
                ("Public.Key", text("IN: Public.Key")),
                ("PUBLIC.key", text("IN: PUBLIC.key")),
            ],
        ),
        Row(
            "a negated class",
            &["[!A]*"],
            &["a.txt = OUT: secret", "A.txt"],
            &[("a.txt", denied("a.txt")), ("A.txt", text("IN: A.txt"))],
        ),
        Row("a range over both cases", &["[B-c]"], &["d", "D"], &[("d", denied("d")), ("D", denied("D"))]),
        Row(
            "an exception in its own case",
            &[".env*", "!.env.example"],
            &[".env.example", ".ENV.local"],
            &[(".env.example", text("IN: .env.example")), (".ENV.local", denied(".ENV.local"))],
        ),
    ]);
}

#[test]
fn takes_the_patterns_of_gitignore() {
    check(&[
        Row(
            "a name, at any depth",
            &["*.pem"],
            &["k.pem", "d/e/k.pem", "k.pem.txt"],
            &[("k.pem", denied("k.pem")), ("d/e/k.pem", denied("d/e/k.pem")), ("k.pem.txt", text("IN: k.pem.txt"))],
        ),
        Row(
            "from the root",
            &["/build", "d/x"],
            &["build", "d/build", "d/x", "e/d/x"],
            &[
                ("build", denied("build")),
                ("d/build", text("IN: d/build")),
                ("d/x", denied("d/x")),
                ("e/d/x", text("IN: e/d/x")),
            ],
        ),
        Row(
            "any number of directories",
            &["a/**/z", "**/logs", "deep/**"],
            &["a/z", "a/b/c/z", "b/z", "x/y/logs/f", "deep/f", "deep/e/f"],
            &[
                ("a/z", denied("a/z")),
                ("a/b/c/z", denied("a/b/c/z")),
                ("b/z", text("IN: b/z")),
                ("x/y/logs/f", denied("x/y/logs/f")),
                ("deep/f", denied("deep/f")),
                ("deep/e/f", denied("deep/e/f")),
                ("deep", special("deep", "directory")),
            ],
        ),
        Row(
            "one star is one name",
            &["a/*/z"],
            &["a/b/z", "a/b/c/z"],
            &[("a/b/z", denied("a/b/z")), ("a/b/c/z", text("IN: a/b/c/z"))],
        ),
        Row(
            "sets",
            &["k[0-9].txt", "?x"],
            &["k1.txt", "ka.txt", "ax", "x"],
            &[("k1.txt", denied("k1.txt")), ("ka.txt", text("IN: ka.txt")), ("ax", denied("ax")), ("x", text("IN: x"))],
        ),
        Row(
            "an exception",
            &[".env*", "!.env.example"],
            &[".env.example", ".env.local", "d/.env.example"],
            &[
                (".env.example", text("IN: .env.example")),
                ("d/.env.example", text("IN: d/.env.example")),
                (".env.local", denied(".env.local")),
            ],
        ),
        Row(
            "the last that matches decides",
            &["!.env.example", ".env*"],
            &[".env.example"],
            &[(".env.example", denied(".env.example"))],
        ),
        Row(
            "no exception below a denied directory",
            &["secret", "!secret/public", "!public"],
            &["secret/public", "secret/d/public", "public"],
            &[
                ("secret/public", denied("secret/public")),
                ("secret/d/public", denied("secret/d/public")),
                ("secret", denied("secret")),
                ("public", text("IN: public")),
            ],
        ),
        Row(
            "an exception beside what is denied",
            &["secret/*", "!secret/public"],
            &["secret/public", "secret/x"],
            &[("secret/public", text("IN: secret/public")), ("secret/x", denied("secret/x"))],
        ),
        Row(
            "a slash at the end, whatever is there",
            &["secret/", "k/"],
            &["secret", "d/k/f", "d/secret/e/f"],
            &[
                ("secret", denied("secret")),
                ("secret/", denied("secret")),
                ("d/k", denied("d/k")),
                ("d/k/f", denied("d/k/f")),
                ("d/secret/e/f", denied("d/secret/e/f")),
                ("k", denied("k")),
            ],
        ),
        Row(
            "what means nothing",
            &["", "   ", "# f", "#f"],
            &["f", "# f", "#f"],
            &[("f", text("IN: f")), ("# f", text("IN: # f")), ("#f", text("IN: #f"))],
        ),
        Row(
            "spaces and a line end behind it",
            &[".env\r", "key  ", "a\\ "],
            &[".env", "key", "a ", "a"],
            &[(".env", denied(".env")), ("key", denied("key")), ("a ", denied("a ")), ("a", text("IN: a"))],
        ),
        Row(
            "what is escaped",
            &["\\#f", "\\!g", "h\\*"],
            &["#f", "!g", "h*", "hx"],
            &[("#f", denied("#f")), ("!g", denied("!g")), ("h*", denied("h*")), ("hx", text("IN: hx"))],
        ),
    ]);
}

/// Rows 34 and 56: a rule on the path that was asked for is no rule on what is read.
#[test]
fn judges_where_a_link_leads() {
    check(&[
        Row(
            "34",
            &["hidden/"],
            &["hidden/s = OUT: s", "allow/l -> ../hidden/s", "d/m -> ../allow/l", "n -> {R}/hidden/s", "e -> hidden"],
            &[
                ("allow/l", denied("allow/l")),
                ("d/m", denied("d/m")),
                ("n", denied("n")),
                ("e/s", denied("e/s")),
                ("e/nope", denied("e/nope")),
                ("e", denied("e")),
            ],
        ),
        Row("56", &["s"], &["s = OUT: s", "l -> s", "m -> ./d/../s", "d/"], &[("l", denied("l")), ("m", denied("m"))]),
        Row("56 missing", &["s"], &["l -> s", "m -> s/../f", "f"], &[("l", denied("l")), ("m", denied("m"))]),
        Row(
            "a directory of links",
            &["/d/e/x"],
            &["d/e/x = OUT: x", "d/e/y", "l -> d", "m -> l/e"],
            &[
                ("l/e/x", denied("l/e/x")),
                ("m/x", denied("m/x")),
                ("m/y", text("IN: d/e/y")),
                ("l/e/y", text("IN: d/e/y")),
            ],
        ),
        Row(
            "through it and back",
            &["d"],
            &["d/e/", "f", "l -> d/../f", "m -> d/e/../../f"],
            &[("l", denied("l")), ("m", denied("m")), ("d/../f", text("IN: f"))],
        ),
        Row(
            "a denied name that leads elsewhere",
            &["l"],
            &["f", "l -> f", "m -> l"],
            &[("l", denied("l")), ("m", denied("m")), ("f", text("IN: f"))],
        ),
        Row(
            "an exception by its name is none for its target",
            &[".env*", "!.env.example"],
            &[".env = OUT: secret", ".env.example -> .env", "example -> .env.example"],
            &[(".env.example", denied(".env.example")), ("example", denied("example"))],
        ),
        Row("a link whose target is allowed", &[".env"], &["f", "l -> f"], &[("l", text("IN: f"))]),
        Row("case", &[".env"], &[".ENV = OUT: secret", "l -> .ENV"], &[("l", denied("l"))]),
    ]);
}

/// What is there makes no difference, and neither does that nothing is: a denied path is denied before anything is opened.
#[test]
fn a_denied_path_answers_the_same_whatever_is_there() {
    let contents: [&[&str]; 10] = [
        &[],
        &["x"],
        &["x/"],
        &["x/y/z"],
        &["x|"],
        &["x="],
        &["x -> x"],
        &["x -> ../elsewhere/s", "O/s"],
        &["x -> nope"],
        &["x -> f", "f"],
    ];
    let requests = ["x", "x/", "x/y", "x/y/z", "l", "l/", "l/y", "d/x", "d/l", "{R}/x"];
    for there in contents {
        let mut tree = Tree::new(there);
        tree.add("l -> x");
        tree.add("d/l -> ../x");
        let root = tree.root().with_policy(Policy::deny(["x"]).unwrap());
        for request in requests {
            let told = request.trim_start_matches("{R}/").trim_end_matches('/');
            check_in(&tree, &root, &[(request, denied(told))]);
            let error = root.open(tree.fill(request)).unwrap_err();
            assert_eq!((error.kind(), error.raw_os_error()), (&ErrorKind::Denied, None), "{request} {there:?}");
        }
    }
}

#[test]
fn what_is_denied_is_denied_before_permission() {
    without_privileges("policy::what_is_denied_is_denied_before_permission", || {
        let tree = Tree::new(&["x", "closed/x", "closed/y", "l -> closed/x", "m -> x", "p|"]);
        for name in ["x", "closed", "p"] {
            tree.chmod(name, 0);
        }
        let root = tree.root().with_policy(Policy::deny(["x", "p"]).unwrap());
        check_in(
            &tree,
            &root,
            &[
                ("x", denied("x")),
                ("closed/x", denied("closed/x")),
                ("l", denied("l")),
                ("m", denied("m")),
                ("p", denied("p")),
                ("closed/y", no_permission("closed/y")),
            ],
        );
        tree.chmod("closed", 0o755);
        tree.close();
    });
}

#[test]
fn comes_after_the_fence_and_before_all_else() {
    let tree = Tree::new(&["O/x", "out -> ../elsewhere/x", "x -> ../elsewhere/x", "loop -> loop"]);
    let root = tree.root().with_policy(Policy::deny(["x"]).unwrap());
    check_in(
        &tree,
        &root,
        &[
            ("", invalid("path must not be empty")),
            ("x\0", invalid("path must not contain a NUL byte")),
            ("../x", outside("../x")),
            ("../elsewhere/x", outside("../elsewhere/x")),
            ("{O}/x", outside("{O}/x")),
            ("x", denied("x")),
            // What lies outside has no path in the root that a pattern could match.
            ("out", outside("out")),
            ("loop", too_many_links("loop")),
            ("d/loop/nope", missing("d/loop/nope")),
            (&"n/".repeat(257), too_many_components()),
        ],
    );
    assert_eq!(root.open("n/".repeat(256) + "x").unwrap_err().code(), "denied");
    let tool = ReadTool::new(root);
    let zero = ReadRequest::new("x").offset(0);
    assert_fails(tool.call(&zero, &|| false), "invalid_argument", "offset must be a positive integer");
    assert_fails(tool.call(&ReadRequest::new("x"), &|| true), "cancelled", "Operation aborted");
}

#[test]
fn judges_names_that_are_not_utf_8() {
    let tree = Tree::new(&["d/"]);
    for name in [&b"d/\xff.pem"[..], b"d/\xff.txt"] {
        std::fs::write(tree.path().join(OsStr::from_bytes(name)), "IN: bytes\n").unwrap();
    }
    let root = tree.root().with_policy(Policy::deny(["*.pem"]).unwrap());
    let read = |name: &[u8]| tree.read(&root, Path::new(OsStr::from_bytes(name)));
    assert_fails(read(b"d/\xff.pem"), "denied", "Path is denied by policy: d/\u{fffd}.pem");
    assert_eq!(read(b"d/\xff.txt").unwrap(), "IN: bytes");
}

#[test]
fn escapes_what_it_denies() {
    let tree = Tree::new(&[]);
    let root = tree.root().with_policy(Policy::deny(["x*"]).unwrap());
    check_in(&tree, &root, &[("x\u{1b}[2J\n", denied("x\\u{1b}[2J\\n"))]);
}

/// Row 82: the other name of a file may lie anywhere.
#[test]
fn denies_files_of_several_names_where_told_to() {
    let tree = Tree::new(&["f", "h => f", "O/s = IN: from outside", "g => O/s", "one", "l -> g", "d/x => f", "p|"]);
    let policy = || Policy::deny(["nothing"]).unwrap();
    let several = ["f", "h", "g", "l", "d/x"];
    let others = [
        ("one", text("IN: one")),
        ("d", special("d", "directory")),
        ("p", special("p", "FIFO")),
        ("nope", missing("nope")),
    ];
    let root = tree.root().with_policy(policy());
    check_in(
        &tree,
        &root,
        &several.map(|request| {
            let said = if ["g", "l"].contains(&request) { "IN: from outside" } else { "IN: f" };
            (request, text(said))
        }),
    );
    check_in(&tree, &root, &others);
    let root = tree.root().with_policy(policy().deny_hard_links());
    check_in(&tree, &root, &several.map(|request| (request, denied(request))));
    check_in(&tree, &root, &others);
    // When the other names are gone it is a file like any other.
    for name in ["h", "d/x"] {
        std::fs::remove_file(tree.at(name)).unwrap();
    }
    check_in(&tree, &root, &[("f", text("IN: f"))]);
}

#[test]
fn the_policy_of_default_denies_nothing() {
    let tree = Tree::new(&[".env", "d/h => .env"]);
    let root = tree.root().with_policy(Policy::deny::<&str>([]).unwrap());
    check_in(&tree, &root, &[(".env", text("IN: .env")), ("d/h", text("IN: .env"))]);
}

#[rstest]
#[case("[z-a]")]
#[case("!d/[z-a]")]
#[case("x\\")]
fn a_pattern_that_does_not_parse_is_an_error_at_start(#[case] pattern: &str) {
    let error = Policy::deny([".env", pattern]).unwrap_err();
    assert_eq!(error.code(), "invalid_argument");
    let message = error.to_string();
    assert!(message.starts_with(&format!("deny pattern {pattern} does not parse: ")), "{message}");
}

#[test]
fn the_last_policy_given_is_the_one() {
    let tree = Tree::new(&["a", "b"]);
    let deny = |pattern: &str| Policy::deny([pattern]).unwrap();
    let root = tree.root();
    let other = root.clone().with_policy(deny("a")).with_policy(deny("b"));
    check_in(&tree, &other, &[("a", text("IN: a")), ("b", denied("b"))]);
    check_in(&tree, &root, &[("a", text("IN: a")), ("b", text("IN: b"))]);
}
