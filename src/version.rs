//! Which state of which file was read.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::sys::Stat;

/// A file's identity and state: device, inode, size, and the times of its last change (mtime and ctime, stat(2)) as finely as its
/// file system keeps them. Taken from the open file, never by a name.
///
/// `Display` is an opaque token for [`ReadRequest::if_version`](crate::ReadRequest::if_version). Two states of one file that differ have
/// different versions unless both times were taken from the same tick of the kernel's clock (1 to 10 ms, and finer since Linux
/// 6.13; 2 s on FAT) and the sizes are equal. A process that writes through a shared mapping changes the times only when the
/// kernel notices, mmap(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    device: u64,
    inode: u64,
    size: u64,
    modified: Timestamp,
    changed: Timestamp,
}

/// A time of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Timestamp {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: u64,
}

/// Longer than a tick of the slowest kernel's clock (100 Hz), which file systems that keep nanoseconds take their times from.
const TICK: Duration = Duration::from_millis(20);

/// Fewer bytes a second than any disk takes in.
const WRITTEN_PER_SECOND: u64 = 64 * 1024 * 1024;

/// Most bytes that one write(2) takes.
const MAX_WRITE: u64 = 1 << 31;

/// Longer than the steps of file systems that keep whole seconds: FAT's are two.
const COARSE_STEP: Duration = Duration::from_millis(2020);

impl Version {
    pub(crate) fn of(stat: &Stat) -> Self {
        let Stat { device, inode, size, modified, changed, .. } = *stat;
        Self { device, inode, size, modified, changed }
    }

    /// Whether a change at `moment` or later gives another version: one that begins then has other times, and one that had begun before,
    /// with these, has ended, since the times are those of a write's beginning. Of a write that takes longer than it should, nobody can
    /// tell.
    pub(crate) fn is_settled_at(&self, moment: SystemTime) -> bool {
        let written = Duration::from_millis(self.size.min(MAX_WRITE) * 1000 / WRITTEN_PER_SECOND);
        [self.changed, self.modified].iter().all(|time| time.is_settled_at(moment, written))
    }

    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

impl Timestamp {
    fn is_settled_at(self, moment: SystemTime, written: Duration) -> bool {
        // Whole seconds are taken as all that the file system keeps.
        let step = if self.nanoseconds == 0 { COARSE_STEP } else { TICK };
        // A file from before 1970 is settled; one from beyond what the clock can express is not.
        let Ok(seconds) = u64::try_from(self.seconds) else { return true };
        let since_epoch = Duration::from_secs(seconds) + Duration::from_nanos(self.nanoseconds);
        UNIX_EPOCH.checked_add(since_epoch + step + written).is_some_and(|settled| settled <= moment)
    }
}

/// Numbers in hexadecimal, of a form that may change with any release.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, inode, size, modified, changed } = self;
        write!(f, "{device:x}-{inode:x}-{size:x}-{modified:x}-{changed:x}")
    }
}

impl fmt::LowerHex for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}.{:x}", self.seconds, self.nanoseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Version {
        pub(crate) fn new(inode: u64, changed: Timestamp) -> Self {
            Self { device: 1, inode, size: 0, modified: changed, changed }
        }
    }

    #[test]
    fn a_file_is_settled_once_its_clock_has_ticked() {
        let at = |seconds, nanoseconds| Version::new(1, Timestamp { seconds, nanoseconds });
        let moment = |milliseconds| UNIX_EPOCH + Duration::from_millis(milliseconds);
        for (version, milliseconds, settled) in [
            (at(1000, 500_000_000), 1_000_500, false),
            (at(1000, 500_000_000), 1_000_519, false),
            (at(1000, 500_000_000), 1_000_520, true),
            // Whole seconds may be all that the file system keeps.
            (at(1000, 0), 1_002_019, false),
            (at(1000, 0), 1_002_020, true),
            // A clock that was put back, or another machine's.
            (at(2000, 1), 1_000_000, false),
            (at(i64::MAX, 1), 1_000_000, false),
            (at(-5, 0), 0, true),
        ] {
            assert_eq!(version.is_settled_at(moment(milliseconds)), settled, "{version} at {milliseconds} ms");
        }
        for (size, seconds) in [(64 << 20, 1001), (1 << 30, 1016), (1 << 31, 1032), (u64::MAX, 1032)] {
            let version = Version { size, ..at(1000, 480_000_000) };
            assert!(!version.is_settled_at(moment(seconds * 1000 + 499)), "{size} bytes, still written");
            assert!(version.is_settled_at(moment(seconds * 1000 + 500)), "{size} bytes");
        }
        let mut version = at(1000, 1);
        version.modified.seconds = 2000;
        assert!(!version.is_settled_at(moment(1_500_000)), "both times count");
    }
}
