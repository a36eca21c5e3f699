//! The calls that are not answered yet.

use std::time::{Duration, Instant};

use crate::Result;

/// Their ids, and when they were sent. There are few.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Vec<(u64, Instant)>);

impl Waiting {
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Of a call that is sent now.
    pub(crate) fn begin(&mut self, id: u64) {
        self.0.push((id, Instant::now()));
    }

    /// How long the call waited. Each is answered once, in any order.
    pub(crate) fn end(&mut self, id: u64) -> Result<Duration> {
        let place = self.0.iter().position(|(call, _)| *call == id);
        let place = place.ok_or_else(|| format!("answer {id} is to no call that waits"))?;
        Ok(self.0.swap_remove(place).1.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_answers_in_any_order() {
        let mut waiting = Waiting::default();
        (1..=3).for_each(|id| waiting.begin(id));
        for (id, left) in [(2, 2), (1, 1), (3, 0)] {
            waiting.end(id).expect("a call");
            assert_eq!(waiting.count(), left);
        }
    }

    #[test]
    fn refuses_what_is_answered_twice_or_was_never_asked() {
        let mut waiting = Waiting::default();
        waiting.begin(1);
        assert_eq!(waiting.end(2).expect_err("not asked").to_string(), "answer 2 is to no call that waits");
        waiting.end(1).expect("the first answer");
        waiting.end(1).expect_err("the second answer");
    }
}
