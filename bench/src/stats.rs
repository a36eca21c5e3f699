//! Medians, and ratios of what was measured in the same round.

/// The middle value, or the mean of the two in the middle. NaN where there is none.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        _ if sorted.is_empty() => f64::NAN,
        0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}

/// The least value that so many of a hundred are not above. NaN where there is none.
pub(crate) fn percentile(values: impl Iterator<Item = f64>, percent: usize) -> f64 {
    let sorted = sorted(values);
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The median of the ratios round by round. A neighbour on the machine who slows a round down slows both of its sides.
pub(crate) fn ratio(of: &[f64], to: &[f64]) -> f64 {
    median(of.iter().zip(to).map(|(of, to)| of / to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()).to_bits(), 2.0_f64.to_bits());
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()).to_bits(), 2.5_f64.to_bits());
        assert!(median(std::iter::empty()).is_nan());
    }

    #[test]
    fn takes_the_value_that_so_many_are_not_above() {
        let percentile = |count: u32, percent| percentile((1..=count).rev().map(f64::from), percent);
        let cases = [
            (1, 50, 1.0),
            (1, 99, 1.0),
            (4, 50, 2.0),
            (100, 99, 99.0),
            (200, 99, 198.0),
            (150, 99, 149.0),
            (7, 100, 7.0),
        ];
        for (count, percent, expected) in cases {
            assert_eq!(percentile(count, percent).to_bits(), f64::to_bits(expected), "{percent} of {count}");
        }
        assert!(percentile(0, 99).is_nan());
    }

    #[test]
    fn compares_within_rounds() {
        // The second round was ten times slower for both.
        assert_eq!(ratio(&[2.0, 20.0, 2.0], &[1.0, 10.0, 1.0]).to_bits(), 2.0_f64.to_bits());
    }
}
