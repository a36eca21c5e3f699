//! The tree that is read.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::TempDir;

use crate::Result;

/// The file at the root.
pub(crate) const FILE: &str = "file.txt";
const LINK: &str = "link";

/// Size of the file, in bytes.
pub(crate) const FILE_BYTES: usize = 10 * 1024;

/// Where the root lies in the new directory. `realpath` looks at every component, the root's own ones too; in `/tmp`, this makes as
/// many as `/home/user/work/project` has.
const ROOT: &str = "work/project";

/// Components of the deep path, the file's own name included.
pub(crate) const DEEP: usize = 24;

/// One path to the file.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Relative to the root.
    pub(crate) path: PathBuf,
}

/// A root with the same text at each place. Removed when dropped.
#[derive(Debug)]
pub(crate) struct Tree {
    directory: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) text: String,
}

impl Tree {
    /// In a new directory below `parent`.
    pub(crate) fn create(parent: &Path) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("capread-bench-").tempdir_in(parent)?;
        let tree = Self { root: directory.path().canonicalize()?.join(ROOT), directory, text: text() };
        tree.fill()?;
        Ok(tree)
    }

    /// Removes everything, and says so if that fails.
    pub(crate) fn remove(self) -> io::Result<()> {
        self.directory.close()
    }

    fn fill(&self) -> io::Result<()> {
        fs::create_dir_all(self.root.join(deep_directory()))?;
        fs::write(self.root.join(deep_directory()).join(FILE), &self.text)?;
        fs::write(self.root.join(FILE), &self.text)?;
        symlink(FILE, self.root.join(LINK))?;
        symlink(level(DEEP / 2), self.root.join(middle()).join(LINK))
    }
}

/// What is opened in each tree.
pub(crate) fn cases() -> [Case; 4] {
    let below_link: PathBuf = (DEEP / 2 + 1..DEEP).map(level).collect();
    [
        Case { name: "depth 1", path: FILE.into() },
        Case { name: "depth 24", path: deep_directory().join(FILE) },
        Case { name: "depth 1, a link", path: LINK.into() },
        Case { name: "depth 24, a link in the middle", path: middle().join(LINK).join(below_link).join(FILE) },
    ]
}

fn deep_directory() -> PathBuf {
    (1..DEEP).map(level).collect()
}

/// The directory half-way down. The link in it leads to the next one.
fn middle() -> PathBuf {
    (1..DEEP / 2).map(level).collect()
}

fn level(number: usize) -> String {
    format!("level-{number}")
}

/// About 250 lines of the lengths that source code has.
pub(crate) fn text() -> String {
    let lines = (1..).map(|number| format!("    // line {number:>4}: {}\n", "words and more ".repeat(number % 4)));
    let mut text = String::new();
    for line in lines {
        text.push_str(&line);
        if text.len() >= FILE_BYTES {
            break;
        }
    }
    text.truncate(FILE_BYTES - 1);
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_leads_to_the_text() {
        let tree = Tree::create(&std::env::temp_dir()).expect("a tree");
        for case in cases() {
            let found = fs::read_to_string(tree.root.join(&case.path)).expect(case.name);
            assert_eq!(found, tree.text);
            assert_eq!(case.path.components().count(), if case.name.contains("24") { DEEP } else { 1 });
        }
    }

    #[test]
    fn the_text_is_10_kib_of_about_250_lines() {
        let text = text();
        assert_eq!(text.len(), FILE_BYTES);
        assert!((240..=260).contains(&text.lines().count()), "{}", text.lines().count());
    }
}
