//! A file that lines are appended to, by several processes if need be.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};

/// Only its owner may read what was read.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Reading, to see how the line before ends; no waiting, whatever stands there.
const APPEND: OFlags = OFlags::RDWR.union(OFlags::APPEND).union(OFlags::CREATE).union(OFlags::NONBLOCK);

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// How often a line is written until it stands alone.
const MAX_TRIES: usize = 3;

pub(super) struct Appended {
    file: File,
    /// A file that is opened here; of a device, and of standard error, nothing is read.
    is_regular: bool,
}

impl Appended {
    /// The file is made where it is missing, and never cut short.
    ///
    /// No link on its way is followed, at the end or before it: what is appended has in it what models ask, and a tree that is not
    /// trusted may hold a link to a file that somebody executes.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // A link, but what those want who collect what a server says.
        if path == "/dev/stderr" {
            return Ok(Self { file: io::stderr().as_fd().try_clone_to_owned()?.into(), is_regular: false });
        }
        let file = walk(path)?;
        let kind = file.metadata()?.file_type();
        if !kind.is_file() && !kind.is_char_device() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
        }
        Ok(Self { file, is_regular: kind.is_file() })
    }

    /// Each line in one write, so that lines of several processes stay whole. One that stands behind what somebody could write only
    /// a part of, when the disk was full, is written again. To look before would not do: others may write until then.
    pub(super) fn append(&mut self, line: &str) -> io::Result<()> {
        let line = format!("{line}\n");
        for _ in 0..MAX_TRIES {
            self.write(&line)?;
            // Where this line ends, whatever others have appended since.
            if !self.is_regular || !self.is_torn((&self.file).stream_position()? - line.len() as u64)? {
                return Ok(());
            }
        }
        Err(io::Error::other("another process tears the lines of this one"))
    }

    /// Whether what ends there does not end as a line does.
    fn is_torn(&self, end: u64) -> io::Result<bool> {
        let Some(last) = end.checked_sub(1) else { return Ok(false) };
        let mut byte = [0];
        // Nothing is there where somebody has cut the file short meanwhile.
        Ok(self.file.read_at(&mut byte, last)? == 1 && byte != *b"\n")
    }

    fn write(&self, line: &str) -> io::Result<()> {
        let written = loop {
            match (&self.file).write(line.as_bytes()) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                written => break written?,
            }
        };
        if written == line.len() {
            return Ok(());
        }
        Err(io::Error::new(ErrorKind::WriteZero, "only a part of the line could be written"))
    }
}

/// Opens one component after the other.
fn walk(path: &Path) -> io::Result<File> {
    let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
    let mut directory = open_at(CWD, Path::new("."), DIRECTORY)?;
    for component in path.parent().into_iter().flat_map(Path::components) {
        let flags = if component == Component::RootDir { DIRECTORY } else { DIRECTORY | OFlags::NOFOLLOW };
        directory = open_at(directory, component.as_ref(), flags)?;
    }
    open_at(directory, name.as_ref(), APPEND | OFlags::NOFOLLOW | OFlags::NOCTTY).map(File::from)
}

fn open_at(directory: impl AsFd, name: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let is_link = || {
        let stat = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    };
    openat(&directory, name, flags | OFlags::CLOEXEC, MODE).map_err(|error| {
        if !is_link() {
            return error.into();
        }
        let name = name.display();
        io::Error::other(format!("{name} is a symbolic link, and none is followed; name the file by its real path"))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn every_line_stands_alone_once_whatever_others_tear() {
        assert!((0..100).any(|_| race()), "nothing was torn");
    }

    /// Whether a line was spoiled, and written again.
    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    fn race() -> bool {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines");
        let done = AtomicBool::new(false);
        let appended: Vec<String> = thread::scope(|scope| {
            let mut file = Appended::open(&path).unwrap();
            let mut other = File::options().append(true).open(&path).unwrap();
            let done = &done;
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    other.write_all(b"torn").unwrap();
                    thread::yield_now();
                }
            });
            let lines = (0..500).map(|number| format!("line {number}"));
            let appended = lines.filter(|line| file.append(line).is_ok()).collect();
            done.store(true, Ordering::Relaxed);
            appended
        });
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: HashSet<&str> = text.lines().collect();
        let lost: Vec<_> = appended.iter().filter(|line| !lines.contains(line.as_str())).collect();
        assert!(lost.is_empty(), "{} of {}: {lost:?}", lost.len(), appended.len());
        !appended.is_empty() && text.lines().any(|line| line.starts_with("torn") && line.contains("line"))
    }
}
