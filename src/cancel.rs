//! How a caller stops a read.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{ErrorKind, Result};

/// A flag that stops a read.
///
/// It is asked before anything else, between the components of a walk, and between the chunks (64 KiB) of a scan, so asking must be
/// cheap. Any closure `Fn() -> bool` is one, and so is an [`AtomicBool`]; every async runtime's token fits as
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
pub trait Cancel {
    /// Whether the read should end now, with [`ErrorKind::Cancelled`].
    fn is_cancelled(&self) -> bool;
}

impl<F: Fn() -> bool + ?Sized> Cancel for F {
    fn is_cancelled(&self) -> bool {
        self()
    }
}

impl Cancel for AtomicBool {
    fn is_cancelled(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}

/// What can stop one read: the caller's flag, and the application's deadline counted from the read's start.
pub(crate) struct Stop<'a> {
    cancel: &'a dyn Cancel,
    deadline: Option<Deadline>,
}

struct Deadline {
    at: Instant,
    allowed: Duration,
}

impl<'a> Stop<'a> {
    pub(crate) fn new(cancel: &'a dyn Cancel, allowed: Option<Duration>) -> Self {
        // A deadline beyond what the clock can express is no deadline.
        let deadline = allowed.and_then(|allowed| Some(Deadline { at: Instant::now().checked_add(allowed)?, allowed }));
        Self { cancel, deadline }
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
