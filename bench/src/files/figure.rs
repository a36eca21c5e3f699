//! Which figures the chart in the README shows.

use super::Results;
use super::cases::{LARGE_FIRST, LARGE_MIDDLE, PAGES, SMALL_PIPES};
use super::entrants::{COMMAND, JSONL, LIBRARY, LIBRARY_FIRST, MCP, SED, SPLIT, TAIL_HEAD, WC};
use crate::chart::{Chart, Group, Row, Side};
use crate::corpus::{Corpus, TextFile};
use crate::units;

/// Of the cases that were measured.
pub(crate) fn draw(corpus: &Corpus, all: &[Results]) -> Chart {
    let size = |file: &TextFile| units::bytes(file.bytes);
    let (small, log, large) = (size(&corpus.small), size(&corpus.log), size(&corpus.large_log));
    let groups = [
        group(all, LARGE_FIRST, format!("First window of a log of {large}, and how many lines it has"), &FIRST),
        group(all, LARGE_MIDDLE, "A window in the middle of it".to_owned(), &MIDDLE),
        group(all, PAGES, format!("All of a log of {log}, window by window"), &ALL_PAGES),
        group(all, SMALL_PIPES, format!("A file of {small}, from a child that is asked on its pipes"), &SMALL),
    ];
    Chart {
        title: "What a read costs".to_owned(),
        note: "CPU time on a logarithmic scale: each line of the grid is ten times the one before".to_owned(),
        groups: groups.into_iter().flatten().collect(),
    }
}

/// A system, and what it is called in the chart.
type Shown = (&'static str, &'static str);

const FIRST: [Shown; 3] = [(COMMAND, "capread read"), (WC, "wc -l, which only counts"), (SPLIT, "read all and split")];

const MIDDLE: [Shown; 6] = [
    (LIBRARY, "capread, library, a second read"),
    (JSONL, "capread jsonl, a second read"),
    (COMMAND, "capread read"),
    (TAIL_HEAD, "tail -n +a | head -n n"),
    (SED, "sed -n 'a,bp;bq'"),
    (SPLIT, "read all and split"),
];

const ALL_PAGES: [Shown; 4] = [
    (LIBRARY, "capread, library"),
    (JSONL, "capread jsonl"),
    (LIBRARY_FIRST, "the first window alone"),
    (SPLIT, "read all and split, one window"),
];

const SMALL: [Shown; 2] = [(JSONL, "capread jsonl"), (MCP, "official MCP file system server")];

fn group(all: &[Results], case: &str, title: String, shown: &[Shown]) -> Option<Group> {
    let results = all.iter().find(|results| results.case == case)?;
    let row = |&(system, label): &Shown| {
        let side = if system.starts_with("capread") { Side::Ours } else { Side::Theirs };
        Some(Row { label: label.to_owned(), nanoseconds: results.samples(system)?.cpu_median(), side })
    };
    Some(Group { title, rows: shown.iter().filter_map(row).collect() })
}
