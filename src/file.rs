//! A regular file: one descriptor from the check to the last byte.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::{fs, io};

use crate::cancel::{Cancel, Stop};
use crate::error::{FileKind, Result};
use crate::limits::{Limits, Selection};
use crate::resolve;
use crate::sys::{self, Kind, Stat};
use crate::text::{Memo, ReadAt};
use crate::version::Version;
use crate::window::{Scan, Window};

impl FileKind {
    pub(crate) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Directory => Self::Directory,
            Kind::Fifo => Self::Fifo,
            Kind::Socket => Self::Socket,
            Kind::CharacterDevice => Self::CharacterDevice,
            Kind::BlockDevice => Self::BlockDevice,
            Kind::Regular | Kind::Symlink | Kind::Unknown => Self::Unknown,
        }
    }
}

/// A regular file that was opened beneath a [`Root`](crate::Root), for reading.
///
/// Data and metadata come from this one descriptor, whatever happens to the names that led to it.
#[derive(Debug)]
pub struct RegularFile {
    descriptor: OwnedFd,
    /// As it was when the file was opened.
    stat: Stat,
}

impl RegularFile {
    pub(crate) fn new(descriptor: OwnedFd, stat: Stat) -> Self {
        Self { descriptor, stat }
    }

    /// The size in bytes when the file was opened. Some file systems say 0 for files that have content (procfs).
    #[must_use]
    pub fn size(&self) -> u64 {
        self.stat.size
    }

    /// The number of hard links when the file was opened.
    #[must_use]
    pub fn links(&self) -> u64 {
        self.stat.links
    }

    /// Which state of which file was opened.
    #[must_use]
    pub fn version(&self) -> Version {
        Version::of(&self.stat)
    }

    /// Whether the file is still as it was when it was opened.
    pub(crate) fn is_unchanged(&self) -> Result<bool> {
        let now = sys::fstat(self.as_fd()).map_err(resolve::os_error)?;
        Ok(Version::of(&now) == self.version())
    }

    /// The window that `selection` asks for, within `limits`.
    ///
    /// At most the bytes that the file had when it was opened are looked at, so a file that grows meanwhile is read as it was. A file
    /// that is another one afterwards is told by [`Window::changed_during_read`].
    ///
    /// ```
    /// # fn main() -> Result<(), capread::Error> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # std::fs::write(directory.path().join("notes.txt"), "one\ntwo\nthree\n").expect("a file");
    /// let root = capread::Root::open_ambient(directory.path())?;
    /// let file = root.open("notes.txt")?;
    /// let window = file.window(capread::Selection::from_line(2)?, &capread::Limits::default(), &|| false)?;
    /// assert_eq!((window.text.as_str(), window.total_lines), ("two\nthree", Some(3)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn window(&self, selection: Selection, limits: &Limits, cancel: &dyn Cancel) -> Result<Window> {
        let stop = Stop::new(cancel, limits.allowed_time());
        stop.check()?;
        self.scan(Scan { selection, limits }, &mut Memo::none(), &stop)
    }

    pub(crate) fn scan(&self, scan: Scan<'_>, memo: &mut Memo, stop: &Stop<'_>) -> Result<Window> {
        let window = scan.run(self, memo, stop)?;
        Ok(Window { changed_during_read: !self.is_unchanged()?, ..window })
    }
}

impl ReadAt for RegularFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        Ok(sys::pread(&self.descriptor, buffer, offset)?)
    }

    /// Unknown where the file system says 0: procfs says so of files that have content.
    fn known_size(&self) -> Option<u64> {
        Some(self.stat.size).filter(|size| *size > 0)
    }
}

impl AsFd for RegularFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Hands the descriptor out, opened read-only and non-blocking, for tools that read something other than text.
impl From<RegularFile> for fs::File {
    fn from(file: RegularFile) -> Self {
        file.descriptor.into()
    }
}
