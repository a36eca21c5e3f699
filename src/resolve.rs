//! From a [`RelPath`] to one descriptor of a regular file beneath a root.

mod directory;
mod kernel;
#[cfg(any(test, fuzzing))]
#[cfg_attr(not(fuzzing), expect(unreachable_pub, reason = "the fuzz targets reach it"))]
pub(crate) mod memory;
#[cfg(test)]
mod tests;
mod walk;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use directory::Directory;
pub(crate) use walk::{Missing, Place};

use crate::cancel::Stop;
use crate::error::{Error, ErrorKind, FileKind, Resource, Result};
use crate::fence::{Fence, RelPath};
use crate::policy::{End, Judges, Policy};
use crate::sys::{Errno, Kind, Stat};
use walk::{Reached, Walk};

/// Components in one walk, links' included. It bounds the handles that a walk holds, and its system calls.
const MAX_COMPONENTS: usize = 256;

/// Times that a path is walked again because its file was exchanged between the look and the open. Only without procfs, and only
/// under attack: exchanged within microseconds this often in a row, it is a file that cannot be had.
const MAX_EXCHANGES: usize = 100;

/// How a path is resolved. Every answer is the same in each mode; they differ in the number of system calls.
///
/// The kernel's way is one `openat2(2)` for a whole path. What it cannot decide as the walk would (a link on the way, a race with a
/// rename, an old kernel, a seccomp filter) goes to the walk, which takes a system call or more for each component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resolver {
    /// The kernel's way where there is one, else the walk. A kernel without it (`ENOSYS`) is asked only once.
    #[default]
    Auto,
    /// Like `Auto`, but the kernel is asked every time.
    Kernel,
    /// The walk alone.
    Walk,
}

/// Whether a path may lead into other mounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mounts {
    #[default]
    Cross,
    Stay,
}

/// One root as a walk sees it.
#[derive(Debug)]
pub(crate) struct Base<D> {
    pub(crate) directory: Arc<D>,
    /// Knows the root's paths as names, to judge text by. They are never opened again.
    pub(crate) fence: Arc<Fence>,
    /// The root's paths, by which it is found out where it lies in other roots, and they in it.
    pub(crate) paths: Arc<[PathBuf]>,
    pub(crate) policy: Option<Arc<Policy>>,
    /// All policies that judge what is read here.
    pub(crate) judges: Judges,
    pub(crate) resolver: Resolver,
    pub(crate) mounts: Mounts,
}

// By hand: a derived one would ask for a handle that can be cloned.
impl<D> Clone for Base<D> {
    fn clone(&self) -> Self {
        Self {
            directory: Arc::clone(&self.directory),
            fence: Arc::clone(&self.fence),
            paths: Arc::clone(&self.paths),
            policy: self.policy.clone(),
            judges: self.judges.clone(),
            resolver: self.resolver,
            mounts: self.mounts,
        }
    }
}

/// Lets the policy of each root judge what is read through the others, where they lie in each other.
pub(crate) fn acquaint<D>(bases: &mut [Base<D>]) {
    let roots: Vec<_> = bases.iter().map(|base| (&*base.paths, base.policy.as_ref())).collect();
    let judges: Vec<_> = (0..bases.len()).map(|own| Judges::among(&roots, own)).collect();
    for (base, judges) in bases.iter_mut().zip(judges) {
        base.judges = judges;
    }
}

/// A path to resolve: admitted by the fence of `bases[base]`.
pub(crate) struct Asked<'a, D> {
    /// All roots of the reader. An absolute link target may lead into another one.
    pub(crate) bases: &'a [Base<D>],
    pub(crate) base: usize,
    pub(crate) path: &'a RelPath,
    pub(crate) stop: &'a Stop<'a>,
}

impl<D> Clone for Asked<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Asked<'_, D> {}

/// A regular file, open for reading.
#[derive(Debug)]
pub(crate) struct Opened<'a, F> {
    pub(crate) file: F,
    /// As it was when it was opened.
    pub(crate) stat: Stat,
    /// Where it lies: the root and the path in it, links followed; borrowed where that is the path that was asked for.
    pub(crate) base: usize,
    pub(crate) resolved: Cow<'a, RelPath>,
}

/// Opens the regular file that the path leads to.
pub(crate) fn open<D: Directory>(asked: Asked<'_, D>) -> Result<Opened<'_, D::File>> {
    check_asked(asked)?;
    if asked.path.depth() > MAX_COMPONENTS {
        return Err(too_many_components());
    }
    if let Some(opened) = kernel::open(asked)? {
        return Ok(opened);
    }
    for _ in 0..MAX_EXCHANGES {
        if let Some(opened) = Walk::start(asked)?.run()?.open()? {
            return Ok(opened);
        }
    }
    Err(ErrorKind::Busy.into())
}

/// The path as asked, which need not be what it leads to, by each directory on its way.
fn check_asked<D>(asked: Asked<'_, D>) -> Result<()> {
    let judges = &asked.bases[asked.base].judges;
    if judges.is_empty() {
        return Ok(());
    }
    for path in asked.path.prefixes() {
        asked.stop.check()?;
        let end = if path.depth() < asked.path.depth() { End::OnTheWay } else { End::Last };
        if judges.deny(&path, end) {
            return Err(ErrorKind::Denied.into());
        }
    }
    Ok(())
}

/// Whether a policy denies what the path leads to. Fails only where it is told to stop.
pub(crate) fn leads_to_denied<D: Directory>(asked: Asked<'_, D>) -> Result<bool> {
    Ok(outcome(Walk::start(asked).and_then(Walk::run))? == Some(ErrorKind::Denied))
}

/// Whether a policy denies the path, as asked or as resolved. Fails only where it is told to stop.
pub(crate) fn is_denied<D: Directory>(asked: Asked<'_, D>) -> Result<bool> {
    Ok(outcome(reach(asked))? == Some(ErrorKind::Denied))
}

/// Whether the path leads to something that no policy denies, a file or not. Fails only where it is told to stop.
pub(crate) fn leads_somewhere<D: Directory>(asked: Asked<'_, D>) -> Result<bool> {
    Ok(matches!(outcome(reach(asked))?, None | Some(ErrorKind::NotAFile(_))))
}

/// The file that the path leads to, looked at and not opened.
fn reach<D: Directory>(asked: Asked<'_, D>) -> Result<Reached<'_, D>> {
    check_asked(asked)?;
    Walk::start(asked)?.run()
}

/// Why a walk reached no file, if it did not. Fails only where it was told to stop.
fn outcome<D>(reached: Result<Reached<'_, D>>) -> Result<Option<ErrorKind>> {
    match reached {
        Ok(_) => Ok(None),
        Err(error) if error.is_stop() => Err(error),
        Err(error) => Ok(Some(error.kind().clone())),
    }
}

/// The directory that the path leads to, if it does. Fails only where it is told to stop.
pub(crate) fn directory<D: Directory>(asked: Asked<'_, D>) -> Result<Option<Place<D>>> {
    match Walk::start(asked).and_then(Walk::directory) {
        Err(error) if !error.is_stop() => Ok(None),
        result => result,
    }
}

/// Where the walk stopped because the next name of the request is not there. `None` when it goes on by now, or when the name that is
/// missing was a link's.
pub(crate) fn missing<D: Directory>(asked: Asked<'_, D>) -> Result<Option<Missing<D>>> {
    Walk::start(asked)?.missing()
}

fn too_many_components() -> Error {
    ErrorKind::ResourceLimit(Resource::Components { limit: MAX_COMPONENTS }).into()
}

/// What an errno of an open, a look or a reopen means. None of them tells anything about what lies outside the root: no call names
/// anything there.
pub(crate) fn os_error(errno: Errno) -> Error {
    let kind = match errno {
        // The second: a component that is no directory. The third: a name that this file system cannot hold, so it is not there.
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => ErrorKind::NotFound,
        // The second: a security module's way to say the first.
        Errno::ACCESS | Errno::PERM => ErrorKind::PermissionDenied,
        // A write lease, or a file locked by its file system: a blocking open would hang.
        Errno::AGAIN => ErrorKind::Busy,
        Errno::MFILE | Errno::NFILE => ErrorKind::ResourceLimit(Resource::FileHandles),
        Errno::NOMEM => ErrorKind::ResourceLimit(Resource::Memory),
        _ => ErrorKind::Io,
    };
    Error::caused(kind, errno)
}

/// Whether what was reached at `path` may be opened for reading, before it is.
fn check_openable<D>(base: &Base<D>, stat: &Stat, path: impl FnOnce() -> RelPath) -> Result<()> {
    let denies_links = || !base.judges.is_empty() && base.judges.deny_links(&path(), stat.links);
    match stat.kind {
        Kind::Regular if denies_links() => Err(ErrorKind::Denied.into()),
        Kind::Regular => Ok(()),
        other => Err(ErrorKind::NotAFile(FileKind::of(other)).into()),
    }
}

/// Opens for reading the very file that `handle` holds. `None`: there is no way to do so without a name. A refusal of the file itself
/// is final; to ask by name then would only give others time to put something else in its place.
fn reopen<D: Directory>(handle: &D, looked_at: &Stat) -> Result<Option<(D::File, Stat)>> {
    match handle.reopen() {
        Ok(file) => compare::<D>(file, looked_at),
        // No procfs, or one that shows other handles than this thread's.
        Err(Errno::NOSYS | Errno::NOENT | Errno::NXIO) => Ok(None),
        Err(errno) => Err(os_error(errno)),
    }
}

/// What was opened, if it is what was looked at.
fn compare<D: Directory>(file: D::File, looked_at: &Stat) -> Result<Option<(D::File, Stat)>> {
    let stat = D::stat_file(&file).map_err(os_error)?;
    Ok(stat.is_same_file(looked_at).then_some((file, stat)))
}
