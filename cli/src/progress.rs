//! A scan that takes longer than a second shows how far it has come, where standard error is a terminal.
//!
//! Written out here, since the library for it brings libm in: one more shared library to load at each start, for a picture that hardly
//! any read lasts long enough to show.

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

/// Less wide than a terminal, mostly: of one that goes on below, only the end would be cleared.
struct Line {
    scanned: u64,
    size: Option<u64>,
    passed: Duration,
}

/// Characters of the bar.
const BAR: usize = 30;

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It may have grown since it was opened.
        let Some(size) = self.size.map(|size| size.max(self.scanned)).filter(|size| *size > 0) else {
            return f.write_str(&amount(self.scanned));
        };
        let filled = usize::try_from(u128::from(self.scanned) * BAR as u128 / u128::from(size)).unwrap_or(BAR);
        let left = u128::from(size - self.scanned) * self.passed.as_millis() / u128::from(self.scanned.max(1));
        let (bar, rest) = ("█".repeat(filled), "░".repeat(BAR - filled));
        write!(f, "{bar}{rest} {} of {}, {}s left", amount(self.scanned), amount(size), left.div_ceil(1000))
    }
}

fn amount(bytes: u64) -> String {
    let (unit, name) = if bytes < 1 << 30 { (20, "MiB") } else { (30, "GiB") };
    let hundredths = (u128::from(bytes) * 100) >> unit;
    format!("{}.{:02} {name}", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_how_far_it_has_come_and_what_is_left() {
        let line = |scanned, size| Line { scanned, size, passed: Duration::from_millis(1500) }.to_string();
        let bar = |filled: usize| "█".repeat(filled) + &"░".repeat(30 - filled);
        assert_eq!(line(3 << 20, Some(9 << 20)), format!("{} 3.00 MiB of 9.00 MiB, 3s left", bar(10)));
        assert_eq!(line(9 << 20, Some(9 << 20)), format!("{} 9.00 MiB of 9.00 MiB, 0s left", bar(30)));
        assert_eq!(line(0, Some(3 << 29)), format!("{} 0.00 MiB of 1.50 GiB, 2415919104s left", bar(0)));
        // It has grown since it was opened.
        assert_eq!(line(10 << 20, Some(9 << 20)), format!("{} 10.00 MiB of 10.00 MiB, 0s left", bar(30)));
        assert_eq!(line(3 << 20, None), "3.00 MiB");
        assert!(line(u64::MAX / 2, Some(u64::MAX)).chars().count() < 80);
    }
}
