//! Who reads: capread, in a world that lacks something, and readers with a classic bug, by which a race proves that it is one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Error as IoError, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use capread::{Error, ReadRequest, ReadTool, Resolver, Root};
use nix::libc;
use nix::mount::MsFlags;
use nix::sched::{CloneFlags, unshare};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat, openat2, readlinkat};
use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

use crate::world::{answer_openat2, mount_plainly, tmpfs};

/// What a leak looks like: every file outside the root says so, and names that only stand outside end so.
const OUTSIDE: [&str; 2] = ["OUT:", ".OUT"];

/// How the controls open.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Who reads. All but the controls are capread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// By one `openat2(2)` where that can answer.
    Fast,
    /// By the walk: `openat2` answers `ENOSYS`, as in an old kernel.
    Enosys,
    /// By the walk: `openat2` answers `EPERM`, as under some seccomp filters.
    Eperm,
    /// There is no procfs to reopen a handle by.
    NoProc,
    /// The walk without procfs.
    WalkNoProc,
    /// Control: realpath(3), a comparison of the result with the root's path, and an open by the name that was asked for.
    Realpath,
    /// Control: a walk like capread's, that counts the `..` and then lets the kernel do them.
    KernelsParent,
    /// Control: opens first, and looks then what it has.
    OneStep,
    /// Control: one `openat2(2)` with `RESOLVE_BENEATH`, whose answer is taken as it is.
    Beneath,
}

/// Reads a path: what it said, or what failed.
pub(crate) type ReadPath = Box<dyn Fn(&str) -> String>;

impl Reader {
    const ALL: [Self; 9] = [
        Self::Fast,
        Self::Enosys,
        Self::Eperm,
        Self::NoProc,
        Self::WalkNoProc,
        Self::Realpath,
        Self::KernelsParent,
        Self::OneStep,
        Self::Beneath,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Enosys => "walk (ENOSYS)",
            Self::Eperm => "walk (EPERM)",
            Self::NoProc => "no /proc",
            Self::WalkNoProc => "walk, no /proc",
            Self::Realpath => "control: realpath, then open",
            Self::KernelsParent => "control: `..` by the kernel",
            Self::OneStep => "control: open, then look",
            Self::Beneath => "control: openat2 once",
        }
    }

    pub(crate) fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|reader| reader.name() == name).unwrap()
    }

    /// Whether a file may be opened by its name, so that what it was exchanged for may be touched: see `SECURITY.md`.
    pub(crate) fn opens_by_name(self) -> bool {
        matches!(self, Self::NoProc | Self::WalkNoProc)
    }

    /// Whether it has a bug.
    pub(crate) fn is_control(self) -> bool {
        self.name().starts_with("control")
    }

    /// Opens the root, and takes from the thread what it has to do without.
    pub(crate) fn prepare(self, root: &Path) -> ReadPath {
        let path = root.to_path_buf();
        let handle = OwnedFd::from(File::open(root).unwrap());
        match self {
            Self::Fast | Self::Enosys | Self::Eperm | Self::NoProc | Self::WalkNoProc => {
                let tool = ReadTool::new(Root::open_ambient(root).unwrap().with_resolver(Resolver::Kernel));
                self.restrict(&handle);
                Box::new(move |request| read(&tool, request))
            }
            Self::Realpath => Box::new(move |request| told(read_by_realpath(&path, request))),
            Self::KernelsParent => Box::new(move |request| told(walk_by_the_kernels_parent(&handle, request))),
            Self::OneStep => Box::new(move |request| told(open_then_look(&handle, request))),
            Self::Beneath => Box::new(move |request| told(open_beneath_once(&handle, request))),
        }
    }

    fn restrict(self, root: &OwnedFd) {
        if self.opens_by_name() {
            hide_procfs();
        }
        let answer = match self {
            Self::Enosys | Self::WalkNoProc => Errno::NOSYS,
            Self::Eperm => Errno::PERM,
            _ => return,
        };
        answer_openat2(answer, None);
        let refused = openat2(root, ".", OFlags::PATH, Mode::empty(), ResolveFlags::BENEATH);
        assert_eq!(refused.unwrap_err(), answer, "openat2 is not filtered");
    }
}

/// Takes an action for calls of this thread that fit one of their rules, or for all where there is none.
pub(crate) fn filter(calls: &[(i64, Vec<SeccompRule>)], action: SeccompAction) {
    let calls: BTreeMap<_, _> = calls.iter().cloned().collect();
    let architecture = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, action, architecture).unwrap();
    apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
}

/// Mounts an empty file system over `/proc`, seen by this thread alone. Where the privilege is lacking, a filter makes every path
/// that starts from the working directory or the top one that is not there: nothing else is looked up so once the root is open.
fn hide_procfs() {
    match unshare(CloneFlags::CLONE_NEWNS) {
        Ok(()) => {
            mount_plainly(None, "/", None, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None).unwrap();
            tmpfs("/proc");
        }
        Err(nix::Error::EPERM) => {
            let working_directory = u32::from_ne_bytes(libc::AT_FDCWD.to_ne_bytes()).into();
            let condition =
                SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, working_directory).unwrap();
            let calls = [
                (libc::SYS_openat, vec![SeccompRule::new(vec![condition]).unwrap()]),
                #[cfg(target_arch = "x86_64")]
                (libc::SYS_open, Vec::new()),
            ];
            filter(&calls, SeccompAction::Errno(Errno::NOENT.raw_os_error().unsigned_abs()));
        }
        Err(error) => panic!("no mount namespace: {error}"),
    }
    // A path alone and one from a directory are two calls on some machines.
    let handle = "/proc/self/fd/0";
    for opened in [open(handle, OFlags::PATH, Mode::empty()), openat(CWD, handle, OFlags::PATH, Mode::empty())] {
        assert_eq!(opened.unwrap_err(), Errno::NOENT, "procfs is not hidden");
    }
}

fn read(tool: &ReadTool, request: &str) -> String {
    match tool.call(&ReadRequest::new(request), &|| false) {
        Ok(output) => output.to_string(),
        Err(error) => failure(&error),
    }
}

/// The code; and all there is to tell where it is none that a race may lead to.
fn failure(error: &Error) -> String {
    let said = error.to_string();
    match error.code() {
        _ if tells_of_outside(&said) => said,
        code @ ("not_found" | "not_a_file" | "outside_root" | "too_many_links") => code.to_owned(),
        code => format!("{code}: {error:?}"),
    }
}

pub(crate) fn tells_of_outside(answer: &str) -> bool {
    OUTSIDE.iter().any(|mark| answer.contains(mark))
}

/// What a control says, in capread's words where it has some for it.
fn told(result: Result<String, IoError>) -> String {
    let error = match result {
        Ok(text) => return text.trim_end().to_owned(),
        Err(error) => error,
    };
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR) => "not_found".to_owned(),
        Some(Errno::XDEV) => "outside_root".to_owned(),
        Some(Errno::ISDIR) => "not_a_file".to_owned(),
        Some(Errno::LOOP) => "too_many_links".to_owned(),
        _ => error.to_string(),
    }
}

fn read_by_realpath(root: &Path, request: &str) -> Result<String, IoError> {
    let path = root.join(request);
    if !path.canonicalize()?.starts_with(root) {
        return Err(Errno::XDEV.into());
    }
    read_regular(openat(CWD, path, READ, Mode::empty())?)
}

fn walk_by_the_kernels_parent(root: &OwnedFd, request: &str) -> Result<String, IoError> {
    let step = |directory: &OwnedFd, name: &str| {
        openat(directory, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
    };
    let backwards = |path: &str| path.rsplit('/').map(str::to_owned).collect::<Vec<_>>();
    let (mut here, mut depth, mut links, mut steps) = (root.try_clone()?, 0_u32, 0, backwards(request));
    while let Some(name) = steps.pop() {
        if name == ".." {
            depth = depth.checked_sub(1).ok_or(Errno::XDEV)?;
            here = step(&here, "..")?;
            continue;
        }
        let handle = step(&here, &name)?;
        match FileType::from_raw_mode(fstat(&handle)?.st_mode) {
            FileType::Directory => (here, depth) = (handle, depth + 1),
            FileType::Symlink if links == 40 => return Err(Errno::LOOP.into()),
            FileType::Symlink => {
                links += 1;
                let target = readlinkat(&handle, "", Vec::new())?.into_string().map_err(|_| Errno::INVAL)?;
                steps.extend(if target.starts_with('/') { return Err(Errno::XDEV.into()) } else { backwards(&target) });
            }
            FileType::RegularFile if steps.is_empty() => {
                let handle = format!("/proc/self/fd/{}", handle.as_raw_fd());
                return read_regular(openat(CWD, handle, READ, Mode::empty())?);
            }
            _ if steps.is_empty() => break,
            _ => return Err(Errno::NOTDIR.into()),
        }
    }
    Err(Errno::ISDIR.into())
}

fn open_then_look(root: &OwnedFd, request: &str) -> Result<String, IoError> {
    read_regular(openat(root, request, READ | OFlags::NOFOLLOW, Mode::empty())?)
}

fn open_beneath_once(root: &OwnedFd, request: &str) -> Result<String, IoError> {
    read_regular(openat2(root, request, READ, Mode::empty(), ResolveFlags::BENEATH)?)
}

fn read_regular(file: OwnedFd) -> Result<String, IoError> {
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(Errno::ISDIR.into());
    }
    let mut text = String::new();
    File::from(file).read_to_string(&mut text)?;
    Ok(text)
}
