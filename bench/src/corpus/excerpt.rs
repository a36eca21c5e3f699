//! Which lines a window has, found the slow way: what everybody's answer is compared with.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::Result;

/// Budgets of one window: capread's defaults.
const MAX_LINES: usize = 2000;
pub(crate) const MAX_BYTES: usize = 50 * 1024;

/// Whole lines of a file, as many as one window has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// 1-based.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Without the last line break.
    pub(crate) text: String,
}

/// The window that starts with line `first`.
pub(crate) fn from_line(path: &Path, first: u64) -> Result<Excerpt> {
    let mut reader = BufReader::with_capacity(1024 * 1024, File::open(path)?);
    for _ in 1..first {
        reader.skip_until(b'\n')?;
    }
    let mut lines: Vec<String> = Vec::new();
    let mut bytes = 0;
    for line in reader.lines().take(MAX_LINES) {
        let line = line?;
        bytes += line.len() + usize::from(!lines.is_empty());
        if bytes > MAX_BYTES {
            break;
        }
        lines.push(line);
    }
    Ok(Excerpt { first, last: first + lines.len() as u64 - 1, text: lines.join("\n") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn excerpt(text: &str, first: u64) -> Excerpt {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("text");
        std::fs::write(&path, text).expect("a file");
        from_line(&path, first).expect("an excerpt")
    }

    #[test]
    fn starts_with_the_line() {
        assert_eq!(excerpt("one\ntwo\nthree\n", 2), Excerpt { first: 2, last: 3, text: "two\nthree".to_owned() });
    }

    #[test]
    fn ends_with_either_budget() {
        assert_eq!(excerpt(&"\n".repeat(3000), 1).last, 2000);
        // 1024 lines of 49 bytes, and a line break between each two: 51,199 bytes.
        assert_eq!(excerpt(&format!("{}\n", "x".repeat(49)).repeat(3000), 11).last, 10 + 1024);
    }
}
