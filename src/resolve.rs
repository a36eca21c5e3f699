//! From a [`RelPath`](crate::RelPath) to one descriptor of a regular file beneath the root.

mod walk;

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::cancel::Stop;
use crate::error::{Error, ErrorKind, Resource, Result};
use crate::fence::{Fence, RelPath};
use crate::sys::{self, Errno, Stat};

/// Times that a step is made again because the file was exchanged between the look and the open. Only without procfs, and only
/// under attack: two exchanges of the same name within microseconds, this often in a row, are a file that cannot be had.
const MAX_EXCHANGES: usize = 100;

/// Opens the regular file that `path` leads to.
pub(crate) fn open(root: BorrowedFd<'_>, fence: &Fence, path: &RelPath, stop: &Stop<'_>) -> Result<OwnedFd> {
    for _ in 0..MAX_EXCHANGES {
        if let Some(file) = walk::walk(root, fence, path, stop)?.reopen()? {
            return Ok(file);
        }
    }
    Err(ErrorKind::Busy.into())
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

/// A regular file that a walk reached, looked at and not yet opened for reading.
pub(crate) struct Reached<'a> {
    root: BorrowedFd<'a>,
    /// What holds the file; `None` is the root.
    directory: Option<OwnedFd>,
    name: OsString,
    handle: OwnedFd,
    stat: Stat,
}

impl Reached<'_> {
    /// Opens for reading what was looked at, and nothing else. `None`: another file has its name now; walk again.
    fn reopen(&self) -> Result<Option<OwnedFd>> {
        match sys::reopen_through_proc(self.handle.as_fd()) {
            Ok(file) if self.is(&file)? => Ok(Some(file)),
            Err(errno @ (Errno::AGAIN | Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => Err(os_error(errno)),
            // No procfs, one that is hidden or not the kernel's, or a refusal that the name will meet as well.
            Ok(_) | Err(_) => self.open_by_name(),
        }
    }

    fn open_by_name(&self) -> Result<Option<OwnedFd>> {
        let directory = self.directory.as_ref().map_or(self.root, AsFd::as_fd);
        match sys::open_by_name(directory, &self.name) {
            Ok(file) => Ok(self.is(&file)?.then_some(file)),
            // Exchanged for a link, for a socket or a device without a driver, or gone.
            Err(Errno::LOOP | Errno::NXIO | Errno::NODEV | Errno::NOENT) => Ok(None),
            Err(errno) => Err(os_error(errno)),
        }
    }

    fn is(&self, file: &OwnedFd) -> Result<bool> {
        Ok(sys::fstat(file.as_fd()).map_err(os_error)?.is_same_file(&self.stat))
    }
}
