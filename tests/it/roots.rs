//! Several roots of one reader: which of them a path belongs to, and what crosses from one to another.

use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use capread::{ReadRequest, ReadTool, Root, Roots};
use rstest::rstest;

use crate::support::{Tree, in_mode, root_at, without_entries};
#[cfg(feature = "policy")]
use crate::world::mode;

/// What a read gave, with the placeholders for its paths filled in.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Read { path: String, resolved: String, text: String },
    Failed { code: &'static str, message: String, path: Option<String> },
}

/// A file that was found where it was asked for.
fn at(path: &str, text: &str) -> Answer {
    through(path, path, text)
}

/// A file that links led to.
fn through(path: &str, resolved: &str, text: &str) -> Answer {
    Answer::Read { path: path.to_owned(), resolved: resolved.to_owned(), text: text.to_owned() }
}

/// A path that is told as it was asked for.
fn failed(code: &'static str, message: &str, path: &str) -> Answer {
    Answer::Failed { code, message: format!("{message}: {path}"), path: Some(path.to_owned()) }
}

fn missing(path: &str) -> Answer {
    failed("not_found", "File does not exist", path)
}

#[cfg(feature = "policy")]
fn denied(path: &str) -> Answer {
    failed("denied", "Path is denied by policy", path)
}

fn left(path: &str) -> Answer {
    let told = failed("outside_root", "Path is outside the allowed root", path);
    match told {
        Answer::Failed { code, message, .. } if path.starts_with(['/', '{']) => {
            Answer::Failed { code, message, path: None }
        }
        told => told,
    }
}

/// An absolute path in no root: nothing is told that was not said.
fn elsewhere(path: &str) -> Answer {
    let message = format!("Path is outside the allowed root: {path}");
    Answer::Failed { code: "outside_root", message, path: None }
}

fn directory(path: &str) -> Answer {
    let message = format!("Not a regular file: {path} (directory)");
    Answer::Failed { code: "not_a_file", message, path: Some(path.to_owned()) }
}

impl Answer {
    fn filled(self, tree: &Tree) -> Self {
        let fill = |text: String| tree.fill(&text);
        match self {
            Self::Read { path, resolved, text } => Self::Read { path: fill(path), resolved: fill(resolved), text },
            Self::Failed { code, message, path } => Self::Failed { code, message: fill(message), path: path.map(fill) },
        }
    }

    fn of(roots: &Roots, request: &str) -> Self {
        let utf_8 = |path: PathBuf| path.into_os_string().into_string().unwrap();
        match ReadTool::new(roots.clone()).call(&ReadRequest::new(request), &|| false) {
            Ok(output) => {
                Self::Read { path: utf_8(output.path), resolved: utf_8(output.resolved), text: output.window.text }
            }
            Err(error) => {
                assert_eq!(error.input(), Some(request));
                let path = error.path().map(str::to_owned);
                Self::Failed { code: error.code(), message: without_entries(&error), path }
            }
        }
    }
}

/// Reads all, and then fails with all that were wrong.
#[track_caller]
fn check(tree: &Tree, roots: &Roots, requests: impl IntoIterator<Item = (&'static str, Answer)>) {
    let wrong: Vec<_> = requests
        .into_iter()
        .map(|(request, expected)| (tree.fill(request), expected.filled(tree)))
        .filter_map(|(request, expected)| {
            let found = Answer::of(roots, &request);
            (found != expected).then(|| format!("{request}\n    expected {expected:?}\n    found    {found:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

fn roots(tree: &Tree, paths: &[&str]) -> Roots {
    let mut all = paths.iter().map(|path| root_at(tree.fill(path)));
    let first = Roots::from(all.next().unwrap());
    all.fold(first, Roots::and)
}

/// A root without a path.
fn handle(tree: &Tree, path: &str) -> Root {
    in_mode(Root::from(Dir::open_ambient_dir(tree.fill(path), ambient_authority()).unwrap()))
}

/// Three roots, R, `T/other` and `T/third`, and a directory that is none.
fn three() -> Tree {
    Tree::new(&[
        "f",
        "d/f",
        "T/other/f = IN: other/f",
        "T/other/d/e/f = IN: other/d/e/f",
        "T/third/f = IN: third/f",
        "O/f",
        "T/other-x/f",
    ])
}

const THREE: [&str; 3] = ["{R}", "{T}/other", "{T}/third"];

#[test]
fn a_path_belongs_to_the_root_that_it_lies_in() {
    let tree = three();
    check(
        &tree,
        &roots(&tree, &THREE),
        [
            ("f", at("f", "IN: f")),
            ("./d/../f", at("f", "IN: f")),
            ("../app/f", at("f", "IN: f")),
            ("{R}/f", at("f", "IN: f")),
            ("{T}/other/f", at("{T}/other/f", "IN: other/f")),
            ("{T}/other//d/./e/f", at("{T}/other/d/e/f", "IN: other/d/e/f")),
            ("{T}/third/f", at("{T}/third/f", "IN: third/f")),
            // An absolute path is normalised before it is judged, and may come from anywhere.
            ("{R}/../other/f", at("{T}/other/f", "IN: other/f")),
            ("{T}/other/../third/f", at("{T}/third/f", "IN: third/f")),
            ("{O}/../app/f", at("f", "IN: f")),
            ("{T}/other", directory("{T}/other")),
            ("{R}", directory(".")),
            ("{T}/other/nope", missing("{T}/other/nope")),
            ("{T}/other/f/x", missing("{T}/other/f/x")),
            ("{R}/nope", missing("nope")),
            ("{O}/f", elsewhere("{O}/f")),
            ("{T}", elsewhere("{T}")),
            ("{T}/other-x/f", elsewhere("{T}/other-x/f")),
            ("{T}/other/../other-x/f", elsewhere("{T}/other/../other-x/f")),
            ("/", elsewhere("/")),
        ],
    );
}

/// Not even to where another root is: what a relative path means must not depend on where the first root lies.
#[test]
fn a_relative_path_belongs_to_the_first_root() {
    let tree = three();
    let other_way = roots(&tree, &["{T}/other", "{R}"]);
    check(
        &tree,
        &roots(&tree, &THREE),
        [
            ("../other/f", left("../other/f")),
            ("../third/f", left("../third/f")),
            ("..", left("..")),
            ("other/f", missing("other/f")),
        ],
    );
    check(
        &tree,
        &other_way,
        [
            ("f", at("f", "IN: other/f")),
            ("{T}/other/f", at("f", "IN: other/f")),
            ("{R}/f", at("{R}/f", "IN: f")),
            ("../app/f", left("../app/f")),
            ("../other/f", at("f", "IN: other/f")),
        ],
    );
}

#[test]
fn an_absolute_link_goes_on_in_another_root_and_nothing_else_does() {
    let mut tree = three();
    for link in [
        "file -> {T}/other/f",
        "deep -> {T}/other/d/e/f",
        "into -> {T}/other",
        "slash -> {T}//other/./d/",
        "chain -> file",
        "d/up -> {T}/other/d/../f",
        "gone -> {T}/other/nope",
        "third -> {T}/third/back",
        "T/third/back -> {R}/f",
        "T/other/hop -> {T}/third/f",
        "T/other/home -> {R}/d/f",
        "round -> {T}/other/home",
        "own -> {R}/f",
        // What follows leads to the same places by other ways.
        "relative -> ../other/f",
        "parent -> {R}/../other/f",
        "above -> {T}/other/../other/f",
        "top -> {T}/other/../app/f",
        "beside -> {T}/other-x/f",
        "out -> {O}/f",
        "T/other/out -> ../app/f",
        "leave -> {T}/other/out",
        "T/other/far -> {O}/f",
        "far -> {T}/other/far",
        "base -> {T}",
    ] {
        tree.add(link);
    }
    check(
        &tree,
        &roots(&tree, &THREE),
        [
            ("file", through("file", "{T}/other/f", "IN: other/f")),
            ("{R}/file", through("file", "{T}/other/f", "IN: other/f")),
            ("deep", through("deep", "{T}/other/d/e/f", "IN: other/d/e/f")),
            ("into/f", through("into/f", "{T}/other/f", "IN: other/f")),
            ("into/d/e/f", through("into/d/e/f", "{T}/other/d/e/f", "IN: other/d/e/f")),
            ("into/hop", through("into/hop", "{T}/third/f", "IN: third/f")),
            ("slash/e/f", through("slash/e/f", "{T}/other/d/e/f", "IN: other/d/e/f")),
            ("chain", through("chain", "{T}/other/f", "IN: other/f")),
            ("d/up", through("d/up", "{T}/other/f", "IN: other/f")),
            ("third", through("third", "f", "IN: f")),
            ("round", through("round", "d/f", "IN: d/f")),
            ("own", through("own", "f", "IN: f")),
            ("{T}/other/hop", through("{T}/other/hop", "{T}/third/f", "IN: third/f")),
            ("{T}/other/home", through("{T}/other/home", "d/f", "IN: d/f")),
            ("{T}/third/back", through("{T}/third/back", "f", "IN: f")),
            ("into", directory("into")),
            ("gone", missing("gone")),
            ("into/nope", missing("into/nope")),
            ("relative", left("relative")),
            ("parent", left("parent")),
            ("above", left("above")),
            ("top", left("top")),
            ("beside", left("beside")),
            ("out", left("out")),
            ("leave", left("leave")),
            ("far", left("far")),
            ("base/other/f", left("base/other/f")),
            ("{T}/other/out", left("{T}/other/out")),
            ("{T}/other/far", left("{T}/other/far")),
        ],
    );
    // To a reader of one root every one of them leads out, and to a root alone as well.
    let alone = Roots::from(tree.root());
    for request in ["file", "deep", "into/f", "slash/e/f", "chain", "d/up", "gone", "third", "round"] {
        check(&tree, &alone, [(request, left(request))]);
        assert_eq!(tree.root().open(request).unwrap_err().code(), "outside_root", "{request}");
    }
}

#[test]
fn links_count_across_roots() {
    let mut tree = Tree::new(&["f", "T/other/f = IN: other/f", "T/other/x -> {R}/x", "x -> {T}/other/x", "a0 -> f"]);
    for number in 1..=40 {
        let (from, to) = if number % 2 == 0 { ("", "{T}/other") } else { ("T/other/", "{R}") };
        tree.add(&format!("{from}a{number} -> {to}/a{}", number - 1));
    }
    let both = roots(&tree, &["{R}", "{T}/other"]);
    let too_many = |path: &str| failed("too_many_links", "Too many symbolic links", path);
    check(
        &tree,
        &both,
        [
            ("a38", through("a38", "f", "IN: f")),
            ("{T}/other/a39", through("{T}/other/a39", "f", "IN: f")),
            ("a40", too_many("a40")),
            ("x", too_many("x")),
        ],
    );
}

#[test]
fn the_innermost_of_nested_roots_has_the_path() {
    let tree = Tree::new(&[
        "f",
        "sub/f",
        "sub/g/f",
        "sub/up -> ../f",
        "sub/own -> {R}/sub/f",
        "sub/outer -> {R}/f",
        "l -> {R}/sub/f",
        "m -> sub/up",
        "n -> {R}/sub/up",
    ]);
    let inner_second = roots(&tree, &["{R}", "{R}/sub"]);
    check(
        &tree,
        &inner_second,
        [
            ("sub/f", at("sub/f", "IN: sub/f")),
            ("{R}/sub/f", at("{R}/sub/f", "IN: sub/f")),
            ("{R}/f", at("f", "IN: f")),
            ("{R}/sub", directory("{R}/sub")),
            ("sub", directory("sub")),
            // The same link, by the outer root and by the inner one.
            ("sub/up", through("sub/up", "f", "IN: f")),
            ("{R}/sub/up", left("{R}/sub/up")),
            ("sub/own", through("sub/own", "{R}/sub/f", "IN: sub/f")),
            ("{R}/sub/own", through("{R}/sub/own", "{R}/sub/f", "IN: sub/f")),
            ("{R}/sub/outer", through("{R}/sub/outer", "f", "IN: f")),
            // An absolute target goes on in the innermost root, as a request does, and leads nowhere else than that.
            ("l", through("l", "{R}/sub/f", "IN: sub/f")),
            ("m", through("m", "f", "IN: f")),
            ("n", left("n")),
            ("{R}/sub/nope", missing("{R}/sub/nope")),
        ],
    );
    let outer_second = roots(&tree, &["{R}/sub", "{R}"]);
    check(
        &tree,
        &outer_second,
        [
            ("f", at("f", "IN: sub/f")),
            ("{R}/sub/f", at("f", "IN: sub/f")),
            ("{R}/f", at("{R}/f", "IN: f")),
            ("{R}/sub/../f", at("{R}/f", "IN: f")),
            ("../f", left("../f")),
            ("up", left("up")),
            ("outer", through("outer", "{R}/f", "IN: f")),
            ("{R}/l", through("{R}/l", "f", "IN: sub/f")),
        ],
    );
    let nested_twice = roots(&tree, &["{R}", "{R}/sub/g", "{R}/sub"]);
    check(
        &tree,
        &nested_twice,
        [("{R}/sub/g/f", at("{R}/sub/g/f", "IN: sub/g/f")), ("{R}/sub/f", at("{R}/sub/f", "IN: sub/f"))],
    );
}

#[test]
fn every_spelling_of_every_root_counts() {
    let tree = Tree::new(&[
        "f",
        "T/other/f = IN: other/f",
        "T/alias -> other",
        "l -> {T}/alias/f",
        "m -> {T}/other/f",
        "O/f",
        "T/twin -> other",
        "n -> {T}/twin/f",
    ]);
    check(
        &tree,
        &roots(&tree, &["{R}", "{T}/alias"]),
        [
            ("{T}/alias/f", at("{T}/alias/f", "IN: other/f")),
            // Told in the spelling that the root was given by, whichever it was asked for in.
            ("{T}/other/f", at("{T}/alias/f", "IN: other/f")),
            ("l", through("l", "{T}/alias/f", "IN: other/f")),
            ("m", through("m", "{T}/alias/f", "IN: other/f")),
            ("n", left("n")),
            ("{T}/twin/f", elsewhere("{T}/twin/f")),
        ],
    );
    // The same directory twice is no other place.
    check(
        &tree,
        &roots(&tree, &["{T}/other", "{T}/alias", "{T}/twin"]),
        [
            ("f", at("f", "IN: other/f")),
            ("{T}/other/f", at("f", "IN: other/f")),
            ("{T}/alias/f", at("{T}/alias/f", "IN: other/f")),
        ],
    );
}

#[test]
fn a_root_without_a_path_is_reached_by_relative_paths_alone() {
    let tree =
        Tree::new(&["f", "l -> {T}/other/f", "own -> {R}/f", "T/other/f = IN: other/f", "T/other/back -> {R}/f"]);
    check(
        &tree,
        &Roots::from(handle(&tree, "{R}")).and(root_at(tree.fill("{T}/other"))),
        [
            ("f", at("f", "IN: f")),
            ("l", through("l", "{T}/other/f", "IN: other/f")),
            ("own", left("own")),
            ("{R}/f", elsewhere("{R}/f")),
            ("{T}/other/f", at("{T}/other/f", "IN: other/f")),
            ("{T}/other/back", left("{T}/other/back")),
        ],
    );
    check(
        &tree,
        &Roots::from(tree.root()).and(handle(&tree, "{T}/other")),
        [
            ("f", at("f", "IN: f")),
            ("l", left("l")),
            ("own", through("own", "f", "IN: f")),
            ("{T}/other/f", elsewhere("{T}/other/f")),
        ],
    );
}

#[test]
fn a_root_of_several_keeps_what_it_holds() {
    let tree = three();
    let both = roots(&tree, &["{R}", "{T}/other"]);
    std::fs::rename(tree.at("T/other"), tree.at("T/moved")).unwrap();
    std::fs::rename(tree.outside(), tree.at("T/other")).unwrap();
    let requests = || {
        [
            ("{T}/other/f", at("{T}/other/f", "IN: other/f")),
            ("{T}/moved/f", elsewhere("{T}/moved/f")),
            ("f", at("f", "IN: f")),
        ]
    };
    check(&tree, &both, requests());
    std::fs::remove_dir_all(tree.at("T/moved")).unwrap();
    check(&tree, &both, [("{T}/other/f", missing("{T}/other/f")), ("f", at("f", "IN: f"))]);
}

#[test]
fn only_whole_links_lead_to_the_top_of_another_root() {
    let tree = Tree::new(&["top -> {T}/other", "same -> {T}/other/.", "T/other/f = IN: other/f", "T/other/l -> .."]);
    check(
        &tree,
        &roots(&tree, &["{R}", "{T}/other"]),
        [
            ("top/f", through("top/f", "{T}/other/f", "IN: other/f")),
            ("same/f", through("same/f", "{T}/other/f", "IN: other/f")),
            ("top/l", left("top/l")),
            ("top", directory("top")),
        ],
    );
}

/// Each root with rules of its own: those of the root that a path is asked for in, and those of the one that it leads to.
#[cfg(feature = "policy")]
#[test]
fn the_policy_of_each_root_on_the_way_holds() {
    let tree = Tree::new(&[
        "f",
        "key",
        "l -> {T}/other/f",
        "k -> {T}/other/key",
        "s -> {T}/other/secret/x",
        "into -> {T}/other",
        "hard -> {T}/other/hard",
        "own => f",
        "T/other/f = IN: other/f",
        "T/other/key = OUT: other/key",
        "T/other/secret/x = OUT: secret",
        "T/other/hard => f",
        "T/other/back -> {R}/key",
    ]);
    let deny = |pattern: &str| capread::Policy::deny([pattern]).unwrap();
    let first = tree.root().with_policy(deny("key"));
    let second = root_at(tree.fill("{T}/other")).with_policy(deny("secret").deny_hard_links());
    check(
        &tree,
        &Roots::from(first).and(second),
        [
            ("f", at("f", "IN: f")),
            ("own", at("own", "IN: f")),
            ("key", denied("key")),
            ("l", through("l", "{T}/other/f", "IN: other/f")),
            // The second root denies no `key`, the first one no `secret`.
            ("k", through("k", "{T}/other/key", "OUT: other/key")),
            ("{T}/other/key", at("{T}/other/key", "OUT: other/key")),
            ("s", denied("s")),
            ("into/secret/x", denied("into/secret/x")),
            ("into/secret/nope", denied("into/secret/nope")),
            ("{T}/other/secret", denied("{T}/other/secret")),
            ("into/key", denied("into/key")),
            ("{T}/other/back", denied("{T}/other/back")),
            ("hard", denied("hard")),
            ("{T}/other/hard", denied("{T}/other/hard")),
        ],
    );
}

/// A root in another, each by any of its names or by none, and the secrets of the inner one by every way there is.
#[cfg(feature = "policy")]
#[rstest]
fn the_policy_of_a_root_holds_through_the_root_around_it(
    #[values("{R}", "{T}/alias", "{T}/alias/../app/.", "handle")] outer: &str,
    #[values("{R}/b", "{R}/link", "handle")] inner: &str,
) {
    let tree = Tree::new(&[
        "T/alias -> app",
        "link -> b",
        "b/secrets/key = OUT: secret",
        "b/one",
        "b/two => b/one",
        "b/f",
        "secrets/f",
        "x -> {R}/b/secrets/key",
        "y -> b/secrets/key",
        "z -> {T}/alias/b/two",
        "d/up -> ../b/one",
    ]);
    let root = |path, at| if path == "handle" { handle(&tree, at) } else { root_at(tree.fill(path)) };
    let policy = capread::Policy::deny(["/secrets"]).unwrap().deny_hard_links();
    let roots = Roots::from(root(outer, "{R}")).and(root(inner, "{R}/b").with_policy(policy));
    let code = |request: &str| match Answer::of(&roots, &tree.fill(request)) {
        Answer::Read { .. } => "read",
        Answer::Failed { code, .. } => code,
    };
    for request in
        ["b/secrets/key", "link/secrets/key", "y", "b/secrets", "b/secrets/nope", "b/one", "d/up", "link/two"]
    {
        assert_eq!(code(request), "denied", "{request}");
    }
    // Absolute targets lead out of a root that has no path.
    for request in ["x", "z", "{T}/alias/b/secrets/key", "{R}/b/secrets/key"] {
        assert!(["denied", "outside_root"].contains(&code(request)), "{request}: {}", code(request));
    }
    let is_known = mode().has_procfs() || !(outer == "handle" || inner == "handle");
    let others = [("b/f", "IN: b/f"), ("secrets/f", "IN: secrets/f")];
    check(&tree, &roots, others.map(|(path, text)| (path, if is_known { at(path, text) } else { denied(path) })));
}

#[cfg(feature = "policy")]
#[rstest]
fn the_policy_of_a_root_holds_in_the_root_inside_it(
    #[values("{R}", "{T}/alias", "handle")] outer: &str,
    #[values("{R}/b", "{R}/link", "handle")] inner: &str,
) {
    let tree = Tree::new(&["T/alias -> app", "link -> b", "b/key = OUT: secret", "b/f", "b/two => b/f", "b/g", "key"]);
    let root = |path: &str, at: &str| if path == "handle" { handle(&tree, at) } else { root_at(tree.fill(path)) };
    let roots = |policy| Roots::from(root(inner, "{R}/b")).and(root(outer, "{R}").with_policy(policy));
    let deny = |pattern: &str| capread::Policy::deny([pattern]).unwrap();
    check(&tree, &roots(deny("/b/key")), [("key", denied("key")), ("./x/../key", denied("key"))]);
    check(&tree, &roots(deny("nothing").deny_hard_links()), [("f", denied("f")), ("two", denied("two"))]);
    // The way to the inner root is denied, and with it all below.
    check(&tree, &roots(deny("b/")), [("g", denied("g")), ("nope", denied("nope")), ("f/x", denied("f/x"))]);
    let is_known = mode().has_procfs() || !(outer == "handle" || inner == "handle");
    if is_known {
        check(&tree, &roots(deny("/key")), [("key", at("key", "OUT: secret")), ("g", at("g", "IN: b/g"))]);
    }
}

/// However far above.
#[cfg(feature = "policy")]
#[test]
fn a_root_in_a_denied_directory_is_denied() {
    let tree = Tree::new(&["x/y/z/f", "T/other/into -> {R}/x/y/z", "T/other/f = IN: other"]);
    let policy = |patterns: &[&str]| tree.root().with_policy(capread::Policy::deny(patterns).unwrap());
    let roots = |policy| roots(&tree, &["{T}/other", "{R}/x/y/z"]).and(policy);
    for pattern in ["x", "y/", "/x/y/z"] {
        let requests = ["into/f", "into/nope", "{R}/x/y/z/f", "{R}/x/y/z"];
        check(&tree, &roots(policy(&[pattern])), requests.map(|request| (request, denied(request))));
    }
    check(&tree, &roots(policy(&["/z"])), [("into/f", through("into/f", "{R}/x/y/z/f", "IN: x/y/z/f"))]);
}

/// The file system may not tell them apart. The names of a root are as little its own as those that patterns name.
#[cfg(feature = "policy")]
#[test]
fn the_place_of_a_root_is_known_whatever_the_case() {
    let tree = Tree::new(&["b/secrets/key", "B/secrets/key = OUT: secret", "B/f"]);
    let policy = capread::Policy::deny(["/secrets"]).unwrap();
    let roots = Roots::from(tree.root()).and(root_at(tree.at("b")).with_policy(policy));
    let secrets = ["b/secrets/key", "B/secrets/key", "{T}/app/B/secrets"];
    check(&tree, &roots, secrets.map(|path| (path, denied(path.trim_start_matches("{T}/app/")))));
    check(&tree, &roots, [("B/f", at("B/f", "IN: B/f"))]);
}

/// Where roots lie apart, they are not in each other's way.
#[cfg(feature = "policy")]
#[test]
fn a_policy_says_nothing_of_a_root_that_lies_elsewhere() {
    let tree = Tree::new(&["key", "T/app-secret/key = IN: other", "O/key"]);
    let policy = || capread::Policy::deny(["key"]).unwrap();
    let path = "{T}/app-secret/key";
    let first = Roots::from(tree.root()).and(root_at(tree.fill("{T}/app-secret")).with_policy(policy()));
    check(&tree, &first, [("key", at("key", "IN: key")), (path, denied(path))]);
    let second = Roots::from(tree.root().with_policy(policy())).and(root_at(tree.fill("{T}/app-secret")));
    check(&tree, &second, [("key", denied("key")), (path, at(path, "IN: other"))]);
    let unnamed = Roots::from(handle(&tree, "{R}")).and(root_at(tree.fill("{T}/app-secret")).with_policy(policy()));
    let expected = if mode().has_procfs() { at("key", "IN: key") } else { denied("key") };
    check(&tree, &unnamed, [("key", expected)]);
}

/// The absolute path of the file is longer than the longest request.
#[cfg(feature = "policy")]
#[test]
fn no_path_is_too_long_for_a_policy() {
    let tree = Tree::new(&["b/secrets/"]);
    let mut request = "b/secrets".to_owned();
    let mut directory = Dir::open_ambient_dir(tree.at("b/secrets"), ambient_authority()).unwrap();
    while request.len() + 2 + tree.path().as_os_str().len() < 4096 {
        let name = "n".repeat((4093 - request.len()).min(255));
        directory.create_dir(&name).unwrap();
        directory = directory.open_dir(&name).unwrap();
        request = format!("{request}/{name}");
    }
    directory.write("f", "OUT: secret\n").unwrap();
    request += "/f";
    assert!(request.len() <= 4096 && request.len() + tree.path().as_os_str().len() >= 4096, "{}", request.len());
    let deny = |pattern: &str| capread::Policy::deny([pattern]).unwrap();
    for outer in [tree.root(), handle(&tree, "{R}")] {
        let roots = Roots::from(outer).and(root_at(tree.at("b")).with_policy(deny("/secrets")));
        let tool = ReadTool::new(roots);
        let error = tool.call(&ReadRequest::new(&request), &|| false).unwrap_err();
        assert_eq!(error.code(), "denied");
    }
}

#[rstest]
#[case(&["{R}", "{T}/other"])]
#[case(&["{T}/other", "{R}"])]
fn the_resolver_of_each_root_makes_no_difference(#[case] order: &[&str]) {
    use capread::Resolver::{Auto, Kernel, Walk};
    let tree = Tree::new(&["f", "l -> {T}/other/d/f", "T/other/d/f = IN: other", "T/other/back -> {R}/f"]);
    let answers = [[Auto, Auto], [Walk, Kernel], [Kernel, Walk], [Kernel, Kernel], [Walk, Walk]].map(|ways| {
        let [first, second] = [0, 1].map(|n| root_at(tree.fill(order[n])).with_resolver(ways[n]));
        let both = Roots::from(first).and(second);
        ["f", "l", "{R}/l", "{R}/f", "{T}/other/d/f", "{T}/other/back", "back", "d/f", "../app/f", "{O}/f"]
            .map(|request| Answer::of(&both, &tree.fill(request)))
    });
    for other in &answers[1..] {
        assert_eq!(&answers[0], other);
    }
    let read = answers[0].iter().filter(|answer| matches!(answer, Answer::Read { .. })).count();
    assert!(read >= 6, "{:?}", answers[0]);
}

#[test]
fn a_name_that_is_not_utf_8_is_told_as_it_is() {
    use std::os::unix::ffi::OsStrExt;
    let tree = three();
    let name = std::ffi::OsStr::from_bytes(b"\xff");
    let path = tree.at("T/other").join(name);
    std::fs::write(&path, "IN: bytes\n").unwrap();
    std::os::unix::fs::symlink(&path, tree.at("l")).unwrap();
    let tool = ReadTool::new(roots(&tree, &THREE));
    let output = tool.call(&ReadRequest::new("l"), &|| false).unwrap();
    assert_eq!((output.path.as_path(), output.resolved.as_path()), (Path::new("l"), path.as_path()));
    let output = tool.call(&ReadRequest::new(&path), &|| false).unwrap();
    assert_eq!((&output.path, &output.resolved), (&path, &path));
}
