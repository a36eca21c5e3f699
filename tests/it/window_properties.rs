//! Every window against the contract, written down as slowly as it reads.

use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use capread::{Continuation, Cut, ErrorKind, Limits, LineEnds, ReadAt, Selection, Window};
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
struct Ask {
    from: Start,
    limit: Option<u64>,
    max_lines: u64,
    max_bytes: u64,
    max_scan_bytes: u64,
    counts_rest: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
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
        self.limit.map_or(selection, |limit| selection.limit(limit).unwrap())
    }

    fn limits(self) -> Limits {
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
struct Facts {
    text: String,
    start_line: u64,
    end_line: u64,
    total_lines: Option<u64>,
    known_lines: u64,
    cut: Option<Cut>,
    next_offset: Option<u64>,
    bom: bool,
    replacements: u64,
    controls: u64,
    line_ends: Option<LineEnds>,
    final_newline: Option<bool>,
}

impl From<Window> for Facts {
    fn from(window: Window) -> Self {
        Self {
            next_offset: window.next_offset(),
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

/// The lines of a file: how each decodes, and with its break.
struct NaiveFile {
    bom: bool,
    lines: Vec<NaiveLine>,
}

struct NaiveLine {
    text: String,
    bytes: u64,
    replacements: u64,
    has_break: bool,
}

/// Sections 7 to 9 of the contract on a file that is all in memory.
fn naive(file: &[u8], size: Option<u64>, ask: Ask) -> Result<Facts, ErrorKind> {
    let horizon = usize::try_from(ask.max_scan_bytes).unwrap_or(usize::MAX);
    let (visible, goes_on) = (&file[..file.len().min(horizon)], file.len() > horizon);
    let NaiveFile { bom, mut lines } = naive_lines(visible, size)?;
    // Of a line that goes on nobody knows the end.
    let open = if goes_on && lines.last().is_some_and(|line| !line.has_break) { lines.pop() } else { None };
    let facts = match ask.from {
        Start::Line(offset) => naive_forward(&lines, open.as_ref(), goes_on, offset, ask),
        Start::Last(_) if goes_on => Err(ErrorKind::ScanLimit { line: None, max_scan_bytes: ask.max_scan_bytes }),
        Start::Last(count) => naive_backward(&lines, count, ask),
    };
    facts.map(|facts| Facts { bom, ..facts })
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
    let (taken, mut cut) = naive_fitting(selected.iter(), wanted, ask);
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
        ..Facts::of(offset, &taken)
    })
}

fn naive_backward(lines: &[NaiveLine], count: u64, ask: Ask) -> Result<Facts, ErrorKind> {
    let total = lines.len() as u64;
    let count = ask.limit.map_or(count, |limit| limit.min(count));
    let (mut taken, cut) = naive_fitting(lines.iter().rev(), count.min(ask.max_lines), ask);
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
        ..Facts::of(start_line, &taken)
    })
}

fn cut_by_count(wanted: Option<u64>, ask: Ask) -> Cut {
    if wanted.is_some_and(|wanted| wanted <= ask.max_lines) { Cut::Limit } else { Cut::Lines }
}

/// The first lines that fit, and whether the bytes were the reason that there are no more.
fn naive_fitting<'a>(
    lines: impl Iterator<Item = &'a NaiveLine>,
    most: u64,
    ask: Ask,
) -> (Vec<&'a NaiveLine>, Option<Cut>) {
    let (mut taken, mut length) = (Vec::new(), 0);
    for line in lines.take(most.try_into().unwrap()) {
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
            replacements: taken.iter().map(|line| line.replacements).sum(),
            controls: taken.iter().map(|line| naive_controls(line)).sum(),
            line_ends: naive_line_ends(taken),
            total_lines: None,
            known_lines: 0,
            cut: None,
            next_offset: None,
            bom: false,
            final_newline: None,
        }
    }
}

fn naive_lines(file: &[u8], size: Option<u64>) -> Result<NaiveFile, ErrorKind> {
    if file.iter().take(8192).any(|byte| *byte == 0) {
        return Err(ErrorKind::Binary { format: None, size });
    }
    let (bom, text) = file.strip_prefix(b"\xef\xbb\xbf").map_or((false, file), |rest| (true, rest));
    let lines = text.split_inclusive(|byte| *byte == b'\n').map(|line| {
        let content = line.strip_suffix(b"\n").unwrap_or(line);
        NaiveLine {
            text: String::from_utf8_lossy(content).into_owned(),
            bytes: content.len() as u64,
            replacements: naive_replacements(content),
            has_break: line.ends_with(b"\n"),
        }
    });
    Ok(NaiveFile { bom, lines: lines.collect() })
}

fn naive_replacements(mut bytes: &[u8]) -> u64 {
    let mut count = 0;
    while let Err(error) = std::str::from_utf8(bytes) {
        count += 1;
        let Some(length) = error.error_len() else { break };
        bytes = &bytes[error.valid_up_to() + length..];
    }
    count
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
fn piece() -> impl Strategy<Value = Vec<u8>> {
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

fn ask() -> impl Strategy<Value = Ask> {
    let number = || prop_oneof![20 => 1_u64..8, 6 => 8_u64..100, 1 => Just(u64::MAX)];
    let limit = prop_oneof![1 => Just(None), 2 => number().prop_map(Some)];
    let max_bytes = prop_oneof![10 => 1_u64..40, 3 => 40_u64..20_000, 2 => Just(51200)];
    let max_lines = prop_oneof![3 => number(), 1 => Just(2000)];
    let line = prop_oneof![3 => Just(1), 4 => number()];
    let from = prop_oneof![3 => line.prop_map(Start::Line), 1 => number().prop_map(Start::Last)];
    let max_scan_bytes = prop_oneof![4 => Just(1 << 34), 1 => 1_u64..60, 1 => 8180_u64..8300, 1 => 65_530_u64..65_800];
    let counts_rest = prop_oneof![3 => Just(true), 1 => Just(false)];
    (from, limit, max_lines, max_bytes, max_scan_bytes, counts_rest).prop_map(
        |(from, limit, max_lines, max_bytes, max_scan_bytes, counts_rest)| Ask {
            from,
            limit,
            max_lines,
            max_bytes,
            max_scan_bytes,
            counts_rest,
        },
    )
}

#[track_caller]
fn holds<S: Strategy>(cases: u32, strategy: &S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
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
        prop_assert_eq!(found, naive(&source.bytes, source.known_size(), ask));
        Ok(())
    });
    let counts = [windows.get(), hinted.get(), errors.get()];
    assert!(counts.iter().all(|count| *count > 400), "windows, those with a hint, errors: {counts:?}");
}

#[test]
fn reading_on_by_the_hints_gives_the_file_back() {
    let (read, in_parts) = (Cell::new(0), Cell::new(0));
    holds(2000, &(source(), ask()), |(source, ask)| {
        let Ok(NaiveFile { lines, .. }) = naive_lines(&source.bytes, None) else { return Ok(()) };
        let longest = lines.iter().map(|line| line.text.len() as u64).max().unwrap_or(0);
        // Few windows, since each counts the whole file.
        let (most_lines, most_bytes) = (lines.len() as u64 / 20, source.bytes.len() as u64 / 20);
        let mut ask = Ask {
            from: Start::Line(1),
            max_scan_bytes: 1 << 34,
            counts_rest: ask.counts_rest,
            limit: ask.limit.map(|limit| limit.max(most_lines)),
            max_lines: ask.max_lines.max(most_lines),
            max_bytes: ask.max_bytes.max(longest).max(most_bytes),
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
