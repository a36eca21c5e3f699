//! Trees at rest: every way to resolve a path comes to what the model says.

use std::ffi::OsStr;

use rstest::rstest;

use super::schedules::changes;
use super::worlds::{INNER_TARGETS, TARGETS, names, paths, ways, with_links, world, world_with_roots};
use crate::error::{ErrorKind, FileKind};
use crate::fence::RelPath;
use crate::resolve::memory::{Allowed, Failure, Found, How, Inside, Model, NodeId, World};

/// Counts the runs.
#[track_caller]
pub(super) fn assert_agreement(world: &World, paths: &[RelPath]) -> usize {
    let (inside, ways) = (world.inside(), ways(world));
    for path in paths {
        let first = assert_like_model(world, path, &ways[0], &inside);
        for how in &ways[1..] {
            let outcome = assert_like_model(world, path, how, &inside);
            assert_eq!(outcome, first, "{path:?} {how:?} in {world:#?}");
        }
        assert_missing_like_model(world, path, &inside);
    }
    paths.len() * ways.len()
}

#[track_caller]
pub(super) fn assert_like_model(world: &World, path: &RelPath, how: &How, inside: &Inside) -> Result<Found, Failure> {
    let run = world.open(path, how.clone());
    run.check(inside);
    let expected = model(world).open(&path.to_names());
    let found = run.outcome.clone().map_err(|failure| failure.kind);
    assert_eq!(found, expected, "{path:?} {how:?} in {world:#?}");
    run.outcome
}

#[track_caller]
fn assert_missing_like_model(world: &World, path: &RelPath, inside: &Inside) {
    let run = world.missing(path, How::default());
    run.check(inside);
    assert_eq!(run.outcome, model(world).missing(&path.to_names()), "{path:?} in {world:#?}");
}

fn model(world: &World) -> Model<'_> {
    Model { tree: &world.tree, allowed: &world.allowed, uid: rustix::process::geteuid().as_raw() }
}

/// What the model says of a path, the node by its path from the top.
#[track_caller]
fn expected(world: &World, request: &str) -> Result<String, ErrorKind> {
    let path = world.allowed[0].admit(request).unwrap();
    let found = model(world).open(&path.to_names())?;
    let top = world.tree.names_beneath(NodeId::TOP, found.node).unwrap();
    Ok(format!("/{}", top.join(OsStr::new("/")).to_string_lossy()))
}

#[test]
fn every_way_is_the_models_for_every_pair_of_links() {
    let mut runs = 0;
    let paths = paths(&["d", "f", "l"], 3);
    for target in TARGETS {
        for inner in INNER_TARGETS {
            runs += assert_agreement(&with_links(target, inner), &paths);
        }
    }
    println!("{runs} runs");
}

#[test]
fn every_way_is_the_models_for_every_path_of_four_names() {
    let mut runs = 0;
    let paths = paths(&["d", "f", "l"], 4);
    for (index, target) in TARGETS.iter().enumerate() {
        runs += assert_agreement(&with_links(target, INNER_TARGETS[index % INNER_TARGETS.len()]), &paths);
    }
    println!("{runs} runs");
}

#[test]
fn every_way_is_the_models_after_every_change() {
    let mut runs = 0;
    let paths = paths(&["d", "f", "l"], 2);
    for (target, inner) in [("d/l", "../f"), ("/srv/app/d", "..")] {
        let world = with_links(target, inner);
        for change in changes(&world) {
            let mut world = world.clone();
            world.tree.apply(&change);
            runs += assert_agreement(&world, &paths);
        }
    }
    println!("{runs} runs");
}

const KINDS: &str = "
    /srv/app/f
    /srv/app/fifo (fifo)
    /srv/app/hidden (fifo, mode 0)
    /srv/app/socket (socket)
    /srv/app/char (character device)
    /srv/app/block (block device)
    /srv/app/l => fifo
    /srv/app/m => socket/
    /srv/app/n => ./char
    /srv/app/o => block/..";

pub(super) const PERMISSIONS: &str = "
    /srv/app/f
    /srv/app/x (mode 0)
    /srv/app/d/ (mode 644)
    /srv/app/d/f
    /srv/app/d/p (fifo)
    /srv/app/l => d/../f
    /srv/app/m => d/.
    /srv/app/n => d/f
    /srv/app/o => d/../../out
    /srv/app/q => d
    /srv/other/ (mode 0)
    /srv/other/f
    /srv/app/r => /srv/other/f
    /srv/app/s => /srv/other/..";

pub(super) const STICKY: &str = "
    /srv/app/f
    /srv/app/d/f
    /srv/app/t/ (mode 1777, uid 4000000008)
    /srv/app/t/owners => ../f (uid 4000000008)
    /srv/app/t/foreign => ../f (uid 4000000007)
    /srv/app/t/to_d => ../d (uid 4000000007)
    /srv/app/t/out => ../../out (uid 4000000007)
    /srv/app/l => t/foreign (uid 4000000007)
    /srv/app/m => t/owners
    /srv/app/w/ (mode 777)
    /srv/app/w/foreign => ../f (uid 4000000007)
    /srv/app/s/ (mode 1775)
    /srv/app/s/foreign => ../f (uid 4000000007)";

const NOSYMFOLLOW: &str = "
    /srv/app/f
    /srv/app/m/ (mount 2, nosymfollow)
    /srv/app/m/f
    /srv/app/m/l => f
    /srv/app/m/out => /out
    /srv/app/l => m/l
    /srv/app/n => m/f";

const PROCFS: &str = "
    /srv/app/f
    /srv/app/proc/ (mount 2, procfs)
    /srv/app/proc/7/maps
    /srv/app/proc/7/exe => /srv/app/f
    /srv/app/proc/7/cwd => /srv/app
    /srv/app/proc/7/root => /
    /srv/app/proc/7/net => net:[4026531840]
    /srv/app/proc/7/fd => anon_inode:[eventfd]
    /srv/app/proc/self => 7
    /srv/app/proc/maps => self/maps
    /srv/app/l => proc/self/exe";

const MOUNTS: &str = "
    /srv/app/f
    /srv/app/g (mount 2)
    /srv/app/m/ (mount 2)
    /srv/app/m/f
    /srv/app/m/p (fifo)
    /srv/app/m/l => ../f
    /srv/app/l => m/f
    /srv/app/n => m/../f
    /srv/app/o => g
    /srv/other/ (mount 3)
    /srv/other/f
    /srv/app/r => /srv/other/f";

const LEASES: &str = "
    /srv/app/f (leased)
    /srv/app/g (leased, mode 0)
    /srv/app/l => f
    /srv/app/m => f/";

const HARD_LINKS: &str = "
    /out/s
    /srv/app/f
    /srv/app/h = /out/s
    /srv/app/d/
    /srv/app/d/h = /out/s
    /srv/app/l => d/h";

const ODD_NAMES: &str = "
    /srv/app/...
    /srv/app/..f
    /srv/app/\x20
    /srv/app/~
    /srv/app/l => ...
    /srv/app/m => ..f
    /srv/app/n => \x20
    /srv/app/o => ~/..f";

#[rstest]
#[case::kinds(KINDS)]
#[case::permissions(PERMISSIONS)]
#[case::nosymfollow(NOSYMFOLLOW)]
#[case::procfs(PROCFS)]
#[case::mounts(MOUNTS)]
#[case::leases(LEASES)]
#[case::hard_links(HARD_LINKS)]
#[case::odd_names(ODD_NAMES)]
#[case::empty_root("/srv/app/")]
#[case::root_that_may_not_be_searched("/srv/app/ (mode 0)\n/srv/app/f\n/srv/app/d/f")]
fn every_way_is_the_models_on(#[case] literal: &str) {
    let mut world = world(literal);
    let paths = paths(&names(&world), 3);
    assert_agreement(&world, &paths);
    // The same root without a path, and in its own mount alone.
    world.allowed.iter_mut().for_each(|root| root.one_file_system = true);
    assert_agreement(&world, &paths);
    world.allowed[0] = Allowed::new(world.allowed[0].node, Vec::new());
    assert_agreement(&world, &paths);
}

#[test]
fn every_way_is_the_models_on_sticky_directories() {
    let world = world(STICKY);
    for path in paths(&names(&world), 3) {
        for how in ways(&world) {
            drop(assert_like_model(&world, &path, &how, &world.inside()));
        }
    }
}

#[rstest]
#[case::top(&["/"])]
#[case::nested(&["/srv/app", "/srv/app/d"])]
#[case::nested_the_other_way(&["/srv/app/d", "/srv/app"])]
#[case::side_by_side(&["/srv/app", "/srv/app2", "/srv"])]
fn every_way_is_the_models_in(#[case] roots: &[&str]) {
    let literal = "
        /srv/app/f
        /srv/app/d/f
        /srv/app/d/l => ../f
        /srv/app/d/m => /srv/app/f
        /srv/app/d/n => /srv/app/d/../f
        /srv/app/l => /srv/app/d/m
        /srv/app/m => /srv/app2/l
        /srv/app/n => /srv/../srv/app/f
        /srv/app/o => /../srv/app/f
        /srv/app/r => /
        /srv/app2/f
        /srv/app2/l => /srv/app/d/l
        /l => srv/app
        /m => /srv/./app/../app2";
    let world = world_with_roots(literal, roots);
    assert_agreement(&world, &paths(&names(&world), 3));
}

#[cfg(feature = "policy")]
#[rstest]
#[case::name(&["f"])]
#[case::directory(&["d"])]
#[case::below(&["d/d", "l/f"])]
#[case::link(&["l", "d/l"])]
fn every_way_is_the_models_with_a_policy_on(#[case] denied: &[&str]) {
    for (target, inner) in [("d/f", "../f"), ("d", ".."), ("/srv/app/d/d", "../l"), ("nope", "d/l"), ("../f", "d/f")] {
        let mut world = with_links(target, inner);
        world.allowed[0].deny(denied).unwrap();
        assert_agreement(&world, &paths(&["d", "f", "l", "nope"], 3));
    }
}

/// The policy of each root judges what is read through the other, whichever is asked and however their paths are spelled.
#[cfg(feature = "policy")]
#[rstest]
#[case::outer_first(["/given/app", "/srv/app/d"])]
#[case::inner_first(["/srv/app/d", "/given/app"])]
#[case::the_same(["/given/app", "/srv/app"])]
fn every_way_is_the_models_with_policies_on_nested_roots(
    #[case] roots: [&str; 2],
    #[values(&["f"], &["d"], &["d/d"], &["d/f", "l"])] denied: &[&str],
) {
    let spellings = |given: &str| vec![given.into(), given.replace("/given", "/srv").into()];
    for (target, inner) in [("d/f", "../f"), ("/srv/app/d/d", "d/f"), ("/given/app/d", "..")] {
        let mut world = with_links(target, inner);
        let real = |given: &str| world.tree.at(given.replace("/given", "/srv").as_ref()).unwrap();
        world.allowed = roots.map(|given| Allowed::new(real(given), spellings(given))).to_vec();
        for judge in [0, 1] {
            let mut world = world.clone();
            world.allowed[judge].deny(denied).unwrap();
            assert_agreement(&world, &paths(&["d", "f", "l", "nope"], 3));
        }
    }
}

#[cfg(feature = "policy")]
#[rstest]
#[case::outer(0)]
#[case::inner(1)]
fn every_way_is_the_models_without_hard_links_in_nested_roots(#[case] judge: usize) {
    for roots in [["/srv/app", "/srv/app/d"], ["/srv/app/d", "/srv/app"]] {
        let mut world = world_with_roots(HARD_LINKS, &roots);
        world.allowed[judge].deny_hard_links().unwrap();
        assert_agreement(&world, &paths(&names(&world), 3));
    }
}

/// Where roots lie in each other, the policy of one holds in all.
#[cfg(feature = "policy")]
#[rstest]
#[case::around_it(&["/srv", "/srv/app/d", "/srv/app"], 2, &["d"])]
#[case::around_it_and_first(&["/srv/app", "/srv/app/d"], 0, &["d"])]
#[case::around_both(&["/srv/app2", "/srv/app/d", "/srv"], 2, &["app", "app2/d"])]
#[case::above_what_is_denied(&["/srv/app2", "/srv/app/d", "/srv/app"], 2, &["d/d/f", "d/l"])]
#[case::below(&["/srv/app2", "/srv/app", "/srv/app/d"], 2, &["d", "l"])]
fn every_way_is_the_models_with_the_policy_of_a_root(
    #[case] roots: &[&str],
    #[case] of: usize,
    #[case] denied: &[&str],
) {
    let literal = "
        /srv/app/f
        /srv/app/d/f
        /srv/app/d/d/f
        /srv/app/d/l => d
        /srv/app/d/m => ../f
        /srv/app/l => /srv/app/d
        /srv/app2/f
        /srv/app2/d/f
        /srv/app2/l => /srv/app/d
        /srv/app2/m => /srv/app/d/d/../l/f";
    let mut world = world_with_roots(literal, roots);
    world.allowed[of].deny(denied).unwrap();
    assert_agreement(&world, &paths(&names(&world), 3));
}

#[cfg(feature = "policy")]
#[test]
fn every_way_is_the_models_without_hard_links() {
    let mut world = world(HARD_LINKS);
    world.allowed[0].deny_hard_links().unwrap();
    assert_agreement(&world, &paths(&names(&world), 3));
}

/// The model is right: some of its answers by hand.
#[rstest]
#[case(KINDS, "f", Ok("/srv/app/f"))]
#[case(KINDS, "l", Err(ErrorKind::NotAFile(FileKind::Fifo)))]
#[case(KINDS, "m", Err(ErrorKind::NotFound))]
#[case(KINDS, "hidden", Err(ErrorKind::NotAFile(FileKind::Fifo)))]
#[case(KINDS, "fifo/x", Err(ErrorKind::NotFound))]
#[case(KINDS, ".", Err(ErrorKind::NotAFile(FileKind::Directory)))]
#[case(PERMISSIONS, "x", Err(ErrorKind::PermissionDenied))]
#[case(PERMISSIONS, "d", Err(ErrorKind::NotAFile(FileKind::Directory)))]
#[case(PERMISSIONS, "d/p", Err(ErrorKind::PermissionDenied))]
#[case(PERMISSIONS, "l", Err(ErrorKind::PermissionDenied))]
#[case(PERMISSIONS, "m", Err(ErrorKind::PermissionDenied))]
#[case(STICKY, "t/owners", Ok("/srv/app/f"))]
#[case(STICKY, "t/foreign", Err(ErrorKind::PermissionDenied))]
#[case(STICKY, "t/out", Err(ErrorKind::PermissionDenied))]
#[case(STICKY, "w/foreign", Ok("/srv/app/f"))]
#[case(NOSYMFOLLOW, "l", Err(ErrorKind::PermissionDenied))]
#[case(NOSYMFOLLOW, "n", Ok("/srv/app/m/f"))]
#[case(PROCFS, "proc/maps", Ok("/srv/app/proc/7/maps"))]
#[case(PROCFS, "proc/self/exe", Err(ErrorKind::OutsideRoot))]
#[case(PROCFS, "proc/self/net", Err(ErrorKind::OutsideRoot))]
#[case(LEASES, "l", Err(ErrorKind::Busy))]
#[case(LEASES, "g", Err(ErrorKind::PermissionDenied))]
#[case(HARD_LINKS, "l", Ok("/out/s"))]
#[case(ODD_NAMES, "l", Ok("/srv/app/..."))]
fn the_model_says(#[case] literal: &str, #[case] request: &str, #[case] answer: Result<&str, ErrorKind>) {
    assert_eq!(expected(&world(literal), request), answer.map(str::to_owned));
}

/// The same of links, the table of SECURITY-NOTES 6.
#[rstest]
#[case("d", "l/f", Ok("/srv/app/d/f"))]
#[case("d/", "l/f", Ok("/srv/app/d/f"))]
#[case("f/", "l", Err(ErrorKind::NotFound))]
#[case("../../out/f", "l", Err(ErrorKind::OutsideRoot))]
#[case("/out", "l/f", Err(ErrorKind::OutsideRoot))]
#[case("/out/nope", "l", Err(ErrorKind::OutsideRoot))]
#[case("/given/app/f", "l", Ok("/srv/app/f"))]
#[case("/given/../srv/app/f", "l", Err(ErrorKind::OutsideRoot))]
#[case("/srv/app/../app/f", "l", Err(ErrorKind::OutsideRoot))]
#[case("/srv/app-secret/f", "l", Err(ErrorKind::OutsideRoot))]
#[case("/", "l/srv/app/f", Err(ErrorKind::OutsideRoot))]
#[case("nope", "l", Err(ErrorKind::NotFound))]
#[case("nope/../f", "l", Err(ErrorKind::NotFound))]
#[case("nope/../../../out/f", "l", Err(ErrorKind::NotFound))]
#[case("d/../f", "l", Ok("/srv/app/f"))]
#[case("d/../../app/f", "l", Err(ErrorKind::OutsideRoot))]
#[case("f/../d/f", "l", Err(ErrorKind::NotFound))]
#[case("..", "l", Err(ErrorKind::OutsideRoot))]
#[case(".", "l/l/l/f", Ok("/srv/app/f"))]
#[case("d/d", "l/../f", Ok("/srv/app/f"))]
#[case("l", "l", Err(ErrorKind::TooManyLinks))]
#[case("d/l", "l/f", Ok("/srv/app/f"))]
#[case("/srv/other", "l/f", Ok("/srv/other/f"))]
#[case("/srv/other/l/f", "l", Ok("/srv/app/d/f"))]
#[case("/srv/other/../app/f", "l", Err(ErrorKind::OutsideRoot))]
fn the_model_says_of_a_link(#[case] target: &str, #[case] request: &str, #[case] answer: Result<&str, ErrorKind>) {
    assert_eq!(expected(&with_links(target, ".."), request), answer.map(str::to_owned));
}
