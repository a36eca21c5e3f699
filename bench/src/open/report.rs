//! The results as tables and as JSON.

use serde_json::{Value, json};

use super::systems::{CAP_STD, CAP_STD_OPEN, CLASSIC, PLAIN_OPEN};
use super::targets::Verdict;
use super::{Results, Row};
use crate::measure::Plan;
use crate::table::Table;
use crate::{stats, units};

pub(crate) fn table(results: &Results) -> Table {
    let mut table = Table::default();
    table.row([results.case.name, "CPU µs", "wall µs", "x cap-std", "x classic"].map(str::to_owned));
    let (opens, reads): (Vec<_>, Vec<_>) = results.rows.iter().partition(|row| opens_only(row));
    add_rows(&mut table, results, &reads);
    table.row(["", "CPU µs", "wall µs", "x cap-std", "x std::fs"].map(str::to_owned));
    add_rows(&mut table, results, &opens);
    table
}

fn add_rows(table: &mut Table, results: &Results, rows: &[&Row]) {
    for row in rows {
        let (cpu, wall) = (row.samples.cpu_median() / 1000.0, row.samples.wall_median() / 1000.0);
        let ratios = references(row).map(|to| ratio(results, row, to).map_or(String::new(), |x| format!("{x:.2}")));
        let [first, second] = ratios;
        table.row([format!("  {}", row.system), format!("{cpu:.2}"), format!("{wall:.2}"), first, second]);
    }
}

fn opens_only(row: &Row) -> bool {
    row.system.starts_with("open only")
}

/// Whom a row is compared with: those who do the same.
fn references(row: &Row) -> [&'static str; 2] {
    if opens_only(row) { [CAP_STD_OPEN, PLAIN_OPEN] } else { [CAP_STD, CLASSIC] }
}

fn ratio(results: &Results, row: &Row, to: &str) -> Option<f64> {
    Some(stats::ratio(&row.samples.cpu, results.cpu(to)?))
}

pub(crate) fn verdicts(verdicts: &[Verdict]) -> Table {
    let mut table = Table::default();
    table.row(["Targets: ReadTool (Auto), CPU time", "at most", "found", ""].map(str::to_owned));
    for verdict in verdicts {
        let Verdict { case, to, most, ratio } = verdict;
        let word = units::verdict(Some(verdict.passed()));
        table.row([format!("  {case}: x {to}"), format!("{most:.2}"), format!("{ratio:.2}"), word]);
    }
    table
}

pub(crate) fn json(machine: &Value, plan: Plan, all: &[Results], verdicts: &[Verdict]) -> Value {
    json!({
        "benchmark": "open",
        "machine": machine,
        "rounds": plan.rounds,
        "calls": plan.calls,
        "cases": all.iter().map(case).collect::<Vec<_>>(),
        "targets": verdicts.iter().map(target).collect::<Vec<_>>(),
    })
}

fn case(results: &Results) -> Value {
    json!({
        "case": results.case.name,
        "path": results.case.path.display().to_string(),
        "systems": results.rows.iter().map(|row| system(results, row)).collect::<Vec<_>>(),
    })
}

fn system(results: &Results, row: &Row) -> Value {
    let ratios = references(row).map(|to| json!({ "to": to, "ratio": ratio(results, row, to) }));
    json!({
        "system": row.system,
        "cpu_ns": row.samples.cpu_median(),
        "wall_ns": row.samples.wall_median(),
        "ratios": ratios,
    })
}

fn target(verdict: &Verdict) -> Value {
    json!({
        "case": verdict.case,
        "to": verdict.to,
        "most": verdict.most,
        "ratio": verdict.ratio,
        "passed": verdict.passed(),
    })
}
