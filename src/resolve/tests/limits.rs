//! Paths at the limits, and file systems that come to no rest.

use std::fmt::Write;

use rstest::rstest;

use super::worlds::{at, path, ways, with_links, world};
use crate::error::{ErrorKind, Resource};
use crate::fence::RelPath;
use crate::resolve::Resolver;
use crate::resolve::memory::{
    Behaviour, Beneath, Change, Event, Failure, Found, How, Inside, Model, Operation, Procfs, Run, World,
};

const COMPONENTS: ErrorKind = ErrorKind::ResourceLimit(Resource::Components { limit: 256 });
const HANDLES: ErrorKind = ErrorKind::ResourceLimit(Resource::FileHandles);

/// The kind of the answer, which must be the same in every way and the model's.
#[track_caller]
fn answer(world: &World, path: &RelPath) -> Result<(), ErrorKind> {
    let model = Model { tree: &world.tree, allowed: &world.allowed, uid: rustix::process::geteuid().as_raw() };
    let expected = model.open(&path.to_names());
    for how in ways(world) {
        let run = world.open(path, how);
        run.check(&world.inside());
        assert_eq!(run.outcome.map_err(|failure| failure.kind), expected, "{:?}", run.how);
    }
    expected.map(drop)
}

#[rstest]
#[case(40, Ok(()))]
#[case(41, Err(ErrorKind::TooManyLinks))]
fn follows_forty_links(#[case] links: usize, #[case] expected: Result<(), ErrorKind>) {
    let mut chain = "/srv/app/l0\n".to_owned();
    (1..=links).for_each(|link| writeln!(chain, "/srv/app/l{link} => l{}", link - 1).unwrap());
    let chain = world(&chain);
    assert_eq!(answer(&chain, &path(&chain, &format!("l{links}"))), expected);

    let dots = world("/srv/app/f\n/srv/app/dot => .");
    assert_eq!(answer(&dots, &path(&dots, &format!("{}f", "dot/".repeat(links)))), expected);
}

/// Outside is outside only where the walk gets there.
#[rstest]
#[case(39, ErrorKind::OutsideRoot)]
#[case(40, ErrorKind::TooManyLinks)]
fn leaves_by_the_fortieth_link(#[case] dots: usize, #[case] expected: ErrorKind) {
    let world = world("/srv/app/dot => .\n/srv/app/out => ../../../out/s\n/out/s");
    assert_eq!(answer(&world, &path(&world, &format!("{}out", "dot/".repeat(dots)))), Err(expected));
}

/// What the comparison with a real kernel must know.
#[rstest]
#[case("dot/dot/up", Some(3))]
#[case("dot/dot/d/down", Some(3))]
#[case("dot/dot/away", None)]
#[case("dot/dot/f", None)]
fn the_model_counts_the_links_before_a_path_goes_up_and_out(#[case] request: &str, #[case] links: Option<usize>) {
    let world = world(
        "/srv/app/f
         /srv/app/dot => .
         /srv/app/up => ../out
         /srv/app/away => /out
         /srv/app/d/down => ../../out",
    );
    let model = Model { tree: &world.tree, allowed: &world.allowed, uid: rustix::process::geteuid().as_raw() };
    assert_eq!(model.links_before_leaving_upwards(&path(&world, request).to_names()), links);
}

#[rstest]
#[case(256, Ok(()))]
#[case(257, Err(COMPONENTS))]
fn takes_256_components_of_a_request(#[case] components: usize, #[case] expected: Result<(), ErrorKind>) {
    let request = format!("{}f", "d/".repeat(components - 1));
    let world = world(&format!("/srv/app/{request}"));
    assert_eq!(answer(&world, &path(&world, &request)), expected);
}

/// `l`, `f` and those of the target.
#[rstest]
#[case(254, Ok(()))]
#[case(255, Err(COMPONENTS))]
fn takes_256_components_of_links(#[case] components: usize, #[case] expected: Result<(), ErrorKind>) {
    let down = vec!["d"; components - 1].join("/");
    let deep = world(&format!("/srv/app/{down}/d/f\n/srv/app/l => {down}/./d//"));
    assert_eq!(answer(&deep, &path(&deep, "l/f")), expected);
}

/// The kernel takes no path of `PATH_MAX` bytes, the walk does.
#[rstest]
#[case("", 255, 4095)]
#[case("d/", 254, 4096)]
fn takes_the_longest_request(#[case] first: &str, #[case] last: usize, #[case] bytes: usize) {
    let directories = format!("{}/", "n".repeat(255)).repeat(15);
    let request = format!("{first}{directories}{}", "f".repeat(last));
    assert_eq!(request.len(), bytes);
    let world = world(&format!("/srv/app/{request}"));
    assert_eq!(answer(&world, &path(&world, &request)), Ok(()));
}

/// A root, a handle for each directory on the way, and the file's: with fewer there is no file, and no other answer.
#[test]
fn says_so_where_there_are_not_enough_handles() {
    let world = with_links("d/d/../l", "../d/d/f");
    for request in ["f", "d/d/f", "l", "d/l", "d/d/d", "nope"] {
        let request = path(&world, request);
        for how in ways(&world) {
            let enough = world.open(&request, how.clone()).outcome;
            let answers: Vec<_> = (2..12).map(|most| with_handles(&world, &request, &how, most).outcome).collect();
            let is_short = |answer: &&Result<Found, Failure>| matches!(answer, Err(failure) if failure.kind == HANDLES);
            let too_few = answers.iter().take_while(is_short).count();
            assert!(too_few < 9, "{request:?} {how:?} {answers:?}");
            assert!(answers[too_few..].iter().all(|answer| *answer == enough), "{request:?} {how:?} {answers:?}");
        }
    }
}

#[track_caller]
fn with_handles(world: &World, path: &RelPath, how: &How, most: usize) -> Run<Result<Found, Failure>> {
    let behaviour = Behaviour { most_handles: Some(most), ..how.behaviour };
    let run = world.open(path, How { behaviour, ..how.clone() });
    run.check(&world.inside());
    run
}

/// Without procfs, a file that is another one each time that it is opened.
#[test]
fn ends_where_a_file_is_exchanged_without_end() {
    let world = with_links("f", "f");
    let exchange = Change::Exchange(at(&world.tree, "/srv/app/f"), at(&world.tree, "/srv/app/d/f"));
    let plan = (1..2_000).map(|step| (step, Event::Change(exchange.clone()))).collect();
    let behaviour = Behaviour { procfs: Procfs::Missing, ..Behaviour::default() };
    for resolver in [Resolver::Walk, Resolver::Kernel] {
        let run = world.open(&path(&world, "f"), How { resolver, behaviour, plan: Vec::clone(&plan) });
        run.check(&world.inside());
        assert_eq!(run.outcome, Err(Failure { kind: ErrorKind::Busy, os: None }));
        assert_eq!(run.calls.iter().filter(|call| call.operation == Operation::OpenByName).count(), 100);
    }
}

/// The same with procfs: one look, one open, one file.
#[test]
fn needs_no_second_try_where_a_file_is_exchanged_without_end() {
    let world = with_links("f", "f");
    let (one, other) = (at(&world.tree, "/srv/app/f"), at(&world.tree, "/srv/app/d/f"));
    let plan = (1..2_000).map(|step| (step, Event::Change(Change::Exchange(one, other)))).collect();
    let run = world.open(&path(&world, "l"), How { resolver: Resolver::Walk, plan, ..How::default() });
    run.check(&Inside::of(&world.allowed, &[&world.tree]));
    assert!(run.outcome.is_ok(), "{run:?}");
    assert!(run.calls.len() < 12, "{run:?}");
}

#[test]
fn tries_a_race_three_times_more() {
    let world = with_links("f", "f");
    let tries = |races| {
        let behaviour = Behaviour { beneath: Beneath::Races(races), ..Behaviour::default() };
        let run = world.open(&path(&world, "d/f"), How { resolver: Resolver::Kernel, behaviour, ..How::default() });
        run.calls.iter().filter(|call| call.operation == Operation::OpenBeneath).count()
    };
    assert_eq!([0, 1, 3, 4, 100].map(tries), [1, 2, 4, 4, 4]);
}

/// As often as the path has names, as asked and once more on the way; not for every name all that were before it.
#[cfg(feature = "policy")]
#[rstest]
#[case(Resolver::Walk, "", 2)]
#[case(Resolver::Kernel, "", 1)]
#[case(Resolver::Kernel, "l/", 2)]
fn matches_each_name_of_a_path_once(#[case] resolver: Resolver, #[case] first: &str, #[case] times: usize) {
    use crate::policy::MATCHES;
    let directories = "d/".repeat(200);
    let mut world = world(&format!("/srv/app/{directories}f\n/srv/app/l => ."));
    world.allowed[0].deny(&["nope"]).unwrap();
    let path = path(&world, &format!("{first}{directories}f"));
    MATCHES.set(0);
    assert!(world.open(&path, How { resolver, ..How::default() }).outcome.is_ok());
    assert_eq!(MATCHES.get(), times * path.depth());
}
