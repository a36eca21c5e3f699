//! Who changes the tree, without end, while others read.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::support::Tree;

/// Threads of a storm.
const STORM: usize = 4;

/// Longest pauses between two changes, in turns of an empty loop, one for each round: from nothing to about the time of a read.
const RHYTHMS: [u32; 5] = [1 << 9, 1 << 6, 1 << 11, 1, 1 << 10];

/// What is done to the tree. Paths are written as in a [`Tree`]'s literals.
#[derive(Clone, Copy)]
pub(crate) enum Attack {
    /// `renameat2(RENAME_EXCHANGE)`, again and again.
    Exchange(&'static str, &'static str),
    /// There and back.
    Move(&'static str, &'static str),
    /// Exchanges by four threads, of files that nobody asks for.
    Storm,
}

/// One change. It is made again and again.
pub(crate) type Change = Box<dyn FnMut() + Send>;

pub(crate) struct Attackers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    ended: AtomicBool,
    changes: AtomicU64,
    longest_pause: AtomicU32,
}

impl Attack {
    pub(crate) fn changes(self, tree: &Tree) -> Vec<Change> {
        match self {
            Self::Exchange(one, other) => vec![exchanging(tree.at(one), tree.at(other))],
            Self::Move(from, to) => vec![moving(tree.at(from), tree.at(to))],
            Self::Storm => (0..STORM).map(|number| storming(tree, number)).collect(),
        }
    }
}

pub(crate) fn exchange(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

impl Attackers {
    /// Each change in a thread of its own, again and again.
    pub(crate) fn start(changes: Vec<Change>) -> Self {
        let shared = Arc::new(Shared {
            ended: AtomicBool::new(false),
            changes: AtomicU64::new(0),
            longest_pause: AtomicU32::new(RHYTHMS[0]),
        });
        let run = |(change, seed)| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.attack(change, seed))
        };
        let threads = changes.into_iter().zip(1..).map(run).collect();
        Self { shared, threads }
    }

    /// Changes that were made so far.
    pub(crate) fn changes(&self) -> u64 {
        self.shared.changes.load(Ordering::Relaxed)
    }

    /// The rhythm of a round: which of them hits the gap depends on the machine.
    pub(crate) fn set_rhythm(&self, round: usize) {
        self.shared.longest_pause.store(RHYTHMS[round % RHYTHMS.len()], Ordering::Relaxed);
    }
}

impl Drop for Attackers {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            assert!(thread.join().is_ok() || thread::panicking(), "an attacker failed");
        }
    }
}

impl Shared {
    fn attack(&self, mut change: Change, seed: u64) {
        let mut random = Random(seed);
        while !self.ended.load(Ordering::Relaxed) {
            change();
            self.changes.fetch_add(1, Ordering::Relaxed);
            let longest = self.longest_pause.load(Ordering::Relaxed);
            let pause = if random.below(4) == 0 { 0 } else { random.below(longest) };
            (0..pause).for_each(|_| std::hint::spin_loop());
        }
    }
}

fn exchanging(one: PathBuf, other: PathBuf) -> Change {
    Box::new(move || exchange(&one, &other))
}

fn moving(mut from: PathBuf, mut to: PathBuf) -> Change {
    Box::new(move || {
        fs::rename(&from, &to).unwrap();
        std::mem::swap(&mut from, &mut to);
    })
}

fn storming(tree: &Tree, number: usize) -> Change {
    let [one, other] = ["one", "other"].map(|name| format!("T/storm{number}/{name}"));
    tree.file(&one, b"OUT:\n");
    tree.file(&other, b"OUT:\n");
    exchanging(tree.at(&one), tree.at(&other))
}

/// Marsaglia's xorshift64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 % u64::from(end)).unwrap()
    }
}
