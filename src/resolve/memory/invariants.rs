//! What must hold of every run, whatever others did meanwhile.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::model::is_denied;
use super::{
    Allowed, Beneath, Call, Event, Failure, Found, MissingName, NodeId, Operation, Procfs, Run, Tree, World, is_single,
};
use crate::error::{ErrorKind, Resource};
use crate::sys::{Errno, Kind};

/// Links and components of one walk, and the times that it begins anew, as the specification has them.
const MAX_LINKS: usize = 40;
const MAX_COMPONENTS: usize = 256;
const MAX_WALKS: usize = 100;

/// Steps for one name: open, stat, two mounts, and for a link the rules, the directory and the target.
const STEPS_PER_NAME: usize = 7;

/// Steps for a name that is a directory's, or is tried as one: open, two mounts.
const STEPS_PER_DIRECTORY: usize = 3;

/// Steps for a file that was reached: reopen it, look at it, open it by its name, look at it.
const STEPS_PER_FILE: usize = 4;

/// Steps of the kernel's way: four tries, stat, reopen it, look at it.
const STEPS_OF_KERNEL: usize = 7;

/// What lay beneath a root at some moment.
#[derive(Clone, Debug)]
pub struct Inside {
    nodes: BTreeSet<NodeId>,
    /// Nodes that a policy denied at every moment. They are not even looked at.
    denied: BTreeSet<NodeId>,
    /// Nodes that were always in another mount than a root that stays in its own. They are looked at, and no more.
    closed: BTreeSet<NodeId>,
    any_leased: bool,
}

impl Inside {
    /// Of the trees that a world has been through, in their order.
    ///
    /// A directory that was moved out counts as long as it is there, with all that is put into it: a walk may have entered it before.
    #[must_use]
    pub fn of(allowed: &[Allowed], trees: &[&Tree]) -> Self {
        let any_leased = trees.iter().any(|tree| tree.nodes().any(|node| tree.node(node).leased));
        let mut sets = Sets::default();
        for tree in trees {
            sets.add(allowed, tree);
        }
        let Sets { nodes, named, entered } = sets;
        let (denied, closed) = (&nodes - &named, &nodes - &entered);
        Self { nodes, denied, closed, any_leased }
    }

    /// Whether it may be opened.
    #[must_use]
    pub fn allows(&self, node: NodeId) -> bool {
        self.allows_look(node) && !self.closed.contains(&node)
    }

    fn allows_look(&self, node: NodeId) -> bool {
        self.nodes.contains(&node) && !self.denied.contains(&node)
    }
}

/// Nodes that at some moment lay beneath a root: all, those that its policy allowed to name, and those that its mount holds.
#[derive(Default)]
struct Sets {
    nodes: BTreeSet<NodeId>,
    named: BTreeSet<NodeId>,
    entered: BTreeSet<NodeId>,
}

impl Sets {
    fn add(&mut self, allowed: &[Allowed], tree: &Tree) {
        let beneath: BTreeSet<_> = allowed.iter().flat_map(|root| tree.beneath(root.node)).collect();
        let still: BTreeSet<_> = self.nodes.iter().flat_map(|node| tree.beneath(*node)).collect();
        // In what was moved out. No policy knows a path of theirs.
        let put_in: Vec<_> =
            still.into_iter().filter(|node| !self.nodes.contains(node) && !beneath.contains(node)).collect();
        self.named.extend(&put_in);
        for root in allowed {
            let mount = tree.node(root.node).mount;
            let may_enter = |node: &NodeId| !root.one_file_system || tree.node(*node).mount == mount;
            let may_name = |node: &NodeId| {
                let names = || tree.names_beneath(root.node, *node);
                let path = || Some(names()?.iter().collect::<PathBuf>());
                root.denied.is_empty() || path().is_some_and(|path| !is_denied(root, &path))
            };
            let beneath = tree.beneath(root.node);
            self.named.extend(beneath.iter().copied().filter(may_name));
            self.entered.extend(beneath.iter().chain(&put_in).copied().filter(may_enter));
        }
        self.nodes.extend(beneath);
        self.nodes.extend(put_in);
    }
}

impl Run<Result<Found, Failure>> {
    /// Panics where something is wrong.
    pub fn check(&self, inside: &Inside) {
        self.check_steps(inside);
        match &self.outcome {
            Ok(found) => {
                self.assert(self.tree.kind(found.node) == Kind::Regular, "what was opened is no file");
                self.assert(self.was_seen_inside(found.node, inside), "what was opened was never seen beneath a root");
            }
            Err(failure) => self.check_failure(failure, inside),
        }
    }

    fn check_failure(&self, failure: &Failure, inside: &Inside) {
        let was_told = |errno: Errno| failure.os == Some(errno.raw_os_error());
        let is_expected = match failure.kind {
            ErrorKind::OutsideRoot
            | ErrorKind::Denied
            | ErrorKind::NotFound
            | ErrorKind::NotAFile(_)
            | ErrorKind::PermissionDenied
            | ErrorKind::TooManyLinks
            | ErrorKind::ResourceLimit(Resource::Components { .. }) => !was_told(Errno::AGAIN),
            ErrorKind::Busy if was_told(Errno::AGAIN) => inside.any_leased || self.was_failed(),
            ErrorKind::Busy => self.walks() > MAX_WALKS,
            ErrorKind::ResourceLimit(_) => self.was_failed() || self.how.behaviour.most_handles.is_some(),
            ErrorKind::Io => self.was_failed(),
            _ => false,
        };
        self.assert(is_expected, "the error is none that may be told");
    }
}

impl Run<Option<MissingName>> {
    /// Panics where something is wrong.
    pub fn check(&self, inside: &Inside) {
        self.check_steps(inside);
        if let Some(missing) = &self.outcome {
            self.assert(inside.allows(missing.node), "the directory never lay beneath a root");
            self.assert(missing.found < self.asked, "nothing is missing");
        }
    }
}

impl<T: Debug> Run<T> {
    #[track_caller]
    fn assert(&self, holds: bool, what: &str) {
        assert!(holds, "{what}: {self:#?}");
    }

    /// A step found this file, and it may be opened: under this name, or under another one that another mount shows it by.
    fn was_seen_inside(&self, node: NodeId, inside: &Inside) -> bool {
        let looks =
            self.calls.iter().filter(|call| matches!(call.operation, Operation::OpenPath | Operation::OpenBeneath));
        let is_same = |seen: NodeId| self.tree.node(seen).inode == self.tree.node(node).inode;
        looks.filter_map(|call| call.found).any(|seen| is_same(seen) && inside.allows(seen))
    }

    fn was_failed(&self) -> bool {
        self.how.plan.iter().any(|(_, event)| matches!(event, Event::Fail(_)))
            || matches!(self.how.behaviour.beneath, Beneath::Fails(_))
    }

    fn count(&self, operation: Operation) -> usize {
        self.calls.iter().filter(|call| call.operation == operation).count()
    }

    /// Times that a walk began, at the most.
    fn walks(&self) -> usize {
        1 + self.count(Operation::OpenByName)
    }

    fn check_steps(&self, inside: &Inside) {
        self.assert(self.handles == 0, "a handle is left open");
        self.calls.iter().for_each(|call| self.check_call(call, inside));
        self.check_opened(inside);
        self.check_number();
    }

    fn check_call(&self, call: &Call, inside: &Inside) {
        let lies = matches!(self.how.behaviour.procfs, Procfs::Lies(_));
        if lies && matches!(call.operation, Operation::Reopen | Operation::StatFile) {
            return;
        }
        self.assert(inside.allows_look(call.node), "a step was made outside");
        self.assert(call.found.is_none_or(|found| inside.allows_look(found)), "a step led outside");
        let enters = matches!(
            call.operation,
            Operation::OpenPath | Operation::OpenDirectory | Operation::OpenByName | Operation::ReadLink
        );
        self.assert(!enters || inside.allows(call.node), "a step was made in another mount");
        if let (Some(name), true) = (&call.name, call.operation != Operation::OpenBeneath) {
            self.assert(is_single(name), "a step asked for more than one name");
        }
    }

    fn check_opened(&self, inside: &Inside) {
        let Run { how, opened, tree, .. } = self;
        if matches!(how.behaviour.procfs, Procfs::Lies(_)) {
            return;
        }
        self.assert(opened.iter().all(|node| inside.allows_look(*node)), "something outside was opened for reading");
        let harmless = |node: NodeId| tree.kind(node) == Kind::Regular && inside.allows(node);
        let all_harmless = opened.iter().all(|node| harmless(*node));
        self.assert(all_harmless || self.may_be_exchanged(), "something that is no file was opened for reading");
    }

    /// Without procfs, the file that was looked at can be another thing by the time that it is opened by its name. Nothing is promised
    /// then but that it is not returned.
    fn may_be_exchanged(&self) -> bool {
        let without_procfs = self.how.behaviour.procfs == Procfs::Missing || self.was_failed();
        without_procfs && !self.how.plan.is_empty()
    }

    fn check_number(&self) {
        let walks = self.walks();
        let targets = self.calls.iter().filter_map(|call| call.target.as_deref());
        let in_targets: usize = targets.map(|target| target.as_bytes().split(|byte| *byte == b'/').count()).sum();
        let names = self.calls.iter().filter(|call| call.operation == Operation::OpenPath);
        let components = names.clone().filter(|call| call.name.as_deref().is_some_and(|name| name != ".")).count();
        let opens = names.count();
        self.assert(walks <= MAX_WALKS + 1, "it was walked too often");
        self.assert(self.count(Operation::ReadLink) <= MAX_LINKS * walks, "too many links were followed");
        let directories = self.count(Operation::OpenDirectory);
        self.assert(components.max(directories) <= MAX_COMPONENTS * walks, "too many components were opened");
        self.assert(opens.max(directories) <= self.asked * walks + in_targets, "there were more steps than names");
        let most =
            STEPS_PER_NAME * opens + STEPS_PER_DIRECTORY * directories + STEPS_PER_FILE * walks + STEPS_OF_KERNEL;
        self.assert(self.calls.len() <= most, "there were too many steps");
    }
}

impl World {
    /// What lies beneath its roots now.
    #[must_use]
    pub fn inside(&self) -> Inside {
        Inside::of(&self.allowed, &[&self.tree])
    }
}
