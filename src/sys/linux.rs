//! Linux: every step is an `O_PATH` handle, so looking at a thing never opens it.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::retry_on_intr;
pub(crate) use rustix::io::{Errno, Result};

use crate::resolve::{Directory, Mounts};
use crate::version::Timestamp;

/// `f_type` of procfs: `PROC_SUPER_MAGIC`, statfs(2).
const PROC_SUPER_MAGIC: u64 = 0x9fa0;

/// `f_flags` of a mount whose links must not be followed: `ST_NOSYMFOLLOW`, statfs(2).
const ST_NOSYMFOLLOW: u64 = 0x2000;

/// `S_ISVTX | S_IWOTH`: a directory like `/tmp`, inode(7).
const STICKY_AND_WRITABLE_BY_ALL: u32 = 0o1002;

/// What an open never does: become the controlling terminal, block, or survive an exec.
const QUIET: OFlags = OFlags::CLOEXEC.union(OFlags::NOCTTY).union(OFlags::NONBLOCK);

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Regular,
    Directory,
    Symlink,
    Fifo,
    Socket,
    CharacterDevice,
    BlockDevice,
    Unknown,
}

impl From<FileType> for Kind {
    fn from(file_type: FileType) -> Self {
        match file_type {
            FileType::RegularFile => Self::Regular,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Symlink,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice => Self::CharacterDevice,
            FileType::BlockDevice => Self::BlockDevice,
            FileType::Unknown => Self::Unknown,
        }
    }
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: OsString,
    /// What the directory says of it, which not all file systems know, and which may be out of date.
    pub(crate) kind: Kind,
}

/// fstat(2), as much of it as is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stat {
    pub(crate) kind: Kind,
    pub(crate) size: u64,
    pub(crate) links: u64,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) uid: u32,
    pub(crate) mode: u32,
    pub(crate) modified: Timestamp,
    pub(crate) changed: Timestamp,
}

impl Stat {
    /// The same file: what is not the same was put in the other's place.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode, self.kind) == (other.device, other.inode, other.kind)
    }
}

/// What the file system of a link says about following it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkRules {
    pub(crate) is_procfs: bool,
    pub(crate) nosymfollow: bool,
}

/// Opens a directory by its name in the ambient namespace. Only a root is opened so.
pub(crate) fn open_ambient_directory(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // A directory that may be searched but not listed is a root all the same.
    match retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty())) {
        Err(Errno::ACCESS) => retry_on_intr(|| rustix::fs::open(path, flags | OFlags::PATH, Mode::empty())),
        result => result,
    }
}

/// The absolute path of what is open, as the kernel has it now; `None` without procfs. A name and no more, that need not lead back.
pub(crate) fn path_of(fd: BorrowedFd<'_>) -> Option<PathBuf> {
    let link = format!("/proc/thread-self/fd/{}", fd.as_raw_fd());
    let path = retry_on_intr(|| rustix::fs::readlink(link.as_str(), Vec::new())).ok()?;
    Some(OsString::from_vec(path.into_bytes()).into()).filter(|path: &PathBuf| path.is_absolute())
}

/// A handle of a walk: a root's, or what a step opened with `O_PATH`.
#[derive(Debug)]
pub(crate) struct Handle(OwnedFd);

impl From<OwnedFd> for Handle {
    fn from(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }
}

impl Handle {
    /// `name` must be one component. A slash in it, even at its end, would let the kernel follow a link in spite of `O_NOFOLLOW`.
    fn step(&self, name: &OsStr, only: OFlags) -> Result<Self> {
        debug_assert!(!name.as_bytes().contains(&b'/'), "a step is one component");
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC | only;
        retry_on_intr(|| rustix::fs::openat(self, name, flags, Mode::empty())).map(Self)
    }

    /// A second descriptor of the same.
    pub(crate) fn duplicate(&self) -> std::io::Result<OwnedFd> {
        self.0.try_clone()
    }

    /// What is in this directory, in no order, `.` and `..` left out.
    pub(crate) fn entries(&self) -> Result<impl Iterator<Item = Result<Entry>> + use<>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = retry_on_intr(|| rustix::fs::openat(self, ".", flags, Mode::empty()))?;
        let entries = rustix::fs::Dir::new(listed)?.map(|entry| {
            let entry = entry?;
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            Ok(Entry { name, kind: entry.file_type().into() })
        });
        Ok(entries.filter(|entry| !matches!(entry, Ok(entry) if entry.name == "." || entry.name == "..")))
    }
}

impl AsFd for Handle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Directory for Handle {
    type File = OwnedFd;

    fn open_path(&self, name: &OsStr) -> Result<Self> {
        self.step(name, OFlags::empty())
    }

    /// The kernel asks the very thing that it opens. With `O_NOFOLLOW` that is the link, where there is one, which is no directory.
    fn open_directory(&self, name: &OsStr) -> Result<Self> {
        self.step(name, OFlags::DIRECTORY)
    }

    fn stat(&self) -> Result<Stat> {
        fstat(self.as_fd())
    }

    fn read_link(&self) -> Result<OsString> {
        let target = retry_on_intr(|| rustix::fs::readlinkat(self, "", Vec::new()))?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    #[allow(clippy::useless_conversion, reason = "the widths differ between architectures")]
    fn link_rules(&self) -> Result<LinkRules> {
        let statfs = retry_on_intr(|| rustix::fs::fstatfs(self))?;
        let bits = |value: i64| u64::from_ne_bytes(value.to_ne_bytes());
        Ok(LinkRules {
            is_procfs: bits(statfs.f_type.into()) == PROC_SUPER_MAGIC,
            nosymfollow: bits(statfs.f_flags.into()) & ST_NOSYMFOLLOW != 0,
        })
    }

    /// statx(2), Linux 5.8 or newer. A device number would not do: a bind mount has the one of the place that it shows.
    fn mount_id(&self) -> Result<u64> {
        let statx = retry_on_intr(|| rustix::fs::statx(self, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID))?;
        let is_told = statx.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        if is_told { Ok(statx.stx_mnt_id) } else { Err(Errno::OPNOTSUPP) }
    }

    fn reopen(&self) -> Result<OwnedFd> {
        // Missing or hidden: whatever it is, it says nothing about the file.
        let procfs = procfs().ok_or(Errno::NOSYS)?;
        let path = format!("thread-self/fd/{}", self.0.as_raw_fd());
        retry_on_intr(|| rustix::fs::openat(procfs, path.as_str(), OFlags::RDONLY | QUIET, Mode::empty()))
    }

    fn open_by_name(&self, name: &OsStr) -> Result<OwnedFd> {
        debug_assert!(!name.as_bytes().contains(&b'/'), "a step is one component");
        retry_on_intr(|| rustix::fs::openat(self, name, OFlags::RDONLY | OFlags::NOFOLLOW | QUIET, Mode::empty()))
    }

    fn stat_file(file: &OwnedFd) -> Result<Stat> {
        fstat(file.as_fd())
    }

    /// `NO_SYMLINKS` leaves links to the walk, so there is no `..` and no magic link to follow either; `BENEATH` is the second lock.
    fn open_beneath(&self, path: &OsStr, mounts: Mounts) -> Result<Self> {
        let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        if mounts == Mounts::Stay {
            resolve |= ResolveFlags::NO_XDEV;
        }
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        retry_on_intr(|| rustix::fs::openat2(self, path, flags, Mode::empty(), resolve)).map(Self)
    }
}

#[allow(clippy::useless_conversion, reason = "the widths differ between architectures")]
pub(crate) fn fstat(fd: BorrowedFd<'_>) -> Result<Stat> {
    let stat = retry_on_intr(|| rustix::fs::fstat(fd))?;
    Ok(Stat {
        kind: FileType::from_raw_mode(stat.st_mode).into(),
        // Only a broken file system reports a negative size; taken as unknown, like the 0 of procfs.
        size: u64::try_from(stat.st_size).unwrap_or(0),
        links: u64::from(stat.st_nlink),
        device: u64::from(stat.st_dev),
        inode: u64::from(stat.st_ino),
        uid: stat.st_uid,
        mode: stat.st_mode,
        modified: Timestamp { seconds: stat.st_mtime.into(), nanoseconds: stat.st_mtime_nsec.into() },
        changed: Timestamp { seconds: stat.st_ctime.into(), nanoseconds: stat.st_ctime_nsec.into() },
    })
}

/// The rule of `fs.protected_symlinks`, proc(5): in a sticky directory that all may write to, a link is followed only where it
/// belongs to the process or to the directory's owner.
pub(crate) fn is_link_trusted(directory: &Stat, link: &Stat) -> bool {
    directory.mode & STICKY_AND_WRITABLE_BY_ALL != STICKY_AND_WRITABLE_BY_ALL
        || link.uid == directory.uid
        || link.uid == rustix::process::geteuid().as_raw()
}

/// One pread(2): up to the buffer's length, 0 at the end. A signal may interrupt it.
pub(crate) fn pread(file: &OwnedFd, buffer: &mut [u8], offset: u64) -> Result<usize> {
    rustix::io::pread(file.as_fd(), buffer, offset)
}

/// The top of procfs, kept open, so that nothing mounted over `/proc` later takes its place. Below it `thread-self` is the thread that
/// asks, whichever that is: a child of fork(2), or a thread with a table of descriptors of its own, unshare(2). A handle to one
/// process's descriptors would name those of another one there. `None` where `/proc` is missing or is something else.
fn procfs() -> Option<&'static OwnedFd> {
    static KEPT: OnceLock<OwnedFd> = OnceLock::new();
    if KEPT.get().is_none() {
        // Another thread may have been faster; then this handle is dropped.
        let _ = KEPT.set(open_procfs().ok()?);
    }
    KEPT.get()
}

fn open_procfs() -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let procfs = Handle(retry_on_intr(|| rustix::fs::open("/proc", flags, Mode::empty()))?);
    if procfs.link_rules()?.is_procfs { Ok(procfs.0) } else { Err(Errno::NOSYS) }
}
