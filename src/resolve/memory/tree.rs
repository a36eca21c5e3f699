//! The nodes of a file system in memory, what the kernel's lookups answer there, and what others may do to it meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use crate::resolve::Mounts;
use crate::sys::{self, Errno, Kind, LinkRules, Result, Stat};
use crate::version::Timestamp;

/// Longest name in bytes, limits.h(0p).
const NAME_MAX: usize = 255;

/// Longest path in bytes, with the NUL at its end, limits.h(0p).
const PATH_MAX: usize = 4096;

/// Links that one lookup of the kernel's follows, `path_resolution(7)`.
const MAXSYMLINKS: usize = 40;

/// One node, whatever its name is now. It keeps its number when it is moved or removed, as an open handle keeps its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(usize);

impl NodeId {
    /// The top of the file system.
    pub const TOP: Self = Self(0);
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "inode(7)")]
pub enum Content {
    File,
    Directory(BTreeMap<OsString, NodeId>),
    Link(OsString),
    Fifo,
    Socket,
    CharacterDevice,
    BlockDevice,
}

/// A node and its attributes.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it holds.
    pub content: Content,
    /// Permissions. The process belongs to no owner and no group, so the last three bits are its own.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// Its number for fstat(2). The copy of a file that a mount shows has the file's.
    pub inode: u64,
    /// Hard links.
    pub links: u64,
    /// The mount that it lies in.
    pub mount: u64,
    /// A write lease is on it.
    pub leased: bool,
    pub(crate) rules: LinkRules,
}

/// What a lookup does with a link at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    Follow,
    NoFollow,
}

/// What another process may do in one system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Both get each other's name: renameat2(2) with `RENAME_EXCHANGE`.
    Exchange(NodeId, NodeId),
    /// The node gets a name in this directory, in place of a file that has it: rename(2).
    Move(NodeId, NodeId, OsString),
    /// The node loses its name, a directory all that is in it too.
    Remove(NodeId),
    /// A link with this target takes a link's place.
    Retarget(NodeId, OsString),
    /// chmod(2).
    Chmod(NodeId, u32),
    /// In the place of `over` lies another mount that shows what is at `shows`.
    #[allow(missing_docs, reason = "said above")]
    Mount { over: NodeId, shows: NodeId },
}

/// A file system. A clone shares the nodes until they are changed.
#[derive(Clone, Debug)]
pub struct Tree {
    nodes: Vec<Arc<Node>>,
}

impl Default for Tree {
    fn default() -> Self {
        let mut tree = Self { nodes: Vec::new() };
        tree.make(Content::Directory(BTreeMap::new()));
        tree
    }
}

impl Tree {
    /// A node at this absolute path, with the directories above it; `None` where there is one, or no place for one.
    pub fn add(&mut self, path: &OsStr, content: Content) -> Option<NodeId> {
        let mut names: Vec<&[u8]> =
            path.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect();
        let last = names.pop()?;
        let mut at = NodeId::TOP;
        for name in names {
            at = match self.child(at, name) {
                Some(child) => child,
                None => self.add_in(at, name, Content::Directory(BTreeMap::new()))?,
            };
        }
        self.add_in(at, last, content)
    }

    fn add_in(&mut self, directory: NodeId, name: &[u8], content: Content) -> Option<NodeId> {
        let usable = !matches!(name, b"" | b"." | b"..") && name.len() <= NAME_MAX;
        if !usable || self.child(directory, name).is_some() || !self.is_directory(directory) {
            return None;
        }
        let node = self.make(content);
        self.inherit(node, directory);
        self.entries(directory).insert(OsStr::from_bytes(name).to_os_string(), node);
        Some(node)
    }

    /// A node lies in the mount of the directory that it is made in.
    fn inherit(&mut self, node: NodeId, directory: NodeId) {
        let Node { mount, rules, .. } = *self.node(directory);
        let node = self.change(node);
        (node.mount, node.rules) = (mount, rules);
    }

    fn make(&mut self, content: Content) -> NodeId {
        let mode = if matches!(content, Content::Directory(_)) { 0o755 } else { 0o644 };
        let inode = self.nodes.len() as u64;
        let rules = LinkRules { is_procfs: false, nosymfollow: false };
        let node = Node { content, mode, uid: 0, inode, links: 1, mount: 1, leased: false, rules };
        self.nodes.push(Arc::new(node));
        NodeId(self.nodes.len() - 1)
    }

    /// Another name for a node: link(2).
    pub fn link(&mut self, node: NodeId, directory: NodeId, name: &OsStr) {
        self.change(node).links += 1;
        self.entries(directory).insert(name.into(), node);
    }

    /// Every node, those without a name too.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId)
    }

    /// The node of this number.
    #[must_use]
    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.0]
    }

    /// The node of this number, to change it.
    pub fn change(&mut self, node: NodeId) -> &mut Node {
        Arc::make_mut(&mut self.nodes[node.0])
    }

    fn entries(&mut self, directory: NodeId) -> &mut BTreeMap<OsString, NodeId> {
        match &mut self.change(directory).content {
            Content::Directory(entries) => entries,
            other => panic!("{other:?} is no directory"),
        }
    }

    /// The node at an absolute path that leads over no link.
    #[must_use]
    pub fn at(&self, path: &OsStr) -> Option<NodeId> {
        let mut names = path.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        names.try_fold(NodeId::TOP, |at, name| self.child(at, name))
    }

    fn child(&self, directory: NodeId, name: &[u8]) -> Option<NodeId> {
        match &self.node(directory).content {
            Content::Directory(entries) => entries.get(OsStr::from_bytes(name)).copied(),
            _ => None,
        }
    }

    fn is_directory(&self, node: NodeId) -> bool {
        matches!(self.node(node).content, Content::Directory(_))
    }

    /// The directory and the name of a node; the first one of several.
    #[must_use]
    pub fn place(&self, node: NodeId) -> Option<(NodeId, OsString)> {
        self.nodes().find_map(|directory| match &self.node(directory).content {
            Content::Directory(entries) => {
                entries.iter().find(|(_, child)| **child == node).map(|(name, _)| (directory, name.clone()))
            }
            _ => None,
        })
    }

    /// The names that lead from `root` down to a node beneath it.
    #[must_use]
    pub fn names_beneath(&self, root: NodeId, node: NodeId) -> Option<Vec<OsString>> {
        if node == root {
            return Some(Vec::new());
        }
        let (directory, name) = self.place(node)?;
        let mut names = self.names_beneath(root, directory)?;
        names.push(name);
        Some(names)
    }

    /// The nodes that are not as they are in `other`, with their names and without what these lead to.
    #[must_use]
    pub fn changed_from(&self, other: &Self) -> BTreeSet<NodeId> {
        let same = |node: &NodeId| other.nodes.get(node.0).is_some_and(|old| Arc::ptr_eq(old, &self.nodes[node.0]));
        self.nodes().filter(|node| !same(node)).collect()
    }

    /// A node and all that lies beneath it.
    #[must_use]
    pub fn beneath(&self, root: NodeId) -> BTreeSet<NodeId> {
        let mut found = BTreeSet::from([root]);
        if let Content::Directory(entries) = &self.node(root).content {
            found.extend(entries.values().flat_map(|child| self.beneath(*child)));
        }
        found
    }
}

/// What the kernel answers.
impl Tree {
    pub(crate) fn stat(&self, node: NodeId) -> Stat {
        let Node { inode, links, uid, mode, .. } = *self.node(node);
        let never = Timestamp::default();
        Stat { kind: self.kind(node), size: 0, links, device: 1, inode, uid, mode, modified: never, changed: never }
    }

    pub(crate) fn kind(&self, node: NodeId) -> Kind {
        match self.node(node).content {
            Content::File => Kind::Regular,
            Content::Directory(_) => Kind::Directory,
            Content::Link(_) => Kind::Symlink,
            Content::Fifo => Kind::Fifo,
            Content::Socket => Kind::Socket,
            Content::CharacterDevice => Kind::CharacterDevice,
            Content::BlockDevice => Kind::BlockDevice,
        }
    }

    /// One name, that is not `..`, in one directory.
    pub(crate) fn lookup(&self, directory: NodeId, name: &[u8]) -> Result<NodeId> {
        let Content::Directory(entries) = &self.node(directory).content else { return Err(Errno::NOTDIR) };
        match name {
            _ if self.node(directory).mode & 0o001 == 0 => Err(Errno::ACCESS),
            b"." => Ok(directory),
            _ if name.len() > NAME_MAX => Err(Errno::NAMETOOLONG),
            _ => entries.get(OsStr::from_bytes(name)).copied().ok_or(Errno::NOENT),
        }
    }

    /// Any path, links followed, as `path_resolution(7)` has it.
    pub(crate) fn lookup_path(&self, start: NodeId, path: &[u8], last: Last) -> Result<NodeId> {
        if path.is_empty() { Err(Errno::NOENT) } else { self.follow_path(start, path, last, &mut 0) }
    }

    fn follow_path(&self, start: NodeId, path: &[u8], last: Last, followed: &mut usize) -> Result<NodeId> {
        let mut at = if path.starts_with(b"/") { NodeId::TOP } else { start };
        let mut names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).peekable();
        while let Some(name) = names.next() {
            let follow = last == Last::Follow || names.peek().is_some() || path.ends_with(b"/");
            let directory = at;
            at = self.step(directory, name)?;
            if let (Content::Link(target), true) = (&self.node(at).content, follow) {
                *followed += 1;
                if *followed > MAXSYMLINKS {
                    return Err(Errno::LOOP);
                }
                at = self.follow_path(directory, target.as_bytes(), Last::Follow, followed)?;
            }
        }
        if path.ends_with(b"/") && !self.is_directory(at) { Err(Errno::NOTDIR) } else { Ok(at) }
    }

    fn step(&self, directory: NodeId, name: &[u8]) -> Result<NodeId> {
        if name != b".." {
            return self.lookup(directory, name);
        }
        self.lookup(directory, b".")?;
        Ok(self.place(directory).map_or(directory, |(above, _)| above))
    }

    /// openat2(2) with `RESOLVE_BENEATH`, `RESOLVE_NO_SYMLINKS` and, to stay, `RESOLVE_NO_XDEV`.
    pub(crate) fn lookup_beneath(&self, start: NodeId, names: &[OsString], mounts: Mounts) -> Result<NodeId> {
        if names.iter().map(|name| name.len() + 1).sum::<usize>() > PATH_MAX {
            return Err(Errno::NAMETOOLONG);
        }
        let mut at = start;
        for (index, name) in names.iter().enumerate() {
            let child = self.lookup(at, name.as_bytes())?;
            if mounts == Mounts::Stay && self.node(child).mount != self.node(at).mount {
                return Err(Errno::XDEV);
            }
            if self.kind(child) == Kind::Symlink {
                // The kernel asks its rule for protected links first, and only of the last one.
                let untrusted = !sys::is_link_trusted(&self.stat(at), &self.stat(child));
                return Err(if untrusted && index + 1 == names.len() { Errno::ACCESS } else { Errno::LOOP });
            }
            at = child;
        }
        Ok(at)
    }

    /// What open(2) says to a reader, before it has any effect.
    pub(crate) fn check_readable(&self, node: NodeId) -> Result<()> {
        let Node { content, mode, leased, .. } = self.node(node);
        match content {
            Content::Link(_) => Err(Errno::LOOP),
            _ if mode & 0o004 == 0 => Err(Errno::ACCESS),
            Content::Socket => Err(Errno::NXIO),
            _ if *leased => Err(Errno::AGAIN),
            _ => Ok(()),
        }
    }
}

/// What others do.
impl Tree {
    /// Makes a change. Nothing happens, and `false` is returned, where the kernel would refuse it.
    pub fn apply(&mut self, change: &Change) -> bool {
        self.try_apply(change).is_some()
    }

    fn try_apply(&mut self, change: &Change) -> Option<()> {
        match change {
            Change::Exchange(one, other) => self.exchange(*one, *other),
            Change::Move(node, directory, name) => self.rename(*node, *directory, name),
            Change::Remove(node) => self.remove(*node),
            Change::Retarget(link, target) => self.retarget(*link, target),
            Change::Chmod(node, mode) => self.chmod(*node, *mode),
            Change::Mount { over, shows } => self.mount(*over, *shows),
        }
    }

    fn exchange(&mut self, one: NodeId, other: NodeId) -> Option<()> {
        let ((one_in, one_name), (other_in, other_name)) = (self.place(one)?, self.place(other)?);
        if self.beneath(one).contains(&other) || self.beneath(other).contains(&one) {
            return None;
        }
        self.entries(one_in).insert(one_name, other);
        self.entries(other_in).insert(other_name, one);
        Some(())
    }

    fn rename(&mut self, node: NodeId, directory: NodeId, name: &OsStr) -> Option<()> {
        let (from, old_name) = self.place(node)?;
        let replaced = self.child(directory, name.as_bytes());
        let in_the_way = replaced.is_some_and(|replaced| self.is_directory(replaced) || self.is_directory(node));
        if in_the_way || !self.is_directory(directory) || self.beneath(node).contains(&directory) {
            return None;
        }
        self.entries(from).remove(&old_name);
        self.entries(directory).insert(name.to_os_string(), node);
        Some(())
    }

    fn remove(&mut self, node: NodeId) -> Option<()> {
        let (directory, name) = self.place(node)?;
        self.entries(directory).remove(&name);
        let links = &mut self.change(node).links;
        *links = links.saturating_sub(1);
        if self.is_directory(node) {
            let children: Vec<_> = self.entries(node).values().copied().collect();
            for child in children {
                self.remove(child);
            }
        }
        Some(())
    }

    fn retarget(&mut self, link: NodeId, target: &OsStr) -> Option<()> {
        let (directory, name) = self.place(link)?;
        if !matches!(self.node(link).content, Content::Link(_)) {
            return None;
        }
        let node = self.make(Content::Link(target.to_os_string()));
        self.inherit(node, directory);
        self.entries(directory).insert(name, node);
        Some(())
    }

    fn chmod(&mut self, node: NodeId, mode: u32) -> Option<()> {
        if self.node(node).mode == mode {
            return None;
        }
        self.change(node).mode = mode;
        Some(())
    }

    fn mount(&mut self, over: NodeId, shows: NodeId) -> Option<()> {
        let (directory, name) = self.place(over)?;
        if self.is_directory(over) != self.is_directory(shows) || self.kind(shows) == Kind::Symlink {
            return None;
        }
        let mount = 1 + self.nodes.iter().map(|node| node.mount).max()?;
        let copy = self.copy(shows, mount);
        self.entries(directory).insert(name, copy);
        Some(())
    }

    /// The same inodes, as another mount shows them.
    fn copy(&mut self, node: NodeId, mount: u64) -> NodeId {
        let mut copied = Node { mount, ..self.node(node).clone() };
        if let Content::Directory(entries) = &mut copied.content {
            for child in entries.values_mut() {
                *child = self.copy(*child, mount);
            }
        }
        self.nodes.push(Arc::new(copied));
        NodeId(self.nodes.len() - 1)
    }
}
