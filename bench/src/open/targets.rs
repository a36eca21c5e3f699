//! What the figures should come to.

use super::Results;
use super::systems::{CAP_STD, CAPREAD, CLASSIC};
use crate::stats;

/// `ReadTool::call` takes at most `most` times the CPU time of another system.
#[derive(Debug)]
struct Target {
    case: &'static str,
    to: &'static str,
    most: f64,
}

/// A target, and what was measured.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) case: &'static str,
    pub(crate) to: &'static str,
    pub(crate) most: f64,
    pub(crate) ratio: f64,
}

const TARGETS: [Target; 4] = [
    Target { case: "depth 1", to: CAP_STD, most: 1.4 },
    Target { case: "depth 24", to: CAP_STD, most: 1.4 },
    Target { case: "depth 1", to: CLASSIC, most: 0.6 },
    Target { case: "depth 24", to: CLASSIC, most: 0.3 },
];

impl Verdict {
    pub(crate) fn passed(&self) -> bool {
        self.ratio <= self.most
    }
}

/// All targets whose case and systems were measured.
pub(crate) fn judge(all: &[Results]) -> Vec<Verdict> {
    TARGETS.iter().filter_map(|target| target.judge(all)).collect()
}

impl Target {
    fn judge(&self, all: &[Results]) -> Option<Verdict> {
        let results = all.iter().find(|results| results.case.name == self.case)?;
        let ratio = stats::ratio(results.cpu(CAPREAD)?, results.cpu(self.to)?);
        Some(Verdict { case: self.case, to: self.to, most: self.most, ratio })
    }
}
