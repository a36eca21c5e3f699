//! Trees as literals.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use crate::fence::RelPath;
use crate::resolve::Resolver;
use crate::resolve::memory::{Allowed, Behaviour, Beneath, Content, How, NodeId, Procfs, Tree, World};
use crate::sys::Errno;

/// The first root.
pub(super) const ROOT: &str = "/srv/app";

/// A world of lines, with the roots `/srv/app` (also called `/given/app`) and, where it is there, `/srv/other`:
///
/// ```text
/// /srv/app/f                    a file
/// /srv/app/d/                   a directory
/// /srv/app/l => ../f            a link
/// /srv/app/h = /out/f           a second name
/// /srv/app/p (fifo)             a FIFO; also `socket`, `character device`, `block device`
/// /srv/app/t/ (mode 1777)       with attributes: also `uid 7`, `mount 2`, `nosymfollow`, `procfs`, `leased`
/// ```
///
/// What is made in a directory inherits its mount, with `nosymfollow` and `procfs`.
#[track_caller]
pub(super) fn world(literal: &str) -> World {
    let mut world = world_with_roots(literal, &[ROOT]);
    world.allowed = vec![Allowed::new(world.allowed[0].node, vec!["/given/app".into(), ROOT.into()])];
    let other = world.tree.at("/srv/other".as_ref());
    world.allowed.extend(other.map(|node| Allowed::new(node, vec!["/srv/other".into()])));
    world
}

/// A world of lines, with roots at these paths.
#[track_caller]
pub(super) fn world_with_roots(literal: &str, roots: &[&str]) -> World {
    let tree = tree(literal);
    let allowed = roots.iter().map(|path| Allowed::new(at(&tree, path), vec![path.into()])).collect();
    World { tree, allowed }
}

#[track_caller]
fn tree(literal: &str) -> Tree {
    let mut tree = Tree::default();
    for line in literal.lines().map(str::trim_start).filter(|line| !line.is_empty()) {
        let (line, attributes) = line.strip_suffix(')').and_then(|line| line.split_once(" (")).unwrap_or((line, ""));
        let node = add(&mut tree, line, attributes).unwrap_or_else(|| panic!("no place for {line}"));
        attributes.split(", ").for_each(|attribute| set(&mut tree, node, attribute));
    }
    tree
}

#[track_caller]
fn add(tree: &mut Tree, line: &str, attributes: &str) -> Option<NodeId> {
    if let Some((path, target)) = line.split_once(" => ") {
        return tree.add(path.as_ref(), Content::Link(target.into()));
    }
    if let Some((path, other)) = line.split_once(" = ") {
        let (directory, name) = path.rsplit_once('/')?;
        let (node, directory) = (at(tree, other), at(tree, directory));
        tree.link(node, directory, name.as_ref());
        return Some(node);
    }
    let content = match attributes.split(", ").next() {
        _ if line.ends_with('/') => Content::Directory([].into()),
        Some("fifo") => Content::Fifo,
        Some("socket") => Content::Socket,
        Some("character device") => Content::CharacterDevice,
        Some("block device") => Content::BlockDevice,
        _ => Content::File,
    };
    tree.add(line.as_ref(), content)
}

#[track_caller]
fn set(tree: &mut Tree, node: NodeId, attribute: &str) {
    let node = tree.change(node);
    match attribute.split_once(' ').unwrap_or((attribute, "")) {
        ("mode", mode) => node.mode = u32::from_str_radix(mode, 8).unwrap(),
        ("uid", uid) => node.uid = uid.parse().unwrap(),
        ("mount", mount) => node.mount = mount.parse().unwrap(),
        ("leased", _) => node.leased = true,
        ("procfs", _) => node.rules.is_procfs = true,
        ("nosymfollow", _) => node.rules.nosymfollow = true,
        ("" | "fifo" | "socket" | "character" | "block", _) => {}
        other => panic!("{other:?} is no attribute"),
    }
}

#[track_caller]
pub(super) fn at(tree: &Tree, path: &str) -> NodeId {
    tree.at(path.as_ref()).unwrap_or_else(|| panic!("there is no {path}"))
}

#[track_caller]
pub(super) fn path(world: &World, request: &str) -> RelPath {
    world.allowed[0].admit(request).unwrap()
}

/// All paths of at most `most` names.
pub(super) fn paths<N: AsRef<OsStr>>(names: &[N], most: usize) -> Vec<RelPath> {
    let mut paths = vec![RelPath::of_names([].into_iter())];
    let mut longest = 0..1;
    for _ in 0..most {
        let longer: Vec<_> =
            paths[longest].iter().flat_map(|path| names.iter().map(|name| path.join(name.as_ref()))).collect();
        longest = paths.len()..paths.len() + longer.len();
        paths.extend(longer);
    }
    paths
}

/// Ways to come to the same answer.
pub(super) fn ways(world: &World) -> Vec<How> {
    let how = |resolver, beneath, procfs| How {
        resolver,
        behaviour: Behaviour { beneath, procfs, most_handles: None },
        plan: Vec::new(),
    };
    let liar = world.tree.at(OsStr::new("/out/f")).filter(|node| !has_copy(&world.tree, *node));
    let liar = liar.map(|node| how(Resolver::Walk, Beneath::Works, Procfs::Lies(node)));
    let ways = [
        how(Resolver::Walk, Beneath::Works, Procfs::Works),
        how(Resolver::Walk, Beneath::Works, Procfs::Missing),
        how(Resolver::Kernel, Beneath::Works, Procfs::Works),
        how(Resolver::Kernel, Beneath::Works, Procfs::Missing),
        how(Resolver::Kernel, Beneath::Fails(Errno::NOSYS), Procfs::Works),
        how(Resolver::Kernel, Beneath::Fails(Errno::PERM), Procfs::Works),
        how(Resolver::Kernel, Beneath::Fails(Errno::XDEV), Procfs::Works),
        how(Resolver::Kernel, Beneath::Fails(Errno::INVAL), Procfs::Missing),
        how(Resolver::Kernel, Beneath::Races(1), Procfs::Works),
        how(Resolver::Kernel, Beneath::Races(3), Procfs::Works),
        how(Resolver::Kernel, Beneath::Races(usize::MAX), Procfs::Works),
    ];
    ways.into_iter().chain(liar).collect()
}

/// What another mount shows is the same file.
fn has_copy(tree: &Tree, node: NodeId) -> bool {
    tree.nodes().any(|other| other != node && tree.node(other).inode == tree.node(node).inode)
}

/// The names in a world's roots, and one that is not there.
pub(super) fn names(world: &World) -> Vec<String> {
    let is_used = |node: &NodeId| world.allowed.iter().any(|root| world.tree.names_beneath(root.node, *node).is_some());
    let names = world.tree.nodes().filter(is_used).filter_map(|node| world.tree.place(node));
    let names: BTreeSet<_> = names.filter_map(|(_, name)| name.into_string().ok()).collect();
    names.into_iter().chain(["nope".to_owned()]).collect()
}

/// What links say, in the root itself.
pub(super) const TARGETS: [&str; 44] = [
    // Inside.
    "f",
    "d",
    "d/",
    "d/.",
    "./d//f",
    "d/..",
    "d/d/../f",
    "d/l",
    "p",
    ".",
    // A file where a directory is needed, a name that is not there, a circle.
    "f/",
    "f/.",
    "f/..",
    "f/../d/f",
    "d/f/",
    "nope",
    "nope/../f",
    "nope/../../../out/f",
    "l",
    // Up.
    "..",
    "../",
    "../f",
    "../app/f",
    "../other/f",
    "../../out/f",
    "d/../..",
    "d/../../app/f",
    // Absolute and inside.
    "/srv/app",
    "/srv/app/",
    "/srv/app/d/f",
    "//srv/./app//d",
    "/given/app/d",
    "/srv/app/../app/f",
    "/srv/app/d/../../../out/f",
    // Absolute and outside.
    "/",
    "/out/f",
    "/out/d",
    "/srv/app-secret/f",
    "/srv/ap/f",
    "/srv/../srv/app/f",
    "/srv",
    // In another root.
    "/srv/other",
    "/srv/other/l/f",
    "/srv/other/../app/f",
];

/// What links say, a directory below.
pub(super) const INNER_TARGETS: [&str; 12] = [
    "f",
    "d",
    "..",
    "../f",
    "../l",
    "../d/../l",
    "../..",
    "../../../out/f",
    "/srv/app/l",
    "/out/d",
    "/srv/other/f",
    "l/../f",
];

/// A tree with two links.
pub(super) fn with_links(target: &str, inner: &str) -> World {
    world(&format!(
        "/srv/app/f
         /srv/app/d/f
         /srv/app/d/d/f
         /srv/app/p (fifo)
         /srv/app/l => {target}
         /srv/app/d/l => {inner}
         /srv/other/f
         /srv/other/d/f
         /srv/other/l => /srv/app/d
         /srv/app-secret/f
         /out/f
         /out/d/f
         /out/d/d/f
         /out/p (fifo)
         /out/to_f => /out/f
         /out/to_d => /out/d"
    ))
}
