//! The indexes of the files that a tool has read lately, and when one of them may be believed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::cancel::Stop;
use crate::error::Result;
use crate::file::RegularFile;
use crate::text::{CHUNK_BYTES, Memo, to_u64};
use crate::version::Version;
use crate::window::{Scan, Window};

/// Most files that are remembered.
const MAX_FILES: usize = 128;

/// Most bytes of memory for all their places, which are those of 16 files of a GiB, or of many smaller ones.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// What was found of files, by their versions, the latest first.
///
/// A memo is believed only for the very version that it was made of. It is kept only where the file had that version before and
/// after the scan, and where a change during the scan would have given another one: [`Version::is_settled_at`].
#[derive(Debug, Default)]
pub(crate) struct Indexes {
    files: Mutex<Vec<(Version, Memo)>>,
}

impl Indexes {
    /// The window of a file, found with what is known of it; and what is found is remembered, whether or not the window can be had.
    pub(crate) fn window(&self, file: &RegularFile, scan: Scan<'_>, stop: &Stop<'_>) -> Result<Window> {
        // One chunk is read as soon as a place is looked up. Size 0 says nothing: files of procfs have no versions.
        if file.size() <= to_u64(CHUNK_BYTES) {
            return file.scan(scan, &mut Memo::none(), stop);
        }
        let (version, begun) = (file.version(), SystemTime::now());
        let recalled = self.recall(&version);
        let is_recalled = recalled.is_some();
        let mut memo = recalled.unwrap_or_else(|| Memo::fresh(file.size()));
        let result = file.scan(scan, &mut memo, stop);
        let is_changed = match &result {
            Ok(window) => window.changed_during_read,
            Err(_) => !file.is_unchanged()?,
        };
        if !is_changed && version.is_settled_at(begun) {
            self.keep(version, memo);
        } else if is_changed && is_recalled {
            // What was known is of another state than what was read.
            return file.scan(scan, &mut Memo::none(), stop);
        }
        result
    }

    /// What is known of the file.
    fn recall(&self, version: &Version) -> Option<Memo> {
        self.files().iter().find(|(known, _)| known == version).map(|(_, memo)| memo.clone())
    }

    /// Remembers, in place of what was known of the file in this and any other state.
    fn keep(&self, version: Version, memo: Memo) {
        let mut files = self.files();
        files.retain(|(known, _)| !known.is_same_file(&version));
        files.insert(0, (version, memo));
        let mut bytes = 0;
        let fitting = files.iter().take(MAX_FILES).take_while(|(_, memo)| {
            bytes += memo.bytes();
            bytes <= MAX_BYTES
        });
        let fitting = fitting.count();
        files.truncate(fitting);
    }

    fn files(&self) -> MutexGuard<'_, Vec<(Version, Memo)>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Place;
    use crate::version::Timestamp;

    /// A file with so many places.
    fn file(inode: u64, places: u64) -> (Version, Memo) {
        let mut memo = Memo::fresh(u64::MAX);
        let spacing = memo.spacing().expect("is there");
        (0..places).for_each(|number| memo.record(Place { offset: number * spacing, breaks: number }));
        (Version::new(inode, Timestamp::default()), memo)
    }

    #[test]
    fn remembers_the_latest_files_within_both_bounds() {
        for (places, most) in [(1, MAX_FILES), (4096, MAX_BYTES / (4096 * 16))] {
            let indexes = Indexes::default();
            let files: Vec<_> = (0..300).map(|inode| file(inode, places)).collect();
            for (version, memo) in &files {
                indexes.keep(*version, memo.clone());
                // The first one stays, since it is asked for again and again.
                indexes.keep(files[0].0, indexes.recall(&files[0].0).expect("is remembered"));
            }
            let remembered: Vec<_> = files.iter().map(|(version, _)| indexes.recall(version).is_some()).collect();
            let count = remembered.iter().filter(|remembered| **remembered).count();
            assert!((most - 1..=most).contains(&count), "{count} of {most} files of {places} places");
            assert!(remembered[0] && remembered[300 - count + 1..].iter().all(|remembered| *remembered));
            let bytes: usize = indexes.files().iter().map(|(_, memo)| memo.bytes()).sum();
            assert!(bytes <= MAX_BYTES, "{bytes} bytes");
        }
    }

    #[test]
    fn remembers_one_state_of_a_file() {
        let indexes = Indexes::default();
        let (old, memo) = file(1, 1);
        let new = Version::new(1, Timestamp { seconds: 1, nanoseconds: 0 });
        indexes.keep(old, memo.clone());
        indexes.keep(new, memo);
        assert!(indexes.recall(&old).is_none() && indexes.recall(&new).is_some());
    }
}
