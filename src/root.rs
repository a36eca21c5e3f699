//! The root: a directory opened once, a capability to what lies beneath it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;

use crate::cancel::{Cancel, Stop};
use crate::display::Shown;
use crate::error::{Error, ErrorKind, Request, Result};
use crate::fence::{Fence, RelPath, Syntax};
use crate::file::RegularFile;
use crate::policy::Judges;
use crate::resolve::{self, Asked, Base, Mounts, Resolver};
use crate::sys::{self, Handle, Kind};

/// A directory, opened once and held as a handle; nothing outside it can be reached through it.
///
/// # What it promises
///
/// * No path, link or race makes [`open`](Self::open) return a file that was not beneath the root at the moment when its last
///   component was opened, while every process on the machine may rename, replace and link whatever it likes.
/// * No system call names anything outside, and the answer for a path or link that leads outside is the same whether or not
///   anything exists there.
/// * FIFOs, sockets and devices are told apart without being opened; nothing blocks.
///
/// # What it does not promise
///
/// * **Hard links** to files outside are files inside: they have no other name to judge by. A policy may deny every file that has more
///   than one link.
/// * **Mounts** inside the root are inside, unless [`one_file_system`](Root::one_file_system) is set.
/// * **Consistency** under writers: what is confined is which file is read, not what another process writes to it meanwhile.
/// * A directory that is moved out of the root after a walk has entered it was inside when it was entered.
/// * A hostile network or FUSE server can make any call wait.
///
/// # Links
///
/// A link is followed when its target stays beneath the root, step by step. An absolute target that starts with the root's path, as
/// given or as the real path, goes on from the root's handle. A target that leaves and comes back (`../app/f` in the root
/// `/srv/app`) is refused: stricter than realpath(3), because between the two steps it is outside.
///
/// # Example
///
/// ```
/// # fn main() -> Result<(), capread::Error> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # std::fs::write(directory.path().join("notes.txt"), "one\n").expect("a file");
/// let root = capread::Root::open_ambient(directory.path())?;
/// assert_eq!(root.open("notes.txt")?.size(), 4);
/// assert_eq!(root.open("../etc/passwd").unwrap_err().code(), "outside_root");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Root {
    base: Base<Handle>,
}

impl Root {
    /// Opens the directory at `path`, following links, with the ambient authority of the process. This is the only place where
    /// capread uses it.
    ///
    /// Absolute paths and link targets count as inside when they start with `path` (made absolute) or with its real path.
    ///
    /// Fails as opening a directory does: [`NotFound`](crate::ErrorKind::NotFound) and the like, and
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) where there is something else.
    pub fn open_ambient(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let directory = sys::open_ambient_directory(path).map_err(|errno| open_error(path, errno))?;
        let spellings = spellings(path, &directory);
        let fence = Fence::new(Syntax::native(), &spellings);
        Ok(Self::new(directory, fence, spellings))
    }

    /// Without a path that a request or a link could begin with. That it has one all the same matters to the policies of other roots.
    fn without_path(directory: OwnedFd) -> Self {
        let paths = sys::path_of(directory.as_fd()).into_iter().collect();
        Self::new(directory, Fence::new(Syntax::native(), &[]), paths)
    }

    fn new(directory: OwnedFd, fence: Fence, paths: Vec<PathBuf>) -> Self {
        Self {
            base: Base {
                directory: Arc::new(directory.into()),
                fence: Arc::new(fence),
                paths: paths.into(),
                policy: None,
                judges: Judges::default(),
                resolver: Resolver::default(),
                mounts: Mounts::default(),
            },
        }
    }

    /// Denies what the policy says, in this root.
    #[cfg(feature = "policy")]
    #[must_use]
    pub fn with_policy(mut self, policy: crate::policy::Policy) -> Self {
        let policy = Arc::new(policy);
        self.base.judges = Judges::alone(Arc::clone(&policy));
        self.base.policy = Some(policy);
        self
    }

    /// Resolves paths in one way only; every answer stays the same.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Resolver) -> Self {
        self.base.resolver = resolver;
        self
    }

    /// Refuses, as `outside_root`, what lies in another mount than the root itself. Needs Linux 5.8 or newer, and fails every read on
    /// an older one.
    #[must_use]
    pub fn one_file_system(mut self) -> Self {
        self.base.mounts = Mounts::Stay;
        self
    }

    /// Opens the regular file that `path` leads to, for reading.
    ///
    /// `path` is relative to the root, or absolute inside it; it is normalised by its text first (`a/../b` is `b`, whatever `a` is).
    pub fn open(&self, path: impl AsRef<Path>) -> Result<RegularFile> {
        self.open_cancellable(path, &|| false)
    }

    /// Like [`open`](Self::open); `cancel` is asked before each component.
    pub fn open_cancellable(&self, path: impl AsRef<Path>, cancel: &dyn Cancel) -> Result<RegularFile> {
        let stop = Stop::new(cancel, None);
        stop.check()?;
        let input = path.as_ref();
        let path = self.admit(input)?;
        let asked = Asked { bases: std::slice::from_ref(&self.base), base: 0, path: &path, stop: &stop };
        resolve::open(asked)
            .map(|opened| RegularFile::new(opened.file, opened.stat))
            .map_err(|error| error.asked(|| Request::new(input, Some(&path.to_path_buf()))))
    }

    /// The lexical fence alone: what the text of `path` normalises to, or why it is refused. Makes no system call.
    ///
    /// This is no check to rely on before opening something by name; [`open`](Self::open) is.
    pub fn admit(&self, path: impl AsRef<Path>) -> Result<RelPath> {
        self.base.fence.admit(path.as_ref())
    }

    pub(crate) fn base(&self) -> &Base<Handle> {
        &self.base
    }

    /// The capability for other tools that should live in the same root, as a handle of its own.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let root = capread::Root::open_ambient(directory.path())?;
    /// root.to_dir()?.write("notes.txt", "one\n")?;
    /// assert_eq!(root.open("notes.txt")?.size(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn to_dir(&self) -> Result<Dir> {
        let duplicate = self.base.directory.duplicate();
        duplicate.map(Dir::from).map_err(|error| Error::caused(ErrorKind::Io, error))
    }
}

/// A root without a path: it takes relative paths only, and every absolute link target is outside.
impl From<Dir> for Root {
    fn from(directory: Dir) -> Self {
        Self::without_path(directory.into())
    }
}

/// A root without a path, as from a [`Dir`](cap_std::fs::Dir). Fails where the descriptor is no directory.
impl TryFrom<OwnedFd> for Root {
    type Error = Error;

    fn try_from(descriptor: OwnedFd) -> Result<Self> {
        match sys::fstat(descriptor.as_fd()).map_err(resolve::os_error)?.kind {
            Kind::Directory => Ok(Self::without_path(descriptor)),
            _ => Err(Error::invalid("root must be a directory")),
        }
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.base.directory.as_fd()
    }
}

fn open_error(path: &Path, errno: sys::Errno) -> Error {
    let error = match errno {
        sys::Errno::NOTDIR => Error::invalid(format!("root must be a directory: {}", Shown(&path.to_string_lossy()))),
        errno => resolve::os_error(errno),
    };
    error.asked(|| Request::new(path, None))
}

/// The absolute paths that name the directory: as given, and real. A spelling counts only where it leads to the very directory that
/// was opened; `link/..`, taken by its text, may lead elsewhere.
fn spellings(given: &Path, directory: &OwnedFd) -> Vec<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the application's own path, compared with the handle before it counts"
    )]
    let real = given.canonicalize().ok();
    let given = std::path::absolute(given).ok().map(|path| normalise(&path));
    let mut spellings: Vec<_> = [given, real].into_iter().flatten().filter(|path| leads_to(path, directory)).collect();
    spellings.dedup();
    spellings
}

fn leads_to(path: &Path, directory: &OwnedFd) -> bool {
    let found = sys::open_ambient_directory(path).and_then(|found| sys::fstat(found.as_fd()));
    let opened = sys::fstat(directory.as_fd());
    matches!((found, opened), (Ok(found), Ok(opened)) if found.is_same_file(&opened))
}

fn normalise(absolute: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in absolute.components() {
        match component {
            std::path::Component::ParentDir => drop(normal.pop()),
            component => normal.push(component),
        }
    }
    normal
}
