//! The system calls of a read, recorded as a debugger sees them: how many, and what they name.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use capread::{ReadRequest, ReadTool, Resolver, Root};
use nix::libc::{self, c_long, user_regs_struct};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::support::{Shared, Tree};
use crate::world::{again, is_alone};

/// A system call, and the path that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    name: &'static str,
    path: Option<String>,
}

/// Number, name, and which argument is a path.
const CALLS: [(c_long, &str, Option<usize>); 18] = [
    (libc::SYS_openat2, "openat2", Some(1)),
    (libc::SYS_openat, "openat", Some(1)),
    (libc::SYS_readlinkat, "readlinkat", Some(1)),
    (libc::SYS_statx, "statx", Some(1)),
    (libc::SYS_newfstatat, "newfstatat", Some(1)),
    (libc::SYS_faccessat, "faccessat", Some(1)),
    (libc::SYS_fstat, "fstat", None),
    (libc::SYS_fstatfs, "fstatfs", None),
    (libc::SYS_getdents64, "getdents64", None),
    (libc::SYS_pread64, "pread64", None),
    (libc::SYS_close, "close", None),
    (libc::SYS_fcntl, "fcntl", None),
    (libc::SYS_geteuid, "geteuid", None),
    // Those of the allocator.
    (libc::SYS_brk, "brk", None),
    (libc::SYS_mmap, "mmap", None),
    (libc::SYS_mprotect, "mprotect", None),
    (libc::SYS_mremap, "mremap", None),
    (libc::SYS_munmap, "munmap", None),
];

/// What nothing else calls; it stands before and behind what is recorded.
const MARK: c_long = libc::SYS_getppid;

/// In the process that is traced, has the calls of `read` recorded.
fn record<T>(read: impl FnOnce() -> T) -> T {
    let before = rustix::process::getppid();
    let result = read();
    assert_eq!(rustix::process::getppid(), before);
    result
}

/// Runs `body`, the body of the test `name`, in a process of its own, and gives the calls of each [`record`] in it. `None` in that
/// process.
#[track_caller]
fn recorded(name: &str, body: impl FnOnce()) -> Option<Vec<Vec<Call>>> {
    recorded_by(again(name), name, body)
}

#[track_caller]
fn recorded_by(mut command: Command, name: &str, body: impl FnOnce()) -> Option<Vec<Vec<Call>>> {
    if is_alone(name) {
        ptrace::traceme().unwrap();
        raise(Signal::SIGSTOP).unwrap();
        body();
        return None;
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (status, sections) = Tracer::follow(&child);
    let said = said(&mut child);
    assert!(matches!(status, WaitStatus::Exited(_, 0)) && said.contains("1 passed"), "{name}: {status:?} {said}");
    Some(sections)
}

fn said(child: &mut Child) -> String {
    let mut said = String::new();
    child.stdout.as_mut().unwrap().read_to_string(&mut said).unwrap();
    child.stderr.as_mut().unwrap().read_to_string(&mut said).unwrap();
    said
}

/// Follows one thread of a process from stop to stop; each call has two, at its start and at its end.
struct Tracer {
    memory: Option<File>,
    at_start: bool,
    /// The calls since the last mark, where they are recorded.
    section: Option<Vec<Call>>,
    sections: Vec<Vec<Call>>,
}

impl Tracer {
    fn follow(child: &Child) -> (WaitStatus, Vec<Vec<Call>>) {
        let process = Pid::from_raw(child.id().try_into().unwrap());
        let mut tracer = Self { memory: None, at_start: true, section: None, sections: Vec::new() };
        loop {
            // Of this thread alone: the children of other tests are theirs.
            match waitpid(None, Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD)).unwrap() {
                // Where the process traces itself.
                WaitStatus::Stopped(thread, Signal::SIGSTOP) if tracer.memory.is_none() => {
                    ptrace::setoptions(thread, ptrace::Options::PTRACE_O_TRACESYSGOOD).unwrap();
                    tracer.memory = Some(File::open(format!("/proc/{thread}/mem")).unwrap());
                    ptrace::syscall(thread, None).unwrap();
                }
                WaitStatus::Stopped(thread, signal) => ptrace::syscall(thread, signal).unwrap(),
                WaitStatus::PtraceSyscall(thread) => {
                    if tracer.at_start {
                        tracer.enter(&ptrace::getregs(thread).unwrap());
                    }
                    tracer.at_start = !tracer.at_start;
                    ptrace::syscall(thread, None).unwrap();
                }
                status if status.pid() == Some(process) => return (status, tracer.sections),
                // The thread that was traced has ended, and the process has not yet.
                _ => {}
            }
        }
    }

    fn enter(&mut self, registers: &user_regs_struct) {
        let (number, arguments) = number_and_arguments(registers);
        if number == MARK {
            match self.section.take() {
                Some(section) => self.sections.push(section),
                None => self.section = Some(Vec::new()),
            }
        } else if let Some(section) = &mut self.section {
            let known = CALLS.iter().find(|(known, ..)| *known == number);
            let (_, name, path) = known.unwrap_or_else(|| panic!("system call {number}, after {section:?}"));
            let path = path.map(|argument| text(self.memory.as_ref().unwrap(), arguments[argument]));
            section.push(Call { name, path });
        }
    }
}

/// The text at `address`, up to its NUL.
fn text(memory: &File, address: u64) -> String {
    let mut bytes = vec![0; 4096];
    let read = memory.read_at(&mut bytes, address).unwrap();
    let end = bytes[..read].iter().position(|byte| *byte == 0).unwrap();
    String::from_utf8(bytes[..end].to_vec()).unwrap()
}

#[cfg(target_arch = "x86_64")]
fn number_and_arguments(registers: &user_regs_struct) -> (c_long, [u64; 2]) {
    (c_long::try_from(registers.orig_rax).unwrap(), [registers.rdi, registers.rsi])
}

#[cfg(target_arch = "aarch64")]
fn number_and_arguments(registers: &user_regs_struct) -> (c_long, [u64; 2]) {
    (c_long::try_from(registers.regs[8]).unwrap(), [registers.regs[0], registers.regs[1]])
}

/// The names of the calls. With its debug assertions on, the standard library asks of each handle whether it is one before it closes
/// it; a release does not, and it is no call of ours.
fn names(calls: &[Call]) -> Vec<&'static str> {
    let (asks, names): (Vec<_>, Vec<_>) = calls.iter().map(|call| call.name).partition(|name| *name == "fcntl");
    let closes = names.iter().filter(|name| **name == "close").count();
    assert_eq!(asks.len(), if cfg!(debug_assertions) { closes } else { 0 }, "{names:?}");
    names
}

const DEPTHS: [usize; 2] = [1, 24];

fn path_of_depth(depth: usize) -> String {
    "d/".repeat(depth - 1) + "f"
}

/// Section 20 of the contract.
const MOST_CALLS: usize = 8;

/// The whole path and a look, the same file opened for reading and a look, its bytes, and whether it is still as it was.
const BY_THE_KERNEL: [&str; 8] = ["openat2", "fstat", "openat", "fstat", "close", "pread64", "fstat", "close"];

#[test]
fn a_small_read_takes_at_most_eight_calls_at_any_depth() {
    let ways: [fn(Root) -> Root; 3] =
        [|root| root, |root| root.with_resolver(Resolver::Kernel), |root| root.one_file_system()];
    let read = || {
        for depth in DEPTHS {
            let path = path_of_depth(depth);
            let tree = Tree::new(&[&path]);
            for way in ways {
                let tool = ReadTool::new(way(tree.root()));
                for request in [path.clone(), format!("./x/..//{path}"), tree.fill(&format!("{{R}}/{path}"))] {
                    let request = ReadRequest::new(request);
                    let read = || tool.call(&request, &|| false).unwrap();
                    // Once before, so that the allocator has what it needs.
                    let first = read();
                    assert_eq!(record(read), first);
                }
            }
        }
    };
    let Some(sections) = recorded("calls::a_small_read_takes_at_most_eight_calls_at_any_depth", read) else { return };
    assert_eq!(sections.len(), DEPTHS.len() * ways.len() * 3);
    for calls in &sections {
        assert_eq!(names(calls), BY_THE_KERNEL, "{calls:?}");
        assert!(names(calls).len() <= MOST_CALLS, "{calls:?}");
    }
}

/// An open for each directory on the way, a look at the last component, and that one opened again.
#[test]
fn a_walk_takes_a_call_and_a_close_for_each_directory() {
    let read = || {
        for depth in DEPTHS {
            let path = path_of_depth(depth);
            let tree = Tree::new(&[&path]);
            let tool = ReadTool::new(tree.root().with_resolver(Resolver::Walk));
            let request = ReadRequest::new(path);
            let read = || tool.call(&request, &|| false).unwrap();
            let first = read();
            assert_eq!(record(read), first);
        }
    };
    let name = "calls::a_walk_takes_a_call_and_a_close_for_each_directory";
    let Some(sections) = recorded(name, read) else { return };
    for (depth, calls) in DEPTHS.into_iter().zip(&sections) {
        let opened = [vec!["openat"; depth], vec!["fstat", "openat", "fstat"]].concat();
        let expected = [opened.clone(), vec!["close"; depth], vec!["pread64", "fstat", "close"]].concat();
        let mut found = names(calls);
        // In which order handles are closed says nothing.
        found.sort_unstable();
        let mut sorted = expected.clone();
        sorted.sort_unstable();
        assert_eq!(found, sorted, "{calls:?}");
        assert_eq!(names(calls)[..opened.len()], opened, "{calls:?}");
    }
}

/// What is decided by its text alone, and what a policy denies, makes no call at all.
#[test]
fn what_is_refused_by_its_text_makes_no_call() {
    let mut requests = vec!["../x", "../elsewhere/s", "/etc/passwd", "a/../../x", "", "a\0b"];
    if cfg!(feature = "policy") {
        requests.extend([".env", "secret/key", "d/.ENV", "nope/../.env", "secret"]);
    }
    let read = || {
        let tree = Tree::new(&["f", ".env", "secret/key", "O/s"]);
        let root = tree.root();
        #[cfg(feature = "policy")]
        let root = root.with_policy(capread::Policy::deny([".env", "secret/"]).unwrap());
        let tool = ReadTool::new(root);
        for request in &requests {
            let request = ReadRequest::new(request);
            let read = || tool.call(&request, &|| false).unwrap_err().code();
            let first = read();
            assert_eq!(record(read), first);
        }
    };
    let Some(sections) = recorded("calls::what_is_refused_by_its_text_makes_no_call", read) else { return };
    assert_eq!(sections.len(), requests.len());
    for (request, calls) in requests.iter().zip(&sections) {
        assert_eq!(calls, &[], "{request}");
    }
}

/// Every way out, and no call names where it leads: not the target's text, not `..`, and no path of more than one name but those
/// that the kernel is told not to follow a link in.
#[test]
fn no_call_names_what_lies_outside() {
    const REQUESTS: [&str; 12] = [
        "../elsewhere/s",
        "out",
        "out/",
        "far/s",
        "up/elsewhere/s",
        "chain",
        "d/e/out",
        "swing",
        "root/elsewhere/s",
        "{O}/s",
        "back",
        "magic",
    ];
    let read = || {
        let tree = Tree::new(&[
            "O/s",
            "f",
            "out -> ../elsewhere/s",
            "far -> {O}",
            "up -> ..",
            "chain -> d/e/out",
            "d/e/out -> ../../../elsewhere/s",
            "swing -> d/e/../../../elsewhere/s",
            "root -> {R}/..",
            "back -> ../app/f",
            "magic -> /proc/self/cwd",
        ]);
        for resolver in [Resolver::Kernel, Resolver::Walk] {
            let tool = ReadTool::new(tree.root().with_resolver(resolver));
            for request in REQUESTS {
                let error = record(|| tool.call(&ReadRequest::new(tree.fill(request)), &|| false)).unwrap_err();
                assert_eq!(error.code(), "outside_root", "{request}");
            }
        }
    };
    let Some(sections) = recorded("calls::no_call_names_what_lies_outside", read) else { return };
    assert_eq!(sections.len(), 2 * REQUESTS.len());
    for (request, calls) in REQUESTS.iter().cycle().zip(&sections) {
        for call in calls {
            let path = call.path.as_deref().unwrap_or_default();
            assert!(!path.starts_with('/') && !path.split('/').any(|name| name == ".."), "{request}: {call:?}");
            let asked = request.trim_end_matches('/');
            assert!(!path.contains('/') || (call.name == "openat2" && path == asked), "{request}: {call:?}");
            assert!(!path.contains("elsewhere") || path == asked, "{request}: {call:?}");
        }
    }
}

/// A look, and nothing else: not even for its name is it opened again.
#[test]
fn what_is_no_file_is_looked_at_and_left() {
    let read = || {
        let tree = Tree::new(&["p|", "s=", "d/"]);
        for resolver in [Resolver::Kernel, Resolver::Walk] {
            let root = tree.root().with_resolver(resolver);
            let tool = ReadTool::new(root.clone());
            for name in ["p", "s", "d"] {
                // The tool goes on to tell what is in a directory.
                let read = || match name {
                    "d" => root.open(name).unwrap_err().code(),
                    name => tool.call(&ReadRequest::new(name), &|| false).unwrap_err().code(),
                };
                assert_eq!(read(), "not_a_file");
                record(read);
            }
        }
    };
    let Some(sections) = recorded("calls::what_is_no_file_is_looked_at_and_left", read) else { return };
    for (number, calls) in sections.iter().enumerate() {
        let open = if number < 3 { "openat2" } else { "openat" };
        assert_eq!(names(calls), [open, "fstat", "close"], "{calls:?}");
    }
}

/// Of what is in a directory nothing is looked at.
#[test]
fn a_directory_is_listed_and_nothing_in_it_is_touched() {
    let read = || {
        let tree = Tree::new(&["d/f", "d/p|", "d/l -> f", "d/e/"]);
        let tool = tree.tool();
        let read = || tool.call(&ReadRequest::new("d"), &|| false).unwrap_err().to_string();
        assert_eq!(read(), "Not a regular file: d (directory). It has: e/, f, l, p");
        record(read);
    };
    let Some(sections) = recorded("calls::a_directory_is_listed_and_nothing_in_it_is_touched", read) else { return };
    let paths: Vec<_> = sections[0].iter().filter_map(|call| call.path.as_deref()).collect();
    assert!(paths.iter().all(|path| ["d", "."].contains(path)), "{:?}", sections[0]);
    let listed = sections[0].iter().filter(|call| call.name == "getdents64").count();
    assert_eq!(listed, 2, "to the end, and once: {:?}", sections[0]);
}

/// A read that ends before the end of a large file looks at no more than it must: 64 KiB at a time.
#[test]
fn a_stopped_read_makes_no_further_call() {
    let read = || {
        let tree = Tree::new(&[]);
        tree.file("f", "a line\n".repeat(100_000).as_bytes());
        let request = ReadRequest::new("f").limit(1);
        tree.tool().call(&request, &|| false).unwrap();
        for chunks in [0_u64, 1, 5] {
            // One that knows nothing of the file yet.
            let tool = ReadTool::new(tree.root());
            let left = Shared::new(chunks + 2);
            let stop = || left.replace(left.get().saturating_sub(1)) == 0;
            assert_eq!(record(|| tool.call(&request, &stop)).unwrap_err().code(), "cancelled");
        }
    };
    let Some(sections) = recorded("calls::a_stopped_read_makes_no_further_call", read) else { return };
    let reads = sections.iter().map(|calls| names(calls).iter().filter(|name| **name == "pread64").count());
    assert_eq!(reads.collect::<Vec<_>>(), [0, 1, 5]);
}

/// 10,000 entries are looked at, whatever the directory has: at 32 KiB a call, and 32 bytes for each of these names.
#[test]
fn suggestions_look_at_a_part_of_a_large_directory() {
    const ENTRIES: usize = 100_000;
    let name = "calls::suggestions_look_at_a_part_of_a_large_directory";
    let read = || {
        let tree = Tree::new(&["d/"]);
        for number in 0..ENTRIES {
            rustix::fs::mknodat(
                rustix::fs::CWD,
                tree.at("d").join(format!("f{number:06}")),
                rustix::fs::FileType::RegularFile,
                rustix::fs::Mode::from_raw_mode(0o644),
                0,
            )
            .unwrap();
        }
        let tool = tree.tool();
        let all = fs::read_dir(tree.at("d")).unwrap().count();
        assert_eq!(all, ENTRIES);
        let read = || tool.call(&ReadRequest::new("d/f0000000"), &|| false).unwrap_err();
        read();
        let error = record(read);
        assert_eq!(error.code(), "not_found");
        assert!(error.suggestions().len() <= 3, "{error}");
        for path in error.suggestions() {
            assert!(tree.at(path).is_file(), "{path}");
        }
    };
    // In memory, where there is some that is a file system: no test needs these files on a disk.
    let mut command = again(name);
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        command.env("TMPDIR", memory);
    }
    let Some(sections) = recorded_by(command, name, read) else { return };
    let [calls] = sections.as_slice() else { panic!("{} sections", sections.len()) };
    let lists = calls.iter().filter(|call| call.name == "getdents64").count();
    assert!((1..=20).contains(&lists), "{lists} calls for a list");
}
