//! Two clocks: what the thread used, and what passed.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, Timespec, clock_gettime};

/// How long something took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    /// User and system time of the calling thread.
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
}

/// Times `work` on the calling thread.
pub(crate) fn time<E>(work: impl FnOnce() -> Result<(), E>) -> Result<Took, E> {
    let (wall, cpu) = (Instant::now(), thread_cpu());
    work()?;
    Ok(Took { cpu: thread_cpu().saturating_sub(cpu), wall: wall.elapsed() })
}

fn thread_cpu() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ThreadCPUTime);
    Duration::from_secs(tv_sec.try_into().unwrap_or(0)) + Duration::from_nanos(tv_nsec.try_into().unwrap_or(0))
}
