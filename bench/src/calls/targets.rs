//! What the figures should come to.

use super::Results;
use super::servers::{CAPREAD_MCP, OFFICIAL, OFFICIAL_HEAD};

/// `capread mcp` answers at least so many times as many calls in the same time.
pub(crate) const LEAST: f64 = 5.0;

/// As another server, and what was measured, where both were.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) at_once: usize,
    pub(crate) of: &'static str,
    pub(crate) to: &'static str,
    pub(crate) ratio: Option<f64>,
}

impl Verdict {
    pub(crate) fn passed(&self) -> Option<bool> {
        self.ratio.map(|ratio| ratio >= LEAST)
    }
}

pub(crate) fn judge(all: &[Results]) -> Vec<Verdict> {
    all.iter().flat_map(|results| [OFFICIAL, OFFICIAL_HEAD].map(|to| verdict(results, to))).collect()
}

fn verdict(results: &Results, to: &'static str) -> Verdict {
    Verdict { at_once: results.at_once, of: CAPREAD_MCP, to, ratio: results.throughput(CAPREAD_MCP, to) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::Row;
    use crate::calls::client::Round;

    fn row(system: &'static str, walls: &[f64]) -> Row {
        let round = |&wall: &f64| Round { cpu: 0.0, wall, p50: 0.0, p99: 0.0 };
        Row { system, rounds: walls.iter().map(round).collect() }
    }

    #[test]
    fn compares_within_rounds_what_was_measured() {
        // The second round was ten times slower for both.
        let rows = vec![row(CAPREAD_MCP, &[2.0, 20.0]), row(OFFICIAL, &[10.0, 100.0])];
        let [whole, head] = judge(&[Results { at_once: 8, rows }]).try_into().expect("two verdicts");
        assert_eq!((whole.at_once, whole.ratio, whole.passed()), (8, Some(5.0), Some(true)));
        assert_eq!((head.ratio, head.passed()), (None, None));
    }

    #[test]
    fn fails_below_the_target() {
        let rows = vec![row(CAPREAD_MCP, &[2.0]), row(OFFICIAL, &[9.0])];
        assert_eq!(judge(&[Results { at_once: 1, rows }])[0].passed(), Some(false));
    }
}
