//! Worlds of their own: what a thread or a process of the tests sees of the kernel, of mounts and of procfs.
//!
//! Nothing here is pretended. A mode without `openat2` has a seccomp filter, one without procfs has mounts of its own, and what few
//! handles do is tried in a process that may open only a few.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::{env, fs, panic, thread};

use capread::{Resolver, Root};
use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use rustix::fs::{CWD, Mode as FileMode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// The mode of a process of tests; unset in the one that cargo started.
const MODE: &str = "CAPREAD_TEST_MODE";

/// Where a process finds a procfs although it has none in its place.
const PROC: &str = "CAPREAD_TEST_PROC";

/// This binary, for a process that has no procfs to ask.
const BINARY: &str = "CAPREAD_TEST_BINARY";

/// The one test that a process was started for.
const ALONE: &str = "CAPREAD_TEST_ALONE";

/// How paths are resolved in a process of tests, and what there is to resolve them with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Auto,
    Kernel,
    Walk,
    /// `openat2` answers `ENOSYS`: an old kernel.
    AutoOnOldKernel,
    /// `openat2` answers `EPERM`: an old sandbox.
    AutoInOldSandbox,
    AutoWithoutProcfs,
    WalkWithoutProcfs,
}

impl Mode {
    pub(crate) const ALL: [Self; 7] = [
        Self::Auto,
        Self::Kernel,
        Self::Walk,
        Self::AutoOnOldKernel,
        Self::AutoInOldSandbox,
        Self::AutoWithoutProcfs,
        Self::WalkWithoutProcfs,
    ];

    pub(crate) fn resolver(self) -> Resolver {
        match self {
            Self::Auto | Self::AutoOnOldKernel | Self::AutoInOldSandbox | Self::AutoWithoutProcfs => Resolver::Auto,
            Self::Kernel => Resolver::Kernel,
            Self::Walk | Self::WalkWithoutProcfs => Resolver::Walk,
        }
    }

    /// What `openat2` always answers.
    fn openat2_answers(self) -> Option<Errno> {
        match self {
            Self::AutoOnOldKernel => Some(Errno::NOSYS),
            Self::AutoInOldSandbox => Some(Errno::PERM),
            _ => None,
        }
    }

    pub(crate) fn has_procfs(self) -> bool {
        !matches!(self, Self::AutoWithoutProcfs | Self::WalkWithoutProcfs)
    }

    /// Whether `openat2` can give a file that no link leads to, for a resolver that asks it.
    pub(crate) fn kernel_decides(self) -> bool {
        self.openat2_answers().is_none() && self.has_procfs()
    }

    /// Whether the kernel is asked each time, whatever it answers.
    pub(crate) fn asks_the_kernel(self) -> bool {
        self.resolver() != Resolver::Walk && self != Self::AutoOnOldKernel
    }

    /// Runs `start`, which starts a process, where that process is in this mode. `None` where this machine cannot.
    pub(crate) fn enter(self, start: impl FnOnce(Command) -> Output + Send) -> Option<Output> {
        let mut command = Command::new(binary());
        command.env(MODE, format!("{self:?}")).env(BINARY, binary());
        if !self.has_procfs() {
            let elsewhere = tempfile::tempdir().unwrap();
            fs::set_permissions(elsewhere.path(), fs::Permissions::from_mode(0o755)).unwrap();
            command.env(PROC, elsewhere.path());
            return with_own_mounts(|| {
                bind(proc(), elsewhere.path());
                tmpfs("/proc");
                start(command)
            });
        }
        Some(on_a_thread(|| {
            if let Some(errno) = self.openat2_answers() {
                answer_openat2(errno, None);
            }
            start(command)
        }))
    }

    /// Fails where this process is in another mode than it was started for.
    fn assert_in_force(self) {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let answer = openat2(CWD, "/", flags, FileMode::empty(), ResolveFlags::empty());
        assert_eq!(answer.map(drop).err(), self.openat2_answers(), "openat2 in {self:?}");
        assert_eq!(Path::new("/proc/self/fd").exists(), self.has_procfs(), "/proc in {self:?}");
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir_all(temp.path().join("a/b/c")).unwrap();
        fs::write(temp.path().join("a/b/c/f"), "").unwrap();
        let root = Root::open_ambient(temp.path()).unwrap().with_resolver(self.resolver());
        let expected = match self {
            Self::Auto | Self::Kernel => [BY_THE_KERNEL, BY_THE_KERNEL],
            Self::Walk | Self::WalkWithoutProcfs => [by_the_walk(4), by_the_walk(4)],
            // That there is no `openat2` is remembered.
            Self::AutoOnOldKernel => [by_the_kernel_then_the_walk(4), by_the_walk(4)],
            // Without procfs a file is opened by its name in the directory that the walk came to.
            Self::AutoInOldSandbox | Self::AutoWithoutProcfs => [by_the_kernel_then_the_walk(4); 2],
        };
        assert_eq!([asked(&root, "a/b/c/f"), asked(&root, "a/b/c/f")], expected, "questions in {self:?}");
    }
}

/// Times that a caller is asked whether to stop: at the start, and before the one call to the kernel.
pub(crate) const BY_THE_KERNEL: usize = 2;

/// Likewise: at the start, and before each component.
pub(crate) const fn by_the_walk(components: usize) -> usize {
    1 + components
}

pub(crate) const fn by_the_kernel_then_the_walk(components: usize) -> usize {
    BY_THE_KERNEL + components
}

/// How often the caller is asked whether to stop while `path` is opened, which tells how it was resolved.
#[track_caller]
pub(crate) fn asked(root: &Root, path: &str) -> usize {
    let asked = crate::support::Shared::new(0);
    let cancel = || {
        asked.set(asked.get() + 1);
        false
    };
    root.open_cancellable(path, &cancel).unwrap();
    asked.get()
}

/// The mode that this process was started in, once it is known to be in force.
pub(crate) fn mode() -> Mode {
    static IN_FORCE: LazyLock<Mode> = LazyLock::new(|| {
        let Some(name) = env::var_os(MODE) else { return Mode::Auto };
        let mode = Mode::ALL.into_iter().find(|mode| name == *format!("{mode:?}")).unwrap();
        // A test that is alone changes the world before it reads at all, and was started by a process that had looked.
        if env::var_os(ALONE).is_none() {
            mode.assert_in_force();
        }
        mode
    });
    *IN_FORCE
}

/// A procfs, wherever it is.
pub(crate) fn proc() -> PathBuf {
    env::var_os(PROC).map_or_else(|| PathBuf::from("/proc"), PathBuf::from)
}

pub(crate) fn binary() -> PathBuf {
    env::var_os(BINARY).map_or_else(|| env::current_exe().unwrap(), PathBuf::from)
}

/// What `result` gave, if this machine has `what`. Where CI is set it must; elsewhere the test says that it was skipped.
#[track_caller]
#[expect(clippy::print_stderr, reason = "whoever runs the tests must see what did not run")]
pub(crate) fn had<T, E: std::fmt::Display>(what: &str, result: Result<T, E>) -> Option<T> {
    match result {
        Ok(had) => Some(had),
        Err(error) if env::var_os("CI").is_some_and(|ci| ci == "true") => panic!("{what}: {error}"),
        Err(error) => {
            eprintln!("SKIPPED, this machine has not {what}: {error}");
            None
        }
    }
}

pub(crate) fn is_root() -> Result<(), &'static str> {
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err("not root") }
}

/// Runs `body` on a thread that ends with it, and with it what the thread did to itself.
pub(crate) fn on_a_thread<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(body).join()).unwrap_or_else(|panicked| panic::resume_unwind(panicked))
}

/// Runs `body` on a thread whose mounts nobody else sees, and which end with it.
#[track_caller]
pub(crate) fn with_own_mounts<T: Send>(body: impl FnOnce() -> T + Send) -> Option<T> {
    on_a_thread(|| {
        let private = unshare(CloneFlags::CLONE_FS | CloneFlags::CLONE_NEWNS)
            .and_then(|()| mount_plainly(None, "/", None, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None));
        had("the right to mount", private).map(|()| body())
    })
}

/// Shows what is at `from` at `to` as well.
#[track_caller]
pub(crate) fn bind(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    mount_plainly(Some(from.as_ref()), to, None, MsFlags::MS_BIND | MsFlags::MS_REC, None).unwrap();
}

#[track_caller]
pub(crate) fn tmpfs(at: impl AsRef<Path>) {
    mount_plainly(None, at, Some("tmpfs"), MsFlags::empty(), None).unwrap();
}

/// mount(2), without its type parameters.
pub(crate) fn mount_plainly(
    source: Option<&Path>,
    target: impl AsRef<Path>,
    file_system: Option<&str>,
    flags: MsFlags,
    data: Option<&OsStr>,
) -> nix::Result<()> {
    mount(source, target.as_ref(), file_system, flags, data)
}

/// Lets `openat2` in this thread, and in what it starts, answer `errno`: always, or where it starts from the directory `of`.
pub(crate) fn answer_openat2(errno: Errno, of: Option<BorrowedFd<'_>>) {
    let starts_from = |directory: BorrowedFd<'_>| {
        let number = u64::try_from(directory.as_raw_fd()).unwrap();
        let same = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, number).unwrap();
        SeccompRule::new(vec![same]).unwrap()
    };
    let rules = BTreeMap::from([(libc::SYS_openat2, of.map(starts_from).into_iter().collect())]);
    let answer = SeccompAction::Errno(u32::try_from(errno.raw_os_error()).unwrap());
    let architecture = env::consts::ARCH.try_into().unwrap();
    let filter: BpfProgram =
        SeccompFilter::new(rules, SeccompAction::Allow, answer, architecture).unwrap().try_into().unwrap();
    seccompiler::apply_filter(&filter).unwrap();
}

/// Whether this process was started for the test `name` alone.
pub(crate) fn is_alone(name: &str) -> bool {
    env::var_os(ALONE).is_some_and(|alone| alone == name)
}

/// This binary again, for the test `name` alone.
pub(crate) fn again(name: &str) -> Command {
    let mut command = Command::new(binary());
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(ALONE, name);
    command
}

/// Runs `body`, the body of the test `name`, in a process of its own, where it may spoil what all threads share.
#[track_caller]
pub(crate) fn alone(name: &str, body: impl FnOnce()) {
    if is_alone(name) {
        return body();
    }
    assert_passed(name, &again(name).output().unwrap());
}

#[track_caller]
#[expect(clippy::print_stderr, reason = "what did not run there did not run here")]
pub(crate) fn assert_passed(name: &str, output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{name}: {said}");
    for skipped in said.lines().filter(|line| line.starts_with("SKIPPED")) {
        eprintln!("{skipped}");
    }
}
