//! What a walk asks of a file system.

use std::ffi::{OsStr, OsString};

use crate::sys::{Errno, LinkRules, Result, Stat};

/// A handle to anything in a file system, that looks at it and does not open it for reading.
///
/// The kernel implements it for [`sys::Handle`](crate::sys::Handle), and an in-memory tree for the models that tests and fuzzers check
/// the walk with. Each method is one step: another process may change anything between two of them.
pub(crate) trait Directory: Sized {
    /// A file opened for reading.
    type File;

    /// Looks `name`, one component, up in this directory, and does not follow it.
    fn open_path(&self, name: &OsStr) -> Result<Self>;

    /// The same where `name` is a directory; `ENOTDIR` for anything else, a link too.
    fn open_directory(&self, name: &OsStr) -> Result<Self>;

    /// What the handle holds.
    fn stat(&self) -> Result<Stat>;

    /// The target of the link that the handle holds.
    fn read_link(&self) -> Result<OsString>;

    /// What the file system says about following the link that the handle holds.
    fn link_rules(&self) -> Result<LinkRules>;

    /// The mount that the handle lies in.
    fn mount_id(&self) -> Result<u64>;

    /// Opens for reading the very file that the handle holds, without a name. `ENOSYS`: there is no way to.
    fn reopen(&self) -> Result<Self::File>;

    /// Opens `name` in this directory for reading; by now it may be another file.
    fn open_by_name(&self, name: &OsStr) -> Result<Self::File>;

    /// What was opened.
    fn stat_file(file: &Self::File) -> Result<Stat>;

    /// A whole path in one call, where the file system has one that never follows a link and never leaves this directory.
    fn open_beneath(&self, _path: &OsStr, _mounts: super::Mounts) -> Result<Self> {
        Err(Errno::NOSYS)
    }
}
