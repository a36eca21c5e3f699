//! Several systems in turn, round by round, so that the noise of the machine hits all of them alike.

use crate::Result;
use crate::clock::{self, CpuClock, Length, Took};
use crate::stats;

/// One system's turn: it does its calls, and tells what they came to: mostly what one of them took.
pub(crate) type Turn<'a, T = Took> = Box<dyn FnMut() -> Result<T> + 'a>;

/// One way to do the thing measured, in this process; what it returns is dropped within the time.
pub(crate) struct System<T> {
    pub(crate) name: &'static str,
    pub(crate) call: Box<dyn Fn() -> Result<T>>,
}

impl<T> System<T> {
    /// `calls` calls, timed together.
    pub(crate) fn turn(&self, calls: u32) -> Turn<'_> {
        Box::new(move || clock::time(CpuClock::THREAD, Length::Calls(calls), &self.call))
    }
}

/// How often everything is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Of one system in one round, timed together.
    pub(crate) calls: u32,
}

/// How often everybody has a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    /// Before the first that counts: caches fill, and memory is asked for.
    pub(crate) warm_up: usize,
    pub(crate) counted: usize,
}

/// Nanoseconds per call, one value for each round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    pub(crate) cpu: Vec<f64>,
    pub(crate) wall: Vec<f64>,
}

impl Samples {
    pub(crate) fn cpu_median(&self) -> f64 {
        stats::median(self.cpu.iter().copied())
    }

    pub(crate) fn wall_median(&self) -> f64 {
        stats::median(self.wall.iter().copied())
    }
}

impl FromIterator<Took> for Samples {
    fn from_iter<I: IntoIterator<Item = Took>>(rounds: I) -> Self {
        let times = rounds.into_iter().map(|took| (clock::nanoseconds(took.cpu), clock::nanoseconds(took.wall)));
        let (cpu, wall) = times.unzip();
        Self { cpu, wall }
    }
}

/// The samples of each system, in the order of `turns`.
pub(crate) fn samples(turns: &mut [Turn<'_>], rounds: Rounds) -> Result<Vec<Samples>> {
    Ok(in_turn(turns, rounds)?.into_iter().map(Samples::from_iter).collect())
}

/// What each system came to, round by round, in the order of `turns`.
pub(crate) fn in_turn<T>(turns: &mut [Turn<'_, T>], rounds: Rounds) -> Result<Vec<Vec<T>>> {
    let mut all: Vec<Vec<T>> = turns.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds.warm_up + rounds.counted {
        for index in order(turns.len(), round) {
            let came_to = turns[index]()?;
            if round >= rounds.warm_up {
                all[index].push(came_to);
            }
        }
    }
    Ok(all)
}

/// Each round starts with another system, and every other one goes backwards: nobody always follows the same neighbour.
fn order(count: usize, round: usize) -> impl Iterator<Item = usize> {
    let rotated = move |place: usize| (place + round) % count;
    (0..count).map(move |place| if round.is_multiple_of(2) { rotated(place) } else { count - 1 - rotated(place) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_every_system_once() {
        for round in 0..12 {
            let mut places: Vec<_> = order(5, round).collect();
            places.sort_unstable();
            assert_eq!(places, [0, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn counts_no_round_that_warms_up() {
        let mut turns = 0;
        let turn: Turn<'_> = Box::new(|| {
            turns += 1;
            clock::time(CpuClock::THREAD, Length::Calls(1), || Ok(()))
        });
        let rounds = in_turn(&mut [turn], Rounds { warm_up: 2, counted: 3 }).expect("rounds");
        assert_eq!((rounds[0].len(), turns), (3, 5));
    }
}
