//! Several roots for one reader.

use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use crate::cancel::Stop;
use crate::error::{Error, Result};
use crate::fence::RelPath;
use crate::policy::End;
use crate::resolve::{self, Asked, Base, Missing, Opened, Place};
use crate::root::Root;
use crate::sys::Handle;

/// One or more roots that a reader may read beneath.
///
/// Relative paths belong to the first. An absolute path belongs to the root that it lies in, the innermost where roots lie in each
/// other. An absolute link target goes on in the innermost of these roots that it lies in; nothing else crosses.
///
/// What lies in several of these roots is judged by the policy of each, whichever it is read through, by the names that lead there
/// from that root. Where roots lie in each other is found out once, when they are put together, by all their paths: as given, real,
/// and for a root made from a handle the one that procfs tells. Where that cannot be known, a policy of either denies all in the
/// other. A directory that is mounted in two places has two names, and each is judged for itself.
///
/// ```
/// # fn main() -> Result<(), capread::Error> {
/// # let (first, second) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
/// # std::fs::write(second.path().join("notes.txt"), "one\n").expect("a file");
/// use capread::{ReadRequest, ReadTool, Root, Roots};
///
/// let roots = Roots::from(Root::open_ambient(first.path())?).and(Root::open_ambient(second.path())?);
/// let output = ReadTool::new(roots).call(&ReadRequest::new(second.path().join("notes.txt")), &|| false)?;
/// assert_eq!(output.window.text, "one");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Roots {
    /// At least one.
    bases: Vec<Base<Handle>>,
}

/// A path that a root's fence admitted.
#[derive(Clone, Debug)]
pub(crate) struct Admitted {
    base: usize,
    path: RelPath,
}

impl Roots {
    /// Adds a root.
    #[must_use]
    pub fn and(mut self, root: impl Into<Root>) -> Self {
        self.bases.push(root.into().base().clone());
        resolve::acquaint(&mut self.bases);
        self
    }

    pub(crate) fn admit(&self, path: &Path) -> Result<Admitted> {
        // The first root's refusal is the one to tell: relative paths are its own.
        let first = self.bases[0].fence.admit(path);
        if path.is_relative() || self.bases.len() == 1 {
            return Ok(Admitted { base: 0, path: first? });
        }
        let others = self.bases[1..].iter().map(|base| base.fence.admit(path).ok());
        let admitted = std::iter::once(first.as_ref().ok().cloned()).chain(others).enumerate();
        let innermost = admitted
            .filter_map(|(base, path)| Some(Admitted { base, path: path? }))
            .min_by_key(|admitted| admitted.path.depth());
        innermost.ok_or_else(|| first.err().unwrap_or_else(|| Error::invalid("path is in no root")))
    }

    pub(crate) fn open<'a>(
        &'a self,
        admitted: &'a Admitted,
        stop: &'a Stop<'a>,
    ) -> Result<Opened<'a, <Handle as resolve::Directory>::File>> {
        resolve::open(self.asked(admitted, stop))
    }

    pub(crate) fn missing(&self, admitted: &Admitted, stop: &Stop<'_>) -> Result<Option<Missing<Handle>>> {
        resolve::missing(self.asked(admitted, stop))
    }

    fn asked<'a>(&'a self, admitted: &'a Admitted, stop: &'a Stop<'a>) -> Asked<'a, Handle> {
        Asked { bases: &self.bases, base: admitted.base, path: &admitted.path, stop }
    }

    pub(crate) fn directory(&self, admitted: &Admitted, stop: &Stop<'_>) -> Result<Option<Place<Handle>>> {
        resolve::directory(self.asked(admitted, stop))
    }

    /// The handle of a place.
    pub(crate) fn at<'a>(&'a self, place: &'a Place<Handle>) -> &'a Handle {
        place.directory.as_ref().unwrap_or(&self.bases[place.base].directory)
    }

    /// Whether a policy denies the path for its last name.
    pub(crate) fn denies(&self, base: usize, path: &RelPath) -> bool {
        self.bases[base].judges.deny(path, End::Last)
    }

    /// Whether a policy denies files for their links: then each must be looked at.
    pub(crate) fn deny_links(&self, base: usize, path: &RelPath) -> bool {
        self.bases[base].judges.deny_links(path, u64::MAX)
    }

    /// Whether a policy denies what the path leads to, links followed.
    pub(crate) fn leads_to_denied(&self, admitted: &Admitted, stop: &Stop<'_>) -> Result<bool> {
        resolve::leads_to_denied(self.asked(admitted, stop))
    }

    /// Whether a policy denies the path, as asked or as resolved.
    pub(crate) fn is_denied(&self, admitted: &Admitted, stop: &Stop<'_>) -> Result<bool> {
        if self.have_policies() { resolve::is_denied(self.asked(admitted, stop)) } else { Ok(false) }
    }

    /// Whether the path leads to something that no policy denies, a file or not.
    pub(crate) fn leads_somewhere(&self, admitted: &Admitted, stop: &Stop<'_>) -> Result<bool> {
        resolve::leads_somewhere(self.asked(admitted, stop))
    }

    /// The path without the root's own names in front, where it starts with them.
    pub(crate) fn without_own_names(&self, admitted: &Admitted) -> Option<Admitted> {
        let path = self.bases[admitted.base].fence.without_own_names(&admitted.path)?;
        Some(admitted.with_path(path))
    }

    pub(crate) fn have_policies(&self) -> bool {
        self.bases.iter().any(|base| base.policy.is_some())
    }

    /// How a path is told to whoever asked: relative in the first root, absolute in the others, so that it means the same when it is
    /// asked for again.
    pub(crate) fn told(&self, base: usize, path: &RelPath) -> PathBuf {
        if base == 0 { path.to_path_buf() } else { self.bases[base].fence.absolute(path) }
    }

    pub(crate) fn told_as_asked(&self, admitted: &Admitted) -> PathBuf {
        self.told(admitted.base, &admitted.path)
    }
}

impl Admitted {
    pub(crate) fn base(&self) -> usize {
        self.base
    }

    pub(crate) fn path(&self) -> &RelPath {
        &self.path
    }

    /// Another path in the same root.
    pub(crate) fn with_path(&self, path: RelPath) -> Self {
        Self { base: self.base, path }
    }
}

impl From<Root> for Roots {
    fn from(root: Root) -> Self {
        Self { bases: vec![root.base().clone()] }
    }
}

impl From<Dir> for Roots {
    fn from(directory: Dir) -> Self {
        Root::from(directory).into()
    }
}
