//! Races: one process reads while another changes the tree as fast as it can.
//!
//! Each cell of the table is one change, one request and one reader. That a cell was a race at all is proven by itself: every
//! answer that the change can lead to must have come, and a control, a reader with a classic bug, must have leaked in the same place.
//! `CAPREAD_RACE_ITERATIONS` sets the reads of a cell; see `docs/assurance.md`.

mod attack;
mod content;
mod opens;
mod reader;
mod victim;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use attack::exchange;
use attack::{Attack, Attackers};
pub(crate) use opens::{Fifo, Opens};
pub(crate) use reader::{Reader, tells_of_outside};
use victim::Answers;
pub(crate) use victim::{CALLS, PATIENCE, Traced, Victim};

use crate::support::Tree;

/// Reads of one cell, where the environment does not say otherwise.
const READS: u64 = 20_000;

/// Reads between two looks at what came of them, each with another rhythm of the attacker.
const READS_OF_A_ROUND: u64 = 10_000;

/// Times the reads of a cell after which an answer that did not come, or a control that did not leak, fails the test.
const MOST_TIMES: u64 = 25;

/// A file, and a writer that waits on a FIFO of this name.
const FIFO: &str = "T/fifo|";

/// Attacker and victim need a core each.
static ALONE: Mutex<()> = Mutex::new(());

const CAPREAD: [Reader; 4] = [Reader::Fast, Reader::Enosys, Reader::Eperm, Reader::NoProc];

/// A change to a tree, and what a request may get meanwhile.
struct Scenario {
    name: &'static str,
    entries: &'static [&'static str],
    request: &'static str,
    attack: Attack,
    /// All must come, and nothing else may.
    answers: &'static [&'static str],
    control: Reader,
}

/// What came of one cell.
#[derive(Default)]
struct Cell {
    reads: u64,
    answers: Answers,
    changes: u64,
    /// A file outside was opened, even if what came back does not tell.
    opened_outside: bool,
    /// The FIFO was opened for reading.
    opened_fifo: bool,
    wakes: u64,
}

pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reads() -> u64 {
    std::env::var("CAPREAD_RACE_ITERATIONS").map_or(READS, |reads| reads.parse().unwrap())
}

/// A row of a table in `docs/assurance.md`, as `.ci/campaign` looks for it. The harness may have begun the line.
#[expect(clippy::print_stdout, reason = "figures for whoever runs the tests with --nocapture")]
pub(crate) fn report(table: &str, cells: &[&str]) {
    println!("\n{table} | {} |", cells.join(" | "));
}

#[track_caller]
fn race(scenario: &Scenario) {
    let _alone = alone();
    for reader in CAPREAD {
        let cell = scenario.run(reader, |cell| cell.is_a_race(scenario.answers));
        cell.report(scenario.name, reader.name(), 0);
        cell.check(scenario.answers);
        assert!(!cell.opened_outside, "{}: a file outside was opened", reader.name());
        assert!(!cell.opened_fifo || reader.opens_by_name(), "{}: the FIFO was opened", reader.name());
    }
    let cell = scenario.run(scenario.control, |cell| cell.leaks() > 0);
    cell.report(scenario.name, scenario.control.name(), cell.leaks());
    assert!(cell.leaks() > 0, "{}: the control never leaked", scenario.name);
}

impl Scenario {
    fn run(&self, reader: Reader, is_enough: impl Fn(&Cell) -> bool) -> Cell {
        let tree = Tree::new(self.entries);
        let fifo = self.entries.contains(&FIFO).then(|| Fifo::new(&tree, "T/fifo"));
        let outside = Opens::outside(&[(&tree, self.entries)]);
        let mut victim = Victim::start(reader, &tree.path(), Traced::No);
        let attackers = Attackers::start(self.attack.changes(&tree));
        let ask = |times| {
            victim.ask(times, self.request);
            victim.answers()
        };
        let wakes = || fifo.as_ref().map_or(0, Fifo::wakes);
        let is_enough = |cell: &Cell| is_enough(cell) || reader.is_control() && wakes() > 0;
        let mut cell = Cell::fill(reads(), &attackers, ask, is_enough);
        drop(attackers);
        cell.opened_outside = outside.any();
        if let Some(fifo) = fifo {
            (cell.opened_fifo, cell.wakes) = (fifo.was_opened(), fifo.wakes());
            fifo.close();
        }
        cell
    }
}

impl Cell {
    /// Reads as often as is asked for, and on until there is enough.
    fn fill(
        reads: u64,
        attackers: &Attackers,
        mut ask: impl FnMut(u64) -> Answers,
        is_enough: impl Fn(&Self) -> bool,
    ) -> Self {
        let mut cell = Self::default();
        for round in 0.. {
            attackers.set_rhythm(round);
            let before = attackers.changes();
            cell.add(ask(READS_OF_A_ROUND.min(reads)));
            cell.changes += attackers.changes() - before;
            if cell.reads >= reads && is_enough(&cell) || cell.reads >= reads * MOST_TIMES {
                break;
            }
        }
        cell
    }

    fn add(&mut self, answers: Answers) {
        self.reads += answers.values().sum::<u64>();
        for (answer, count) in answers {
            *self.answers.entry(answer).or_default() += count;
        }
    }

    /// Each answer came to at least one read in a hundred, and the tree changed for at least every fourth.
    fn is_a_race(&self, answers: &[&str]) -> bool {
        let came = |answer: &&str| self.answers.get(*answer).is_some_and(|count| count * 100 >= self.reads);
        answers.iter().all(came) && self.changes >= self.reads / 4
    }

    /// The answers came, and no others.
    #[track_caller]
    fn check(&self, answers: &[&str]) {
        let strangers: Vec<_> = self.answers.keys().filter(|answer| !answers.contains(&answer.as_str())).collect();
        assert!(strangers.is_empty(), "{strangers:?} among {}", self.describe());
        assert!(self.is_a_race(answers), "{answers:?} hardly came, or few changes: {}", self.describe());
    }

    /// What a control does, and capread must not: read what lies outside, show that it was disturbed, wake a writer.
    fn leaks(&self) -> u64 {
        let is_leak = |answer: &str| tells_of_outside(answer) || answer.contains("(os error 11)");
        self.answers.iter().filter(|(answer, _)| is_leak(answer)).map(|(_, count)| count).sum::<u64>() + self.wakes
    }

    fn report(&self, change: &str, reader: &str, leaks: u64) {
        let (reads, changes) = (self.reads.to_string(), self.changes.to_string());
        report("race", &[change, reader, &reads, &self.describe(), &changes, &leaks.to_string()]);
    }

    fn describe(&self) -> String {
        let mut said: Vec<_> = self.answers.iter().map(|(answer, count)| format!("`{answer}` {count}")).collect();
        if self.opened_fifo {
            said.push(format!("writer woken {} times", self.wakes));
        }
        said.join(", ")
    }
}

#[test]
fn a_file_that_becomes_a_link_out_is_the_file_or_refused() {
    race(&Scenario {
        name: "file ⇄ link out",
        entries: &["f", "T/link -> ../elsewhere/f", "O/f"],
        request: "f",
        attack: Attack::Exchange("f", "T/link"),
        answers: &["IN: f", "outside_root"],
        control: Reader::Realpath,
    });
}

#[test]
fn a_directory_that_becomes_a_link_out_is_the_directory_or_refused() {
    race(&Scenario {
        name: "directory ⇄ link out",
        entries: &["d/f", "T/link -> {O}", "O/f"],
        request: "d/f",
        attack: Attack::Exchange("d", "T/link"),
        answers: &["IN: d/f", "outside_root"],
        control: Reader::Realpath,
    });
}

#[test]
fn a_link_goes_up_through_a_directory_that_is_moved_out() {
    race(&Scenario {
        name: "directory moved out and back below a link's `..`",
        entries: &["f", "a/b/", "a/up -> b/../../f", "T/f"],
        request: "a/up",
        attack: Attack::Move("a/b", "O/b"),
        answers: &["IN: f", "not_found"],
        control: Reader::KernelsParent,
    });
}

#[test]
fn a_root_that_is_replaced_stays_the_root() {
    race(&Scenario {
        name: "root ⇄ another directory",
        entries: &["f", "T/other/f"],
        request: "f",
        attack: Attack::Exchange("", "T/other"),
        answers: &["IN: f"],
        control: Reader::Realpath,
    });
}

#[test]
fn an_absolute_link_leads_into_the_root_that_was_opened() {
    race(&Scenario {
        name: "root ⇄ another directory, absolute link",
        entries: &["f", "l -> {R}/f", "T/other/f", "T/other/l -> {R}/f"],
        request: "l",
        attack: Attack::Exchange("", "T/other"),
        answers: &["IN: f"],
        control: Reader::Realpath,
    });
}

#[test]
fn a_file_that_becomes_a_fifo_wakes_nobody() {
    race(&Scenario {
        name: "file ⇄ FIFO with a waiting writer",
        entries: &["f", FIFO, "T/p => T/fifo"],
        request: "f",
        attack: Attack::Exchange("f", "T/p"),
        answers: &["IN: f", "not_a_file"],
        control: Reader::OneStep,
    });
}

/// What is in the root at that moment is inside, wherever it came from; what lies above is not.
#[test]
fn a_directory_that_becomes_another_is_either() {
    race(&Scenario {
        name: "directory ⇄ outside directory, `..`",
        entries: &["one", "two", "d/up -> ../one", "O/d/up -> ../two", "O/one", "O/two"],
        request: "d/up",
        attack: Attack::Exchange("d", "O/d"),
        answers: &["IN: one", "IN: two"],
        control: Reader::KernelsParent,
    });
}

#[test]
fn a_link_that_is_retargeted_leads_in_or_is_refused() {
    race(&Scenario {
        name: "link retargeted",
        entries: &["f", "l -> f", "T/link -> ../elsewhere/f", "O/f"],
        request: "l",
        attack: Attack::Exchange("l", "T/link"),
        answers: &["IN: f", "outside_root"],
        control: Reader::Realpath,
    });
}

#[test]
fn renames_elsewhere_disturb_nobody() {
    race(&Scenario {
        name: "foreign renames by 4 threads, `..`",
        entries: &["f", "a/b/c/up -> ../../../a/b/../../f"],
        request: "a/b/c/up",
        attack: Attack::Storm,
        answers: &["IN: f"],
        control: Reader::Beneath,
    });
}
