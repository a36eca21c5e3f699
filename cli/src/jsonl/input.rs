//! Lines of input, none of them kept beyond a bound.

use std::io::{self, BufRead, Read};

/// Longest line in bytes, without its line break.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

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

    /// `None` at the end of the input.
    pub(super) fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        // One byte over the bound, which may be the line break.
        let mut bounded = self.input.by_ref().take(MAX_LINE_BYTES + 1);
        bounded.read_until(b'\n', &mut self.line)?;
        let is_full = bounded.limit() == 0;
        match self.line.last() {
            None => return Ok(None),
            Some(b'\n') => drop(self.line.pop()),
            Some(_) if is_full => {
                self.line = Vec::new();
                self.input.skip_until(b'\n')?;
                return Ok(Some(Line::TooLong));
            }
            Some(_) => {}
        }
        Ok(Some(Line::Text(&self.line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: usize = 1024 * 1024;

    /// Lines as text; `None` for a refused one.
    fn lines(input: &[u8]) -> Vec<Option<String>> {
        let mut reader = LineReader::new(input);
        std::iter::from_fn(|| {
            reader.next_line().unwrap().map(|line| match line {
                Line::Text(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
                Line::TooLong => None,
            })
        })
        .collect()
    }

    #[test]
    fn takes_a_line_of_the_bound_and_refuses_one_byte_more() {
        let fits = "x".repeat(BOUND);
        let input = format!("{fits}\n{fits}y\na\n\nb");
        let [a, empty, b] = ["a", "", "b"].map(|line| Some(line.to_owned()));
        assert_eq!(lines(input.as_bytes()), [Some(fits), None, a, empty, b]);
    }

    #[test]
    fn refuses_a_last_line_without_a_break_too() {
        assert_eq!(lines("z".repeat(3 * BOUND).as_bytes()), [None]);
        assert_eq!(lines(b""), []);
    }
}
