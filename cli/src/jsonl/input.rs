//! Lines of input, none of them kept beyond a bound.

use std::io::{BufRead, Read};

/// Longest line in bytes, without its line break.
const MAX_LINE_BYTES: usize = 1024 * 1024;

pub(super) enum Line<'a> {
    Text(&'a [u8]),
    /// Over the bound. It was read past, not kept.
    TooLong,
}

pub(super) struct LineReader<R> {
    input: R,
    line: Vec<u8>,
}

impl<R: BufRead> LineReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, line: Vec::new() }
    }

    /// `None` at the end of the input, or where it cannot be read any more: to the caller that is the end as well.
    pub(super) fn next_line(&mut self) -> Option<Line<'_>> {
        self.line.clear();
        let bound = u64::try_from(MAX_LINE_BYTES + 1).ok()?;
        let count = self.input.by_ref().take(bound).read_until(b'\n', &mut self.line).ok()?;
        if count == 0 {
            return None;
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if count > MAX_LINE_BYTES {
            self.skip_line();
            return Some(Line::TooLong);
        }
        Some(Line::Text(&self.line))
    }

    /// An error ends the line; the next call meets it again.
    fn skip_line(&mut self) {
        self.line = Vec::new();
        let _ = self.input.skip_until(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as text; `None` for a refused one.
    fn lines(input: &[u8]) -> Vec<Option<String>> {
        let mut reader = LineReader::new(input);
        std::iter::from_fn(|| {
            reader.next_line().map(|line| match line {
                Line::Text(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
                Line::TooLong => None,
            })
        })
        .collect()
    }

    #[test]
    fn takes_a_line_of_the_bound_and_refuses_one_byte_more() {
        let fits = "x".repeat(MAX_LINE_BYTES);
        let input = format!("{fits}\n{fits}y\na\n\nb");
        let [a, empty, b] = ["a", "", "b"].map(|line| Some(line.to_owned()));
        assert_eq!(lines(input.as_bytes()), [Some(fits), None, a, empty, b]);
    }

    #[test]
    fn refuses_a_last_line_without_a_break_too() {
        assert_eq!(lines("z".repeat(3 * MAX_LINE_BYTES).as_bytes()), [None]);
        assert_eq!(lines(b""), []);
    }
}
