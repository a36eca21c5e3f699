//! What links, directories and permissions make of a path.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, lchown, symlink};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use capread::{ErrorKind, ReadRequest, Resolver, Resource, Root};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::support::{
    Row, Shared, Tree, assert_fails, check, check_in, missing, no_permission, outside, root_at, special, text,
    too_many_components, too_many_links, without_privileges,
};
use crate::world::{BY_THE_KERNEL, asked, by_the_kernel_then_the_walk, by_the_walk, had, is_root, mode, proc};

#[test]
fn follows_links_that_stay_inside() {
    check(&[
        Row("31", &["f", "l -> f"], &[("l", text("IN: f")), ("l/", text("IN: f")), ("{R}/l", text("IN: f"))]),
        Row("32", &["d/f", "l -> d"], &[("l/f", text("IN: d/f")), ("l", special("l", "directory"))]),
        Row("33", &["d/f", "l -> d/"], &[("l/f", text("IN: d/f"))]),
        Row(
            "33 doubled",
            &["d/e/f", "l -> .//d///e//", "m -> d//e//f"],
            &[("l/f", text("IN: d/e/f")), ("m", text("IN: d/e/f"))],
        ),
        Row("33 dot", &["d/f", "l -> ./d/./."], &[("l/f", text("IN: d/f"))]),
        Row("39", &["d/f", "f", "l -> {R}/f", "m -> {R}/d"], &[("l", text("IN: f")), ("m/f", text("IN: d/f"))]),
        Row(
            "39 doubled",
            &["d/f", "l -> /{R}//d/.//f", "m -> /.{R}/./d/f"],
            &[("l", text("IN: d/f")), ("m", text("IN: d/f"))],
        ),
        Row(
            "39 up",
            &["d/", "f", "l -> {R}/d/../f", "d/m -> {R}/d/../d/../f"],
            &[("l", text("IN: f")), ("d/m", text("IN: f"))],
        ),
        Row("39 root", &["f", "d/l -> {R}", "d/m -> {R}/."], &[("d/l/f", text("IN: f")), ("d/m/f", text("IN: f"))]),
        Row("39 link", &["d/f", "e -> d", "l -> {R}/e/f"], &[("l", text("IN: d/f"))]),
        Row("47", &["d/", "f", "l -> d/../f"], &[("l", text("IN: f"))]),
        Row("51", &["f", "l -> ."], &[("l/l/l/f", text("IN: f")), ("l", special("l", "directory"))]),
        Row(
            "52",
            &["f", "d/l -> .."],
            &[("d/l/f", text("IN: f")), ("d/l/d/l/f", text("IN: f")), ("d/l", special("d/l", "directory"))],
        ),
        Row(
            "52 far",
            &["f", "d/e/g/l -> ../../../f", "m -> d/e/g/l"],
            &[("d/e/g/l", text("IN: f")), ("m", text("IN: f"))],
        ),
        // `..` behind a link goes up from where the link leads, inside a target; in a request it is taken by its text.
        Row(
            "53",
            &["d/e/", "d/g", "g", "l -> d/e", "m -> l/../g"],
            &[("l/../g", text("IN: g")), ("m", text("IN: d/g"))],
        ),
        Row("6", &["d/", "l -> d/"], &[("l/", special("l", "directory")), ("l/.", special("l", "directory"))]),
        Row("21", &["f", "l -> f"], &[("../app/l", text("IN: f"))]),
    ]);
}

#[test]
fn refuses_links_that_leave() {
    check(&[
        Row("35", &["O/s", "l -> ../elsewhere/s"], &[("l", outside("l")), ("./l", outside("./l (resolves to l)"))]),
        Row("37", &["O/s", "l -> {O}"], &[("l/s", outside("l/s")), ("l", outside("l"))]),
        Row("41", &["f", "l -> {R}/../app/f"], &[("l", outside("l"))]),
        Row("41 above", &["f", "l -> {T}/../app/f"], &[("l", outside("l"))]),
        Row("42", &["T/app-x/s", "l -> {R}-x/s", "m -> ../app-x/s"], &[("l", outside("l")), ("m", outside("m"))]),
        Row("42 cut", &["T/ap/s", "l -> {T}/ap/s", "m -> {T}"], &[("l", outside("l")), ("m/ap/s", outside("m/ap/s"))]),
        Row(
            "43",
            &["f", "l -> /", "m -> //"],
            &[("l{R}/f", outside("l{R}/f")), ("l", outside("l")), ("m", outside("m"))],
        ),
        Row("48", &["d/", "f", "l -> d/../../app/f"], &[("l", outside("l"))]),
        Row("50", &["f", "l -> .."], &[("l", outside("l")), ("l/app/f", outside("l/app/f"))]),
        Row(
            "50 slash",
            &["f", "l -> ../", "m -> ./.././app/f"],
            &[("l/app/f", outside("l/app/f")), ("m", outside("m"))],
        ),
        Row("50 deep", &["d/e/l -> ../../../elsewhere/s", "O/s"], &[("d/e/l", outside("d/e/l"))]),
        Row("50 absolute", &["f", "l -> {R}/..", "m -> {R}/../app"], &[("l", outside("l")), ("m/f", outside("m/f"))]),
        Row("54", &["O/s", "s", "l -> {O}"], &[("l/../s", text("IN: s"))]),
        Row("62", &["O/s", "l1 -> l2", "l2 -> ../elsewhere/s"], &[("l1", outside("l1"))]),
        Row("62 directory", &["O/s", "d/l1 -> ../l2", "l2 -> ../elsewhere"], &[("d/l1/s", outside("d/l1/s"))]),
        Row("1", &["O/s", "l -> ../elsewhere"], &[("l/", outside("l/ (resolves to l)"))]),
        Row(
            "2",
            &["O/s", "l -> ../elsewhere"],
            &[("l//", outside("l// (resolves to l)")), ("l/.", outside("l/. (resolves to l)"))],
        ),
        Row("17", &["run -> /etc"], &[("run/hostname", outside("run/hostname")), ("run/x", outside("run/x"))]),
        Row("18", &["etc/mtab -> /proc/mounts"], &[("etc/mtab", outside("etc/mtab"))]),
        Row("24", &["l -> /etc/hostname"], &[("l", outside("l"))]),
        Row("26", &["O/x", "l -> ../elsewhere"], &[("l/x", outside("l/x"))]),
        Row("29", &["O/s", "l -> {O}/s"], &[("l", outside("l"))]),
        Row(
            "30",
            &["O/s", "l -> {O}/s", "copy -> {O}/s", "d/moved -> ../../elsewhere/s"],
            &[("copy", outside("copy")), ("d/moved", outside("d/moved"))],
        ),
        Row("39 (2b)", &["l -> /etc/passwd"], &[("l", outside("l"))]),
        Row("47 (2b)", &["l -> {O}/new"], &[("l", outside("l"))]),
        Row("49 (2b)", &["O/s", "l -> {O}", "m -> ../elsewhere"], &[("l/s", outside("l/s")), ("m/s", outside("m/s"))]),
        Row("53 (2b)", &["l -> ../elsewhere/missing"], &[("l", outside("l"))]),
        Row("64", &["O/s", "vendor -> {O}"], &[("vendor/s", outside("vendor/s"))]),
        Row("65", &["O/d/", "O/s", "s", "l -> {O}/d"], &[("l/../s", text("IN: s"))]),
        Row("65 missing", &["O/d/", "O/s", "l -> {O}/d"], &[("l/../s", missing("s"))]),
    ]);
}

#[test]
fn takes_the_components_of_a_target_in_order() {
    check(&[
        Row("34", &["f", "l -> f/"], &[("l", missing("l")), ("l/", missing("l"))]),
        Row(
            "34 dot",
            &["f", "l -> f/.", "m -> f//", "n -> ./f/./"],
            &[("l", missing("l")), ("m", missing("m")), ("n", missing("n"))],
        ),
        Row("34 chain", &["f", "l -> m/", "m -> f"], &[("m", text("IN: f")), ("l", missing("l"))]),
        Row("34 absolute", &["f", "l -> {R}/f/"], &[("l", missing("l"))]),
        Row(
            "44",
            &["l -> nope", "m -> {R}/nope"],
            &[("l", missing("l")), ("l/x", missing("l/x")), ("m", missing("m"))],
        ),
        Row("45", &["f", "l -> nope/../f"], &[("l", missing("l"))]),
        Row("46", &["O/s", "l -> nope/../../elsewhere/s"], &[("l", missing("l"))]),
        Row("46 file", &["O/s", "f", "l -> f/../../elsewhere/s"], &[("l", missing("l"))]),
        Row("49", &["f", "g", "l -> f/../g"], &[("l", missing("l"))]),
        Row("49 link", &["f", "g", "m -> f", "l -> m/../g"], &[("l", missing("l"))]),
        Row("49 up", &["f", "d/", "l -> d/../f/.."], &[("l", missing("l"))]),
        Row("25", &["f", "l -> f"], &[("l/x", missing("l/x"))]),
        // What is missing before the point of leaving decides, then the leaving, then nothing any more.
        Row("46 after", &["d/", "l -> d/../../nope"], &[("l", outside("l"))]),
        Row(
            "46 request",
            &["l -> d", "d/"],
            &[("l/nope/../../../elsewhere/s", outside("l/nope/../../../elsewhere/s (resolves to ../elsewhere/s)"))],
        ),
    ]);
}

#[test]
fn a_link_that_leaves_tells_nothing_of_what_is_there() {
    let targets = [
        "../elsewhere/t",
        "../elsewhere/t/",
        "../elsewhere/t/x",
        "../elsewhere/t/../../app/f",
        "d/../../elsewhere/t",
        "{O}/t",
        "{O}/t/.",
        "{O}/t/x",
        "{R}/../elsewhere/t",
    ];
    let contents: [&[&str]; 7] =
        [&[], &["O/t"], &["O/t/"], &["O/t/x"], &["O/t|"], &["O/t -> t"], &["O/t -> ../app/f", "f"]];
    for target in targets {
        for there in contents {
            let mut tree = Tree::new(there);
            tree.add("d/");
            tree.add(&format!("l -> {target}"));
            tree.add("m -> l");
            let root = tree.root();
            for request in ["l", "m", "l/x", "m/x/y"] {
                check_in(&tree, &root, &[(request, outside(request))]);
            }
            check_in(&tree, &root, &[("l/", outside("l/ (resolves to l)"))]);
            let error = root.open("l").unwrap_err();
            assert_eq!((error.kind(), error.raw_os_error()), (&ErrorKind::OutsideRoot, None), "{target} {there:?}");
        }
    }
}

#[test]
fn absolute_targets_may_have_either_spelling_of_the_root() {
    let tree = Tree::new(&[
        "T/alias -> app",
        "T/far/alias -> {R}",
        "d/f",
        "real -> {R}/d/f",
        "near -> {T}/alias/d/f",
        "far -> {T}/far/alias/d/f",
        "up -> {T}/alias/..",
    ]);
    let opened_by = |given: &str| root_at(tree.fill(given));
    let inside = |request: &'static str| (request, text("IN: d/f"));
    let left = |request: &'static str| (request, outside(request));
    check_in(&tree, &opened_by("{R}"), &[inside("real"), left("near"), left("far"), left("up")]);
    check_in(&tree, &opened_by("{T}/alias"), &[inside("real"), inside("near"), left("far"), left("up")]);
    check_in(&tree, &opened_by("{T}/far/alias/"), &[inside("real"), left("near"), inside("far"), left("up")]);
}

#[test]
fn an_absolute_target_goes_on_from_the_handle_of_the_root() {
    let tree = Tree::new(&["f", "l -> {R}/f", "O/f"]);
    let root = tree.root();
    let moved = tree.at("T/moved");
    fs::rename(tree.path(), &moved).unwrap();
    fs::rename(tree.outside(), tree.path()).unwrap();
    check_in(
        &tree,
        &root,
        &[
            ("f", text("IN: f")),
            ("l", text("IN: f")),
            ("{R}/f", text("IN: f")),
            ("../app/f", text("IN: f")),
            ("{T}/moved/f", outside("{T}/moved/f")),
        ],
    );
}

#[test]
fn a_removed_root_has_no_files() {
    let tree = Tree::new(&["f"]);
    let root = tree.root();
    fs::remove_dir_all(tree.path()).unwrap();
    fs::create_dir(tree.path()).unwrap();
    tree.file("f", b"OUT: a new file of the old name\n");
    check_in(
        &tree,
        &root,
        &[("f", missing("f")), ("{R}/f", missing("f")), (".", special(".", "directory")), ("../x", outside("../x"))],
    );
}

#[test]
fn a_link_that_is_moved_is_judged_where_it_is() {
    let mut tree = Tree::new(&["O/s", "elsewhere/s", "a/b/l -> ../../elsewhere/s"]);
    let root = tree.root();
    check_in(&tree, &root, &[("a/b/l", text("IN: elsewhere/s"))]);
    fs::rename(tree.at("a/b/l"), tree.at("l")).unwrap();
    check_in(&tree, &root, &[("l", outside("l"))]);
    fs::rename(tree.at("a/b"), tree.at("b")).unwrap();
    fs::rename(tree.at("l"), tree.at("b/l")).unwrap();
    check_in(&tree, &root, &[("b/l", outside("b/l"))]);
    tree.add("m -> a");
    check_in(&tree, &root, &[("m/b/l", missing("m/b/l"))]);
}

#[test]
fn a_hard_link_is_a_file_of_the_root() {
    let tree = Tree::new(&["O/s", "h => O/s"]);
    let output = tree.tool().call(&ReadRequest::new("h"), &|| false).unwrap();
    assert_eq!((output.window.text.as_str(), output.links), ("OUT: s", 2));
}

#[test]
fn stops_a_loop_of_links() {
    check(&[
        Row("55", &["x -> x"], &[("x", too_many_links("x")), ("x/y", too_many_links("x/y"))]),
        Row("55 absolute", &["x -> {R}/x"], &[("x", too_many_links("x"))]),
        Row("56", &["a -> b", "b -> a"], &[("a", too_many_links("a")), ("b/c", too_many_links("b/c"))]),
        Row("56 growing", &["x -> x/x"], &[("x", too_many_links("x"))]),
        Row("56 through a directory", &["d/x -> ../d/x"], &[("./d/x", too_many_links("d/x"))]),
    ]);
}

#[test]
fn follows_40_links_and_no_more() {
    let mut tree = Tree::new(&["f", "l1 -> f", "dot -> .", "O/s"]);
    for number in 2..=41 {
        tree.add(&format!("l{number} -> l{}", number - 1));
    }
    tree.add(&format!("out -> {}elsewhere/s", "../".repeat(33)));
    let dots = |count: usize, last: &str| "dot/".repeat(count) + last;
    check_in(
        &tree,
        &tree.root(),
        &[
            ("l40", text("IN: f")),
            ("l41", too_many_links("l41")),
            (&dots(40, "f"), text("IN: f")),
            (&dots(41, "f"), too_many_links(&dots(41, "f"))),
            (&dots(20, "l20"), text("IN: f")),
            (&dots(21, "l20"), too_many_links(&dots(21, "l20"))),
            // The 40th is still judged by where it leads, the 41st is not looked at.
            (&dots(39, "out"), outside(&dots(39, "out"))),
            (&dots(40, "out"), too_many_links(&dots(40, "out"))),
            (&dots(40, "nope"), missing(&dots(40, "nope"))),
        ],
    );
}

#[test]
fn walks_256_components_and_no_more() {
    let directories = "d/".repeat(255);
    let mut tree = Tree::new(&[&(directories.clone() + "f"), &(directories.clone() + "d/f")]);
    let swing = "d/../".repeat(60);
    tree.add("f");
    tree.add(&format!("l1 -> {swing}f"));
    tree.add(&format!("l2 -> {swing}l1"));
    tree.add(&format!("l3 -> {swing}l2"));
    let deepest = directories.clone() + "f";
    check_in(
        &tree,
        &tree.root(),
        &[
            (&deepest, text(&format!("IN: {deepest}"))),
            (&(directories.clone() + "d/f"), too_many_components()),
            (&"nope/".repeat(257), too_many_components()),
            // Only what is left of the text counts.
            (&("x/../".repeat(300) + "f"), text("IN: f")),
            ("l1", text("IN: f")),
            ("l2", text("IN: f")),
            ("l3", too_many_components()),
        ],
    );
    let error = tree.root().open("l3").unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::ResourceLimit(Resource::Components { limit: 256 }));
}

/// Twenty-two directories with names of 200 bytes, so that the way to the last is over `PATH_MAX`, and in each a short link `k` to the
/// next.
#[test]
fn follows_links_to_where_no_path_reaches() {
    const DEPTH: usize = 22;
    let name = "n".repeat(200);
    let tree = Tree::new(&["f", "O/s"]);
    let mut directory = Dir::open_ambient_dir(tree.path(), ambient_authority()).unwrap();
    for _ in 0..DEPTH {
        directory.create_dir(&name).unwrap();
        directory.symlink(&name, "k").unwrap();
        directory = directory.open_dir(&name).unwrap();
    }
    directory.write("deep", "IN: deep\n").unwrap();
    directory.symlink("../".repeat(DEPTH) + "f", "top").unwrap();
    directory.symlink("../".repeat(DEPTH + 1) + "elsewhere/s", "out").unwrap();
    assert!(fs::read(tree.at(&(name.clone() + "/").repeat(DEPTH)).join("deep")).is_err(), "a path reaches it");
    let below = |last: &str| "k/".repeat(DEPTH) + last;
    check_in(
        &tree,
        &tree.root(),
        &[
            (&below("deep"), text("IN: deep")),
            (&below("top"), text("IN: f")),
            (&below("out"), outside(&below("out"))),
            (&below("nope"), missing(&below("nope"))),
        ],
    );
}

#[test]
fn follows_targets_of_thousands_of_bytes() {
    let name = "n".repeat(255);
    let deep = (name.clone() + "/").repeat(14) + "f";
    let mut tree = Tree::new(&[&deep, "f"]);
    let dots = "./".repeat(2000) + "f";
    let doubled = format!("d{}f", "/".repeat(4000));
    tree.add("d/f");
    for (link, target) in [("dots", &dots), ("doubled", &doubled), ("deep", &deep)] {
        tree.add(&format!("{link} -> {target}"));
    }
    check_in(
        &tree,
        &tree.root(),
        &[("dots", text("IN: f")), ("doubled", text("IN: d/f")), ("deep", text(&format!("IN: {deep}")))],
    );
}

#[test]
fn follows_targets_that_are_not_utf_8() {
    let tree = Tree::new(&["d/"]);
    let name = OsStr::from_bytes(b"d/\xff\xfe");
    fs::write(tree.path().join(name), "IN: bytes\n").unwrap();
    symlink(name, tree.at("l")).unwrap();
    symlink(OsStr::from_bytes(b"\xff/../../elsewhere"), tree.at("m")).unwrap();
    check_in(&tree, &tree.root(), &[("l", text("IN: bytes")), ("m", missing("m"))]);
}

#[test]
fn asks_whether_to_stop_between_components() {
    let tree = Tree::new(&["a/b/c/d/e/f", "l -> m", "m -> n", "n -> a/b/c/d/e/f"]);
    let by_the_kernel = if mode().kernel_decides() { BY_THE_KERNEL } else { by_the_kernel_then_the_walk(6) };
    for (resolver, request, count) in [
        (Resolver::Walk, "a/b/c/d/e/f", by_the_walk(6)),
        (Resolver::Walk, "l", by_the_walk(9)),
        (Resolver::Kernel, "a/b/c/d/e/f", by_the_kernel),
        // The kernel finds a link, and leaves it to the walk.
        (Resolver::Kernel, "l", by_the_kernel_then_the_walk(9)),
    ] {
        let root = tree.root().with_resolver(resolver);
        assert_eq!(asked(&root, request), count, "{resolver:?} {request}");
        for cancelled in 0..count {
            let asked = Shared::new(0);
            let cancel = || asked.replace(asked.get() + 1) >= cancelled;
            assert_fails(root.open_cancellable(request, &cancel), "cancelled", "Operation aborted");
            assert_eq!(asked.get(), cancelled + 1, "{resolver:?} {request}: it went on");
        }
    }
    assert_fails(tree.root().open_cancellable("../x", &|| true), "cancelled", "Operation aborted");
}

/// The rule of `fs.protected_symlinks`: who may write to a directory like `/tmp` must not lead others astray there.
#[test]
fn refuses_a_foreign_link_in_a_sticky_directory() {
    let Some(()) = had("the right to give files away", is_root()) else { return };
    let tree = Tree::new(&["f", "t/own -> ../f", "t/foreign -> ../f", "t/out -> ../../elsewhere/s", "t/g", "O/s"]);
    let owner = fs::metadata(tree.at("t")).unwrap().uid();
    lchown(tree.at("t/foreign"), Some(owner + 1), None).unwrap();
    lchown(tree.at("t/out"), Some(owner + 1), None).unwrap();
    lchown(tree.at("t/g"), Some(owner + 1), None).unwrap();
    let root = tree.root();
    let both = [("t/own", text("IN: f")), ("t/g", text("IN: t/g"))];
    for mode in [0o755, 0o777, 0o1755, 0o1775] {
        tree.chmod("t", mode);
        check_in(&tree, &root, &both);
        check_in(&tree, &root, &[("t/foreign", text("IN: f")), ("t/out", outside("t/out"))]);
    }
    tree.chmod("t", 0o1777);
    check_in(&tree, &root, &both);
    check_in(&tree, &root, &[("t/foreign", no_permission("t/foreign")), ("t/out", no_permission("t/out"))]);
    // Whatever the machine says: by its name the link is followed where the rule is off.
    let rule = fs::read_to_string(proc().join("sys/fs/protected_symlinks")).unwrap();
    let by_name = fs::read_to_string(tree.at("t/foreign")).map_err(|error| error.kind());
    let expected = if rule == "0\n" { Ok("IN: f\n".to_owned()) } else { Err(std::io::ErrorKind::PermissionDenied) };
    assert_eq!(by_name, expected, "fs.protected_symlinks is {rule}");
    // A link that belongs to the directory's owner is as good as the directory.
    lchown(tree.at("t"), Some(owner + 1), None).unwrap();
    check_in(&tree, &root, &[("t/foreign", text("IN: f")), ("t/own", text("IN: f")), ("t/out", outside("t/out"))]);
}

#[test]
fn is_no_more_permissive_than_the_kernel() {
    without_privileges("walk::is_no_more_permissive_than_the_kernel", || {
        let tree = Tree::new(&[
            "f",
            "secret",
            "closed/f",
            "listable/f",
            "searchable/f",
            "through -> closed/../f",
            "stay -> closed/.",
            "slash -> closed/",
            "into -> closed/f",
            "final -> closed",
            "up -> listable/../f",
            "down -> searchable/../f",
            "file -> secret",
        ]);
        for (name, mode) in [("secret", 0), ("closed", 0), ("listable", 0o444), ("searchable", 0o111)] {
            tree.chmod(name, mode);
        }
        let denied = ["secret", "closed/f", "closed/nope", "listable/f", "through", "stay", "into", "up", "file"];
        check_in(&tree, &tree.root(), &denied.map(|request| (request, no_permission(request))));
        check_in(
            &tree,
            &tree.root(),
            &[
                // By its text this does not go through `closed` at all.
                ("closed/../f", text("IN: f")),
                ("searchable/f", text("IN: searchable/f")),
                ("searchable/nope", missing("searchable/nope")),
                ("down", text("IN: f")),
                ("closed", special("closed", "directory")),
                ("final", special("final", "directory")),
                // A slash only says that it is one.
                ("slash", special("slash", "directory")),
            ],
        );
        // A root that may be searched but not listed is one all the same.
        tree.chmod("", 0o111);
        check_in(&tree, &tree.root(), &[("f", text("IN: f")), ("down", text("IN: f")), ("nope", missing("nope"))]);
        for name in ["", "closed", "listable", "searchable"] {
            tree.chmod(name, 0o755);
        }
        tree.close();
    });
}

#[test]
fn permission_errors_keep_their_errno() {
    without_privileges("walk::permission_errors_keep_their_errno", || {
        let tree = Tree::new(&["f"]);
        tree.chmod("f", 0);
        let error = tree.root().open("f").unwrap_err();
        assert_eq!((error.code(), error.raw_os_error()), ("permission_denied", Some(13)));
    });
}

/// What the kernel makes of a path beneath the root: the file it leads to by device and inode, or the code of the failure.
fn by_the_kernel(root: &Root, path: &Path) -> Result<(u64, u64), &'static str> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let open = || openat2(root, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve);
    // Where the path has a `..`, the kernel gives up whenever anything on the machine is renamed.
    let opened = std::iter::repeat_with(open).find(|opened| !matches!(opened, Err(Errno::AGAIN))).unwrap();
    let stat = opened.and_then(rustix::fs::fstat).map_err(|errno| match errno {
        Errno::NOENT | Errno::NOTDIR => "not_found",
        Errno::XDEV => "outside_root",
        Errno::LOOP => "too_many_links",
        errno => panic!("{errno} for {}", path.display()),
    })?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok((stat.st_dev, stat.st_ino)),
        _ => Err("not_a_file"),
    }
}

fn by_capread(root: &Root, path: &Path) -> Result<(u64, u64), &'static str> {
    let file = fs::File::from(root.open(path).map_err(|error| error.code())?);
    let stat = file.metadata().unwrap();
    Ok((stat.dev(), stat.ino()))
}

/// Names, `..` and the like, with slashes anywhere.
fn target() -> impl Strategy<Value = String> {
    let step = proptest::sample::select(vec!["a", "b", "c", "a", "b", "c", ".", "..", "..", "", "app", "elsewhere"]);
    prop_oneof![
        8 => proptest::collection::vec(step, 1..5).prop_map(|steps| steps.join("/")),
        1 => Just("/etc/hostname".to_owned()),
    ]
    .prop_filter("is a target", |target| !target.is_empty())
}

/// An entry of a random tree: its path, the target where it is a link, and whether else it is a directory.
type Planted = (String, Option<String>, bool);

/// Plants a tree by a handle of its root, so that no link that is there already leads what comes later out of it.
fn plant(tree: &Tree, entries: Vec<Planted>) {
    let root = Dir::open_ambient_dir(tree.path(), ambient_authority()).unwrap();
    for (path, target, is_directory) in entries {
        // What is in the way stays there: any tree will do.
        let _ = match target {
            Some(target) => root.symlink_contents(target, path),
            None if is_directory => root.create_dir_all(path),
            None => root.write(path, "IN:"),
        };
    }
    let names = |path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect::<BTreeSet<_>>();
    assert_eq!(names(tree.at("T/")), ["app", "elsewhere"].map(OsString::from).into());
    assert_eq!(names(tree.outside()), [OsString::from("a")].into());
    assert_eq!(fs::read_to_string(tree.at("O/a")).unwrap(), "OUT: a\n");
}

/// What the links of random trees lead to beyond the folder of a tree.
fn outside_of_all_trees() -> (Option<String>, Vec<bool>) {
    let names = ["a", "b", "c", "app", "elsewhere"];
    let folders = [std::env::temp_dir(), "/".into(), "/etc".into()];
    let there = folders.iter().flat_map(|folder| names.map(|name| folder.join(name).symlink_metadata().is_ok()));
    (fs::read_to_string("/etc/hostname").ok(), there.collect())
}

#[test]
fn agrees_with_the_kernel_on_what_lies_beneath() {
    let name = || proptest::sample::select(vec!["a", "b", "c"]);
    let path = || proptest::collection::vec(name(), 1..4).prop_map(|names| names.join("/"));
    let entry = (path(), prop_oneof![1 => Just(None), 2 => target().prop_map(Some)], any::<bool>());
    let trees = (proptest::collection::vec(entry, 1..14), proptest::collection::vec(path(), 12));
    let seen = RefCell::new(BTreeMap::<&str, usize>::new());
    let config = ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() };
    let before = outside_of_all_trees();
    let result = TestRunner::new(config).run(&trees, |(entries, requests)| {
        let tree = Tree::new(&["O/a"]);
        plant(&tree, entries);
        let root = tree.root();
        let by_each = [Resolver::Auto, Resolver::Kernel, Resolver::Walk].map(|way| root.clone().with_resolver(way));
        for request in requests.iter().map(Path::new) {
            let expected = by_the_kernel(&root, request);
            *seen.borrow_mut().entry(expected.err().unwrap_or("file")).or_default() += 1;
            for root in &by_each {
                prop_assert_eq!(by_capread(root, request), expected, "{} {:?}", request.display(), root);
            }
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outside_of_all_trees(), before, "a tree was planted outside");
    for outcome in ["file", "not_a_file", "not_found", "outside_root", "too_many_links"] {
        assert!(seen.borrow().get(outcome).is_some_and(|count| *count > 10), "{outcome} was hardly tried: {seen:?}");
    }
}
