//! Patterns in gitignore syntax.

use std::path::PathBuf;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::display::Shown;
use crate::error::{Error, Result};
use crate::fence::RelPath;

/// Deny patterns in the syntax of gitignore(5), matched against paths relative to the root.
///
/// A path is judged as asked for *and* as resolved: a link `notes -> .env` is denied when `.env` is. A denied path fails with the
/// code `denied` whether or not anything is there.
///
/// Where it differs from what git does, it denies more:
///
/// * letters match whatever their case, since `.ENV` may be the same file as `.env`;
/// * `secret/` denies that name whatever it is, not only a directory.
///
/// As in git, a denied directory denies all below it, also what an exception (`!secret/public`) names, and the last pattern that
/// matches a path decides. The default denies nothing.
///
/// ```
/// use capread::{Policy, Root};
///
/// # fn main() -> Result<(), capread::Error> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # std::fs::write(directory.path().join(".env.example"), "KEY=\n").expect("a file");
/// let policy = Policy::deny([".env*", "!.env.example", "secrets/"])?;
/// let root = Root::open_ambient(directory.path())?.with_policy(policy);
/// assert_eq!(root.open("app/.env").unwrap_err().to_string(), "Path is denied by policy: app/.env");
/// assert_eq!(root.open("secrets/key").unwrap_err().code(), "denied");
/// assert_eq!(root.open(".env.example")?.size(), 5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Policy {
    patterns: Gitignore,
    hard_links: HardLinks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HardLinks {
    Allow,
    Deny,
}

impl Policy {
    /// Denies what `patterns` match, one pattern an item, as one line of a gitignore file: an empty one and one that starts with `#`
    /// mean nothing.
    pub fn deny<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Self> {
        let mut builder = GitignoreBuilder::new("");
        builder.case_insensitive(true).map_err(|error| Error::invalid(error.to_string()))?;
        for pattern in patterns {
            let pattern = pattern.as_ref();
            builder.add_line(None, pattern).map_err(|error| refused(pattern, &error))?;
        }
        let patterns = builder.build().map_err(|error| Error::invalid(format!("deny patterns: {error}")))?;
        Ok(Self { patterns, hard_links: HardLinks::Allow })
    }

    /// Also denies files that have more than one hard link, since the other name may lie outside the root. Package stores and work
    /// trees that share files need them, so they are allowed by default.
    #[must_use]
    pub fn deny_hard_links(self) -> Self {
        Self { hard_links: HardLinks::Deny, ..self }
    }

    pub(crate) fn denies_links(&self, links: u64) -> bool {
        self.hard_links == HardLinks::Deny && links > 1
    }

    pub(crate) fn denies(&self, path: &RelPath) -> bool {
        let mut prefix = PathBuf::new();
        path.components().any(|name| {
            prefix.push(name);
            // As a directory, so that a pattern with a slash at its end matches whatever is there.
            self.patterns.matched(&prefix, true).is_ignore()
        })
    }
}

fn refused(pattern: &str, error: &ignore::Error) -> Error {
    Error::invalid(format!("deny pattern {} does not parse: {error}", Shown(pattern)))
}
