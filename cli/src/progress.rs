//! A scan that takes longer than a second shows how far it has come, where standard error is a terminal. What libraries for that need
//! of libm is one more shared library to load, at each start.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use capread::Progress;

/// Scans that end before this show nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Between one picture and the next.
const PACE: Duration = Duration::from_millis(100);

/// To the start of the line, and nothing is left of it (ECMA-48).
const CLEAR: &str = "\r\u{1b}[K";

/// Does the work and shows its progress meanwhile; afterwards nothing of it is left on the terminal.
pub(crate) fn shown<T>(work: impl FnOnce(&(dyn Fn(Progress) + Sync)) -> T) -> T {
    if !io::stderr().is_terminal() {
        return work(&|_| {});
    }
    let begun = Instant::now();
    let drawn = Mutex::new(None::<Instant>);
    let result = work(&|progress| {
        let passed = begun.elapsed();
        let mut drawn = drawn.lock().unwrap_or_else(PoisonError::into_inner);
        if passed >= PATIENCE && drawn.is_none_or(|last| last.elapsed() >= PACE) {
            draw(format_args!("{}", Line { scanned: progress.scanned, size: progress.size, passed }));
            *drawn = Some(Instant::now());
        }
    });
    if drawn.into_inner().unwrap_or_else(PoisonError::into_inner).is_some() {
        draw(format_args!(""));
    }
    result
}

fn draw(line: fmt::Arguments<'_>) {
    // Nobody is left to see it when standard error is closed.
    let _ = write!(io::stderr(), "{CLEAR}{line}");
}

/// Shorter than any terminal is wide: of one that goes on below, only the end would be cleared.
struct Line {
    scanned: u64,
    size: Option<u64>,
    passed: Duration,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", mebibytes(self.scanned))?;
        let Some(size) = self.size else { return Ok(()) };
        let rest = u128::from(size.saturating_sub(self.scanned));
        let left = rest * self.passed.as_millis() / u128::from(self.scanned.max(1));
        write!(f, " of {}, {} s left", mebibytes(size), left.div_ceil(1000))
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_how_far_it_has_come_and_what_is_left() {
        let line = |scanned, size| Line { scanned, size, passed: Duration::from_millis(1500) }.to_string();
        assert_eq!(line(3 << 20, Some(9 << 20)), "3 MiB of 9 MiB, 3 s left");
        assert_eq!(line(9 << 20, Some(9 << 20)), "9 MiB of 9 MiB, 0 s left");
        // It has grown since it was opened.
        assert_eq!(line(10 << 20, Some(9 << 20)), "10 MiB of 9 MiB, 0 s left");
        assert_eq!(line(3 << 20, None), "3 MiB");
        assert!(line(0, Some(u64::MAX)).len() < 80);
    }
}
