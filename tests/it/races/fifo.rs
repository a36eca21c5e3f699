//! A FIFO on which a writer waits, and whether anyone opened it.

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

pub(crate) struct Fifo {
    /// A name of it that nobody changes.
    path: PathBuf,
    opens: OwnedFd,
    ended: Arc<AtomicBool>,
    wakes: Arc<AtomicU64>,
    writer: JoinHandle<()>,
}

impl Fifo {
    /// `name` must stay where it is; a hard link may be moved around.
    pub(crate) fn new(tree: &Tree, name: &str) -> Self {
        let path = tree.at(name);
        let opens = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&opens, &path, WatchFlags::CLOSE_NOWRITE).unwrap();
        let (ended, wakes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let writer = thread::spawn({
            let (path, ended, wakes) = (path.clone(), Arc::clone(&ended), Arc::clone(&wakes));
            move || write(&path, &ended, &wakes)
        });
        Self { path, opens, ended, wakes, writer }
    }

    /// Whether it was opened for reading, and closed, since the last look. The kernel notes it within the close, and notes nothing of
    /// `O_PATH` nor of the writer.
    pub(crate) fn was_opened(&self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 512];
        let mut events = inotify::Reader::new(&self.opens, &mut buffer);
        let mut opened = false;
        loop {
            match events.next() {
                Ok(_) => opened = true,
                Err(Errno::AGAIN) => return opened,
                Err(errno) => panic!("{errno}"),
            }
        }
    }

    /// How often the writer was woken, as far as it got to count.
    pub(crate) fn wakes(&self) -> u64 {
        self.wakes.load(Ordering::SeqCst)
    }

    /// Reads what the writer waits to say.
    pub(crate) fn close(self) {
        self.ended.store(true, Ordering::SeqCst);
        assert_eq!(fs::read_to_string(&self.path).unwrap(), WAITED);
        self.writer.join().unwrap();
    }
}

/// A writer that was woken by somebody who did not read what it said waits again.
fn write(path: &Path, ended: &AtomicBool, wakes: &AtomicU64) {
    loop {
        let mut fifo = OpenOptions::new().write(true).open(path).unwrap();
        let was_woken = !ended.load(Ordering::SeqCst);
        wakes.fetch_add(was_woken.into(), Ordering::SeqCst);
        if fifo.write_all(WAITED.as_bytes()).is_ok() && !was_woken {
            return;
        }
    }
}
