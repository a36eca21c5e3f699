//! Two clocks: what was used of the processor, and what passed.

use std::hint::black_box;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use crate::Result;

/// How long something took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    /// User and system time.
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
}

impl Took {
    /// The mean of runs that tell their own times.
    pub(crate) fn mean(length: Length, mut run: impl FnMut() -> Result<Self>) -> Result<Self> {
        let mut sum = Self { cpu: Duration::ZERO, wall: Duration::ZERO };
        let runs = length.fill(|| {
            let took = run()?;
            sum = Self { cpu: sum.cpu + took.cpu, wall: sum.wall + took.wall };
            Ok(())
        })?;
        Ok(Self { cpu: sum.cpu / runs, wall: sum.wall / runs })
    }
}

/// For figures with a fraction.
pub(crate) fn nanoseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

/// How many calls are timed together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    Calls(u32),
    /// As many as take this long: one where a call takes longer.
    AtLeast(Duration),
}

impl Length {
    /// Calls, and tells how often. What a call returns is dropped at once.
    pub(crate) fn fill<T>(self, mut call: impl FnMut() -> Result<T>) -> Result<u32> {
        let mut batch = |calls| (0..calls).try_for_each(|_| call().map(|done| drop(black_box(done))));
        match self {
            Self::Calls(calls) => batch(calls).map(|()| calls),
            Self::AtLeast(enough) => fill_time(enough, batch),
        }
    }
}

/// Batches grow, so that looking at the clock costs nothing even where a call takes nanoseconds.
fn fill_time(enough: Duration, mut batch: impl FnMut(u32) -> Result<()>) -> Result<u32> {
    let (start, mut calls) = (Instant::now(), 0);
    while calls == 0 || start.elapsed() < enough {
        let more = calls.max(1);
        batch(more)?;
        calls += more;
    }
    Ok(calls)
}

/// Whose processor time is looked at, user and system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuClock(ClockId);

impl CpuClock {
    /// The calling thread's.
    pub(crate) const THREAD: Self = Self(ClockId::CLOCK_THREAD_CPUTIME_ID);

    /// That of all threads of this process.
    pub(crate) const PROCESS: Self = Self(ClockId::CLOCK_PROCESS_CPUTIME_ID);

    /// That of all threads of another process, as long as it runs.
    pub(crate) fn of_process(id: u32) -> Result<Self> {
        Ok(Self(clock_getcpuclockid(Pid::from_raw(id.try_into()?))?))
    }

    fn now(self) -> Result<Duration> {
        Ok(clock_gettime(self.0)?.into())
    }
}

/// Times calls together, and tells what one took. What they return is dropped within the time.
pub(crate) fn time<T>(clock: CpuClock, length: Length, call: impl FnMut() -> Result<T>) -> Result<Took> {
    let (wall, cpu) = (Instant::now(), clock.now()?);
    let calls = length.fill(call)?;
    Ok(Took { cpu: clock.now()?.saturating_sub(cpu) / calls, wall: wall.elapsed() / calls })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_counts_work() {
        let of_this = CpuClock::of_process(std::process::id()).expect("a clock");
        for clock in [CpuClock::THREAD, CpuClock::PROCESS, of_this] {
            let took =
                time(clock, Length::Calls(1), || Ok((0..2_000_000_u64).map(black_box).sum::<u64>())).expect("a time");
            assert!(took.cpu > Duration::ZERO, "{clock:?}");
        }
    }

    #[test]
    fn calls_as_often_as_told() {
        let mut called = 0;
        let mut call = || {
            called += 1;
            Ok(())
        };
        assert_eq!(Length::Calls(7).fill(&mut call).expect("calls"), 7);
        assert_eq!(called, 7);
    }

    #[test]
    fn calls_until_it_is_enough() {
        let sleep = || {
            std::thread::sleep(Duration::from_millis(2));
            Ok(())
        };
        assert_eq!(Length::AtLeast(Duration::from_millis(1)).fill(sleep).expect("calls"), 1);
        let calls = Length::AtLeast(Duration::from_millis(9)).fill(sleep).expect("calls");
        assert!((1..=8).contains(&calls), "{calls}");
    }
}
