//! Others change the tree between two steps: every change, before every step.
//!
//! [`Run::check`](crate::resolve::memory::Run::check) says what must hold each time.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::time::Instant;

use rstest::rstest;

use super::worlds::{at, path, paths, with_links};
use crate::error::Error;
use crate::fence::RelPath;
use crate::resolve::memory::{
    Behaviour, Call, Change, Event, Failure, Found, Handle, How, Inside, NodeId, Procfs, Run, World,
};
use crate::resolve::{Directory, Resolver};
use crate::sys::Kind;

/// Together they make every call there is.
const VICTIMS: [(Resolver, Procfs, LooksFor); 3] = [
    (Resolver::Walk, Procfs::Works, LooksFor::File),
    (Resolver::Kernel, Procfs::Missing, LooksFor::File),
    (Resolver::Walk, Procfs::Works, LooksFor::MissingName),
];

/// What others do, in the worlds of [`with_links`].
pub(super) fn changes(world: &World) -> Vec<Change> {
    let node = |path: &str| at(&world.tree, path);
    let exchanges = [
        // A file for a link out, for a FIFO, a directory, a file outside, a link inside.
        ("/srv/app/f", "/out/to_f"),
        ("/srv/app/d/f", "/out/to_f"),
        ("/srv/app/f", "/srv/app/p"),
        ("/srv/app/d/f", "/out/p"),
        ("/srv/app/f", "/srv/app/d"),
        ("/srv/app/d/f", "/out/f"),
        ("/srv/app/f", "/srv/app/l"),
        // A directory for a link out, for one outside, one in another root, a link inside.
        ("/srv/app/d", "/out/to_d"),
        ("/srv/app/d", "/out/d"),
        ("/srv/app/d/d", "/out/d"),
        ("/srv/app/d", "/srv/other/d"),
        ("/srv/app/d", "/srv/app/l"),
        ("/srv/app/l", "/srv/app/d/l"),
        // The root itself.
        ("/srv/app", "/out"),
    ];
    let moves = [
        ("/srv/app/d", "/out", "moved"),
        ("/srv/app/d/d", "/out", "moved"),
        ("/srv/app/d/d", "/srv/app", "moved"),
        ("/srv/app/d/f", "/srv/app", "f"),
        ("/srv/app/d/l", "/srv/app", "f"),
        ("/srv/app/f", "/out", "moved"),
        ("/srv/app", "/out", "moved"),
    ];
    let removes = ["/srv/app/f", "/srv/app/d", "/srv/app/d/d", "/srv/app/d/f", "/srv/app/l", "/srv/app"];
    let retargets = [
        ("/srv/app/l", "/out/f"),
        ("/srv/app/l", "../../out/d"),
        ("/srv/app/l", "d"),
        ("/srv/app/l", "d/../.."),
        ("/srv/app/d/l", "../.."),
        ("/srv/app/d/l", "/srv/other/l"),
        ("/out/to_d", "/srv/app/d"),
    ];
    let searched = ["/srv/app", "/srv/app/d", "/srv/app/d/d", "/srv/app/f", "/srv/app/d/f", "/srv/other"];
    let mounts =
        [("/srv/app/d", "/out/d"), ("/srv/app/d/d", "/srv/app/d"), ("/srv/app/f", "/out/f"), ("/srv/app", "/out")];
    let mut changes = Vec::new();
    changes.extend(exchanges.map(|(one, other)| Change::Exchange(node(one), node(other))));
    changes.extend(moves.map(|(from, to, name)| Change::Move(node(from), node(to), name.into())));
    changes.extend(removes.map(|path| Change::Remove(node(path))));
    changes.extend(retargets.map(|(link, target)| Change::Retarget(node(link), target.into())));
    changes.extend(searched.map(|path| Change::Chmod(node(path), 0)));
    changes.extend(mounts.map(|(over, shows)| Change::Mount { over: node(over), shows: node(shows) }));
    changes
}

type Plan = Vec<(usize, Event)>;

/// Something that takes steps.
struct Victim<'a> {
    world: &'a World,
    path: &'a RelPath,
    resolver: Resolver,
    procfs: Procfs,
    looks_for: LooksFor,
}

#[derive(Clone, Copy)]
enum LooksFor {
    File,
    MissingName,
}

impl Victim<'_> {
    /// The steps of a run in which all was well.
    fn run(&self, plan: Plan, inside: &Inside, seen: &mut Seen) -> Vec<Call> {
        seen.schedules += 1;
        let behaviour = Behaviour { procfs: self.procfs, ..Behaviour::default() };
        let how = How { resolver: self.resolver, behaviour, plan };
        match self.looks_for {
            LooksFor::File => {
                let run = self.world.open(self.path, how);
                run.check(inside);
                seen.see(&run);
                run.calls
            }
            LooksFor::MissingName => {
                let run = self.world.missing(self.path, how);
                run.check(inside);
                run.calls
            }
        }
    }
}

/// Changes in their order, and what they make of a world.
struct Sequence {
    changes: Vec<Change>,
    /// The nodes that each of them touches.
    touched: Vec<BTreeSet<NodeId>>,
    inside: Inside,
}

impl Sequence {
    /// `None` where one of them is not possible.
    fn new(world: &World, changes: &[Change]) -> Option<Self> {
        let mut trees = vec![world.tree.clone()];
        for change in changes {
            let mut tree = trees[trees.len() - 1].clone();
            trees.push(tree.apply(change).then_some(tree)?);
        }
        let touched = trees.windows(2).map(|pair| pair[1].changed_from(&pair[0])).collect();
        let inside = Inside::of(&world.allowed, &trees.iter().collect::<Vec<_>>());
        Some(Self { changes: changes.to_vec(), touched, inside })
    }

    /// Goes on from a run with this plan, which took these steps.
    ///
    /// A change that touches nothing of what a step asks for can wait for the next step, and nothing is different. So each is made
    /// before each step that it may matter to; that these stand for all schedules is for
    /// [`a_change_that_a_step_does_not_ask_for_can_wait`] to show.
    fn explore(&self, victim: &Victim<'_>, plan: &Plan, calls: &[Call], seen: &mut Seen) {
        let Some(change) = self.changes.get(plan.len()) else { return };
        let first = plan.last().map_or(1, |(step, _)| *step);
        for (step, call) in (1..).zip(calls) {
            if step >= first && call.depends_on(&self.touched[plan.len()]) {
                let longer: Plan = plan.iter().cloned().chain([(step, Event::Change(change.clone()))]).collect();
                let calls = victim.run(longer.clone(), &self.inside, seen);
                self.explore(victim, &longer, &calls, seen);
            }
        }
    }
}

fn explore(world: &World, paths: &[RelPath], sequences: &[Sequence], seen: &mut Seen) {
    let inside = world.inside();
    for path in paths {
        for (resolver, procfs, looks_for) in VICTIMS {
            let victim = Victim { world, path, resolver, procfs, looks_for };
            let calls = victim.run(Plan::new(), &inside, seen);
            for sequence in sequences {
                sequence.explore(&victim, &Plan::new(), &calls, seen);
            }
        }
    }
}

/// What came of the runs, to see that there was something to see.
#[derive(Debug, Default)]
struct Seen {
    schedules: usize,
    outcomes: BTreeMap<&'static str, usize>,
}

impl Seen {
    fn see(&mut self, run: &Run<Result<Found, Failure>>) {
        let outcome = match &run.outcome {
            Ok(_) => "ok",
            Err(failure) => Error::from(failure.kind.clone()).code(),
        };
        *self.outcomes.entry(outcome).or_default() += 1;
    }
}

/// Explores, and tells what was seen.
fn explored(world: &World, paths: &[RelPath], sequences: &[Sequence]) -> Seen {
    let (start, mut seen) = (Instant::now(), Seen::default());
    explore(world, paths, sequences, &mut seen);
    println!("{} schedules in {:.1?}: {:?}", seen.schedules, start.elapsed(), seen.outcomes);
    seen
}

fn one_by_one(world: &World) -> Vec<Sequence> {
    changes(world).into_iter().filter_map(|change| Sequence::new(world, &[change])).collect()
}

#[rstest]
#[case::inside("d/l", "../f")]
#[case::inside_up("d/d/../f", "..")]
#[case::directory("d/", "d")]
#[case::fifo("p", "f")]
#[case::file_as_directory("f/../d/f", "../d/../l")]
#[case::missing("nope/../f", "f")]
#[case::up("..", "../..")]
#[case::up_and_out("../../out/f", "../../../out/f")]
#[case::up_and_back("d/../../app/f", "../f")]
#[case::absolute("/srv/app/d", "/srv/app/l")]
#[case::absolute_up("/given/app/d/../f", "..")]
#[case::outside("/out/f", "/out/d")]
#[case::neighbour("/srv/app-secret/f", "../l")]
#[case::other_root("/srv/other/l/f", "/srv/other/f")]
#[case::other_root_up("/srv/other/../app/f", "/srv/other/l")]
fn nothing_outside_is_reached_by_a_change_before_any_step(#[case] target: &str, #[case] inner: &str) {
    let world = with_links(target, inner);
    let seen = explored(&world, &paths(&["d", "f", "l"], 4), &one_by_one(&world));
    assert!(seen.schedules > 10_000 && seen.outcomes.len() >= 4, "{seen:?}");
}

#[test]
fn nothing_outside_is_reached_by_a_change_before_any_step_of_a_circle() {
    let world = with_links("l", "../l");
    let seen = explored(&world, &[path(&world, "l")], &one_by_one(&world));
    assert!(seen.outcomes["too_many_links"] > 1_000, "{seen:?}");
}

/// A link that was exchanged, and is back by the time that anyone looks.
#[rstest]
#[case("d/d/../f", "../d/../l")]
#[case("/srv/app/d", "../f")]
#[case("/srv/other/l/f", "..")]
fn nothing_outside_is_reached_by_a_change_and_its_return(#[case] target: &str, #[case] inner: &str) {
    let world = with_links(target, inner);
    let exchanges = changes(&world).into_iter().filter(|change| matches!(change, Change::Exchange(..)));
    let sequences: Vec<_> = exchanges.filter_map(|change| Sequence::new(&world, &[change.clone(), change])).collect();
    let requests = ["f", "l", "d/f", "d/l", "l/f", "l/d/f", "d/d/f", "d/l/f"];
    let seen = explored(&world, &requests.map(|request| path(&world, request)), &sequences);
    assert!(seen.schedules > 1_000, "{seen:?}");
}

#[test]
fn nothing_outside_is_reached_by_any_two_changes() {
    let world = with_links("d/../d/l", "../d/f");
    let changes = changes(&world);
    let pairs = changes.iter().flat_map(|one| changes.iter().map(move |other| [one.clone(), other.clone()]));
    let sequences: Vec<_> = pairs.filter_map(|pair| Sequence::new(&world, &pair)).collect();
    let seen = explored(&world, &["d/f", "l", "d/d/l"].map(|request| path(&world, request)), &sequences);
    assert!(seen.schedules > 10_000, "{seen:?}");
}

#[rstest]
#[case("d/l", "../f")]
#[case("/srv/app/d", "d/..")]
fn nothing_in_another_mount_is_reached_by_a_change(#[case] target: &str, #[case] inner: &str) {
    let mut world = with_links(target, inner);
    world.allowed[0].one_file_system = true;
    let seen = explored(&world, &paths(&["d", "f", "l"], 3), &one_by_one(&world));
    assert!(seen.outcomes["outside_root"] > 100, "{seen:?}");
}

#[cfg(feature = "policy")]
#[rstest]
#[case("d/l", "../d/f")]
#[case("d/d/../f", "/srv/app/d/d")]
fn nothing_that_is_denied_is_reached_by_a_change(#[case] target: &str, #[case] inner: &str) {
    let mut world = with_links(target, inner);
    world.allowed[0].deny(&["d/f", "d/d"]).unwrap();
    let seen = explored(&world, &paths(&["d", "f", "l"], 3), &one_by_one(&world));
    assert!(seen.outcomes["denied"] > 100, "{seen:?}");
}

/// The tests above make a change only before the steps that it may matter to. Here it is made before each step.
#[test]
fn a_change_that_a_step_does_not_ask_for_can_wait() {
    let (mut waited, world) = (0, with_links("d/d/../l", "../f"));
    for sequence in one_by_one(&world) {
        for path in paths(&["d", "f", "l"], 2) {
            waited += assert_can_wait(&world, &path, &sequence);
        }
    }
    println!("{waited} schedules");
    assert!(waited > 5_000);
}

#[track_caller]
fn assert_can_wait(world: &World, path: &RelPath, sequence: &Sequence) -> usize {
    let mut waited = 0;
    for (resolver, procfs, _) in VICTIMS {
        let run =
            |plan| world.open(path, How { resolver, behaviour: Behaviour { procfs, ..Behaviour::default() }, plan });
        // After the last step it comes too late.
        let mut later = run(Plan::new());
        for step in (1..=later.calls.len()).rev() {
            let sooner = run(vec![(step, Event::Change(sequence.changes[0].clone()))]);
            sooner.check(&sequence.inside);
            if later.calls.get(step - 1).is_some_and(|call| !call.depends_on(&sequence.touched[0])) {
                assert_eq!((&sooner.outcome, &sooner.calls), (&later.outcome, &later.calls), "{step}");
                waited += 1;
            }
            later = sooner;
        }
    }
    waited
}

/// Resolvers with the classic mistakes leak on the same trees and changes: without that, the tests above prove nothing.
#[rstest]
#[case::looks_then_opens("d/f", looks_then_opens)]
#[case::lets_the_kernel_go_up("d/d/f", goes_down_and_up)]
fn a_careless_resolver_leaks(#[case] request: &str, #[case] careless: fn(&Handle, &RelPath) -> Option<NodeId>) {
    let world = with_links("d", "..");
    let request = path(&world, request);
    let mut leaks = BTreeSet::new();
    for sequence in one_by_one(&world) {
        for step in 1..10 {
            let plan = vec![(step, Event::Change(sequence.changes[0].clone()))];
            let run = world
                .run(&request, How { plan, ..How::default() }, |asked| careless(&asked.bases[0].directory, asked.path));
            if run.outcome.is_some_and(|node| !sequence.inside.allows(node)) {
                leaks.insert(format!("{:?}", sequence.changes[0]));
            }
        }
    }
    println!("{leaks:?}");
    assert!(!leaks.is_empty());
}

/// `realpath` and a look, then open by the same name.
fn looks_then_opens(root: &Handle, path: &RelPath) -> Option<NodeId> {
    let path = path.to_path_buf();
    let looked_at = root.open_path(path.as_os_str()).ok()?;
    (looked_at.stat().ok()?.kind == Kind::Regular).then_some(())?;
    Some(root.open_by_name(path.as_os_str()).ok()?.node())
}

/// `d/d/..` and then `f`, one handle after the other, with the `..` as a step of its own.
fn goes_down_and_up(root: &Handle, path: &RelPath) -> Option<NodeId> {
    let names = path.to_names();
    let [first, second, last] = &names[..] else { return None };
    let below = root.open_path(first).ok()?.open_path(second).ok()?;
    let above = below.open_path(OsStr::new("..")).ok()?.open_path(OsStr::new("..")).ok()?;
    Some(above.open_by_name(last).ok()?.node())
}
