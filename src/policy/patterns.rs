//! Patterns in gitignore syntax.

use std::fmt;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::display::Shown;
use crate::error::{Error, Result};
use crate::fence::RelPath;
use crate::policy::End;
use crate::policy::judges::folded;

/// Deny patterns in the syntax of gitignore(5), matched against paths relative to the root.
///
/// A path is judged as asked for *and* as resolved: a link `notes -> .env` is denied when `.env` is. A denied path fails with the
/// code `denied` whether or not anything is there.
///
/// Where it differs from what git does, it denies more:
///
/// * a path is denied when git would, whether it heeds the case of letters or not, since `.ENV` may be the same file as `.env`; so
///   after `*.key`, `!PUBLIC.key` excepts no `public.key`;
/// * `secret/` denies that name whatever it is, not only a directory.
///
/// A path that lies in several roots of one reader is judged by the policy of each; see [`Roots`](crate::Roots).
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
    /// Each judges by itself.
    lists: Vec<Patterns>,
    hard_links: HardLinks,
}

/// One list, of which the last pattern that matches decides.
#[derive(Clone)]
struct Patterns {
    /// As git takes them.
    exact: Gitignore,
    /// The same patterns ignoring the case of ASCII, where ranges such as `[B-c]` say more than when they are folded.
    any_case: Gitignore,
    /// Folded, for folded paths.
    folded: Gitignore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HardLinks {
    Allow,
    Deny,
}

// By hand: what patterns compile to is pages long.
impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |list: &Patterns| list.exact.num_ignores() + list.exact.num_whitelists();
        let count: u64 = self.lists.iter().map(count).sum();
        f.debug_struct("Policy").field("patterns", &count).field("hard_links", &self.hard_links).finish_non_exhaustive()
    }
}

impl Policy {
    /// Denies what `patterns` match, one pattern an item, as one line of a gitignore file: an empty one and one that starts with `#`
    /// mean nothing.
    ///
    /// What would match nothing, or something else than it seems to, is refused: an empty component, `.` or `..` (`./.env`), a NUL,
    /// a line break, white space other than spaces at the end, a byte order mark, a list in braces (`*.{pem,key}`), and classes with names
    /// (`[[:digit:]]`) or backslashes. A leading `/` is the root, not the machine's.
    pub fn deny<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Self> {
        let list = Patterns::new(patterns)?;
        // One that has none would be asked all the same.
        let lists = if list.exact.is_empty() { Vec::new() } else { vec![list] };
        Ok(Self { lists, hard_links: HardLinks::Allow })
    }

    /// Denies what either of them denies. An exception takes nothing from the other's patterns: so a list that comes with the files
    /// that are read, such as their `.gitignore`, can only deny more.
    ///
    /// ```
    /// use capread::{Policy, Root};
    ///
    /// # fn main() -> Result<(), capread::Error> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// let policy = Policy::deny([".env"])?.and(Policy::deny(["target/", "!.env"])?);
    /// let root = Root::open_ambient(directory.path())?.with_policy(policy);
    /// assert_eq!(root.open(".env").unwrap_err().code(), "denied");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.lists.extend(other.lists);
        if other.hard_links == HardLinks::Deny { self.deny_hard_links() } else { self }
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

    /// Whether the path is denied for its last name; the directories above it are judged when they are entered.
    ///
    /// A name that others follow is a directory, or a link to one. Of the last one nothing is known before it is looked at, and it
    /// is denied when it would be as a directory or as anything else.
    pub(crate) fn denies(&self, path: &RelPath, end: End) -> bool {
        #[cfg(test)]
        MATCHES.set(MATCHES.get() + 1);
        if self.lists.is_empty() {
            return false;
        }
        let path = Path::new(path.as_os_str());
        let folded = folded(&path.to_string_lossy());
        self.lists.iter().any(|list| list.deny(path, folded.as_ref(), end))
    }
}

impl Patterns {
    fn new<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Self> {
        let [mut exact, mut any_case, mut folding] = [Case::Exact, Case::Ignored, Case::Ignored].map(builder);
        for pattern in patterns {
            let given = pattern.as_ref();
            let Some(pattern) = literal(given).map_err(|reason| refused(given, reason))? else { continue };
            for (builder, pattern) in
                [(&mut exact, &pattern), (&mut any_case, &pattern), (&mut folding, &folded(&pattern))]
            {
                builder.add_line(None, pattern).map_err(|error| refused(given, error))?;
            }
        }
        let build = |builder: GitignoreBuilder| {
            builder.build().map_err(|error| Error::invalid(format!("deny patterns: {error}")))
        };
        Ok(Self { exact: build(exact)?, any_case: build(any_case)?, folded: build(folding)? })
    }

    fn deny(&self, path: &Path, folded: &Path, end: End) -> bool {
        let matchers = [(&self.exact, path), (&self.any_case, path), (&self.folded, folded)];
        matchers.into_iter().any(|(patterns, path)| {
            patterns.matched(path, true).is_ignore() || end == End::Last && patterns.matched(path, false).is_ignore()
        })
    }
}

#[cfg(test)]
thread_local! {
    /// Times that a path was matched with patterns.
    pub(crate) static MATCHES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Exact,
    Ignored,
}

fn builder(case: Case) -> GitignoreBuilder {
    let mut builder = GitignoreBuilder::new("");
    builder.case_insensitive(case == Case::Ignored).expect("it never fails");
    builder
}

/// The pattern of a line, if there is one, with braces that mean themselves, as in gitignore(5); the library has alternatives in them.
/// Or why it cannot be taken.
fn literal(line: &str) -> Result<Option<String>, &'static str> {
    let line = trimmed(line);
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    if line.starts_with('\u{feff}') {
        return Err("it starts with a byte order mark");
    }
    if line.ends_with(|c: char| c.is_whitespace() && c != ' ') {
        return Err("it ends with white space that is no space");
    }
    check_components(line)?;
    escape_braces(line).map(Some)
}

/// Without what git takes off at the end of a line: a carriage return, and spaces that are not escaped.
fn trimmed(line: &str) -> &str {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let text = line.trim_end_matches(' ');
    let backslashes = text.len() - text.trim_end_matches('\\').len();
    let is_escaped = backslashes % 2 == 1 && text.len() < line.len();
    &line[..text.len() + usize::from(is_escaped)]
}

/// No path has such components, so that the pattern would match nothing, whatever it was to deny.
fn check_components(pattern: &str) -> Result<(), &'static str> {
    let pattern = pattern.strip_prefix('!').unwrap_or(pattern);
    let pattern = pattern.strip_prefix('/').unwrap_or(pattern);
    let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
    let mut components = pattern.split('/').map(|component| component.replace('\\', ""));
    match components.find(|component| matches!(component.as_str(), "" | "." | "..")).as_deref() {
        None => Ok(()),
        Some("") => Err("no path has an empty component"),
        Some(_) => Err("no path has a component '.' or '..'"),
    }
}

fn escape_braces(pattern: &str) -> Result<String, &'static str> {
    let mut literal = String::with_capacity(pattern.len());
    let (mut in_class, mut escaped) = (false, false);
    for (index, c) in pattern.char_indices() {
        match c {
            _ if escaped => {}
            '\0' => return Err("no name has a NUL in it"),
            '\n' | '\r' if !in_class => return Err("it has a line break in it"),
            '{' if !in_class && is_list(&pattern[index..]) => {
                return Err("there are no lists in braces (a brace is \\{)");
            }
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

/// As shells have it: `{pem,key}`.
fn is_list(pattern: &str) -> bool {
    pattern.split_once('}').is_some_and(|(inside, _)| inside.contains(','))
}

fn refused(pattern: &str, reason: impl fmt::Display) -> Error {
    Error::invalid(format!("deny pattern {} does not parse: {}", Shown(pattern), Shown(&reason.to_string())))
}
