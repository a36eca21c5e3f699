//! Lines of input, none of them kept beyond a bound.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use memchr::memchr;

/// Longest line in bytes, without its line break.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

pub(crate) enum Line<'a> {
    Text(&'a [u8]),
    /// Over the bound. It was read past, not kept.
    TooLong,
}

pub(crate) struct LineReader {
    input: BufReader<Box<dyn Read + Send>>,
    line: Vec<u8>,
}

impl LineReader {
    pub(crate) fn new(input: impl Read + Send + 'static) -> Self {
        Self { input: BufReader::new(Box::new(input)), line: Vec::new() }
    }

    /// Whether the next line is here already.
    pub(crate) fn has_line(&self) -> bool {
        memchr(b'\n', self.input.buffer()).is_some()
    }

    /// `None` at the end of the input. Shows all of a line that is too long, in parts, to `seen`.
    pub(crate) fn next_line(&mut self, mut seen: impl FnMut(&[u8])) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        // One byte over the bound, which may be the line break.
        let mut bounded = self.input.by_ref().take(MAX_LINE_BYTES + 1);
        bounded.read_until(b'\n', &mut self.line)?;
        let is_full = bounded.limit() == 0;
        match self.line.last() {
            None => return Ok(None),
            Some(b'\n') => drop(self.line.pop()),
            Some(_) if is_full => {
                seen(&std::mem::take(&mut self.line));
                self.skip_line(seen)?;
                return Ok(Some(Line::TooLong));
            }
            Some(_) => {}
        }
        Ok(Some(Line::Text(without_mark(&self.line))))
    }

    fn skip_line(&mut self, mut seen: impl FnMut(&[u8])) -> io::Result<()> {
        loop {
            let buffer = match self.input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                buffer => buffer?,
            };
            let line = buffer.split(|byte| *byte == b'\n').next().unwrap_or_default();
            seen(line);
            let ends = buffer.is_empty() || line.len() < buffer.len();
            let used = line.len() + usize::from(line.len() < buffer.len());
            self.input.consume(used);
            if ends {
                return Ok(());
            }
        }
    }
}

/// Some programs put a byte order mark in front of the first line.
fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: usize = 1024 * 1024;

    /// Lines as text; `None` for a refused one.
    fn lines(input: &[u8]) -> Vec<Option<String>> {
        let mut reader = LineReader::new(io::Cursor::new(input.to_vec()));
        std::iter::from_fn(|| {
            reader.next_line(|_| {}).unwrap().map(|line| match line {
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
    fn shows_all_of_a_line_that_is_too_long() {
        let long = "abc".repeat(BOUND);
        let input = format!("{long}\na\n");
        let mut reader = LineReader::new(io::Cursor::new(input.into_bytes()));
        let mut seen = Vec::new();
        assert!(matches!(reader.next_line(|part| seen.extend_from_slice(part)), Ok(Some(Line::TooLong))));
        assert!(seen == long.as_bytes());
        assert!(matches!(reader.next_line(|_| {}), Ok(Some(Line::Text(b"a")))));
    }

    #[test]
    fn refuses_a_last_line_without_a_break_too() {
        assert_eq!(lines("z".repeat(3 * BOUND).as_bytes()), [None]);
        assert_eq!(lines(b""), []);
    }
}
