//! What a path must lead to on a tree that nobody changes: the specification once more, by recursion on the text, without handles,
//! steps or a stack. It is slow, and knows nothing of how the walk does it.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Allowed, Content, Found, MissingName, Node, NodeId, Tree};
use crate::error::{ErrorKind, FileKind, Resource};

const MAX_LINKS: usize = 40;
const MAX_COMPONENTS: usize = 256;

/// A tree and the roots in it.
#[derive(Clone, Copy, Debug)]
pub struct Model<'t> {
    /// The tree.
    pub tree: &'t Tree,
    /// The roots.
    pub allowed: &'t [Allowed],
    /// The process's own user.
    pub uid: u32,
}

/// A place beneath a root, by its names.
#[derive(Clone)]
struct Spot {
    base: usize,
    names: Vec<OsString>,
}

enum Reached {
    Directory(Spot),
    File(Found),
}

#[derive(Clone, Copy)]
struct Spent<'a> {
    links: usize,
    components: usize,
    /// Is told the links so far where a `..` leaves.
    left_upwards: &'a Cell<Option<usize>>,
}

type Result<T> = std::result::Result<T, ErrorKind>;

impl Model<'_> {
    /// The file that a path in the first root leads to, or the reason why it may not be read.
    pub fn open(&self, names: &[OsString]) -> Result<Found> {
        if self.denies(0, names) {
            return Err(ErrorKind::Denied);
        }
        let Reached::File(found) = self.reach(names)? else { return Err(ErrorKind::NotAFile(FileKind::Directory)) };
        match self.tree.node(found.node) {
            Node { mode, .. } if mode & 0o004 == 0 => Err(ErrorKind::PermissionDenied),
            Node { leased: true, .. } => Err(ErrorKind::Busy),
            _ => Ok(found),
        }
    }

    /// The first directory on the way of a path in which the next of its names is not.
    #[must_use]
    pub fn missing(&self, names: &[OsString]) -> Option<MissingName> {
        for found in 0..names.len() {
            let Ok(Reached::Directory(at)) = self.reach(&names[..found]) else { return None };
            let next = Spot { base: at.base, names: [at.names.as_slice(), &names[found..=found]].concat() };
            let node = self.node_at(&at).ok()?;
            let may_look = self.tree.node(node).mode & 0o001 != 0 && !self.denies(next.base, &next.names);
            if may_look && self.node_at(&next).is_err() {
                return Some(MissingName { node, base: at.base, names: at.names, found });
            }
        }
        None
    }

    /// The links that a path takes before it leaves by a `..`, if it does.
    #[must_use]
    pub fn links_before_leaving_upwards(&self, names: &[OsString]) -> Option<usize> {
        let left_upwards = Cell::new(None);
        // Where it leads is no matter here.
        let _ = self.reach_and_tell(names, &left_upwards);
        left_upwards.get()
    }

    fn reach(&self, names: &[OsString]) -> Result<Reached> {
        self.reach_and_tell(names, &Cell::new(None))
    }

    fn reach_and_tell(&self, names: &[OsString], left_upwards: &Cell<Option<usize>>) -> Result<Reached> {
        let spent = Spent { links: 0, components: names.len(), left_upwards };
        check_components(spent)?;
        self.go(Spot { base: 0, names: Vec::new() }, names.join(OsStr::new("/")).as_bytes(), spent)
    }

    /// Where a text leads from a directory: its first name, then the rest.
    fn go(&self, mut at: Spot, text: &[u8], spent: Spent<'_>) -> Result<Reached> {
        let (name, rest) = match text.iter().position(|byte| *byte == b'/') {
            Some(slash) => (&text[..slash], Some(&text[slash + 1..])),
            None => (text, None),
        };
        let go_on = rest.unwrap_or_default();
        let may_search = self.tree.node(self.node_at(&at)?).mode & 0o001 != 0;
        match name {
            b"" if rest.is_none() => Ok(Reached::Directory(at)),
            b"." | b".." if !may_search => Err(ErrorKind::PermissionDenied),
            b"" | b"." => self.go(at, go_on, spent),
            b".." if at.names.is_empty() => {
                spent.left_upwards.set(Some(spent.links));
                Err(ErrorKind::OutsideRoot)
            }
            b".." => {
                at.names.pop();
                self.go(at, go_on, spent)
            }
            name => self.enter(&at, OsStr::from_bytes(name), rest, spent),
        }
    }

    fn enter(&self, at: &Spot, name: &OsStr, rest: Option<&[u8]>, spent: Spent<'_>) -> Result<Reached> {
        let inner = Spot { base: at.base, names: at.names.iter().cloned().chain([name.to_os_string()]).collect() };
        if self.denies(inner.base, &inner.names) {
            return Err(ErrorKind::Denied);
        }
        let directory = self.tree.node(self.node_at(at)?);
        if directory.mode & 0o001 == 0 {
            return Err(ErrorKind::PermissionDenied);
        }
        let node = self.node_at(&inner)?;
        let entry = self.tree.node(node);
        let root = &self.allowed[inner.base];
        if root.one_file_system && entry.mount != self.tree.node(root.node).mount {
            return Err(ErrorKind::OutsideRoot);
        }
        match &entry.content {
            Content::Directory(_) => self.go(inner, rest.unwrap_or_default(), spent),
            Content::Link(target) => {
                self.check_followed(directory, entry, target.as_bytes())?;
                self.follow(at, target.as_bytes(), rest, spent)
            }
            _ if rest.is_some() => Err(ErrorKind::NotFound),
            Content::File if entry.links > 1 && self.denies_links(inner.base, &inner.names) => Err(ErrorKind::Denied),
            Content::File => Ok(Reached::File(Found { node, base: inner.base, names: inner.names })),
            Content::Fifo => Err(ErrorKind::NotAFile(FileKind::Fifo)),
            Content::Socket => Err(ErrorKind::NotAFile(FileKind::Socket)),
            Content::CharacterDevice => Err(ErrorKind::NotAFile(FileKind::CharacterDevice)),
            Content::BlockDevice => Err(ErrorKind::NotAFile(FileKind::BlockDevice)),
        }
    }

    /// The rules of the link's file system.
    fn check_followed(&self, directory: &Node, link: &Node, target: &[u8]) -> Result<()> {
        let is_shared = directory.mode & 0o1002 == 0o1002;
        let is_foreign = link.uid != self.uid && link.uid != directory.uid;
        if link.rules.nosymfollow || is_shared && is_foreign {
            return Err(ErrorKind::PermissionDenied);
        }
        let is_magic = target.starts_with(b"/") || target.contains(&b':');
        if link.rules.is_procfs && is_magic { Err(ErrorKind::OutsideRoot) } else { Ok(()) }
    }

    /// The target, then the rest, from the link's directory or from a root.
    fn follow(&self, at: &Spot, target: &[u8], rest: Option<&[u8]>, spent: Spent<'_>) -> Result<Reached> {
        let links = spent.links + 1;
        if links > MAX_LINKS {
            return Err(ErrorKind::TooManyLinks);
        }
        let (from, target) = if target.starts_with(b"/") {
            self.enter_root(at.base, target).ok_or(ErrorKind::OutsideRoot)?
        } else {
            (at.clone(), target.to_vec())
        };
        let names = target.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
        let spent = Spent { links, components: spent.components + names.count(), ..spent };
        check_components(spent)?;
        let text = match rest {
            Some(rest) => [&target, b"/".as_slice(), rest].concat(),
            None => target,
        };
        self.go(from, &text, spent)
    }

    /// The innermost root that an absolute target is in, the one where the link lies before others of the same path, and the text
    /// behind its path.
    fn enter_root(&self, own: usize, target: &[u8]) -> Option<(Spot, Vec<u8>)> {
        let mut innermost: Option<(Spot, Vec<u8>)> = None;
        let others = (0..self.allowed.len()).filter(|base| *base != own);
        for base in [own].into_iter().chain(others) {
            for spelling in &self.allowed[base].spellings {
                let rest = text_below(spelling, target);
                let rest =
                    rest.filter(|rest| innermost.as_ref().is_none_or(|(_, shortest)| rest.len() < shortest.len()));
                innermost = rest.map(|rest| (Spot { base, names: Vec::new() }, rest)).or(innermost);
            }
        }
        innermost
    }

    fn node_at(&self, at: &Spot) -> Result<NodeId> {
        at.names.iter().try_fold(self.allowed[at.base].node, |node, name| match &self.tree.node(node).content {
            Content::Directory(entries) => entries.get(name).copied().ok_or(ErrorKind::NotFound),
            _ => Err(ErrorKind::NotFound),
        })
    }

    /// Whether a root denies these names in the root `base`, or another root does in which they lie as well.
    fn denies(&self, base: usize, names: &[OsString]) -> bool {
        self.in_each_root(base, names).any(|(root, path)| is_denied(&self.allowed[root], &path))
    }

    fn denies_links(&self, base: usize, names: &[OsString]) -> bool {
        self.in_each_root(base, names).any(|(root, _)| self.allowed[root].hard_links_denied)
    }

    /// The roots in which these names of one lie too, and the names in there, by all their absolute paths.
    fn in_each_root<'a>(&'a self, base: usize, names: &[OsString]) -> impl Iterator<Item = (usize, PathBuf)> + 'a {
        let path: PathBuf = names.iter().collect();
        let absolute: Vec<_> = self.allowed[base].spellings.iter().map(|root| root.join(&path)).collect();
        let others = self.allowed.iter().enumerate().flat_map(move |(other, root)| {
            let pairs = absolute.iter().flat_map(|path| root.spellings.iter().map(move |root| path.strip_prefix(root)));
            pairs.flatten().map(|path| (other, path.to_path_buf())).collect::<Vec<_>>()
        });
        others.chain([(base, path)])
    }
}

/// Whether one of the paths that are denied leads to this path, or to a directory above.
pub(super) fn is_denied(root: &Allowed, path: &Path) -> bool {
    root.denied.iter().any(|denied| path.starts_with(denied))
}

fn check_components(spent: Spent<'_>) -> Result<()> {
    if spent.components > MAX_COMPONENTS {
        return Err(ErrorKind::ResourceLimit(Resource::Components { limit: MAX_COMPONENTS }));
    }
    Ok(())
}

/// What follows the root's names in a target; only `.` and empty names may stand between them.
fn text_below(root: &Path, target: &[u8]) -> Option<Vec<u8>> {
    let mut names: Vec<&[u8]> = target.split(|byte| *byte == b'/').collect();
    for wanted in root.as_os_str().as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        while matches!(names.first(), Some(&(b"" | b"."))) {
            names.remove(0);
        }
        if names.first() != Some(&wanted) {
            return None;
        }
        names.remove(0);
    }
    Some(names.join(&b'/'))
}
