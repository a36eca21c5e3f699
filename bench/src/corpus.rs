//! The files that are read: always the same ones, made for the run.

pub(crate) mod excerpt;
mod log;
mod random;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Result, fixture};
use log::Log;

const MIB: u64 = 1024 * 1024;

/// Files in the directory of many.
const MANY_FILES: u64 = 10_000;

/// Lines of the longest of them.
const MANY_LINES: u64 = 60;

/// One file, and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct TextFile {
    pub(crate) name: &'static str,
    /// Relative to the root.
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
}

/// Everything that is read. Removed when dropped.
#[derive(Debug)]
pub(crate) struct Corpus {
    directory: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) small: TextFile,
    pub(crate) log: TextFile,
    pub(crate) large_log: TextFile,
    pub(crate) long_line: TextFile,
    pub(crate) empty_lines: TextFile,
    pub(crate) many: Vec<TextFile>,
}

/// What part of the full sizes is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale(pub(crate) f64);

impl Scale {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "far below 2^52"
    )]
    fn of(self, full: u64) -> u64 {
        ((full as f64 * self.0) as u64).max(1)
    }
}

impl Corpus {
    /// In a new directory below `parent`. Returns when everything is on the disk, so that nothing is written while it is measured.
    pub(crate) fn create(parent: &Path, scale: Scale) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("capread-bench-").tempdir_in(parent)?;
        let root = directory.path().canonicalize()?;
        let corpus = Self {
            small: write(&root, "small file", "small.txt", |file| write_text(file, &fixture::text()))?,
            log: write(&root, "log", "log.txt", |file| write_log(file, 1, scale.of(100 * MIB)))?,
            large_log: write(&root, "large log", "large.txt", |file| write_log(file, 2, scale.of(1024 * MIB)))?,
            long_line: write(&root, "long line", "line.json", |file| write_long_line(file, scale.of(50 * MIB)))?,
            empty_lines: write(&root, "empty lines", "empty.txt", |file| {
                write_empty_lines(file, scale.of(10_000_000))
            })?,
            many: write_many(&root, scale.of(MANY_FILES))?,
            directory,
            root,
        };
        rustix::fs::syncfs(File::open(&corpus.root)?)?;
        Ok(corpus)
    }

    /// The large ones, and the small one.
    pub(crate) fn files(&self) -> [&TextFile; 5] {
        [&self.small, &self.log, &self.large_log, &self.long_line, &self.empty_lines]
    }

    /// Removes everything, and says so if that fails.
    pub(crate) fn remove(self) -> io::Result<()> {
        self.directory.close()
    }
}

/// Bytes and lines.
type Size = (u64, u64);

type Writer = BufWriter<File>;

fn write(
    root: &Path,
    name: &'static str,
    path: &str,
    fill: impl FnOnce(&mut Writer) -> io::Result<Size>,
) -> Result<TextFile> {
    let mut writer = BufWriter::with_capacity(1024 * 1024, File::create_new(root.join(path))?);
    let (bytes, lines) = fill(&mut writer)?;
    writer.flush()?;
    Ok(TextFile { name, path: path.into(), bytes, lines })
}

fn write_text(writer: &mut Writer, text: &str) -> io::Result<Size> {
    writer.write_all(text.as_bytes())?;
    Ok((text.len() as u64, text.lines().count() as u64))
}

fn write_log(writer: &mut Writer, seed: u64, at_least: u64) -> io::Result<Size> {
    let (mut bytes, mut lines) = (0, 0);
    let mut log = Log::new(seed);
    while bytes < at_least {
        let line = log.next_line();
        writer.write_all(line.as_bytes())?;
        bytes += line.len() as u64;
        lines += 1;
    }
    Ok((bytes, lines))
}

/// As minified JSON is.
fn write_long_line(writer: &mut Writer, at_least: u64) -> io::Result<Size> {
    let mut bytes = 0;
    for number in 0_u64.. {
        let item = format!(r#"{{"id":{number},"name":"item {number}","tags":["a","b"]}},"#);
        writer.write_all(item.as_bytes())?;
        bytes += item.len() as u64;
        if bytes >= at_least {
            break;
        }
    }
    writer.write_all(b"\n")?;
    Ok((bytes + 1, 1))
}

fn write_empty_lines(writer: &mut Writer, lines: u64) -> io::Result<Size> {
    (0..lines).try_for_each(|_| writer.write_all(b"\n"))?;
    Ok((lines, lines))
}

fn write_many(root: &Path, count: u64) -> Result<Vec<TextFile>> {
    fs::create_dir(root.join("many"))?;
    let mut log = Log::new(3);
    (0..count)
        .map(|number| {
            let text: String = (0..=number * 7 % MANY_LINES).map(|_| log.next_line().to_owned()).collect();
            write(root, "one of many", &format!("many/{number:05}.txt"), |file| write_text(file, &text))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiny() -> Corpus {
        Corpus::create(&std::env::temp_dir(), Scale(0.001)).expect("a corpus")
    }

    #[test]
    fn makes_the_same_files_again() {
        let (first, second) = (tiny(), tiny());
        for (one, other) in
            first.files().into_iter().chain(&first.many).zip(second.files().into_iter().chain(&second.many))
        {
            let read = |corpus: &Corpus, file: &TextFile| fs::read(corpus.root.join(&file.path)).expect(file.name);
            assert!(read(&first, one) == read(&second, other), "{}", one.path.display());
        }
    }

    #[test]
    fn knows_the_bytes_and_lines_of_each() {
        let corpus = tiny();
        for file in corpus.files().into_iter().chain(&corpus.many) {
            let text = fs::read_to_string(corpus.root.join(&file.path)).expect(file.name);
            assert_eq!(
                (file.bytes, file.lines),
                (text.len() as u64, text.lines().count() as u64),
                "{}",
                file.path.display()
            );
            assert!(text.ends_with('\n'));
        }
    }

    #[test]
    fn has_the_sizes_of_the_scale() {
        let corpus = tiny();
        assert_eq!(corpus.many.len(), 10);
        assert_eq!(corpus.empty_lines.lines, 10_000);
        assert_eq!(corpus.long_line.lines, 1);
        assert!((1_000_000..1_200_000).contains(&corpus.large_log.bytes), "{}", corpus.large_log.bytes);
    }
}
