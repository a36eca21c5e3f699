//! The process that reads while others change the tree: this binary once more, so that what it does without, nobody else misses.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::libc;
use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use nix::unistd::{Pid, gettid};
use seccompiler::SeccompAction;

use super::reader::{Reader, filter};

/// The environment variable that makes the test [`serves`] a victim: the reader's name, whether it is traced, and the root.
const ROLE: &str = "CAPREAD_VICTIM";

/// Longest time for one answer. Nothing that capread does may block, so a victim that takes longer hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// How often which answer came.
pub(crate) type Answers = BTreeMap<String, u64>;

/// Whether the process that started the victim traces it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Traced {
    Yes,
    No,
}

/// The calls before which a traced victim stops: all that look at a tree, under all the names that they have.
pub(crate) const CALLS: &[(&str, i64)] = &[
    ("openat", libc::SYS_openat),
    ("openat2", libc::SYS_openat2),
    ("readlinkat", libc::SYS_readlinkat),
    ("fstat", libc::SYS_fstat),
    ("newfstatat", libc::SYS_newfstatat),
    ("statx", libc::SYS_statx),
    ("fstatfs", libc::SYS_fstatfs),
    ("faccessat", libc::SYS_faccessat),
    ("getdents64", libc::SYS_getdents64),
    ("pread64", libc::SYS_pread64),
    #[cfg(target_arch = "x86_64")]
    ("open", libc::SYS_open),
    #[cfg(target_arch = "x86_64")]
    ("readlink", libc::SYS_readlink),
    #[cfg(target_arch = "x86_64")]
    ("stat", libc::SYS_stat),
    #[cfg(target_arch = "x86_64")]
    ("lstat", libc::SYS_lstat),
];

/// The victim, as the process that started it sees it.
pub(crate) struct Victim {
    process: Child,
    stream: BufReader<UnixStream>,
    /// The thread that reads.
    thread: Pid,
}

impl Victim {
    pub(crate) fn start(reader: Reader, root: &Path, traced: Traced) -> Self {
        let (ours, its) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(PATIENCE)).unwrap();
        let role = [reader.name(), if traced == Traced::Yes { "traced" } else { "free" }, root.to_str().unwrap()];
        let process = Command::new(env::current_exe().unwrap())
            .args(["--ignored", "--exact", "races::victim::serves", "--nocapture"])
            .env(ROLE, role.join("\t"))
            .stdin(OwnedFd::from(its))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut victim = Self { process, stream: BufReader::new(ours), thread: Pid::from_raw(0) };
        victim.thread = Pid::from_raw(victim.line().parse().unwrap());
        victim
    }

    pub(crate) fn thread(&self) -> Pid {
        self.thread
    }

    pub(crate) fn process(&self) -> Pid {
        Pid::from_raw(self.process.id().try_into().unwrap())
    }

    /// Lets it read a path so many times.
    pub(crate) fn ask(&mut self, times: u64, request: &str) {
        writeln!(self.stream.get_mut(), "{times} {request}").unwrap();
    }

    pub(crate) fn answers(&mut self) -> Answers {
        let lines = std::iter::repeat_with(|| self.line()).take_while(|line| !line.is_empty());
        lines
            .map(|line| {
                let (count, answer) = line.split_once(' ').unwrap();
                (answer.to_owned(), count.parse().unwrap())
            })
            .collect()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap_or_else(|error| panic!("the victim does not answer: {error}"));
        line.strip_suffix('\n').expect("the victim has ended").to_owned()
    }
}

impl Drop for Victim {
    /// It may be stopped, blocked, or gone.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The victim, as it sees itself.
#[test]
#[ignore = "is the other half of the tests of races and schedules, which start it"]
fn serves() {
    let Ok(role) = env::var(ROLE) else { return };
    let [reader, traced, root] = role.split('\t').collect::<Vec<_>>()[..] else { panic!("{role}") };
    let mut stream = BufReader::new(UnixStream::from(io::stdin().as_fd().try_clone_to_owned().unwrap()));
    let read = Reader::named(reader).prepare(Path::new(root));
    let is_traced = traced == "traced";
    if is_traced {
        ptrace::traceme().unwrap();
    }
    writeln!(stream.get_mut(), "{}", gettid()).unwrap();
    if is_traced {
        raise(Signal::SIGSTOP).unwrap();
        stop_before_calls();
    }
    loop {
        if is_traced {
            raise(Signal::SIGSTOP).unwrap();
        }
        let mut line = String::new();
        if stream.read_line(&mut line).unwrap() == 0 {
            return;
        }
        let (times, request) = line.trim_end().split_once(' ').unwrap();
        let mut answers = Answers::new();
        for _ in 0..times.parse().unwrap() {
            *answers.entry(read(request).replace('\n', "\\n")).or_default() += 1;
        }
        for (answer, count) in answers {
            writeln!(stream.get_mut(), "{count} {answer}").unwrap();
        }
        writeln!(stream.get_mut()).unwrap();
    }
}

/// The tracer is told which call it is by the filter's data: its index in [`CALLS`].
fn stop_before_calls() {
    for (index, (_, call)) in (0..).zip(CALLS) {
        filter(&[(*call, Vec::new())], SeccompAction::Trace(index));
    }
}
