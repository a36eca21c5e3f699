//! Where a time lies on a logarithmic axis.

use std::ops::Range;

/// Whole powers of ten, from below the shortest time to above the longest one.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    /// Powers of ten.
    from: i32,
    to: i32,
    pixels: Range<f64>,
}

impl Scale {
    pub(crate) fn new(times: impl Iterator<Item = f64>, pixels: Range<f64>) -> Self {
        let (least, most) =
            times.fold((f64::MAX, 1.0), |(least, most): (f64, f64), time| (least.min(time), most.max(time)));
        let from = power(least.min(most).log10().floor());
        Self { from, to: power(most.log10().ceil()).max(from + 1), pixels }
    }

    pub(crate) fn place(&self, time: f64) -> f64 {
        let part = (time.log10() - f64::from(self.from)) / f64::from(self.to - self.from);
        self.pixels.start + part.clamp(0.0, 1.0) * (self.pixels.end - self.pixels.start)
    }

    /// The powers of ten, and where they lie.
    pub(crate) fn decades(&self) -> impl Iterator<Item = (f64, f64)> {
        (self.from..=self.to).map(|power| 10_f64.powi(power)).map(|time| (self.place(time), time))
    }
}

/// Times are nanoseconds up to hours, so their powers of ten are small.
#[expect(clippy::cast_possible_truncation, reason = "clamped")]
fn power(logarithm: f64) -> i32 {
    logarithm.clamp(0.0, 15.0) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_whole_powers_of_ten() {
        let scale = Scale::new([2_000.0, 30_000.0].into_iter(), 100.0..300.0);
        let decades: Vec<_> = scale.decades().map(|(place, time)| format!("{place:.1} {time:.0}")).collect();
        assert_eq!(decades, ["100.0 1000", "200.0 10000", "300.0 100000"]);
    }

    #[test]
    fn keeps_to_the_axis() {
        let scale = Scale::new([1_000.0, 100_000.0].into_iter(), 0.0..2.0);
        let places = [1.0, 1_000.0, 10_000.0, 1e9].map(|time| format!("{:.2}", scale.place(time)));
        assert_eq!(places, ["0.00", "0.00", "1.00", "2.00"]);
    }

    #[test]
    fn has_a_length_even_for_one_time_or_none() {
        for times in [vec![1_000.0], vec![]] {
            assert_eq!(Scale::new(times.into_iter(), 0.0..1.0).decades().count(), 2);
        }
    }
}
