//! Windows of a file in any encoding, against a decode of the whole.

use arbitrary::Arbitrary;
use capread::fuzzing::Remembering;
use capread::{ErrorKind, Limits, LineNumbers, ReadAt, Selection, Window};

use crate::whole::{File, Label, Source, Whole};

/// Largest file that is read with a boundary at every byte of it.
const MAX_AT_EVERY_BYTE: usize = 64;

/// Most reads of a run, so that none is slow.
const MAX_READS: usize = 12;

/// A file, and reads each of which helps the next.
#[derive(Debug, Arbitrary)]
pub struct Case<'a> {
    label: Label,
    asks: Vec<Ask>,
    file: File<'a>,
}

#[derive(Clone, Debug, Arbitrary)]
struct Ask {
    line: u16,
    is_tail: bool,
    max_lines: u8,
    max_bytes: u16,
    counts_rest: bool,
    is_numbered: bool,
    /// Most bytes that reads give, in turn; 0 is no bound.
    pieces: [u8; 2],
}

impl Ask {
    fn line(&self) -> u64 {
        u64::from(self.line) + 1
    }

    fn max_lines(&self) -> u64 {
        u64::from(self.max_lines) + 1
    }

    fn max_bytes(&self) -> u64 {
        u64::from(self.max_bytes) + 1
    }

    fn selection(&self) -> Selection {
        let selection = if self.is_tail { Selection::tail(self.line()) } else { Selection::from_line(self.line()) };
        selection.expect("is positive")
    }

    fn limits(&self) -> Limits {
        let limits = Limits::default().max_lines(self.max_lines()).expect("is positive");
        let limits = limits.max_bytes(self.max_bytes()).expect("is positive");
        if self.counts_rest { limits } else { limits.no_total() }
    }

    fn numbers(&self) -> LineNumbers {
        if self.is_numbered { LineNumbers::On } else { LineNumbers::Off }
    }

    fn shown(&self, text: &str, number: u64) -> String {
        if self.is_numbered { format!("{number}\t{text}") } else { text.to_owned() }
    }
}

/// Reads as asked, and where the file is small with a boundary of a read at every byte.
pub fn check(case: &Case<'_>) {
    let bytes = case.file.bytes();
    let size = bytes.as_slice().known_size().expect("is known");
    let whole = Whole::new(&bytes, case.label, usize::MAX);
    let fresh = || Remembering::new(size).in_encoding(case.label.text_encoding());
    let mut remembering = fresh();
    for ask in case.asks.iter().take(MAX_READS) {
        remembering = remembering.with_line_numbers(ask.numbers());
        let pieces = if bytes.len() > 4096 { [0, 0] } else { ask.pieces.map(usize::from) };
        check_read(&mut remembering, &Source::new(&bytes, pieces), whole.as_ref(), ask);
    }
    let Some(ask) = case.asks.first().filter(|_| bytes.len() <= MAX_AT_EVERY_BYTE) else { return };
    for boundary in 1..bytes.len() {
        let mut remembering = fresh().with_line_numbers(ask.numbers());
        check_read(&mut remembering, &Source::new(&bytes, [boundary, 0]), whole.as_ref(), ask);
    }
}

fn check_read(remembering: &mut Remembering, source: &Source<'_>, whole: Option<&Whole>, ask: &Ask) {
    let found = remembering.read(source, ask.selection(), &ask.limits());
    let naive = whole.map_or(Err("binary"), |whole| naive(whole, ask));
    match (found, naive) {
        (Ok(window), Ok(naive)) => naive.check(&window, whole.expect("is text"), ask),
        (Err(error), Err(code)) => {
            assert_eq!(error.code(), code);
            if let ErrorKind::OffsetBeyondEnd { total, .. } = error.kind() {
                assert_eq!(*total, len(&whole.expect("is text").lines));
            }
        }
        (found, naive) => panic!("{found:?} instead of {naive:?}"),
    }
}

/// The text as it must be.
#[derive(Debug)]
struct Naive {
    text: String,
    start_line: u64,
    lines: u64,
    replacements: u64,
}

fn naive(whole: &Whole, ask: &Ask) -> Result<Naive, &'static str> {
    let total = len(&whole.lines);
    if !ask.is_tail && ask.line() > total.max(1) {
        return Err("offset_beyond_end");
    }
    let first = if ask.is_tail { (total + 1).saturating_sub(ask.line()).max(1) } else { ask.line() };
    let numbered = whole.lines.iter().zip(1..).skip(usize::try_from(first - 1).expect("fits"));
    let mut selected: Vec<_> = numbered.collect();
    if ask.is_tail {
        selected.reverse();
    }
    let mut taken = Vec::new();
    let (mut length, mut replacements) = (0, 0);
    for (line, number) in selected.iter().take(usize::try_from(ask.max_lines()).expect("fits")) {
        let shown = ask.shown(&line.text, *number);
        length += len(shown.as_bytes()) + u64::from(!taken.is_empty());
        if length > ask.max_bytes() {
            break;
        }
        taken.push(shown);
        replacements += len(&line.replaced);
    }
    if taken.is_empty() && total > 0 {
        return Err("line_too_long");
    }
    let lines = len(&taken);
    let start_line = if ask.is_tail { total - lines + 1 } else { first };
    if ask.is_tail {
        taken.reverse();
    }
    Ok(Naive { text: taken.join("\n"), start_line, lines, replacements })
}

impl Naive {
    fn check(&self, window: &Window, whole: &Whole, ask: &Ask) {
        let total = len(&whole.lines);
        let end_line = self.start_line + self.lines - 1;
        let counted = ask.counts_rest || ask.is_tail || end_line == total;
        assert_eq!(window.text, self.text);
        assert_eq!((window.start_line, window.end_line), (self.start_line, end_line));
        assert_eq!(window.total_lines, counted.then_some(total));
        assert_eq!(window.known_lines, if counted { total } else { end_line + 1 });
        assert_eq!((window.encoding, window.bom), (whole.encoding, whole.bom));
        assert_eq!(window.replacements, self.replacements);
        let final_newline = whole.lines.last().is_some_and(|line| line.ended);
        assert_eq!(window.final_newline, counted.then_some(final_newline));
        let goes_on = !ask.is_tail && end_line < total;
        assert_eq!(window.next_offset(), goes_on.then_some(end_line + 1));
        assert_eq!(window.next_column(), None);
    }
}

fn len<T>(items: &[T]) -> u64 {
    u64::try_from(items.len()).expect("fits")
}
