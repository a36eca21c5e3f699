//! What a path leads to: six answers that must be one.
//!
//! The tree of an input is made in memory and on a disk, and each request is answered by the walk and by the kernel's way on both, by
//! a model that knows only texts and trees, and on a twin of the tree by the kernel's own `RESOLVE_BENEATH` and by cap-std.
//!
//! What the last two mean by a path differs from what capread does, and is made the same beforehand:
//!
//! * An absolute target is an escape for both, wherever it leads. In the twin, those that begin with a path of the root are relative.
//! * A `..` or a slash at the end of a request has a physical meaning for both. They are asked for what capread's fence made of it.
//! * Neither counts components, and a request of 4096 bytes is too long for both. Such answers are not compared.
//! * Where a `..` would leave, the kernel's quick lookup gives up and a slower one starts again, with the links counted so far: after
//!   more than 20 links they can be too many for it. An absolute target leaves at once. The same may happen to any path while something
//!   is mounted elsewhere; then it is asked once more.
//! * cap-std gives up after fewer than 40 links where the kernel refuses a path that its own walk then goes once more. What it calls too
//!   many links is not compared.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::{io, iter};

use cap_std::fs::{Dir, MetadataExt};
use capread::fuzzing::{Behaviour, Beneath, Failure, Found, How, Inside, Model, NodeId, Procfs, open_resolved};
use capread::{ErrorKind, FileKind, RelPath, Resolver, Root};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::disk::{Folder, Made, open_handles};
use crate::scene::{PATH_MAX, Scene, names};

/// Times that the kernel is asked.
const MAX_RACES: usize = 100;

/// Links that the kernel follows for one path, `path_resolution(7)`.
const MAX_LINKS: usize = 40;

/// What a process needs for all its inputs.
#[derive(Debug)]
pub struct Disks {
    real: Folder,
    twin: Folder,
}

impl Default for Disks {
    fn default() -> Self {
        // Opened once and kept.
        let root = Root::open_ambient("/proc/self").expect("procfs");
        drop(root.open("status"));
        Self { real: Folder::new("real"), twin: Folder::new("twin") }
    }
}

type Answer = Result<Found, Failure>;

impl Disks {
    /// Compares the answers to each request of an input.
    pub fn check(&self, input: &[u8]) {
        let handles = open_handles();
        let scene = Scene::parse(input, self.real.path());
        let Some(top) = scene.world.tree.at(scene.top.as_os_str()) else { return };
        let real = self.real.fill(&scene.world.tree, top, |_, target| target.into());
        let twin = self.twin.fill(&scene.world.tree, top, |node, target| rewritten(&scene, node, target));
        let both = Both::open(real, &scene.top.join("G"), twin, &self.twin.path().join("R"));
        let inside = scene.world.inside();
        for request in &scene.requests {
            both.check(&scene, request, &inside);
        }
        drop(both);
        assert_eq!(open_handles(), handles, "handles that are open");
        // The process ends without a last word.
        self.real.clear();
        self.twin.clear();
    }
}

/// The trees of one input on the disk, and their roots.
struct Both {
    real: Made,
    roots: [Root; 2],
    twin: Made,
    twin_root: Dir,
}

impl Both {
    #[expect(clippy::disallowed_methods, reason = "another one's door")]
    fn open(real: Made, real_root: &Path, twin: Made, twin_root: &Path) -> Self {
        let root = Root::open_ambient(real_root).expect("the root");
        let roots = [Resolver::Walk, Resolver::Kernel].map(|resolver| root.clone().with_resolver(resolver));
        let twin_root = Dir::open_ambient_dir(twin_root, cap_std::ambient_authority()).expect("the root");
        Self { real, roots, twin, twin_root }
    }

    fn check(&self, scene: &Scene, request: &Path, inside: &Inside) {
        let Some(path) = scene.admit(request) else { return self.check_refused(request) };
        let answer = in_memory(scene, &path, inside);
        for root in &self.roots {
            let found = on_disk(root, &path, &self.real);
            assert_eq!(found, answer, "{root:?}, {} in {scene:#?}", request.display());
        }
        let asked = path.to_path_buf();
        let is_counted = matches!(answer, Err(Failure { kind: ErrorKind::ResourceLimit(_), .. }));
        if is_counted || asked.as_os_str().len() >= PATH_MAX {
            return;
        }
        let expected = outcome(scene, answer);
        let by_kernel = self.by_kernel(&asked);
        if by_kernel == Outcome::Unknown {
            return;
        }
        if by_kernel == Outcome::TooManyLinks && is_counted_twice(scene, &path) {
            return;
        }
        let by_kernel = if by_kernel == expected { by_kernel } else { self.by_kernel(&asked) };
        assert_eq!(by_kernel, expected, "the kernel's, {} in {scene:#?}", request.display());
        let by_cap_std = self.by_cap_std(&asked);
        if by_cap_std == Outcome::TooManyLinks {
            return;
        }
        assert_eq!(by_cap_std, expected, "cap-std's, {} in {scene:#?}", request.display());
    }

    /// A fence that refuses a request refuses it on the disk too.
    fn check_refused(&self, request: &Path) {
        let code = self.roots[0].open(request).expect_err("it is refused").code();
        assert!(matches!(code, "outside_root" | "invalid_argument"), "{code} for {}", request.display());
    }

    fn by_kernel(&self, path: &Path) -> Outcome {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let open = || openat2(&self.twin_root, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve);
        // After a `..` it wants to be asked again where anything on the machine was renamed meanwhile.
        match iter::repeat_with(open).take(MAX_RACES).find(|opened| !matches!(opened, Err(Errno::AGAIN))) {
            Some(Ok(handle)) => {
                let stat = rustix::fs::fstat(&handle).expect("an open handle");
                reached(FileType::from_raw_mode(stat.st_mode), self.twin.node_of(stat.st_ino))
            }
            Some(Err(errno)) => failed(Some(errno.raw_os_error())),
            None => Outcome::Unknown,
        }
    }

    fn by_cap_std(&self, path: &Path) -> Outcome {
        match self.twin_root.metadata(path) {
            Ok(found) => reached(FileType::from_raw_mode(found.mode()), self.twin.node_of(found.ino())),
            // Its own error, without a number.
            Err(error) if error.raw_os_error().is_none() && error.kind() == io::ErrorKind::PermissionDenied => {
                Outcome::Outside
            }
            Err(error) => failed(error.raw_os_error()),
        }
    }
}

fn model(scene: &Scene) -> Model<'_> {
    let world = &scene.world;
    Model { tree: &world.tree, allowed: &world.allowed, uid: rustix::process::geteuid().as_raw() }
}

/// Whether a `..` would leave after so many links that twice as many are too many.
fn is_counted_twice(scene: &Scene, path: &RelPath) -> bool {
    model(scene).links_before_leaving_upwards(&names(path)).is_some_and(|links| links > MAX_LINKS / 2)
}

/// The answer of all ways in memory.
fn in_memory(scene: &Scene, path: &RelPath, inside: &Inside) -> Answer {
    let world = &scene.world;
    let expected = model(scene).open(&names(path));
    let answer = |resolver, beneath, procfs| {
        let behaviour = Behaviour { beneath, procfs, ..Behaviour::default() };
        let run = world.open(path, How { resolver, behaviour, plan: Vec::new() });
        run.check(inside);
        run.outcome
    };
    let first = answer(Resolver::Walk, Beneath::Works, Procfs::Works);
    assert_eq!(first.clone().map_err(|failure| failure.kind), expected, "the model's, {path:?} in {scene:#?}");
    let others = [
        (Resolver::Kernel, Beneath::Works, Procfs::Works),
        (Resolver::Kernel, Beneath::Fails(Errno::PERM), Procfs::Missing),
        (Resolver::Kernel, Beneath::Races(2), Procfs::Missing),
    ];
    for (resolver, beneath, procfs) in others {
        let other = answer(resolver, beneath, procfs);
        assert_eq!(other, first, "{resolver:?} {beneath:?} {procfs:?}, {path:?} in {scene:#?}");
    }
    first
}

fn on_disk(root: &Root, path: &RelPath, made: &Made) -> Answer {
    match open_resolved(root, path) {
        Ok((file, lies_at)) => {
            let node = made.node(&file).expect("a file of the tree");
            Ok(Found { node, base: 0, names: names(&lies_at) })
        }
        Err(error) => Err(Failure { kind: error.kind().clone(), os: error.raw_os_error() }),
    }
}

/// What others can say of a path.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Reached(NodeId),
    Kind(FileKind),
    Missing,
    Outside,
    TooManyLinks,
    /// The machine came to no rest.
    Unknown,
    Other(i32),
}

fn outcome(scene: &Scene, answer: Answer) -> Outcome {
    match answer {
        Ok(found) => Outcome::Reached(found.node),
        Err(failure) => match failure.kind {
            ErrorKind::NotAFile(kind) => Outcome::Kind(kind),
            ErrorKind::NotFound => Outcome::Missing,
            ErrorKind::OutsideRoot => Outcome::Outside,
            ErrorKind::TooManyLinks => Outcome::TooManyLinks,
            kind => panic!("{kind:?} on a tree at rest: {scene:#?}"),
        },
    }
}

fn reached(kind: FileType, node: Option<NodeId>) -> Outcome {
    match kind {
        FileType::RegularFile => Outcome::Reached(node.expect("a file of the tree")),
        FileType::Directory => Outcome::Kind(FileKind::Directory),
        FileType::Fifo => Outcome::Kind(FileKind::Fifo),
        kind => panic!("there is no {kind:?}"),
    }
}

fn failed(errno: Option<i32>) -> Outcome {
    match errno.map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => Outcome::Missing,
        Some(Errno::XDEV) => Outcome::Outside,
        Some(Errno::LOOP) => Outcome::TooManyLinks,
        errno => Outcome::Other(errno.map_or(0, Errno::raw_os_error)),
    }
}

/// The target that leads in the twin where the link leads with a root that knows its own path.
fn rewritten(scene: &Scene, link: NodeId, target: &OsStr) -> PathBuf {
    let root = scene.world.allowed[0].node;
    let (Some(names), b'/') = (scene.world.tree.names_beneath(root, link), target.as_bytes()[0]) else {
        return target.into();
    };
    let below = ["G", "R"].iter().find_map(|name| below(&scene.top.join(name), target));
    let up = "../".repeat(names.len() - 1);
    below.map_or_else(|| target.into(), |below| OsString::from_vec([up.as_bytes(), below].concat()).into())
}

/// What follows a path in a text, as a relative path; `None` where the text does not begin with it, name by name.
fn below<'t>(path: &Path, text: &'t OsStr) -> Option<&'t [u8]> {
    let mut rest = text.as_bytes();
    for name in path.iter().skip(1) {
        rest = skip_nothing(rest).strip_prefix(name.as_bytes())?;
        if !matches!(rest.first(), None | Some(b'/')) {
            return None;
        }
    }
    let slashes = rest.iter().take_while(|byte| **byte == b'/').count();
    let rest = &rest[slashes..];
    Some(if rest.is_empty() { b"." } else { rest })
}

/// Without the slashes in front, and the `.` between them.
fn skip_nothing(mut text: &[u8]) -> &[u8] {
    while let Some(rest) = text.strip_prefix(b"/").or_else(|| text.strip_prefix(b"./")) {
        text = rest;
    }
    text
}
