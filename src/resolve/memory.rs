//! A file system in memory, on which tests and fuzzers walk.
//!
//! Every call that a walk makes is one numbered step. It is written down, and what others do can be planned to happen just before
//! it: the file system between two steps is whatever the plan says.

mod invariants;
mod model;
mod tree;
mod world;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, MutexGuard};

pub use invariants::Inside;
pub use model::Model;
use tree::Last;
pub use tree::{Change, Content, Node, NodeId, Tree};
pub use world::{Allowed, Failure, Found, How, MissingName, Run, World};

use super::{Directory, Mounts};
use crate::sys::{Errno, Kind, LinkRules, Result, Stat};

/// How `open_beneath` answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beneath {
    /// As openat2(2) does.
    #[default]
    Works,
    /// With this error, always.
    Fails(Errno),
    /// With `EAGAIN` so many times, then as openat2(2) does.
    Races(usize),
}

/// How `reopen` answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Procfs {
    /// As `/proc/self/fd/N` does.
    #[default]
    Works,
    /// There is none.
    Missing,
    /// Something is mounted over it that leads to this node, whatever is asked for.
    Lies(NodeId),
}

/// What the file system has, and lacks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Behaviour {
    /// One call for a whole path.
    pub beneath: Beneath,
    /// A second open of what a handle holds.
    pub procfs: Procfs,
    /// Handles that may be open at once.
    pub most_handles: Option<usize>,
}

/// Something planned for a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Happens just before it.
    Change(Change),
    /// Is its answer.
    Fail(Errno),
}

/// The methods of [`Directory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are named as the methods are")]
pub enum Operation {
    OpenPath,
    OpenDirectory,
    Stat,
    ReadLink,
    LinkRules,
    MountId,
    Reopen,
    OpenByName,
    StatFile,
    OpenBeneath,
}

/// One step as it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The method.
    pub operation: Operation,
    /// What the handle holds on which it was called.
    pub node: NodeId,
    /// The name or path that was given.
    pub name: Option<OsString>,
    /// The target that was read.
    pub target: Option<OsString>,
    /// What was opened, or found to be no directory.
    pub found: Option<NodeId>,
}

impl Call {
    /// Whether its answer may depend on one of these nodes. Where others touch none of them, they may as well wait for the next step.
    #[must_use]
    pub fn depends_on(&self, nodes: &BTreeSet<NodeId>) -> bool {
        let whole_path = matches!(self.operation, Operation::OpenBeneath | Operation::OpenByName)
            || self.name.as_ref().is_some_and(|name| !is_single(name));
        whole_path || nodes.contains(&self.node) || self.found.is_some_and(|found| nodes.contains(&found))
    }
}

/// Whether a name is one that a step may ask for.
fn is_single(name: &OsStr) -> bool {
    !name.as_bytes().contains(&b'/') && !matches!(name.as_bytes(), b"" | b"..")
}

/// A file system, and what has been done on it.
#[derive(Debug)]
pub(crate) struct Disk(Mutex<State>);

#[derive(Debug)]
struct State {
    tree: Tree,
    behaviour: Behaviour,
    /// Steps are counted from 1.
    plan: Vec<(usize, Event)>,
    calls: Vec<Call>,
    /// What has been opened for reading.
    opened: Vec<NodeId>,
    handles: usize,
    races: usize,
}

impl Disk {
    pub(crate) fn new(tree: Tree, behaviour: Behaviour, plan: Vec<(usize, Event)>) -> Arc<Self> {
        let (calls, opened) = (Vec::new(), Vec::new());
        Arc::new(Self(Mutex::new(State { tree, behaviour, plan, calls, opened, handles: 0, races: 0 })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("nothing panics while it is locked")
    }

    pub(crate) fn root(self: &Arc<Self>, node: NodeId) -> Handle {
        self.state().handles += 1;
        Handle { disk: Arc::clone(self), node }
    }

    /// What has been done.
    fn into_run<T>(self: Arc<Self>, how: How, asked: usize, outcome: T) -> Run<T> {
        let disk = Arc::into_inner(self).expect("no handle is open");
        let State { tree, calls, opened, handles, .. } =
            disk.0.into_inner().expect("nothing panics while it is locked");
        Run { how, asked, outcome, calls, opened, handles, tree }
    }

    /// The next step.
    fn call(&self, operation: Operation, node: NodeId, name: Option<&OsStr>) -> Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        let name = name.map(OsStr::to_os_string);
        state.calls.push(Call { operation, node, name, target: None, found: None });
        match state.happen() {
            None => Ok(state),
            Some(errno) => Err(errno),
        }
    }
}

impl State {
    /// Makes the changes that are planned for this step, and tells the error that is.
    fn happen(&mut self) -> Option<Errno> {
        let mut failure = None;
        for (step, event) in &self.plan {
            match event {
                _ if *step != self.calls.len() => {}
                Event::Change(change) => drop(self.tree.apply(change)),
                Event::Fail(errno) => failure = Some(*errno),
            }
        }
        failure
    }

    fn last_call(&mut self) -> &mut Call {
        self.calls.last_mut().expect("a call is made")
    }

    fn new_handle(&mut self, node: NodeId) -> Result<()> {
        if self.behaviour.most_handles.is_some_and(|most| self.handles >= most) {
            return Err(Errno::MFILE);
        }
        self.handles += 1;
        self.last_call().found = Some(node);
        Ok(())
    }

    fn open_for_reading(&mut self, node: NodeId) -> Result<()> {
        self.tree.check_readable(node)?;
        self.new_handle(node)?;
        self.opened.push(node);
        Ok(())
    }

    fn lookup(&self, directory: NodeId, name: &OsStr) -> Result<NodeId> {
        // Whatever a walk asks for, this is what a kernel would do.
        if is_single(name) {
            self.tree.lookup(directory, name.as_bytes())
        } else {
            self.tree.lookup_path(directory, name.as_bytes(), Last::NoFollow)
        }
    }

    fn lookup_beneath(&mut self, directory: NodeId, path: &[OsString], mounts: Mounts) -> Result<NodeId> {
        match self.behaviour.beneath {
            Beneath::Fails(errno) => return Err(errno),
            Beneath::Races(times) if self.races < times => {
                self.races += 1;
                return Err(Errno::AGAIN);
            }
            Beneath::Works | Beneath::Races(_) => {}
        }
        self.tree.lookup_beneath(directory, path, mounts)
    }
}

/// A handle, which a name's fate does not touch.
#[derive(Debug)]
pub(crate) struct Handle {
    disk: Arc<Disk>,
    node: NodeId,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.disk.state().handles -= 1;
    }
}

/// A file that was opened for reading.
#[derive(Debug)]
pub(crate) struct File(Handle);

impl File {
    pub(crate) fn node(&self) -> NodeId {
        self.0.node
    }

    /// Whether this is what was said of it. No step.
    fn is(&self, stat: &Stat) -> bool {
        self.0.disk.state().tree.stat(self.0.node).is_same_file(stat)
    }
}

impl Handle {
    pub(crate) fn node(&self) -> NodeId {
        self.node
    }

    fn call(&self, operation: Operation) -> Result<MutexGuard<'_, State>> {
        self.disk.call(operation, self.node, None)
    }

    fn call_with_name(&self, operation: Operation, name: &OsStr) -> Result<MutexGuard<'_, State>> {
        self.disk.call(operation, self.node, Some(name))
    }

    fn to(&self, node: NodeId) -> Self {
        Self { disk: Arc::clone(&self.disk), node }
    }
}

impl Directory for Handle {
    type File = File;

    fn open_path(&self, name: &OsStr) -> Result<Self> {
        let mut state = self.call_with_name(Operation::OpenPath, name)?;
        let node = state.lookup(self.node, name)?;
        state.new_handle(node)?;
        Ok(self.to(node))
    }

    fn open_directory(&self, name: &OsStr) -> Result<Self> {
        let mut state = self.call_with_name(Operation::OpenDirectory, name)?;
        let node = state.lookup(self.node, name)?;
        state.last_call().found = Some(node);
        if state.tree.kind(node) != Kind::Directory {
            return Err(Errno::NOTDIR);
        }
        state.new_handle(node)?;
        Ok(self.to(node))
    }

    fn stat(&self) -> Result<Stat> {
        Ok(self.call(Operation::Stat)?.tree.stat(self.node))
    }

    fn read_link(&self) -> Result<OsString> {
        let mut state = self.call(Operation::ReadLink)?;
        let Content::Link(target) = state.tree.node(self.node).content.clone() else { return Err(Errno::NOENT) };
        state.last_call().target = Some(target.clone());
        Ok(target)
    }

    fn link_rules(&self) -> Result<LinkRules> {
        Ok(self.call(Operation::LinkRules)?.tree.node(self.node).rules)
    }

    fn mount_id(&self) -> Result<u64> {
        Ok(self.call(Operation::MountId)?.tree.node(self.node).mount)
    }

    fn reopen(&self) -> Result<File> {
        let mut state = self.call(Operation::Reopen)?;
        let node = match state.behaviour.procfs {
            Procfs::Works => self.node,
            Procfs::Missing => return Err(Errno::NOENT),
            Procfs::Lies(node) => node,
        };
        state.open_for_reading(node)?;
        Ok(File(self.to(node)))
    }

    fn open_by_name(&self, name: &OsStr) -> Result<File> {
        let mut state = self.call_with_name(Operation::OpenByName, name)?;
        let node = state.lookup(self.node, name)?;
        state.open_for_reading(node)?;
        Ok(File(self.to(node)))
    }

    fn stat_file(file: &File) -> Result<Stat> {
        let handle = &file.0;
        Ok(handle.call(Operation::StatFile)?.tree.stat(handle.node))
    }

    fn open_beneath(&self, path: &OsStr, mounts: Mounts) -> Result<Self> {
        let names: Vec<_> =
            path.as_bytes().split(|byte| *byte == b'/').map(|name| OsStr::from_bytes(name).into()).collect();
        let mut state = self.call_with_name(Operation::OpenBeneath, path)?;
        let node = state.lookup_beneath(self.node, &names, mounts)?;
        state.new_handle(node)?;
        Ok(self.to(node))
    }
}
