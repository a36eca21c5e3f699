//! Figures for people.

/// Three significant digits, or all before the point.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 99.95 || size == 0.0 || !size.is_finite() => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        size if size >= 0.09995 => 3,
        size if size >= 0.009_995 => 4,
        _ => 5,
    };
    format!("{value:.digits$}")
}

/// Nanoseconds, in the unit that fits.
pub(crate) fn time(nanoseconds: f64) -> String {
    let (unit, name) = match nanoseconds {
        ns if ns < 999.5 => (1.0, "ns"),
        ns if ns < 999.5e3 => (1e3, "µs"),
        ns if ns < 999.5e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {name}", number(nanoseconds / unit))
}

/// In the unit that fits, 1024 at a time.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(crate) fn bytes(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1024 => return format!("{bytes} B"),
        1024..0x10_0000 => (1024.0, "KiB"),
        0x10_0000..0x4000_0000 => (1_048_576.0, "MiB"),
        _ => (1_073_741_824.0, "GiB"),
    };
    format!("{} {name}", number(bytes as f64 / unit))
}

/// Whether a target was met, where it was measured.
pub(crate) fn verdict(passed: Option<bool>) -> String {
    let word = match passed {
        Some(true) => "pass",
        Some(false) => "FAIL",
        None => "",
    };
    word.to_owned()
}

/// With a comma between each three digits.
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_three_digits() {
        let cases = [
            (0.000_21, "0.00021"),
            (0.0123, "0.0123"),
            (0.25, "0.250"),
            (1.0, "1.00"),
            (99.96, "100"),
            (6012.3, "6012"),
            (0.0, "0"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn takes_the_unit_that_fits() {
        assert_eq!([12.0, 1500.0, 63.4e6, 2.5e9].map(time), ["12.0 ns", "1.50 µs", "63.4 ms", "2.50 s"]);
        assert_eq!([10, 10 * 1024, 50 << 20, 1 << 30].map(bytes), ["10 B", "10.0 KiB", "50.0 MiB", "1.00 GiB"]);
    }

    #[test]
    fn groups_digits() {
        assert_eq!([7, 999, 10_000, 1_234_567].map(count), ["7", "999", "10,000", "1,234,567"]);
    }
}
