//! What the figures should come to.

use super::Results;
use super::cases::{LARGE_END, LARGE_FIRST, LARGE_MIDDLE, PAGES, SMALL_IN_PROCESS, SMALL_PIPES, SMALL_PROCESS};
use super::entrants::{
    CAP_STD, COMMAND, COMMAND_NO_TOTAL, COMMAND_STATIC, JSONL, JSONL_FIRST, LIBRARY, LIBRARY_FIRST, LIBRARY_NO_TOTAL,
    LIBRARY_WINDOW, MCP, MCP_HEAD, SED, WC,
};
use crate::measure::Samples;
use crate::stats;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    Cpu,
    Wall,
}

/// What the ratio has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// It takes at most so many times as long as the other.
    AtMost(f64),
    /// The other takes at least so many times as long as it.
    Faster(f64),
}

/// How one system should compare with another in the same case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) case: &'static str,
    pub(crate) of: &'static str,
    pub(crate) to: &'static str,
    pub(crate) clock: Clock,
    pub(crate) bound: Bound,
}

/// A target, and what was measured, where both were.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    pub(crate) target: Target,
    pub(crate) ratio: Option<f64>,
}

const TARGETS: [Target; 15] = [
    cpu(SMALL_IN_PROCESS, LIBRARY_WINDOW, CAP_STD, Bound::AtMost(0.95)),
    cpu(SMALL_PROCESS, COMMAND, SED, Bound::AtMost(1.2)),
    cpu(SMALL_PROCESS, COMMAND_STATIC, SED, Bound::AtMost(1.2)),
    cpu(SMALL_PIPES, JSONL, MCP, Bound::Faster(25.0)),
    cpu(SMALL_PIPES, JSONL, MCP_HEAD, Bound::Faster(25.0)),
    cpu(LARGE_FIRST, COMMAND, WC, Bound::AtMost(1.05)),
    Target { clock: Clock::Wall, ..cpu(LARGE_FIRST, COMMAND, WC, Bound::AtMost(0.7)) },
    cpu(LARGE_FIRST, LIBRARY_NO_TOTAL, LIBRARY_FIRST, Bound::AtMost(0.05)),
    cpu(LARGE_FIRST, COMMAND_NO_TOTAL, COMMAND, Bound::AtMost(0.05)),
    cpu(LARGE_MIDDLE, LIBRARY, LIBRARY_FIRST, Bound::Faster(5000.0)),
    cpu(LARGE_MIDDLE, JSONL, JSONL_FIRST, Bound::Faster(500.0)),
    cpu(LARGE_END, LIBRARY, LIBRARY_FIRST, Bound::Faster(5000.0)),
    cpu(LARGE_END, JSONL, JSONL_FIRST, Bound::Faster(500.0)),
    cpu(PAGES, LIBRARY, LIBRARY_FIRST, Bound::AtMost(5.0)),
    cpu(PAGES, LIBRARY, WC, Bound::AtMost(5.0)),
];

const fn cpu(case: &'static str, of: &'static str, to: &'static str, bound: Bound) -> Target {
    Target { case, of, to, clock: Clock::Cpu, bound }
}

impl Clock {
    fn of(self, samples: &Samples) -> &[f64] {
        match self {
            Self::Cpu => &samples.cpu,
            Self::Wall => &samples.wall,
        }
    }
}

impl Verdict {
    /// `None` where it was not measured.
    pub(crate) fn passed(&self) -> Option<bool> {
        let ratio = self.ratio?;
        Some(match self.target.bound {
            Bound::AtMost(most) => ratio <= most,
            Bound::Faster(least) => ratio >= least,
        })
    }
}

/// All targets.
pub(crate) fn judge(all: &[Results]) -> Vec<Verdict> {
    TARGETS.iter().map(|target| Verdict { target: *target, ratio: target.ratio(all) }).collect()
}

impl Target {
    fn ratio(&self, all: &[Results]) -> Option<f64> {
        let results = all.iter().find(|results| results.case == self.case)?;
        let (of, to) = (self.clock.of(results.samples(self.of)?), self.clock.of(results.samples(self.to)?));
        Some(match self.bound {
            Bound::AtMost(_) => stats::ratio(of, to),
            Bound::Faster(_) => stats::ratio(to, of),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Row;

    /// The wall is ten times the CPU time.
    fn row(system: &'static str, cpu: f64) -> Row {
        Row { system, samples: Samples { cpu: vec![cpu], wall: vec![cpu * 10.0] } }
    }

    #[track_caller]
    fn judged(bound: Bound) -> (Option<f64>, Option<bool>) {
        let results = Results { case: "a case", reference: "it", rows: vec![row("it", 2.0), row("other", 8.0)] };
        let target = cpu("a case", "it", "other", bound);
        let verdict = Verdict { target, ratio: target.ratio(&[results]) };
        (verdict.ratio, verdict.passed())
    }

    #[test]
    fn compares_either_way() {
        assert_eq!(judged(Bound::AtMost(0.25)), (Some(0.25), Some(true)));
        assert_eq!(judged(Bound::AtMost(0.2)), (Some(0.25), Some(false)));
        assert_eq!(judged(Bound::Faster(4.0)), (Some(4.0), Some(true)));
        assert_eq!(judged(Bound::Faster(5.0)), (Some(4.0), Some(false)));
    }

    #[test]
    fn says_nothing_of_what_was_not_measured() {
        assert!(judge(&[]).iter().all(|verdict| verdict.passed().is_none()));
    }
}
