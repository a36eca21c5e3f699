//! How a caller stops a read, and hears how far it has come.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::{ErrorKind, Result};

/// A flag that stops a read.
///
/// It is asked before anything else, between the components of a walk, and between the chunks (at most 64 KiB) of a scan, so asking
/// must be cheap. Where two threads share a long scan, both ask. Any closure `Fn() -> bool` is one, and so is an [`AtomicBool`]; every async runtime's token fits as
/// `&|| token.is_cancelled()`. A caller that never stops a read passes `&|| false`.
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use capread::Cancel;
///
/// let flag = AtomicBool::new(true);
/// assert!(flag.is_cancelled());
/// assert!(!(|| false).is_cancelled());
/// ```
pub trait Cancel: Sync {
    /// Whether the read should end now, with [`ErrorKind::Cancelled`].
    fn is_cancelled(&self) -> bool;
}

impl<F: Fn() -> bool + Sync + ?Sized> Cancel for F {
    fn is_cancelled(&self) -> bool {
        self()
    }
}

impl Cancel for AtomicBool {
    fn is_cancelled(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}

/// How far a scan has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes of the file that have been dealt with. Of one read it only grows.
    pub scanned: u64,
    /// Bytes of the file, where its size is known.
    pub size: Option<u64>,
}

/// What can stop one read: the caller's flag, and the application's deadline counted from the read's start; and who wants to hear how
/// far it has come.
pub(crate) struct Stop<'a> {
    cancel: &'a dyn Cancel,
    deadline: Option<Deadline>,
    progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// The furthest that was told.
    told: AtomicU64,
}

struct Deadline {
    at: Instant,
    allowed: Duration,
}

impl<'a> Stop<'a> {
    pub(crate) fn new(cancel: &'a dyn Cancel, allowed: Option<Duration>) -> Self {
        // A deadline beyond what the clock can express is no deadline.
        let deadline = allowed.and_then(|allowed| Some(Deadline { at: Instant::now().checked_add(allowed)?, allowed }));
        Self { cancel, deadline, progress: None, told: AtomicU64::new(0) }
    }

    pub(crate) fn with_progress(self, progress: &'a (dyn Fn(Progress) + Sync)) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// The scan has come to this byte.
    pub(crate) fn tell(&self, scanned: u64, size: Option<u64>) {
        let Some(progress) = self.progress else { return };
        if scanned > self.told.fetch_max(scanned, Ordering::Relaxed) {
            progress(Progress { scanned, size });
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(ErrorKind::Cancelled.into());
        }
        match &self.deadline {
            Some(deadline) if Instant::now() >= deadline.at => {
                Err(ErrorKind::Deadline { allowed: deadline.allowed }.into())
            }
            _ => Ok(()),
        }
    }
}
