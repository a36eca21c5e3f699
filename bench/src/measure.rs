//! Several systems in turn, round by round, so that the noise of the machine hits all of them alike.

use std::hint::black_box;

use crate::Result;
use crate::clock::{self, Took};
use crate::stats;

/// Rounds before the first that counts: caches fill, and memory is asked for.
const WARM_UP_ROUNDS: usize = 3;

/// One way to do the thing measured; what it returns is dropped within the time.
pub(crate) struct System<T> {
    pub(crate) name: &'static str,
    pub(crate) call: Box<dyn Fn() -> Result<T>>,
}

/// How often everything is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Calls of one system in one round, timed together.
    pub(crate) calls: u32,
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

    fn push(&mut self, took: Took, calls: u32) {
        self.cpu.push((took.cpu / calls).as_secs_f64() * 1e9);
        self.wall.push((took.wall / calls).as_secs_f64() * 1e9);
    }
}

/// The samples of each system, in the order of `systems`.
pub(crate) fn interleaved<T>(systems: &[System<T>], plan: Plan) -> Result<Vec<Samples>> {
    let mut samples = vec![Samples::default(); systems.len()];
    for round in 0..WARM_UP_ROUNDS + plan.rounds {
        for index in order(systems.len(), round) {
            let took = clock::time(|| call(&systems[index], plan.calls))?;
            if round >= WARM_UP_ROUNDS {
                samples[index].push(took, plan.calls);
            }
        }
    }
    Ok(samples)
}

fn call<T>(system: &System<T>, calls: u32) -> Result<()> {
    for _ in 0..calls {
        black_box((system.call)()?);
    }
    Ok(())
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
}
