//! Faults that were found and mended.

use super::agreement::{PERMISSIONS, STICKY, assert_agreement};
use super::worlds::{at, names, path, paths, with_links, world};
use crate::resolve::Resolver;
use crate::resolve::memory::{Change, Content, Event, How};

/// In a sticky directory the kernel's way tells `EACCES` of a foreign link at the end of a path, the walk tells no error number.
/// openat2(2) asks the rule for protected links before it refuses a link for being one.
#[test]
fn every_way_tells_the_same_errno_of_a_foreign_link() {
    let world = world(STICKY);
    assert_agreement(&world, &paths(&names(&world), 3));
}

/// `l -> d/`, and `d` may not be searched: a directory, for the kernel and by SPEC 6 ("decided before permission"). Only `d/.` asks
/// to search it.
#[test]
fn a_final_slash_in_a_target_asks_for_no_permission() {
    let world = world(&format!("{PERMISSIONS}\n/srv/app/k => d/"));
    assert_agreement(&world, &[path(&world, "k")]);
}

/// The file may not be read, so its handle cannot be reopened, and it is opened by its name: by then a FIFO has it. Its writer is
/// woken, although there is a procfs.
#[test]
fn a_fifo_in_the_place_of_an_unreadable_file_is_not_opened() {
    let mut world = with_links("f", "f");
    let (file, fifo) = (at(&world.tree, "/srv/app/f"), at(&world.tree, "/srv/app/p"));
    world.tree.change(file).mode = 0;
    for step in 1..8 {
        let plan = vec![(step, Event::Change(Change::Exchange(file, fifo)))];
        let run = world.open(&path(&world, "f"), How { resolver: Resolver::Walk, plan, ..How::default() });
        let is_file = |node| run.tree.node(node).content == Content::File;
        assert!(run.opened.iter().all(|node| is_file(*node)), "{step}: {run:#?}");
    }
}
