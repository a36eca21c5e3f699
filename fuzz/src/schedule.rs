//! What a path leads to while others change the tree between two steps.
//!
//! An input is a [scene](crate::scene) with lines for changes, each just before the step of this number, which is counted from 1:
//!
//! | line | what happens |
//! |---|---|
//! | `!3-a/b` | it is removed |
//! | `!3=a/b,/O/s` | both get each other's names |
//! | `!3~a/b,/O,c` | it is moved into the directory `/O`, as `c` |
//! | `!3>a/b,target` | the link gets another target |
//! | `!3^a/b` | it gets the mode 0 |
//! | `!3@a/b,/O` | another mount on `a/b` shows `/O` |
//! | `#…` | how it goes, a letter each: `w` the walk alone, `n` no openat2, `a` it races, `p` no procfs, `m` one file system |
//!
//! The paths are those of the tree as it is at the beginning; a node keeps being meant wherever it is by then.

use capread::fuzzing::{Behaviour, Beneath, Change, Event, How, Inside, Model, Procfs, Tree};
use capread::{RelPath, Resolver};
use rustix::io::Errno;

use crate::scene::{Scene, names};

/// Most changes.
const MAX_CHANGES: usize = 8;

/// Checks what must hold of each request of an input, as it says, and without any change.
pub fn check(input: &[u8]) {
    let mut scene = Scene::parse(input, "/top".as_ref());
    let how = how(&mut scene);
    let plan = plan(&scene);
    let inside = Inside::of(&scene.world.allowed, &trees(&scene, &plan).iter().collect::<Vec<_>>());
    for path in scene.requests.iter().filter_map(|request| scene.admit(request)) {
        check_at_rest(&scene, &path, &how);
        let how = How { plan: plan.clone(), ..how.clone() };
        scene.world.open(&path, how.clone()).check(&inside);
        scene.world.missing(&path, how).check(&inside);
    }
}

fn check_at_rest(scene: &Scene, path: &RelPath, how: &How) {
    let world = &scene.world;
    let model = Model { tree: &world.tree, allowed: &world.allowed, uid: rustix::process::geteuid().as_raw() };
    let (inside, names) = (world.inside(), names(path));
    let run = world.open(path, how.clone());
    run.check(&inside);
    assert_eq!(run.outcome.map_err(|failure| failure.kind), model.open(&names), "{path:?} in {scene:#?}");
    let missing = world.missing(path, how.clone());
    missing.check(&inside);
    assert_eq!(missing.outcome, model.missing(&names), "{path:?} in {scene:#?}");
}

fn how(scene: &mut Scene) -> How {
    let mut how = How { resolver: Resolver::Kernel, ..How::default() };
    let letters: Vec<u8> =
        scene.others.iter().filter(|(sign, _)| *sign == b'#').flat_map(|(_, line)| line.clone()).collect();
    for letter in letters {
        match letter {
            b'w' => how.resolver = Resolver::Walk,
            b'n' => how.behaviour = Behaviour { beneath: Beneath::Fails(Errno::NOSYS), ..how.behaviour },
            b'a' => how.behaviour = Behaviour { beneath: Beneath::Races(9), ..how.behaviour },
            b'p' => how.behaviour = Behaviour { procfs: Procfs::Missing, ..how.behaviour },
            b'm' => scene.world.allowed[0].one_file_system = true,
            _ => {}
        }
    }
    how
}

fn plan(scene: &Scene) -> Vec<(usize, Event)> {
    let lines = scene.others.iter().filter(|(sign, _)| *sign == b'!').take(MAX_CHANGES);
    let mut plan: Vec<_> = lines.filter_map(|(_, line)| event(scene, line)).collect();
    plan.sort_by_key(|(step, _)| *step);
    plan
}

fn event(scene: &Scene, line: &[u8]) -> Option<(usize, Event)> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let step = std::str::from_utf8(&line[..digits]).ok()?.parse().ok().filter(|step| *step > 0)?;
    let (sign, words) = line[digits..].split_first()?;
    let mut words = words.split(|byte| *byte == b',');
    let node = scene.at(words.next()?)?;
    let change = match sign {
        b'-' => Change::Remove(node),
        b'=' => Change::Exchange(node, scene.at(words.next()?)?),
        b'~' => Change::Move(node, scene.at(words.next()?)?, scene.name(words.next()?)?),
        b'>' => Change::Retarget(node, scene.from_top(words.next().filter(|target| !target.is_empty())?)),
        b'^' => Change::Chmod(node, 0),
        b'@' => Change::Mount { over: node, shows: scene.at(words.next()?)? },
        _ => return None,
    };
    Some((step, Event::Change(change)))
}

/// The tree after each change.
fn trees(scene: &Scene, plan: &[(usize, Event)]) -> Vec<Tree> {
    let mut trees = vec![scene.world.tree.clone()];
    for (_, event) in plan {
        let Event::Change(change) = event else { continue };
        let mut tree = trees[trees.len() - 1].clone();
        tree.apply(change);
        trees.push(tree);
    }
    trees
}
