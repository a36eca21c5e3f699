//! Schedules on the real kernel: a read is stopped before each of its system calls in turn, and the tree is changed there.
//!
//! Where races try their luck, this is every moment: for each request, each change and each call k the change is made before call k,
//! and for each later call l it is undone again before call l. The reader is a process that is traced. Every answer must be the
//! one that the tree gives before the change or the one that it gives after; whatever else came would be a mixture of the two.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;

use nix::libc::PTRACE_EVENT_SECCOMP;
use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::races::{CALLS, Fifo, Opens, PATIENCE, Reader, Traced, Victim, exchange, report, tells_of_outside};
use crate::support::Tree;

/// What lies in the root, beside it what may come in, and outside what never may. Names that end in `.OUT` would be suggested for
/// requests that find nothing.
const ENTRIES: [&str; 35] = [
    "f",
    "a/b/f",
    "a/l -> b",
    "a/up -> b/../../f",
    "abs -> {R}/a/b/f",
    // A directory like `a`, which is inside only while it is exchanged for it.
    "T/twin/b/f = IN: twin\n",
    "T/twin/l -> b",
    "T/twin/up -> b/../../f",
    "T/twin-b/f = IN: twin-b\n",
    // What links out lead to, and what `..` leads to where the root has been left.
    "O/f",
    "O/f.OUT",
    "O/b/f",
    "O/b/f.OUT",
    "O/a/b/f",
    "O/a/b/f.OUT",
    "O/a/l -> b",
    "O/a/up -> ../f",
    "T/f",
    "T/f.OUT",
    "T/b/f",
    // Links to exchange for files, directories and links.
    "T/links/f -> ../elsewhere/f",
    "T/links/b-f -> {O}/b/f",
    "T/links/a -> {O}/a",
    "T/links/b -> ../../elsewhere/b",
    "T/links/l -> ../../elsewhere/b",
    "T/links/l-in -> ../a/b",
    "T/links/up -> b/../../../elsewhere/f",
    "T/links/abs -> {O}/a/b/f",
    "T/links/abs-in -> {R}/f",
    // A root of the same name.
    "T/other/f",
    "T/other/a/b/f",
    "T/other/a/l -> b",
    "T/other/a/up -> b/../../f",
    "T/fifo|",
    "T/p => T/fifo",
];

/// A tree whose root has the names of the real one, but what they say is outside.
const OTHER: [&str; 4] = ["T/app/f", "T/app/a/b/f", "T/app/a/l -> b", "T/app/a/up -> b/../../f"];

/// Requests, and what they give while nobody changes anything.
const REQUESTS: [(&str, &str); 9] = [
    ("f", "IN: f"),
    ("a/b/f", "IN: a/b/f"),
    ("a/l/f", "IN: a/b/f"),
    ("a/up", "IN: f"),
    ("abs", "IN: a/b/f"),
    ("{R}/a/l/f", "IN: a/b/f"),
    ("a/b/f.txt", "not_found"),
    ("a/b", "not_a_file"),
    ("a/up/f", "not_found"),
];

/// A change that can be undone. Paths are written as in a [`Tree`]'s literals, the root itself is empty.
#[derive(Clone, Copy)]
enum Change {
    Exchange(&'static str, &'static str),
    Move(&'static str, &'static str),
    /// With all that lies below. Undone, everything is there again, and new.
    Remove(&'static str),
    /// The root's parent, for one that has the same names.
    Parent,
}

const CHANGES: [Change; 28] = [
    // For a link out.
    Change::Exchange("f", "T/links/f"),
    Change::Exchange("a/b/f", "T/links/b-f"),
    Change::Exchange("a", "T/links/a"),
    Change::Exchange("a/b", "T/links/b"),
    // A link, for one that leads out or elsewhere.
    Change::Exchange("a/l", "T/links/l"),
    Change::Exchange("a/l", "T/links/l-in"),
    Change::Exchange("a/up", "T/links/up"),
    Change::Exchange("abs", "T/links/abs"),
    Change::Exchange("abs", "T/links/abs-in"),
    // For what comes from outside, and is inside then.
    Change::Exchange("a", "T/twin"),
    Change::Exchange("a/b", "T/twin-b"),
    // For one another, so that a read may meet the same thing twice, or not at all: a directory for a file, a link for its target.
    Change::Exchange("f", "a/b"),
    Change::Exchange("a/l", "a/b"),
    Change::Exchange("abs", "a/b/f"),
    Change::Exchange("f", "a/b/f"),
    // For a FIFO.
    Change::Exchange("f", "T/p"),
    Change::Exchange("a/b/f", "T/p"),
    // Out, to where `..` leads to something else, and elsewhere.
    Change::Move("a", "O/gone"),
    Change::Move("a/b", "O/gone"),
    Change::Move("a/b", "gone"),
    Change::Move("f", "a/gone"),
    Change::Remove("f"),
    Change::Remove("a/b/f"),
    Change::Remove("a/b"),
    Change::Remove("a/l"),
    Change::Remove("abs"),
    // The root's name, and its parent's.
    Change::Exchange("", "T/other"),
    Change::Parent,
];

impl Change {
    /// Whether a read may get this although the tree never gave it: it came to one of two places in the root before they were
    /// exchanged, and to the other one after.
    fn may_mix(self, answer: &str) -> bool {
        let is_inside = |path: &str| !path.is_empty() && !path.starts_with("T/");
        matches!(self, Self::Exchange(one, other) if is_inside(one) && is_inside(other))
            && (answer.starts_with("IN:") || ["not_found", "not_a_file", "too_many_links"].contains(&answer))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exchange("", other) => write!(f, "the root ⇄ {other}"),
            Self::Exchange(one, other) => write!(f, "{one} ⇄ {other}"),
            Self::Move(from, to) => write!(f, "{from} moved to {to}"),
            Self::Remove(path) => write!(f, "{path} removed"),
            Self::Parent => f.write_str("the root's parent ⇄ another"),
        }
    }
}

/// A change, and before which calls, counted from 1, it is made and undone. Else it is undone after the read.
#[derive(Clone, Copy)]
struct Schedule {
    change: Change,
    made: usize,
    undone: Option<usize>,
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} before call {}", self.change, self.made)?;
        self.undone.map_or(Ok(()), |undone| write!(f, ", undone before call {undone}"))
    }
}

const THIS_THREAD: Pid = Pid::from_raw(0);

/// Most calls between a change and its undoing. Only a loop of links makes so many.
const MOST_CALLS: usize = 40;

/// How a read went.
struct Ran {
    answer: String,
    /// The calls before which it stopped.
    calls: Vec<&'static str>,
}

/// The tree, and what of it can be changed.
struct Stage {
    tree: Tree,
    /// The root's parent, and a directory that can take its place.
    parents: (PathBuf, PathBuf),
    /// Keeps the second of them.
    _other: Tree,
    fifo: Fifo,
    outside: Opens,
}

impl Stage {
    fn new() -> Self {
        let tree = Tree::new(&ENTRIES);
        let other = Tree::new(&OTHER);
        let parent = |tree: &Tree| tree.path().parent().unwrap().to_path_buf();
        let parents = (parent(&tree), parent(&other));
        let fifo = Fifo::new(&tree, "T/fifo");
        let outside = Opens::outside(&[(&tree, &ENTRIES), (&other, &OTHER)]);
        Self { tree, parents, _other: other, fifo, outside }
    }

    fn make(&self, change: Change) {
        match change {
            Change::Exchange(one, other) => exchange(&self.tree.at(one), &self.tree.at(other)),
            Change::Move(from, to) => fs::rename(self.tree.at(from), self.tree.at(to)).unwrap(),
            Change::Remove(path) => remove(&self.tree.at(path)),
            Change::Parent => exchange(&self.parents.0, &self.parents.1),
        }
    }

    fn undo(&mut self, change: Change) {
        match change {
            Change::Exchange(..) | Change::Parent => self.make(change),
            Change::Move(from, to) => self.make(Change::Move(to, from)),
            Change::Remove(path) => {
                let rest = |entry: &&'static str| entry.strip_prefix(path).map(|rest| rest.bytes().next());
                let below = |entry: &&&'static str| matches!(rest(entry), Some(None | Some(b'/' | b' ')));
                ENTRIES.iter().filter(below).for_each(|entry| self.tree.add(entry));
            }
        }
    }
}

fn remove(path: &Path) {
    if path.symlink_metadata().unwrap().is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
}

/// A victim that is stopped wherever nothing else is said.
struct Tracee {
    victim: Victim,
    /// The processors that this thread had.
    processors: CpuSet,
    /// Told of every read that begins. A victim that does not stop again in time is killed.
    watchdog: Sender<()>,
}

impl Tracee {
    fn start(reader: Reader, root: &Path) -> Self {
        // One stops when the other goes on: on one processor that takes no call to another.
        let (mut processor, processors) = (CpuSet::new(), sched_getaffinity(THIS_THREAD).unwrap());
        processor.set(sched_getcpu().unwrap()).unwrap();
        sched_setaffinity(THIS_THREAD, &processor).unwrap();
        let victim = Victim::start(reader, root, Traced::Yes);
        let (watchdog, begun) = mpsc::channel();
        let process = victim.process();
        thread::spawn(move || {
            loop {
                match begun.recv_timeout(PATIENCE) {
                    Ok(()) => {}
                    Err(RecvTimeoutError::Timeout) => {
                        let _ = kill(process, Signal::SIGKILL);
                        return;
                    }
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        });
        let tracee = Self { victim, processors, watchdog };
        assert!(matches!(tracee.wait(), WaitStatus::Stopped(_, Signal::SIGSTOP)));
        let options = ptrace::Options::PTRACE_O_TRACESECCOMP | ptrace::Options::PTRACE_O_EXITKILL;
        ptrace::setoptions(tracee.thread(), options).unwrap();
        assert_eq!(tracee.go_on(), None, "it waits for a request");
        tracee
    }

    fn thread(&self) -> Pid {
        self.victim.thread()
    }

    fn wait(&self) -> WaitStatus {
        waitpid(self.thread(), Some(WaitPidFlag::__WALL)).unwrap()
    }

    /// Lets it run to its next call, which is returned, or to the end of a read.
    fn go_on(&self) -> Option<&'static str> {
        ptrace::cont(self.thread(), None).unwrap();
        match self.wait() {
            WaitStatus::PtraceEvent(thread, _, PTRACE_EVENT_SECCOMP) => {
                let index = usize::try_from(ptrace::getevent(thread).unwrap()).unwrap();
                Some(CALLS[index].0)
            }
            WaitStatus::Stopped(_, Signal::SIGSTOP) => None,
            status => panic!("the victim hung or failed: {status:?}"),
        }
    }

    /// Reads, and does what is to be done before each call, which is told its number.
    fn read(&mut self, request: &str, mut before: impl FnMut(usize)) -> Ran {
        self.watchdog.send(()).unwrap();
        self.victim.ask(1, request);
        let mut calls = Vec::new();
        while let Some(call) = self.go_on() {
            calls.push(call);
            before(calls.len());
        }
        let (answer, _) = self.victim.answers().pop_first().unwrap();
        Ran { answer, calls }
    }
}

impl Drop for Tracee {
    /// A traced thread is there until its tracer has seen its end, and its process with it.
    fn drop(&mut self) {
        let _ = kill(self.victim.process(), Signal::SIGKILL);
        while waitpid(self.thread(), Some(WaitPidFlag::__WALL)).is_ok_and(|status| status.pid().is_some()) {}
        let _ = sched_setaffinity(THIS_THREAD, &self.processors);
    }
}

/// What came of all schedules of one reader.
#[derive(Default)]
struct Tally {
    schedules: usize,
    /// How often which answer came.
    answers: BTreeMap<String, usize>,
    /// Schedules that read, or told of, what lies outside, by change.
    leaks: BTreeMap<String, usize>,
    /// Answers that the tree gave neither before nor after.
    mixtures: Vec<String>,
    /// Schedules that opened a file outside, whether or not they told of it.
    opened_outside: usize,
    /// Schedules that opened the FIFO for reading.
    opened_fifo: usize,
}

struct Run {
    stage: Stage,
    tracee: Tracee,
    tally: Tally,
}

/// All schedules.
fn run(reader: Reader) -> Tally {
    let stage = Stage::new();
    let tracee = Tracee::start(reader, &stage.tree.path());
    let mut run = Run { stage, tracee, tally: Tally::default() };
    for (request, expected) in REQUESTS {
        let request = run.stage.tree.fill(request);
        let before = run.read(&request, None).answer;
        assert!(before == expected || reader.is_control(), "{request}, unchanged: {before}");
        for change in CHANGES {
            run.stage.make(change);
            let after = run.read(&request, None).answer;
            run.stage.undo(change);
            run.try_all(&request, change, [&before, &after]);
        }
    }
    run.stage.fifo.close();
    run.tally
}

impl Run {
    /// Every moment to make the change; and where it makes a difference, for each every moment to undo it.
    fn try_all(&mut self, request: &str, change: Change, answers: [&str; 2]) {
        for made in 1.. {
            let schedule = Schedule { change, made, undone: None };
            if self.try_one(request, schedule, answers) < made {
                return;
            }
            for undone in (made + 1..=made + MOST_CALLS).filter(|_| answers[0] != answers[1]) {
                if self.try_one(request, Schedule { undone: Some(undone), ..schedule }, answers) < undone {
                    break;
                }
            }
        }
    }

    /// The number of calls. Where the last moment never came it is less, and nothing was tried.
    fn try_one(&mut self, request: &str, schedule: Schedule, answers: [&str; 2]) -> usize {
        let Ran { answer, calls } = self.read(request, Some(schedule));
        if calls.len() < schedule.undone.unwrap_or(schedule.made) {
            return calls.len();
        }
        let tally = &mut self.tally;
        tally.schedules += 1;
        if tells_of_outside(&answer) {
            *tally.leaks.entry(schedule.change.to_string()).or_default() += 1;
        } else if !answers.contains(&answer.as_str()) && !schedule.change.may_mix(&answer) {
            let some = &calls[..calls.len().min(MOST_CALLS)];
            tally.mixtures.push(format!("{request}, {schedule} of {some:?}: {answer}"));
        }
        tally.opened_outside += usize::from(self.stage.outside.any());
        tally.opened_fifo += usize::from(self.stage.fifo.was_opened());
        *tally.answers.entry(answer).or_default() += 1;
        calls.len()
    }

    /// Leaves the tree as it was.
    fn read(&mut self, request: &str, schedule: Option<Schedule>) -> Ran {
        let Some(Schedule { change, made, undone }) = schedule else { return self.tracee.read(request, |_| ()) };
        let (stage, mut is_made) = (&mut self.stage, false);
        let ran = self.tracee.read(request, |call| {
            if call == made {
                stage.make(change);
                is_made = true;
            } else if Some(call) == undone {
                stage.undo(change);
                is_made = false;
            }
        });
        if is_made {
            stage.undo(change);
        }
        ran
    }
}

impl Tally {
    fn report(&self, reader: Reader) {
        let answers: Vec<_> = self.answers.iter().map(|(answer, count)| format!("`{answer}` {count}")).collect();
        let (schedules, leaks) = (self.schedules.to_string(), self.leaks.values().sum::<usize>().to_string());
        let (outside, fifo) = (self.opened_outside.to_string(), self.opened_fifo.to_string());
        report("schedule", &[reader.name(), &schedules, &answers.join(", "), &leaks, &outside, &fifo]);
    }
}

#[track_caller]
fn check(reader: Reader) {
    let tally = run(reader);
    tally.report(reader);
    assert_eq!(tally.leaks, BTreeMap::new(), "leaks of {}", reader.name());
    let (mixtures, some) = (tally.mixtures.len(), tally.mixtures.get(..8).unwrap_or(&tally.mixtures));
    assert_eq!(mixtures, 0, "answers of no moment by {}, such as {some:#?}", reader.name());
    assert_eq!(tally.opened_outside, 0, "schedules in which {} opened a file outside", reader.name());
    // By name that cannot be helped, and shows that there was no other way.
    let opened = tally.opened_fifo;
    assert_eq!(opened > 0, reader.opens_by_name(), "{} opened the FIFO {opened} times", reader.name());
    for answer in ["IN: f", "IN: a/b/f", "IN: twin", "IN: twin-b", "not_found", "not_a_file", "outside_root"] {
        assert!(tally.answers.contains_key(answer), "{answer} never came");
    }
}

#[test]
fn by_the_kernel_every_answer_is_of_one_moment() {
    check(Reader::Fast);
}

#[test]
fn by_the_walk_every_answer_is_of_one_moment() {
    check(Reader::Enosys);
}

#[test]
fn without_procfs_every_answer_is_of_one_moment() {
    check(Reader::NoProc);
}

#[test]
fn by_the_walk_without_procfs_every_answer_is_of_one_moment() {
    check(Reader::WalkNoProc);
}

/// The same schedules find the classic bugs, each where it is to be found.
#[test]
fn classic_bugs_leak() {
    let tally = run(Reader::Realpath);
    tally.report(Reader::Realpath);
    let links_out = &CHANGES[..4];
    for change in links_out.iter().chain([&Change::Exchange("", "T/other"), &Change::Parent]) {
        assert!(tally.leaks.contains_key(&change.to_string()), "{change} never leaked: {:?}", tally.leaks);
    }
    let tally = run(Reader::KernelsParent);
    tally.report(Reader::KernelsParent);
    for change in [
        Change::Exchange("a", "T/twin"),
        Change::Move("a", "O/gone"),
        Change::Move("a/b", "O/gone"),
        Change::Move("a/b", "gone"),
    ] {
        assert!(tally.leaks.contains_key(&change.to_string()), "{change} never leaked: {:?}", tally.leaks);
    }
    let tally = run(Reader::OneStep);
    tally.report(Reader::OneStep);
    assert!(tally.opened_fifo > 0, "the FIFO was never opened");
}
