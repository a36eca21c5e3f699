//! Every window against the contract, written down as slowly as it reads.

use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use capread::{Columns, Continuation, Cut, ErrorKind, Limits, LineEnds, LineNumbers, ReadAt, Selection, Window};
use encoding_rs::{DecoderResult, Encoding};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Gives what it has in parts of these sizes, over and over.
#[derive(Clone, Debug)]
struct Parts {
    bytes: Vec<u8>,
    sizes: Vec<usize>,
    next: Shared,
    knows_size: bool,
}

/// How many reads there were.
#[derive(Debug, Default)]
struct Shared(AtomicUsize);

impl Clone for Shared {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl ReadAt for Parts {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let next = self.next.0.fetch_add(1, Ordering::Relaxed);
        let part = self.sizes[next % self.sizes.len()].min(buffer.len());
        self.bytes.as_slice().read_at(&mut buffer[..part], offset)
    }

    fn known_size(&self) -> Option<u64> {
        self.knows_size.then_some(self.bytes.len() as u64)
    }
}

/// What a read is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) from: Start,
    pub(crate) limit: Option<u64>,
    pub(crate) column: Option<u64>,
    pub(crate) max_lines: u64,
    pub(crate) max_bytes: u64,
    pub(crate) max_scan_bytes: u64,
    pub(crate) counts_rest: bool,
    pub(crate) numbers: LineNumbers,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Start {
    Line(u64),
    Last(u64),
}

impl Ask {
    fn selection(self) -> Selection {
        let selection = match self.from {
            Start::Line(offset) => Selection::from_line(offset),
            Start::Last(lines) => Selection::tail(lines),
        };
        let selection = selection.unwrap();
        let selection = self.limit.map_or(selection, |limit| selection.limit(limit).unwrap());
        self.column.map_or(selection, |column| selection.column(column).unwrap())
    }

    pub(crate) fn limits(self) -> Limits {
        let limits = Limits::default().max_lines(self.max_lines).unwrap().max_bytes(self.max_bytes).unwrap();
        let limits = limits.max_scan_bytes(self.max_scan_bytes).unwrap();
        if self.counts_rest { limits } else { limits.no_total() }
    }

    fn of(self, source: &dyn ReadAt) -> Result<Window, ErrorKind> {
        Window::read(source, self.selection(), &self.limits(), &|| false).map_err(|error| match error.kind() {
            // The name of a binary format is a courtesy.
            ErrorKind::Binary { size, .. } => ErrorKind::Binary { format: None, size: *size },
            kind => kind.clone(),
        })
    }
}

/// Everything that a window tells.
#[derive(Debug, PartialEq)]
pub(crate) struct Facts {
    text: String,
    start_line: u64,
    end_line: u64,
    total_lines: Option<u64>,
    known_lines: u64,
    cut: Option<Cut>,
    next_offset: Option<u64>,
    next_column: Option<u64>,
    pub(crate) columns: Option<Columns>,
    encoding: &'static str,
    bom: bool,
    pub(crate) replacements: u64,
    controls: u64,
    line_ends: Option<LineEnds>,
    final_newline: Option<bool>,
}

impl From<Window> for Facts {
    fn from(window: Window) -> Self {
        Self {
            next_offset: window.next_offset(),
            next_column: window.next_column(),
            columns: window.columns,
            encoding: window.encoding,
            text: window.text,
            start_line: window.start_line,
            end_line: window.end_line,
            total_lines: window.total_lines,
            known_lines: window.known_lines,
            cut: window.cut,
            bom: window.bom,
            replacements: window.replacements,
            controls: window.controls,
            line_ends: window.line_ends,
            final_newline: window.final_newline,
        }
    }
}

/// The lines of a file, as far as a read may look at it.
#[derive(Debug)]
pub(crate) struct NaiveFile {
    pub(crate) encoding: &'static Encoding,
    bom: bool,
    pub(crate) lines: Vec<NaiveLine>,
    /// The start of a line that goes on behind there.
    open: Option<NaiveLine>,
    goes_on: bool,
}

/// How a line decodes, and whether it has a break.
#[derive(Clone, Debug)]
pub(crate) struct NaiveLine {
    pub(crate) text: String,
    /// Bytes that count where nobody decodes it: those in the file, of UTF-8.
    bytes: u64,
    /// The first byte in the text of each place that could not be decoded.
    replaced: Vec<u64>,
    has_break: bool,
}

/// Sections 7 to 9 of the contract on a file that is all in memory.
pub(crate) fn naive(file: &NaiveFile, ask: Ask) -> Result<Facts, ErrorKind> {
    let facts = match (ask.from, ask.column) {
        (Start::Line(offset), None) => naive_forward(&file.lines, file.open.as_ref(), file.goes_on, offset, ask),
        (Start::Line(offset), Some(column)) => naive_part(file, offset, column - 1, ask),
        (Start::Last(_), _) if file.goes_on => {
            Err(ErrorKind::ScanLimit { line: None, max_scan_bytes: ask.max_scan_bytes })
        }
        (Start::Last(count), _) => naive_backward(&file.lines, count, ask),
    };
    facts.map(|facts| Facts { bom: file.bom, encoding: file.encoding.name(), ..facts })
}

/// A part of one line, from byte `start` of its text on.
fn naive_part(file: &NaiveFile, offset: u64, start: u64, ask: Ask) -> Result<Facts, ErrorKind> {
    let total = file.lines.len() as u64;
    let beyond = ErrorKind::ScanLimit { line: Some(offset), max_scan_bytes: ask.max_scan_bytes };
    let empty = NaiveLine { text: String::new(), bytes: 0, replaced: Vec::new(), has_break: false };
    let (line, is_open) = match file.lines.get(usize::try_from(offset - 1).unwrap_or(usize::MAX)) {
        Some(line) => (line, false),
        None if file.goes_on => match &file.open {
            Some(open) if offset == total + 1 => (open, true),
            _ => return Err(beyond),
        },
        None if offset == 1 => (&empty, false),
        None => return Err(ErrorKind::OffsetBeyondEnd { offset, total }),
    };
    let length = line.text.len() as u64;
    if start >= length && is_open {
        return Err(beyond);
    }
    if start >= length && start > 0 {
        return Err(ErrorKind::ColumnBeyondEnd { column: start + 1, line: offset, length });
    }
    // Characters that start where they do.
    let bounds: Vec<u64> = line.text.char_indices().map(|(at, _)| at as u64).chain([length]).collect();
    let first = *bounds.iter().rev().find(|at| **at <= start).unwrap();
    let fitting = *bounds.iter().rev().find(|at| **at <= first.saturating_add(ask.max_bytes)).unwrap();
    let next = bounds.iter().copied().find(|at| *at > first).unwrap_or(length);
    let end = fitting.max(next);
    // Where the rest is left, nobody knows of what comes behind the next character.
    let is_far = !ask.counts_rest && length > start.saturating_add(ask.max_bytes.max(4)).saturating_add(1);
    let is_last = !is_open && !is_far && end == length;
    let lines_follow = offset < total || file.goes_on;
    let counted = !file.goes_on && (ask.counts_rest || is_last && !lines_follow);
    let known_lines = match (counted, ask.counts_rest) {
        (true, _) => total,
        (false, true) => total + 1,
        (false, false) => offset + u64::from(is_last),
    };
    let ends_at_horizon = is_open && !is_far && end == length;
    let cut = if ends_at_horizon {
        Some(Cut::Scan { max_scan_bytes: ask.max_scan_bytes })
    } else {
        (!is_last || offset < known_lines).then_some(Cut::Bytes { max_bytes: ask.max_bytes })
    };
    let text = &line.text[usize::try_from(first).unwrap()..usize::try_from(end).unwrap()];
    let part = NaiveLine {
        text: text.to_owned(),
        bytes: 0,
        replaced: line.replaced.iter().copied().filter(|at| (first..end).contains(at)).collect(),
        has_break: line.has_break && is_last,
    };
    let goes_on = cut.is_some() && !ends_at_horizon;
    let known_length = if is_far { end + 1 } else { length };
    let length = (!is_open && !is_far).then_some(length);
    Ok(Facts {
        end_line: if counted && total == 0 { 0 } else { offset },
        columns: Some(Columns { start: first + 1, end, length, known_length }),
        next_offset: goes_on.then_some(if is_last { offset + 1 } else { offset }),
        next_column: (goes_on && !is_last).then_some(end + 1),
        total_lines: counted.then_some(total),
        known_lines,
        final_newline: counted.then(|| file.lines.last().is_some_and(|line| line.has_break)),
        cut,
        ..Facts::of(offset, &[&part])
    })
}

fn naive_forward(
    lines: &[NaiveLine],
    open: Option<&NaiveLine>,
    goes_on: bool,
    offset: u64,
    ask: Ask,
) -> Result<Facts, ErrorKind> {
    let total = lines.len() as u64;
    let beyond = ErrorKind::ScanLimit { line: Some(offset), max_scan_bytes: ask.max_scan_bytes };
    let too_long = ErrorKind::LineTooLong { line: offset, max_bytes: ask.max_bytes };
    if offset > total.max(1) || goes_on && offset > total {
        return Err(match open {
            Some(open) if offset == total + 1 && open.bytes > ask.max_bytes => too_long,
            _ if goes_on => beyond,
            _ => ErrorKind::OffsetBeyondEnd { offset, total },
        });
    }
    let selected = &lines[(offset - 1).try_into().unwrap()..];
    let wanted = ask.limit.map_or(ask.max_lines, |limit| limit.min(ask.max_lines));
    let (taken, mut cut) = naive_fitting(selected.iter(), offset.., wanted, ask);
    if taken.is_empty() && total > 0 {
        return Err(too_long);
    }
    let end_line = offset - 1 + taken.len() as u64;
    if cut.is_none() && (taken.len() as u64) < wanted && goes_on {
        let bytes = taken.iter().map(|line| line.bytes + 1).sum::<u64>() + open.map_or(0, |open| open.bytes);
        // Where not even an empty line would fit, the budget is the reason.
        let is_full = bytes > ask.max_bytes;
        let (full, beyond) =
            (Cut::Bytes { max_bytes: ask.max_bytes }, Cut::Scan { max_scan_bytes: ask.max_scan_bytes });
        cut = Some(if is_full { full } else { beyond });
    } else if cut.is_none() && (end_line < total || goes_on) {
        cut = Some(cut_by_count(ask.limit, ask));
    }
    let reaches_end = end_line == total && !goes_on;
    let counted = ask.counts_rest && !goes_on || reaches_end;
    let known_lines = match (counted, ask.counts_rest) {
        (true, _) => total,
        (false, true) => total + 1,
        (false, false) => end_line + 1,
    };
    Ok(Facts {
        next_offset: cut.filter(|cut| !matches!(cut, Cut::Scan { .. })).map(|_| end_line + 1),
        total_lines: counted.then_some(total),
        known_lines,
        final_newline: counted.then(|| lines.last().is_some_and(|line| line.has_break)),
        cut,
        ..Facts::of(offset, &taken.iter().collect::<Vec<_>>())
    })
}

fn naive_backward(lines: &[NaiveLine], count: u64, ask: Ask) -> Result<Facts, ErrorKind> {
    let total = lines.len() as u64;
    let count = ask.limit.map_or(count, |limit| limit.min(count));
    let (mut taken, cut) = naive_fitting(lines.iter().rev(), (1..=total).rev(), count.min(ask.max_lines), ask);
    if taken.is_empty() && total > 0 {
        return Err(ErrorKind::LineTooLong { line: total, max_bytes: ask.max_bytes });
    }
    taken.reverse();
    let start_line = total - taken.len() as u64 + 1;
    Ok(Facts {
        next_offset: None,
        total_lines: Some(total),
        known_lines: total,
        final_newline: Some(lines.last().is_some_and(|line| line.has_break)),
        cut: (start_line > 1).then(|| cut.unwrap_or_else(|| cut_by_count(Some(count), ask))),
        ..Facts::of(start_line, &taken.iter().collect::<Vec<_>>())
    })
}

fn cut_by_count(wanted: Option<u64>, ask: Ask) -> Cut {
    if wanted.is_some_and(|wanted| wanted <= ask.max_lines) { Cut::Limit } else { Cut::Lines }
}

/// The first lines that fit, and whether the bytes were the reason that there are no more.
fn naive_fitting<'a>(
    lines: impl Iterator<Item = &'a NaiveLine>,
    numbers: impl Iterator<Item = u64>,
    most: u64,
    ask: Ask,
) -> (Vec<NaiveLine>, Option<Cut>) {
    let (mut taken, mut length) = (Vec::new(), 0);
    for (line, number) in lines.zip(numbers).take(most.try_into().unwrap()) {
        let mut line = line.clone();
        if ask.numbers == LineNumbers::On {
            line.text = format!("{number}\t{}", line.text);
        }
        length += line.text.len() as u64 + u64::from(!taken.is_empty());
        if length > ask.max_bytes {
            return (taken, Some(Cut::Bytes { max_bytes: ask.max_bytes }));
        }
        taken.push(line);
    }
    (taken, None)
}

impl Facts {
    /// What the lines alone tell.
    fn of(start_line: u64, taken: &[&NaiveLine]) -> Self {
        Self {
            text: taken.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n"),
            start_line,
            end_line: start_line - 1 + taken.len() as u64,
            replacements: taken.iter().map(|line| line.replaced.len() as u64).sum(),
            controls: taken.iter().map(|line| naive_controls(line)).sum(),
            line_ends: naive_line_ends(taken),
            total_lines: None,
            known_lines: 0,
            cut: None,
            next_offset: None,
            next_column: None,
            columns: None,
            encoding: "",
            bom: false,
            final_newline: None,
        }
    }
}

impl NaiveFile {
    /// The file in this encoding, unless its mark says another, as far as its first `horizon` bytes.
    pub(crate) fn new(
        file: &[u8],
        encoding: &'static Encoding,
        size: Option<u64>,
        horizon: u64,
    ) -> Result<Self, ErrorKind> {
        let horizon = usize::try_from(horizon).unwrap_or(usize::MAX);
        let (visible, goes_on) = (&file[..file.len().min(horizon)], file.len() > horizon);
        let (encoding, mark) = Encoding::for_bom(visible).unwrap_or((encoding, 0));
        let is_utf_16 = encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE;
        if !is_utf_16 && visible.iter().take(8192).any(|byte| *byte == 0) {
            return Err(ErrorKind::Binary { format: None, size });
        }
        let mut lines = if encoding == encoding_rs::UTF_8 {
            let lines = visible[mark..].split_inclusive(|byte| *byte == b'\n');
            lines.map(|line| NaiveLine::new(encoding, line, goes_on)).collect()
        } else {
            lines_of(&NaiveLine::new(encoding, &visible[mark..], goes_on))
        };
        // Of a line that goes on nobody knows the end.
        let is_open = goes_on && lines.last().is_some_and(|line| !line.has_break);
        let open = if is_open { lines.pop() } else { None };
        Ok(Self { encoding, bom: mark > 0, lines, open, goes_on })
    }
}

impl NaiveLine {
    /// Some bytes decoded as a whole. What is broken at their end is told only where there is no more.
    fn new(encoding: &'static Encoding, bytes: &[u8], goes_on: bool) -> Self {
        let (content, has_break) = match bytes.strip_suffix(b"\n") {
            Some(content) if encoding == encoding_rs::UTF_8 => (content, true),
            _ => (bytes, false),
        };
        let (text, replaced) = decode(encoding, content, has_break || !goes_on);
        let bytes = if encoding == encoding_rs::UTF_8 { content.len() } else { text.len() } as u64;
        Self { text, bytes, replaced, has_break }
    }
}

/// The lines of a whole text.
fn lines_of(whole: &NaiveLine) -> Vec<NaiveLine> {
    let mut start = 0;
    let lines = whole.text.split_inclusive('\n').map(|line| {
        let range = start..start + line.len() as u64;
        start = range.end;
        let text = line.strip_suffix('\n').unwrap_or(line);
        let replaced = whole.replaced.iter().filter(|at| range.contains(at)).map(|at| at - range.start);
        NaiveLine {
            text: text.to_owned(),
            bytes: text.len() as u64,
            replaced: replaced.collect(),
            has_break: text.len() < line.len(),
        }
    });
    lines.collect()
}

/// All at once, and where the places are that could not be decoded.
pub(crate) fn decode(encoding: &'static Encoding, mut bytes: &[u8], last: bool) -> (String, Vec<u64>) {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let (mut text, mut replaced) = (String::with_capacity(bytes.len() * 4 + 64), Vec::new());
    loop {
        let (result, read) = decoder.decode_to_string_without_replacement(bytes, &mut text, last);
        bytes = &bytes[read..];
        match result {
            DecoderResult::InputEmpty => return (text, replaced),
            DecoderResult::OutputFull => text.reserve(bytes.len() * 4 + 64),
            DecoderResult::Malformed(..) => {
                replaced.push(text.len() as u64);
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }
}

fn naive_controls(line: &NaiveLine) -> u64 {
    let text = if line.has_break { line.text.strip_suffix('\r').unwrap_or(&line.text) } else { &line.text };
    let is_control = |c: &char| {
        let code = u32::from(*c);
        let c0_or_c1 = (code < 0x20 && code != 9) || (0x7f..0xa0).contains(&code);
        c0_or_c1 || (0x202a..=0x202e).contains(&code) || (0x2066..=0x2069).contains(&code)
    };
    text.chars().filter(is_control).count() as u64
}

fn naive_line_ends(lines: &[&NaiveLine]) -> Option<LineEnds> {
    let broken: Vec<_> = lines.iter().filter(|line| line.has_break).map(|line| line.text.ends_with('\r')).collect();
    match (broken.contains(&true), broken.contains(&false)) {
        (true, true) => Some(LineEnds::Mixed),
        (true, false) => Some(LineEnds::CrLf),
        (false, true) => Some(LineEnds::Lf),
        (false, false) => None,
    }
}

/// Pieces that boundaries fall between: breaks, marks, whole characters, and broken ones.
pub(crate) fn piece() -> impl Strategy<Value = Vec<u8>> {
    let rare: Vec<&[u8]> = vec![
        b"\xff",
        b"\xc3",
        b"\xe4\xb8",
        b"\xf0\x9f\x98",
        b"\xf0\x9f",
        b"\x80",
        b"\xed\xa0\x80",
        b"\xc0\x80",
        b"\xef\xbb\xbf",
        b"\xef\xbf\xbd",
        b"\x0c",
        b"\x1b",
        b"\x7f",
        b"\xc2\x85",
        b"\xe2\x80\xa8",
        b"\xe2\x80\xae",
        b"\xe2\x81\xa6",
        b"\t",
    ];
    prop_oneof![
        30 => Just(b"\n".to_vec()),
        6 => Just(b"\r\n".to_vec()),
        3 => Just(b"\r".to_vec()),
        20 => "[a-z]{1,5}".prop_map(String::into_bytes),
        10 => proptest::sample::select(vec!["é", "中", "😀"]).prop_map(|c| c.as_bytes().to_vec()),
        12 => proptest::sample::select(rare).prop_map(<[u8]>::to_vec),
        1 => Just(b"\0".to_vec()),
        2 => proptest::collection::vec(any::<u8>(), 1..4),
    ]
}

/// Mostly small, as boundaries are; some reach over the first look at 8 KiB, or over a buffer of 64 KiB.
fn file() -> impl Strategy<Value = Vec<u8>> {
    let start = prop_oneof![
        8 => Just(Vec::new()),
        2 => Just(b"\xef\xbb\xbf".to_vec()),
        1 => proptest::sample::select(vec![b"\xff\xfe".to_vec(), b"\xfe\xff".to_vec()]),
    ];
    let filler = prop_oneof![
        30 => Just(Vec::new()),
        2 => (8185_usize..8195, 1_usize..100).prop_map(|(length, line)| filler(length, line)),
        2 => (8180_usize..8195).prop_map(|length| [filler(length, 80), vec![0]].concat()),
        1 => (65_530_usize..65_540, 1_usize..3000).prop_map(|(length, line)| filler(length, line)),
    ];
    let pieces = || proptest::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat());
    (start, filler, pieces(), pieces()).prop_map(|(start, filler, a, b)| {
        if filler.len() % 2 == 0 { [start, a, filler, b].concat() } else { [start, filler, a, b].concat() }
    })
}

fn filler(length: usize, line: usize) -> Vec<u8> {
    (0..length).map(|index| if index % line == line - 1 { b'\n' } else { b'x' }).collect()
}

fn source() -> impl Strategy<Value = Parts> {
    let part = prop_oneof![4 => 1_usize..8, 1 => 8190_usize..8195, 2 => Just(usize::MAX)];
    (file(), proptest::collection::vec(part, 1..6), any::<bool>()).prop_map(|(bytes, sizes, knows_size)| Parts {
        bytes,
        sizes,
        next: Shared::default(),
        knows_size,
    })
}

pub(crate) fn ask() -> impl Strategy<Value = Ask> {
    let number = || prop_oneof![20 => 1_u64..8, 6 => 8_u64..100, 1 => Just(u64::MAX)];
    let limit = prop_oneof![1 => Just(None), 2 => number().prop_map(Some)];
    let max_bytes = prop_oneof![10 => 1_u64..40, 3 => 40_u64..20_000, 2 => Just(51200)];
    let max_lines = prop_oneof![3 => number(), 1 => Just(2000)];
    let line = prop_oneof![3 => Just(1), 4 => number()];
    let from = prop_oneof![3 => line.prop_map(Start::Line), 1 => number().prop_map(Start::Last)];
    let max_scan_bytes = prop_oneof![4 => Just(1 << 34), 1 => 1_u64..60, 1 => 8180_u64..8300, 1 => 65_530_u64..65_800];
    let counts_rest = prop_oneof![3 => Just(true), 1 => Just(false)];
    let column = prop_oneof![
        6 => Just(None),
        3 => (1_u64..40).prop_map(Some),
        1 => (40_u64..70_000).prop_map(Some),
        1 => Just(Some(u64::MAX)),
    ];
    (from, limit, column, max_lines, max_bytes, max_scan_bytes, counts_rest).prop_map(
        |(from, limit, column, max_lines, max_bytes, max_scan_bytes, counts_rest)| Ask {
            from,
            limit,
            column,
            max_lines,
            max_bytes,
            max_scan_bytes,
            counts_rest,
            numbers: LineNumbers::Off,
        },
    )
}

#[track_caller]
pub(crate) fn holds<S: Strategy>(cases: u32, strategy: &S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    if let Err(error) = TestRunner::new(config).run(strategy, property) {
        panic!("{error}");
    }
}

#[test]
fn every_window_is_the_naive_one() {
    let (windows, hinted, errors) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let count = |cell: &Cell<u32>, yes: bool| cell.set(cell.get() + u32::from(yes));
    holds(4000, &(source(), ask()), |(source, ask)| {
        let found = ask.of(&source).map(Facts::from);
        count(&windows, found.is_ok());
        count(&hinted, found.as_ref().is_ok_and(|facts| facts.cut.is_some()));
        count(&errors, found.is_err());
        let naive_file = NaiveFile::new(&source.bytes, encoding_rs::UTF_8, source.known_size(), ask.max_scan_bytes);
        prop_assert_eq!(found, naive_file.and_then(|file| naive(&file, ask)));
        Ok(())
    });
    let counts = [windows.get(), hinted.get(), errors.get()];
    assert!(counts.iter().all(|count| *count > 400), "windows, those with a hint, errors: {counts:?}");
}

#[test]
fn reading_on_by_the_hints_gives_the_file_back() {
    let (read, in_parts) = (Cell::new(0), Cell::new(0));
    holds(2000, &(source(), ask()), |(source, ask)| {
        let file = NaiveFile::new(&source.bytes, encoding_rs::UTF_8, None, u64::MAX);
        let Ok(NaiveFile { lines, .. }) = file else { return Ok(()) };
        let longest = lines.iter().map(|line| line.text.len() as u64).max().unwrap_or(0);
        // Few windows, since each counts the whole file.
        let (most_lines, most_bytes) = (lines.len() as u64 / 20, source.bytes.len() as u64 / 20);
        let mut ask = Ask {
            from: Start::Line(1),
            max_scan_bytes: 1 << 34,
            counts_rest: ask.counts_rest,
            limit: ask.limit.map(|limit| limit.max(most_lines)),
            column: None,
            max_lines: ask.max_lines.max(most_lines),
            max_bytes: ask.max_bytes.max(longest).max(most_bytes),
            numbers: LineNumbers::Off,
        };
        let (mut back, mut windows) = (Vec::new(), 0_u64);
        loop {
            let window = ask.of(&source).map_err(|kind| TestCaseError::fail(format!("{ask:?}: {kind:?}")))?;
            prop_assert_eq!(ask.from, Start::Line(window.start_line));
            prop_assert_eq!(window.next_offset(), window.continuation().as_ref().and_then(Continuation::next_offset));
            if window.end_line > 0 {
                back.extend(window.text.split('\n').map(str::to_owned));
            }
            prop_assert_eq!(back.len() as u64, window.end_line);
            windows += 1;
            let Some(next) = window.next_offset() else { break };
            prop_assert!(next > window.start_line, "no progress from {}", window.start_line);
            ask.from = Start::Line(next);
        }
        prop_assert_eq!(back, lines.into_iter().map(|line| line.text).collect::<Vec<_>>());
        read.set(read.get() + 1);
        in_parts.set(in_parts.get() + u32::from(windows > 2));
        Ok(())
    });
    assert!(read.get() > 1000 && in_parts.get() > 300, "{} files, {} of them in parts", read.get(), in_parts.get());
}
