//! Medians, and ratios of what was measured in the same round.

/// The middle value, or the mean of the two in the middle. NaN where there is none.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        _ if sorted.is_empty() => f64::NAN,
        0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
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
    fn compares_within_rounds() {
        // The second round was ten times slower for both.
        assert_eq!(ratio(&[2.0, 20.0, 2.0], &[1.0, 10.0, 1.0]).to_bits(), 2.0_f64.to_bits());
    }
}
