//! The results as tables and as JSON.

use serde_json::{Value, json};

use super::scene::Scene;
use super::targets::{Bound, Clock, Verdict};
use super::{Plan, Results, Row};
use crate::corpus::{Corpus, TextFile};
use crate::table::Table;
use crate::{stats, units};

/// What is read.
pub(crate) fn corpus(corpus: &Corpus) -> Table {
    let mut table = Table::default();
    table.row(["Files", "bytes", "lines"].map(str::to_owned));
    for file in corpus.files() {
        table.row([format!("  {}", file.name), units::bytes(file.bytes), units::count(file.lines)]);
    }
    let name = format!("  {} small files", units::count(corpus.many.len() as u64));
    table.row([name, units::bytes(sum(corpus, |file| file.bytes)), units::count(sum(corpus, |file| file.lines))]);
    table
}

fn sum(corpus: &Corpus, of: fn(&TextFile) -> u64) -> u64 {
    corpus.many.iter().map(of).sum()
}

pub(crate) fn table(results: &Results) -> Table {
    let mut table = Table::default();
    table.row([results.case, "CPU", "wall", &format!("x {}", results.reference)].map(str::to_owned));
    for row in &results.rows {
        let (cpu, wall) = (units::time(row.samples.cpu_median()), units::time(row.samples.wall_median()));
        table.row([format!("  {}", row.system), cpu, wall, ratio(results, row).map_or(String::new(), units::number)]);
    }
    table
}

/// Of CPU times.
fn ratio(results: &Results, row: &Row) -> Option<f64> {
    Some(stats::ratio(&row.samples.cpu, &results.samples(results.reference)?.cpu))
}

/// Verdicts of the same case stand together.
pub(crate) fn verdicts(verdicts: &[Verdict]) -> Table {
    let mut table = Table::default();
    table.row(["Targets", "", "found", ""].map(str::to_owned));
    for case in verdicts.chunk_by(|one, next| one.target.case == next.target.case) {
        table.row([format!("  {}", case[0].target.case)]);
        for verdict in case {
            table.row(cells(verdict));
        }
    }
    table
}

fn cells(verdict: &Verdict) -> [String; 4] {
    let target = &verdict.target;
    let wall = if target.clock == Clock::Wall { ", wall" } else { "" };
    let found = verdict.ratio.map_or("not measured".to_owned(), units::number);
    [format!("    {} / {}{wall}", target.of, target.to), bound(target.bound), found, units::verdict(verdict.passed())]
}

fn bound(bound: Bound) -> String {
    match bound {
        Bound::AtMost(most) => format!("at most {} x", units::number(most)),
        Bound::Faster(least) => format!("at least {} x faster", units::number(least)),
    }
}

pub(crate) fn json(machine: &Value, plan: Plan, scene: &Scene, all: &[Results], verdicts: &[Verdict]) -> Value {
    json!({
        "benchmark": "files",
        "machine": machine,
        "rounds": plan.rounds,
        "scale": plan.scale.0,
        "others": scene.others,
        "leftOut": scene.left_out,
        "files": scene.corpus.files().map(file),
        "many": { "files": scene.corpus.many.len(), "bytes": sum(&scene.corpus, |file| file.bytes) },
        "cases": all.iter().map(case).collect::<Vec<_>>(),
        "targets": verdicts.iter().map(target).collect::<Vec<_>>(),
    })
}

fn file(file: &TextFile) -> Value {
    json!({ "file": file.name, "bytes": file.bytes, "lines": file.lines })
}

fn case(results: &Results) -> Value {
    let system = |row: &Row| {
        json!({
            "system": row.system,
            "cpu_ns": row.samples.cpu_median(),
            "wall_ns": row.samples.wall_median(),
            "ratio": ratio(results, row),
        })
    };
    json!({
        "case": results.case,
        "reference": results.reference,
        "systems": results.rows.iter().map(system).collect::<Vec<_>>(),
    })
}

fn target(verdict: &Verdict) -> Value {
    let target = &verdict.target;
    let (name, value) = match target.bound {
        Bound::AtMost(most) => ("most", most),
        Bound::Faster(least) => ("faster", least),
    };
    json!({
        "case": target.case,
        "of": target.of,
        "to": target.to,
        "clock": if target.clock == Clock::Wall { "wall" } else { "cpu" },
        name: value,
        "ratio": verdict.ratio,
        "passed": verdict.passed(),
    })
}
