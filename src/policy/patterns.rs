//! Patterns in gitignore syntax.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::display::Shown;
use crate::error::{Error, Result};
use crate::fence::RelPath;
use crate::policy::{Above, End};

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
/// A path that lies in several roots of one reader is judged by the policy of each.
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
#[derive(Clone)]
pub struct Policy {
    /// As they were given.
    exact: Gitignore,
    /// In lower case, for paths in lower case: the patterns alone fold ASCII only.
    folded: Gitignore,
    hard_links: HardLinks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HardLinks {
    Allow,
    Deny,
}

// By hand: what patterns compile to is pages long.
impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.exact.num_ignores() + self.exact.num_whitelists();
        f.debug_struct("Policy").field("patterns", &count).field("hard_links", &self.hard_links).finish_non_exhaustive()
    }
}

impl Policy {
    /// Denies what `patterns` match, one pattern an item, as one line of a gitignore file: an empty one and one that starts with `#`
    /// mean nothing. Classes with names (`[[:digit:]]`) or backslashes are refused.
    pub fn deny<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Self> {
        let mut exact = builder()?;
        let mut folded = builder()?;
        for pattern in patterns {
            let given = pattern.as_ref();
            let pattern = literal(given).map_err(|reason| refused(given, reason))?;
            // An exception of nothing would be one of everything.
            if pattern.trim_matches(['!', '/', ' ', '\t']).is_empty() {
                continue;
            }
            exact.add_line(None, &pattern).map_err(|error| refused(given, error))?;
            folded.add_line(None, &pattern.to_lowercase()).map_err(|error| refused(given, error))?;
        }
        let build = |builder: GitignoreBuilder| {
            builder.build().map_err(|error| Error::invalid(format!("deny patterns: {error}")))
        };
        Ok(Self { exact: build(exact)?, folded: build(folded)?, hard_links: HardLinks::Allow })
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

    /// A name that others follow is a directory, or a link to one. Of the last one nothing is known before it is looked at, and it
    /// is denied when it would be as a directory or as anything else.
    pub(crate) fn denies(&self, path: &RelPath, end: End, above: Above) -> bool {
        let text = path.as_os_str();
        let folded = text.to_string_lossy().to_lowercase();
        // What a name is in lower case does not depend on the names around it.
        let names = prefixes(text).zip(prefixes(OsStr::new(&folded)));
        let judged = match above {
            Above::Unknown => 0,
            Above::Allowed => path.depth().saturating_sub(1),
        };
        let mut names = names.skip(judged).peekable();
        while let Some(name) = names.next() {
            let is_last = names.peek().is_none() && end == End::Last;
            if self.denies_name(name, true) || (is_last && self.denies_name(name, false)) {
                return true;
            }
        }
        false
    }

    fn denies_name(&self, (path, folded): (&Path, &Path), is_directory: bool) -> bool {
        self.exact.matched(path, is_directory).is_ignore() || self.folded.matched(folded, is_directory).is_ignore()
    }
}

/// The paths that a path leads through, itself the last; none for the empty one.
fn prefixes(path: &OsStr) -> impl Iterator<Item = &Path> {
    let bytes = path.as_bytes();
    let ends = memchr::memchr_iter(b'/', bytes).chain((!bytes.is_empty()).then_some(bytes.len()));
    ends.map(|end| Path::new(OsStr::from_bytes(&bytes[..end])))
}

fn builder() -> Result<GitignoreBuilder> {
    let mut builder = GitignoreBuilder::new("");
    builder.case_insensitive(true).map_err(|error| Error::invalid(error.to_string()))?;
    Ok(builder)
}

/// The pattern with braces that mean themselves, as in gitignore(5); the library has alternatives in them. Or why it cannot be taken.
fn literal(pattern: &str) -> Result<String, &'static str> {
    let mut literal = String::with_capacity(pattern.len());
    let (mut in_class, mut escaped) = (false, false);
    for (index, c) in pattern.char_indices() {
        match c {
            _ if escaped => {}
            '\\' if in_class => return Err("a backslash in a class is not supported"),
            '[' if pattern[index..].starts_with("[:") => return Err("a class with a name is not supported"),
            '[' => in_class = true,
            ']' => in_class = false,
            '{' | '}' if !in_class => literal.push('\\'),
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        literal.push(c);
    }
    Ok(literal)
}

fn refused(pattern: &str, reason: impl fmt::Display) -> Error {
    Error::invalid(format!("deny pattern {} does not parse: {reason}", Shown(pattern)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some letters have two lower cases, and the neighbours choose; a slash is the neighbour that the end is.
    #[test]
    fn a_path_in_lower_case_leads_through_its_prefixes_in_lower_case() {
        let names: [&[u8]; 9] = [
            b"A",
            "ΑΣ".as_bytes(),
            "Σ".as_bytes(),
            "aΣ.".as_bytes(),
            "İ".as_bytes(),
            b"\xce",
            b"\xa3S\xff",
            b".",
            b"'",
        ];
        for path in names.iter().flat_map(|a| names.iter().map(move |b| [a, b"/".as_slice(), b, b"/", a].concat())) {
            let path = OsStr::from_bytes(&path);
            let folded = path.to_string_lossy().to_lowercase();
            let one_by_one: Vec<_> = prefixes(path).map(|prefix| prefix.to_string_lossy().to_lowercase()).collect();
            let at_once: Vec<_> =
                prefixes(OsStr::new(&folded)).map(|prefix| prefix.to_str().expect("is UTF-8")).collect();
            assert_eq!(one_by_one, at_once);
            assert_eq!(at_once.len(), 3);
        }
        assert_eq!(prefixes(OsStr::new("")).count(), 0);
    }
}
