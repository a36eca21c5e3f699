//! A file tree and requests, as text: one line each, and none of them is wrong.
//!
//! | line | what it makes |
//! |---|---|
//! | `a/b/` | a directory |
//! | `a/b` | a file |
//! | `a/b\|` | a FIFO |
//! | `a/b>target` | a link |
//! | `a/b=a/c` | another name for the file `a/c` |
//! | `?path` | a request |
//! | `!…`, `#…` | see [`schedule`](crate::schedule) |
//!
//! Paths begin in the root, `R`, or where they are absolute in the folder that it lies in, with a directory `O` beside it that has a
//! file `s`. Absolute targets and requests begin there too. What cannot be made, because something is there, is left out.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use capread::fuzzing::{Allowed, Content, NodeId, Tree, World};

/// Most lines that make something, and most requests.
const MAX_NODES: usize = 60;
const MAX_REQUESTS: usize = 20;

/// Longest name in bytes, limits.h(0p).
const NAME_MAX: usize = 255;

/// Longest line. What is made has an absolute path, and a link's target may grow in the twin.
const MAX_LINE: usize = 2 * PATH_MAX / 3;

/// Longest path in bytes, with the NUL at its end, limits.h(0p).
pub(crate) const PATH_MAX: usize = 4096;

/// What one input says.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The absolute path of the folder.
    pub top: PathBuf,
    /// The tree, and the root in it: `R`, which a link `G` beside it leads to.
    pub world: World,
    /// The requests.
    pub requests: Vec<PathBuf>,
    /// The lines with `!` and `#`, without these.
    pub others: Vec<(u8, Vec<u8>)>,
}

impl Scene {
    /// Reads an input, with the folder at an absolute path.
    #[must_use]
    pub fn parse(input: &[u8], top: &Path) -> Self {
        let mut scene = Self::empty(top);
        let mut nodes = 0;
        let lines = input.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.contains(&0) && line.len() <= MAX_LINE) {
            match line {
                [] => {}
                [b'?', request @ ..] if scene.requests.len() < MAX_REQUESTS => {
                    scene.requests.push(scene.from_top(request).into());
                }
                [sign @ (b'!' | b'#'), rest @ ..] => scene.others.push((*sign, rest.to_vec())),
                line if nodes < MAX_NODES => {
                    nodes += 1;
                    scene.make(line);
                }
                _ => {}
            }
        }
        scene
    }

    fn empty(top: &Path) -> Self {
        let mut tree = Tree::default();
        let mut add = |path: &str, content| tree.add(top.join(path).as_os_str(), content);
        let root = add("R", Content::Directory([].into())).expect("nothing else is there");
        add("G", Content::Link("R".into()));
        add("O/s", Content::File);
        let allowed = Allowed::new(root, vec![top.join("G"), top.join("R")]);
        Self {
            top: top.into(),
            world: World { tree, allowed: vec![allowed] },
            requests: Vec::new(),
            others: Vec::new(),
        }
    }

    fn make(&mut self, line: &[u8]) -> Option<NodeId> {
        let (path, content) = match line.iter().position(|byte| matches!(byte, b'>' | b'=')) {
            Some(at) if at + 1 == line.len() => return None,
            Some(at) if line[at] == b'=' => return self.link(&line[..at], &line[at + 1..]),
            Some(at) => (&line[..at], Content::Link(self.from_top(&line[at + 1..]))),
            None => match line {
                [path @ .., b'/'] => (path, Content::Directory([].into())),
                [path @ .., b'|'] => (path, Content::Fifo),
                path => (path, Content::File),
            },
        };
        // It makes the directories above too, also where it cannot make the node.
        self.world.tree.add(&self.place(path), content)
    }

    fn link(&mut self, name: &[u8], file: &[u8]) -> Option<NodeId> {
        let file = self.at(file).filter(|node| self.world.tree.node(*node).content == Content::File)?;
        let place = self.make(name)?;
        let (directory, name) = self.world.tree.place(place)?;
        self.world.tree.apply(&capread::fuzzing::Change::Remove(place));
        self.world.tree.link(file, directory, &name);
        Some(file)
    }

    /// The absolute path of what a line names.
    fn place(&self, path: &[u8]) -> OsString {
        let below: &[u8] = if path.starts_with(b"/") { b"" } else { b"/R/" };
        OsString::from_vec([self.top.as_os_str().as_bytes(), below, path].concat())
    }

    /// The node that a line names.
    #[must_use]
    pub fn at(&self, path: &[u8]) -> Option<NodeId> {
        self.world.tree.at(&self.place(path))
    }

    /// A path, as it is on the disk.
    #[must_use]
    pub fn from_top(&self, path: &[u8]) -> OsString {
        let top: &[u8] = if path.starts_with(b"/") { self.top.as_os_str().as_bytes() } else { b"" };
        OsString::from_vec([top, path].concat())
    }

    /// A text that can be a name.
    #[must_use]
    pub fn name(&self, name: &[u8]) -> Option<OsString> {
        let usable = !name.contains(&b'/') && !matches!(name, b"" | b"." | b"..") && name.len() <= NAME_MAX;
        usable.then(|| OsString::from_vec(name.to_vec()))
    }

    /// The names of a request that the root's fence admits.
    #[must_use]
    pub fn admit(&self, request: &Path) -> Option<capread::RelPath> {
        self.world.allowed[0].admit(request).ok()
    }
}

/// The names of a path that was admitted.
#[must_use]
pub fn names(path: &capread::RelPath) -> Vec<OsString> {
    let path = path.to_path_buf();
    if path == Path::new(".") { Vec::new() } else { path.iter().map(OsStr::to_os_string).collect() }
}
