//! Parts of lines of a file in any encoding, against a decode of the whole.

use arbitrary::Arbitrary;
use capread::fuzzing::Remembering;
use capread::{Columns, Cut, Limits, ReadAt, Selection, Window};

use crate::whole::{File, Label, Line, Source, Whole};

/// Most reads of a run, so that none is slow.
const MAX_READS: usize = 12;
const MAX_PARTS: usize = 40;

/// A file, and reads each of which helps the next.
#[derive(Debug, Arbitrary)]
pub struct Case<'a> {
    label: Label,
    /// Bytes that may be looked at; 0 is all.
    horizon: u32,
    max_bytes: u16,
    counts_rest: bool,
    asks: Vec<Ask>,
    file: File<'a>,
}

#[derive(Clone, Debug, Arbitrary)]
struct Ask {
    /// Of the lines that there are, and one more.
    line: u16,
    /// Of the bytes that the line has, and some more.
    column: u32,
    /// Most bytes that reads give, in turn; 0 is no bound.
    pieces: [u8; 2],
}

/// What all reads of a run have in common.
struct Run<'a> {
    bytes: &'a [u8],
    whole: Whole,
    limits: Limits,
    max_bytes: usize,
    max_scan_bytes: Option<u64>,
    counts_rest: bool,
}

/// Reads parts as asked, and then one line from its start to its end.
pub fn check(case: &Case<'_>) {
    let bytes = case.file.bytes();
    let size = bytes.as_slice().known_size().expect("is known");
    let max_scan_bytes =
        Some(case.horizon).filter(|horizon| *horizon > 0).map(|horizon| u64::from(horizon % 300_000) + 1);
    let horizon = max_scan_bytes.map_or(usize::MAX, |bytes| usize::try_from(bytes).expect("fits"));
    let Some(whole) = Whole::new(&bytes, case.label, horizon) else { return };
    let max_bytes = u64::from(case.max_bytes) + 1;
    let limits = Limits::default().max_bytes(max_bytes).expect("is positive");
    let limits = max_scan_bytes.map_or(limits.clone(), |bytes| limits.max_scan_bytes(bytes).expect("is positive"));
    let run = Run {
        bytes: &bytes,
        whole,
        limits: if case.counts_rest { limits } else { limits.no_total() },
        max_bytes: usize::try_from(max_bytes).expect("fits"),
        max_scan_bytes,
        counts_rest: case.counts_rest,
    };
    let mut remembering = Remembering::new(size).in_encoding(case.label.text_encoding());
    for ask in case.asks.iter().take(MAX_READS) {
        let line = usize::from(ask.line) % (run.whole.lines.len() + 2);
        let length = run.line(line).map_or(0, |line| line.text.len());
        let column = usize::try_from(ask.column).expect("fits") % (length + 8);
        let pieces = if bytes.len() > 4096 { [0, 0] } else { ask.pieces.map(usize::from) };
        run.check(&mut remembering, pieces, line, column);
    }
    if let Some(ask) = case.asks.first() {
        run.read_on(&mut remembering, usize::from(ask.line) % (run.whole.lines.len() + 2));
    }
}

impl Run<'_> {
    /// Counted from 0; of the empty file the line that it has not.
    fn line(&self, line: usize) -> Option<&Line> {
        self.whole.lines.get(line).or(self.whole.open.as_ref().filter(|_| line == self.whole.lines.len()))
    }

    fn read(
        &self,
        remembering: &mut Remembering,
        pieces: [usize; 2],
        line: usize,
        column: usize,
    ) -> capread::Result<Window> {
        let selection = Selection::from_line(to_u64(line) + 1).and_then(|from| from.column(to_u64(column) + 1));
        remembering.read(&Source::new(self.bytes, pieces), selection.expect("are positive"), &self.limits)
    }

    fn check(&self, remembering: &mut Remembering, pieces: [usize; 2], number: usize, column: usize) {
        let found = self.read(remembering, pieces, number, column);
        let empty = Line::default();
        let is_empty_file = self.whole.lines.is_empty() && !self.whole.goes_on && number == 0;
        let line = self.line(number).or(is_empty_file.then_some(&empty));
        let is_open = number >= self.whole.lines.len() && self.whole.goes_on;
        let code = match line {
            None if self.whole.goes_on => Some("scan_limit"),
            None => Some("offset_beyond_end"),
            Some(line) if is_open && column >= line.text.len() => Some("scan_limit"),
            Some(line) if column > 0 && column >= line.text.len() => Some("column_beyond_end"),
            Some(_) => None,
        };
        match (found, code, line) {
            (Err(error), Some(code), _) => assert_eq!(error.code(), code),
            (Ok(window), None, Some(line)) => self.check_part(&window, line, is_open, number, column),
            (found, code, _) => panic!("{found:?} instead of {code:?}"),
        }
    }

    fn check_part(&self, window: &Window, line: &Line, is_open: bool, number: usize, column: usize) {
        let text = line.text.as_str();
        let start = (0..=column).rev().find(|at| text.is_char_boundary(*at)).expect("the start is one");
        let most = start.saturating_add(self.max_bytes).min(text.len());
        let fits = (start..=most).rev().find(|at| text.is_char_boundary(*at)).expect("the start is one");
        let one = text[start..].chars().next().map_or(start, |c| start + c.len_utf8());
        let end = fits.max(one);
        assert_eq!(window.text, text[start..end]);
        let replaced = line.replaced.iter().filter(|at| (start..end).contains(*at)).count();
        assert_eq!(window.replacements, to_u64(replaced));

        // The one more byte is what tells that a character has ended.
        let is_left = !self.counts_rest && text.len() > column + self.max_bytes.max(4) + 1;
        let known = if is_left { end + 1 } else { text.len() };
        let length = (!is_open && !is_left).then_some(to_u64(text.len()));
        let columns = Columns { start: to_u64(start) + 1, end: to_u64(end), length, known_length: to_u64(known) };
        assert_eq!(window.columns, Some(columns));

        let total = self.whole.lines.len();
        let is_last = length == Some(to_u64(end));
        let is_end = is_last && number + 1 >= total && !self.whole.goes_on;
        let counted = !self.whole.goes_on && (self.counts_rest || is_end);
        assert_eq!(window.total_lines, counted.then_some(to_u64(total)));
        assert_eq!(window.start_line, to_u64(number) + 1);
        assert_eq!(window.end_line, to_u64(if total == 0 && counted { 0 } else { number + 1 }));
        let (offset, at) = match () {
            () if is_end || is_open && end == text.len() => (None, None),
            () if is_last => (Some(to_u64(number) + 2), None),
            () => (Some(to_u64(number) + 1), Some(to_u64(end) + 1)),
        };
        assert_eq!((window.next_offset(), window.next_column()), (offset, at));
        let cut = match (self.max_scan_bytes, offset) {
            (_, Some(_)) => Some(Cut::Bytes { max_bytes: to_u64(self.max_bytes) }),
            (Some(max_scan_bytes), None) if is_open => Some(Cut::Scan { max_scan_bytes }),
            _ => None,
        };
        assert_eq!(window.cut, cut);
    }

    /// By the hints, as far as so many parts.
    fn read_on(&self, remembering: &mut Remembering, number: usize) {
        let Some(line) = self.line(number).filter(|line| !line.text.is_empty()) else { return };
        let mut read = String::new();
        for _ in 0..MAX_PARTS {
            let part = self.read(remembering, [0, 0], number, read.len()).expect("is there");
            read.push_str(&part.text);
            let Some(column) = part.next_column() else {
                assert_eq!(read, line.text);
                return;
            };
            assert_eq!(column, to_u64(read.len()) + 1);
        }
        assert!(line.text.starts_with(&read));
    }
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).expect("fits")
}
