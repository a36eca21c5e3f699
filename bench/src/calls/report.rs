//! The results as tables in Markdown and as JSON.

use serde_json::{Value, json};

use super::client::Round;
use super::servers::OFFICIAL;
use super::targets::{LEAST, Verdict};
use super::{Results, Row, Scene};
use crate::measure::Plan;
use crate::table::Table;
use crate::{fixture, units};

pub(crate) fn table(all: &[Results]) -> String {
    let mut table = Table::default();
    table.row(["server", "at once", "calls/s", "x official", "p50", "p99", "CPU of the server"].map(str::to_owned));
    for results in all {
        results.rows.iter().for_each(|row| table.row(cells(results, row)));
    }
    table.markdown()
}

fn cells(results: &Results, row: &Row) -> [String; 7] {
    let time = |of: fn(&Round) -> f64| units::time(row.median(of));
    let ratio = results.throughput(row.system, OFFICIAL).map_or(String::new(), units::number);
    let (p50, p99, cpu) = (time(|round| round.p50), time(|round| round.p99), time(|round| round.cpu));
    [row.system.to_owned(), results.at_once.to_string(), units::number(row.calls_per_second()), ratio, p50, p99, cpu]
}

pub(crate) fn verdicts(verdicts: &[Verdict]) -> String {
    let mut table = Table::default();
    table.row(["target: calls/s", "at once", "at least", "found", ""].map(str::to_owned));
    for verdict in verdicts {
        let found = verdict.ratio.map_or("not measured".to_owned(), |ratio| format!("{} x", units::number(ratio)));
        let name = format!("{} / {}", verdict.of, verdict.to);
        let least = format!("{LEAST} x");
        table.row([name, verdict.at_once.to_string(), least, found, units::verdict(verdict.passed())]);
    }
    table.markdown()
}

pub(crate) fn json(machine: &Value, plan: Plan, scene: &Scene, all: &[Results], verdicts: &[Verdict]) -> Value {
    json!({
        "benchmark": "calls",
        "machine": machine,
        "rounds": plan.rounds,
        "calls": plan.calls,
        "bytes": fixture::FILE_BYTES,
        "official": scene.beside,
        "cases": all.iter().map(case).collect::<Vec<_>>(),
        "targets": verdicts.iter().map(target).collect::<Vec<_>>(),
    })
}

fn case(results: &Results) -> Value {
    let system = |row: &Row| {
        json!({
            "system": row.system,
            "calls_per_second": row.calls_per_second(),
            "wall_ns": row.median(|round| round.wall),
            "p50_ns": row.median(|round| round.p50),
            "p99_ns": row.median(|round| round.p99),
            "cpu_ns": row.median(|round| round.cpu),
            "throughput": results.throughput(row.system, OFFICIAL),
        })
    };
    json!({ "atOnce": results.at_once, "systems": results.rows.iter().map(system).collect::<Vec<_>>() })
}

fn target(verdict: &Verdict) -> Value {
    json!({
        "atOnce": verdict.at_once,
        "of": verdict.of,
        "to": verdict.to,
        "least": LEAST,
        "ratio": verdict.ratio,
        "passed": verdict.passed(),
    })
}
