//! A tree in memory, made on a real disk.
#![expect(clippy::disallowed_methods, reason = "the targets make the trees that they read")]

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use capread::fuzzing::{Content, NodeId, Tree};
use rustix::fs::{FileType, Mode, mknodat};

/// A folder that nothing else uses, in memory where there is such a disk. It is there from when it is filled until it is cleared.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder of this process with this name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let parent = ["/dev/shm", "/tmp"].map(Path::new).into_iter().find(|path| path.is_dir()).expect("a disk");
        Self(parent.join(format!("capread-fuzz-{}-{name}", std::process::id())))
    }

    /// Its absolute path, over no link.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Removes it with all that is in it.
    pub fn clear(&self) {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
            _ => {}
        }
    }

    /// Makes what lies at `from` in a tree, in place of all that is here. `target` says what a link leads to.
    #[must_use]
    pub fn fill(&self, tree: &Tree, from: NodeId, target: impl Fn(NodeId, &OsStr) -> PathBuf) -> Made {
        self.clear();
        fs::create_dir(&self.0).expect("a folder");
        let mut made = Made { paths: HashMap::new(), nodes: HashMap::new() };
        made.fill(&self.0, tree, from, &target);
        made
    }
}

/// What was made.
#[derive(Debug)]
pub struct Made {
    paths: HashMap<NodeId, PathBuf>,
    nodes: HashMap<u64, NodeId>,
}

impl Made {
    fn fill(&mut self, here: &Path, tree: &Tree, from: NodeId, target: &impl Fn(NodeId, &OsStr) -> PathBuf) {
        self.know(here, from);
        let Content::Directory(entries) = &tree.node(from).content else { return };
        for (name, node) in entries {
            let path = here.join(name);
            self.make(&path, tree, *node, target);
            self.know(&path, *node);
        }
    }

    fn make(&mut self, path: &Path, tree: &Tree, node: NodeId, target: &impl Fn(NodeId, &OsStr) -> PathBuf) {
        if let Some(first) = self.paths.get(&node) {
            return fs::hard_link(first, path).expect("a second name");
        }
        match &tree.node(node).content {
            Content::Directory(_) => {
                fs::create_dir(path).expect("a directory");
                self.fill(path, tree, node, target);
            }
            Content::Link(text) => symlink(target(node, text), path).expect("a link"),
            Content::Fifo => {
                mknodat(rustix::fs::CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
            }
            _ => drop(File::create(path).expect("a file")),
        }
    }

    fn know(&mut self, path: &Path, node: NodeId) {
        self.paths.entry(node).or_insert_with(|| path.into());
        self.nodes.insert(fs::symlink_metadata(path).expect("it was made").ino(), node);
    }

    /// The node that has this inode.
    #[must_use]
    pub fn node_of(&self, inode: u64) -> Option<NodeId> {
        self.nodes.get(&inode).copied()
    }

    /// The node that a handle holds.
    #[must_use]
    pub fn node(&self, handle: impl AsFd) -> Option<NodeId> {
        self.node_of(rustix::fs::fstat(handle).expect("an open handle").st_ino)
    }
}

/// The handles that this process has open.
#[must_use]
pub fn open_handles() -> usize {
    fs::read_dir("/proc/self/fd").expect("procfs").count()
}
