//! A tree, the roots in it, and one run of the resolver on them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Behaviour, Call, Disk, Event, Handle, NodeId, Tree};
use crate::cancel::Stop;
use crate::error::{Error, ErrorKind};
use crate::fence::{Fence, RelPath, Syntax};
use crate::policy::{Judges, Policy};
use crate::resolve::{self, Asked, Base, Mounts, Resolver};

/// A root.
#[derive(Clone, Debug)]
pub struct Allowed {
    /// The directory.
    pub node: NodeId,
    /// Its absolute paths.
    pub spellings: Vec<PathBuf>,
    /// Paths in it that a policy denies.
    pub denied: Vec<PathBuf>,
    /// Files with more than one link are denied too.
    pub hard_links_denied: bool,
    /// Other mounts are outside.
    pub one_file_system: bool,
    fence: Arc<Fence>,
    policy: Option<Arc<Policy>>,
}

impl Allowed {
    /// A root that has these paths.
    #[must_use]
    pub fn new(node: NodeId, spellings: Vec<PathBuf>) -> Self {
        let fence = Arc::new(Fence::new(Syntax::Unix, &spellings));
        Self {
            node,
            spellings,
            denied: Vec::new(),
            hard_links_denied: false,
            one_file_system: false,
            fence,
            policy: None,
        }
    }

    /// Denies these paths, and nothing else.
    #[cfg(feature = "policy")]
    pub fn deny(&mut self, denied: &[&str]) -> Result<(), Error> {
        self.denied = denied.iter().map(PathBuf::from).collect();
        self.policy = Some(Arc::new(Policy::deny(denied.iter().map(|path| format!("/{path}")))?));
        Ok(())
    }

    /// Denies files with more than one link, and nothing else.
    #[cfg(feature = "policy")]
    pub fn deny_hard_links(&mut self) -> Result<(), Error> {
        self.hard_links_denied = true;
        self.policy = Some(Arc::new(Policy::deny([""; 0])?.deny_hard_links()));
        Ok(())
    }

    /// The path of a request.
    pub fn admit(&self, request: impl AsRef<Path>) -> Result<RelPath, Error> {
        self.fence.admit(request.as_ref())
    }
}

/// A tree and the roots in it.
#[derive(Clone, Debug)]
pub struct World {
    /// As it is before a run.
    pub tree: Tree,
    /// The roots; the first one is asked for.
    pub allowed: Vec<Allowed>,
}

/// How a run goes.
#[derive(Clone, Debug, Default)]
pub struct How {
    /// Which way to resolve.
    pub resolver: Resolver,
    /// What the file system has.
    pub behaviour: Behaviour,
    /// What happens before which step; they are counted from 1.
    pub plan: Vec<(usize, Event)>,
}

/// A file that a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub node: NodeId,
    /// The root that it lies in.
    pub base: usize,
    /// Its names in there.
    pub names: Vec<OsString>,
}

/// Why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What is told.
    pub kind: ErrorKind,
    /// The error number that is told with it.
    pub os: Option<i32>,
}

/// The directory in which suggestions are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingName {
    /// The directory.
    pub node: NodeId,
    /// The root that it lies in.
    pub base: usize,
    /// Its names in there.
    pub names: Vec<OsString>,
    /// How many of the request's names lead there.
    pub found: usize,
}

/// What was made of a request, and how.
#[derive(Clone, Debug)]
pub struct Run<T> {
    /// How it was to go.
    pub how: How,
    /// Names in the request.
    pub asked: usize,
    /// What came of it.
    pub outcome: T,
    /// The steps.
    pub calls: Vec<Call>,
    /// What was opened for reading.
    pub opened: Vec<NodeId>,
    /// Handles that are open still.
    pub handles: usize,
    /// The tree as it is now.
    pub tree: Tree,
}

impl World {
    /// Opens what the path in the first root leads to.
    #[must_use]
    pub fn open(&self, path: &RelPath, how: How) -> Run<Result<Found, Failure>> {
        self.run(path, how, |asked| match resolve::open(asked) {
            Ok(opened) => {
                assert!(opened.file.is(&opened.stat), "what was opened is not what was told of it");
                let names = opened.resolved.to_names();
                Ok(Found { node: opened.file.node(), base: opened.base, names })
            }
            Err(error) => Err(Failure { kind: error.kind().clone(), os: error.raw_os_error() }),
        })
    }

    /// Looks for the place of the name that is missing.
    #[must_use]
    pub fn missing(&self, path: &RelPath, how: How) -> Run<Option<MissingName>> {
        self.run(path, how, |asked| {
            let missing = resolve::missing(asked).ok()??;
            let place = missing.place;
            let root = self.allowed[place.base].node;
            Some(MissingName {
                node: place.directory.as_ref().map_or(root, Handle::node),
                base: place.base,
                names: place.resolved.to_names(),
                found: missing.found,
            })
        })
    }

    /// Runs anything.
    pub(crate) fn run<T>(&self, path: &RelPath, how: How, run: impl FnOnce(Asked<'_, Handle>) -> T) -> Run<T> {
        let disk = Disk::new(self.tree.clone(), how.behaviour, how.plan.clone());
        let mut bases: Vec<_> = self.allowed.iter().map(|allowed| allowed.base(&disk, how.resolver)).collect();
        resolve::acquaint(&mut bases);
        let outcome = run(Asked { bases: &bases, base: 0, path, stop: &Stop::new(&|| false, None) });
        drop(bases);
        disk.into_run(how, path.depth(), outcome)
    }
}

impl Allowed {
    fn base(&self, disk: &Arc<Disk>, resolver: Resolver) -> Base<Handle> {
        Base {
            directory: Arc::new(disk.root(self.node)),
            fence: Arc::clone(&self.fence),
            paths: self.spellings.as_slice().into(),
            policy: self.policy.clone(),
            judges: Judges::default(),
            resolver,
            mounts: if self.one_file_system { Mounts::Stay } else { Mounts::Cross },
        }
    }
}
