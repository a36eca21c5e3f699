//! Who opens what: a FIFO on which a writer waits, and files that nobody may open.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

use crate::support::Tree;

/// What the writer has to say, to the test alone.
const WAITED: &str = "IN: waited\n";

/// Whether files were opened, whatever came of it and whatever their names are by then. The kernel notes nothing of `O_PATH`.
pub(crate) struct Opens(OwnedFd);

impl Opens {
    fn of(paths: impl IntoIterator<Item = PathBuf>, flags: WatchFlags) -> Self {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).unwrap();
        for path in paths {
            inotify::add_watch(&inotify, path, flags).unwrap();
        }
        Self(inotify)
    }

    /// Of the files outside the roots of these trees, by their literals.
    pub(crate) fn outside(trees: &[(&Tree, &[&str])]) -> Self {
        let is_outside = |entry: &&&str| entry.starts_with("O/") || entry.starts_with("T/");
        let is_file = |entry: &&&str| !entry.contains(' ') && !entry.ends_with(['/', '|']);
        let paths = trees
            .iter()
            .flat_map(|(tree, entries)| entries.iter().filter(is_outside).filter(is_file).map(|entry| tree.at(entry)));
        Self::of(paths, WatchFlags::OPEN)
    }

    /// Whether there were any since the last look.
    pub(crate) fn any(&self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 512];
        let mut events = inotify::Reader::new(&self.0, &mut buffer);
        let mut any = false;
        loop {
            match events.next() {
                Ok(_) => any = true,
                Err(Errno::AGAIN) => return any,
                Err(errno) => panic!("{errno}"),
            }
        }
    }
}

pub(crate) struct Fifo {
    /// A name of it that nobody changes.
    path: PathBuf,
    opens: Opens,
    ended: Arc<AtomicBool>,
    wakes: Arc<AtomicU64>,
    writer: JoinHandle<()>,
}

impl Fifo {
    /// `name` must stay where it is; a hard link may be moved around.
    pub(crate) fn new(tree: &Tree, name: &str) -> Self {
        let path = tree.at(name);
        // The end of an open for reading, which is noted before the reader goes on. The writer closes too, but not what it only read.
        let opens = Opens::of([path.clone()], WatchFlags::CLOSE_NOWRITE);
        let (ended, wakes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let writer = thread::spawn({
            let (path, ended, wakes) = (path.clone(), Arc::clone(&ended), Arc::clone(&wakes));
            move || write(&path, &ended, &wakes)
        });
        Self { path, opens, ended, wakes, writer }
    }

    /// Whether it was opened for reading, and closed, since the last look.
    pub(crate) fn was_opened(&self) -> bool {
        self.opens.any()
    }

    /// How often the writer was woken, as far as it got to count.
    pub(crate) fn wakes(&self) -> u64 {
        self.wakes.load(Ordering::SeqCst)
    }

    /// Reads what the writer waits to say.
    pub(crate) fn close(self) {
        self.ended.store(true, Ordering::SeqCst);
        let said = fs::read_to_string(&self.path).unwrap();
        assert!(said.lines().all(|line| line == WAITED.trim_end()) && said.ends_with('\n'), "{said}");
        self.writer.join().unwrap();
    }
}

/// A writer that was woken by somebody who did not read what it said waits again.
fn write(path: &Path, ended: &AtomicBool, wakes: &AtomicU64) {
    loop {
        let mut fifo = OpenOptions::new().write(true).open(path).unwrap();
        let mut say = || fifo.write_all(WAITED.as_bytes());
        if ended.load(Ordering::SeqCst) {
            if say().is_ok() {
                return;
            }
            continue;
        }
        wakes.fetch_add(1, Ordering::SeqCst);
        // As long as there is a reader, it is the same one.
        while !ended.load(Ordering::SeqCst) && say().is_ok() {}
    }
}
