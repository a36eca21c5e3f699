//! Random bytes in any encoding, read by the tool in windows and in parts of lines, against a decode of the whole by `encoding_rs`.

use std::cell::Cell;
use std::thread;
use std::time::Duration;

use capread::{ErrorKind, Limits, LineNumbers, ReadOutput, ReadRequest, ReadTool, TextEncoding};
use encoding_rs::Encoding;
use proptest::prelude::*;

use crate::support::Tree;
use crate::window_properties::{Ask, Facts, NaiveFile, Start, ask, decode, holds, naive, piece};

/// Longer than it takes until a file that was changed counts as settled.
const SETTLED: Duration = Duration::from_millis(40);

/// One label for each way of decoding, and the rest of the multi-byte ones.
const LABELS: &[&str] = &[
    "utf-8",
    "utf-16le",
    "utf-16be",
    "gbk",
    "gb18030",
    "big5",
    "shift_jis",
    "euc-jp",
    "iso-2022-jp",
    "euc-kr",
    "windows-1252",
    "windows-1255",
    "koi8-r",
    "x-user-defined",
];

/// What decoders have states for: escapes, lead bytes with and without what belongs to them, pairs and halves of them.
const STATEFUL: &[&[u8]] = &[
    b"\x1b(B",
    b"\x1b(B\n",
    b"\x1b$B",
    b"\x1b$B$\"$$",
    b"\x1b(J",
    b"\x1b(I1",
    b"\x1b$",
    b"\x1b",
    b"\x0e",
    b"\x81",
    b"\x81\x30",
    b"\x81\x30\x81",
    b"\x81\x30\x81\x30",
    b"\x84\x31\xa4\x37",
    b"\x90\x30\x81\x30",
    b"\x88\x62",
    b"\x8e\xb1",
    b"\x8f\xa2\xaf",
    b"\x8f\xa2",
    b"\xc4\xe3\xba\xc3",
    b"\x00\xd8",
    b"\xd8\x00",
    b"\x00\xdc",
    b"\x3d\xd8\x00\xde",
    b"\xd8\x3d\xde\x00",
    b"\n\x00",
    b"\x00\n",
    b"\x2d\x4e",
    b"\x4e\x2d",
    b"\xff\xfe",
    b"\xfe\xff",
];

#[derive(Clone, Debug)]
struct Case {
    label: &'static str,
    bytes: Vec<u8>,
}

impl Case {
    fn encoding(&self) -> &'static Encoding {
        Encoding::for_label(self.label.as_bytes()).unwrap()
    }

    fn naive(&self, horizon: u64) -> Result<NaiveFile, ErrorKind> {
        let size = self.bytes.len() as u64;
        NaiveFile::new(&self.bytes, self.encoding(), Some(size).filter(|size| *size > 0), horizon)
    }

    fn tool(&self, tree: &Tree, limits: Limits, numbers: LineNumbers) -> ReadTool {
        let encoding = TextEncoding::from_label(self.label).unwrap();
        tree.tool().with_limits(limits).with_encoding(encoding).with_line_numbers(numbers)
    }
}

/// A piece of a file before it is known in which encoding.
#[derive(Clone, Debug)]
enum Piece {
    Text(Vec<u8>),
    Bytes(Vec<u8>),
}

impl Piece {
    /// Text in UTF-16 has two bytes for one; nothing moves what follows by one byte, and no other text has a NUL.
    fn write(&self, label: &str, bytes: &mut Vec<u8>) {
        let wide = label.strip_prefix("utf-16");
        match (self, wide) {
            (Self::Text(text), Some("le")) => bytes.extend(text.iter().flat_map(|byte| [*byte, 0])),
            (Self::Text(text), Some(_)) => bytes.extend(text.iter().flat_map(|byte| [0, *byte])),
            (Self::Bytes(raw), Some(_)) => bytes.extend(raw.iter().chain((raw.len() % 2 > 0).then_some(&b'p'))),
            (Self::Text(raw) | Self::Bytes(raw), None) => {
                bytes.extend(raw.iter().map(|byte| if *byte == 0 { b'0' } else { *byte }));
            }
        }
    }

    fn case(label: &'static str, pieces: &[Self], last: &[u8]) -> Case {
        let mut bytes = Vec::new();
        for piece in pieces {
            piece.write(label, &mut bytes);
        }
        bytes.extend_from_slice(last);
        Case { label, bytes }
    }
}

fn pieces(count: usize) -> impl Strategy<Value = Vec<Piece>> {
    let stateful = proptest::sample::select(STATEFUL).prop_map(|bytes| Piece::Bytes(bytes.to_vec()));
    proptest::collection::vec(prop_oneof![piece().prop_map(Piece::Text), stateful], 0..count)
}

/// One piece so often that a boundary of segments, of chunks or of the index falls near its end.
fn filler() -> impl Strategy<Value = Vec<Piece>> {
    let texts = ["a", "abc", "zwölf Boxkämpfer\n"].map(str::as_bytes).to_vec();
    let once = prop_oneof![
        2 => proptest::sample::select(STATEFUL).prop_map(<[u8]>::to_vec),
        1 => proptest::sample::select(texts).prop_map(<[u8]>::to_vec),
        1 => proptest::collection::vec(any::<u8>(), 1..5),
    ];
    let boundary = proptest::sample::select(vec![4096_usize, 8192, 16_384, 2 * 16_384, 65_536, 2 * 65_536]);
    (once, boundary, 0_usize..12, any::<bool>()).prop_map(|(once, boundary, less, is_text)| {
        let mut filler = once.repeat(boundary / once.len() + 2);
        filler.truncate(boundary + 6 - less);
        vec![if is_text { Piece::Text(filler) } else { Piece::Bytes(filler) }]
    })
}

/// What a file may end with, in the middle of a character.
fn last() -> impl Strategy<Value = &'static [u8]> {
    proptest::sample::select(vec![&b""[..], b"", b"\n", b"\x81", b"\x81\x30", b"\x1b", b"\x8f\xa2", b"\xd8"])
}

fn small() -> impl Strategy<Value = Case> {
    let parts = (proptest::sample::select(LABELS), pieces(30), last());
    parts.prop_map(|(label, pieces, last)| Piece::case(label, &pieces, last))
}

fn large() -> impl Strategy<Value = Case> {
    let parts = proptest::collection::vec((filler(), pieces(12)), 1..4);
    (proptest::sample::select(LABELS), pieces(4), parts, last()).prop_map(|(label, start, parts, last)| {
        let parts = parts.into_iter().flat_map(|(filler, pieces)| [filler, pieces]);
        let pieces: Vec<_> = [start].into_iter().chain(parts).flatten().collect();
        Piece::case(label, &pieces, last)
    })
}

fn request(ask: Ask) -> ReadRequest {
    let request = match ask.from {
        Start::Line(line) => ReadRequest::new("f").offset(line),
        Start::Last(lines) => return ReadRequest::new("f").tail(lines),
    };
    let request = ask.limit.map_or(request.clone(), |limit| request.limit(limit));
    ask.column.map_or(request.clone(), |column| request.column(column))
}

fn told(result: Result<ReadOutput, capread::Error>) -> Result<Facts, ErrorKind> {
    let kind = |error: capread::Error| match error.kind() {
        // The name of a format is a courtesy.
        ErrorKind::Binary { size, .. } => ErrorKind::Binary { format: None, size: *size },
        kind => kind.clone(),
    };
    result.map(|output| Facts::from(output.window)).map_err(kind)
}

/// Of a request with `tail` there is no limit and no column.
fn numbered(ask: Ask, numbers: bool) -> Ask {
    let ask = Ask { numbers: if numbers { LineNumbers::On } else { LineNumbers::Off }, ..ask };
    if matches!(ask.from, Start::Last(_)) { Ask { limit: None, column: None, ..ask } } else { ask }
}

fn is_as_naive(
    tool: &ReadTool,
    case: &Case,
    file: &Result<NaiveFile, ErrorKind>,
    ask: Ask,
) -> Result<Result<Facts, ErrorKind>, TestCaseError> {
    let found = told(tool.call(&request(ask), &|| false));
    let expected = file.as_ref().map_err(Clone::clone).and_then(|file| naive(file, ask));
    if found != expected {
        // Only here, since the text may be long.
        let told = format!("{:?} of {} bytes of {}", ask, case.bytes.len(), case.label);
        prop_assert_eq!(&found, &expected, "{}", told);
    }
    Ok(found)
}

#[test]
fn every_read_in_any_encoding_is_the_naive_one() {
    let (windows, parts, replaced, tree) = (Cell::new(0), Cell::new(0), Cell::new(0), Tree::new(&[]));
    let case = prop_oneof![19 => small(), 1 => large()];
    holds(3000, &(case, ask(), any::<bool>()), |(case, ask, numbers)| {
        let ask = numbered(ask, numbers);
        tree.replace("f", &case.bytes);
        if let Ok(facts) =
            is_as_naive(&case.tool(&tree, ask.limits(), ask.numbers), &case, &case.naive(ask.max_scan_bytes), ask)?
        {
            let count = if facts.columns.is_some() { &parts } else { &windows };
            count.set(count.get() + 1);
            replaced.set(replaced.get() + u32::from(facts.replacements > 0));
        }
        Ok(())
    });
    let counts = [windows.get(), parts.get(), replaced.get()];
    assert!(counts.iter().all(|count| *count > 100), "windows, parts, some with replacements: {counts:?}");
}

#[test]
fn a_tool_that_remembers_reads_the_same() {
    let (reads, tree) = (Cell::new(0), Tree::new(&[]));
    let limits = prop_oneof![4 => Just(u64::MAX), 1 => 1_u64..100, 1 => 16_380_u64..16_390, 2 => 60_000_u64..140_000];
    let asks = proptest::collection::vec((ask(), any::<bool>(), 0_u64..400_000), 1..10);
    holds(60, &(large(), ask(), limits, asks), |(case, first, max_scan_bytes, asks)| {
        tree.replace("f", &case.bytes);
        thread::sleep(SETTLED);
        let limits = Ask { max_scan_bytes, ..first };
        let tool = case.tool(&tree, limits.limits(), LineNumbers::Off);
        let file = case.naive(max_scan_bytes);
        for (ask, numbers, column) in asks {
            let column = ask.column.map(|_| column % (case.bytes.len() as u64 * 3) + 1);
            let ask = Ask { from: ask.from, limit: ask.limit, column, ..limits };
            let ask = numbered(ask, numbers);
            let _ = is_as_naive(&tool.clone().with_line_numbers(ask.numbers), &case, &file, ask)?;
            reads.set(reads.get() + 1);
        }
        Ok(())
    });
    assert!(reads.get() > 200, "{} reads", reads.get());
}

/// Reads on by the hints from line 1; a line that is too long in parts.
fn read_on(tool: &ReadTool, max_bytes: u64) -> Result<(String, u64), TestCaseError> {
    let (mut back, mut reads) = (String::new(), 0);
    let mut next = (1, None);
    loop {
        reads += 1;
        let ask = ReadRequest::new("f").offset(next.0);
        let ask = next.1.map_or(ask.clone(), |column| ask.column(column));
        let window = match tool.call(&ask, &|| false) {
            Err(error) if matches!(error.kind(), ErrorKind::LineTooLong { line, .. } if *line == next.0) => {
                prop_assert_eq!(next.1, None);
                next.1 = Some(1);
                continue;
            }
            result => result.map_err(|error| TestCaseError::fail(format!("{next:?}: {error}")))?.window,
        };
        prop_assert_eq!(window.start_line, next.0);
        let is_char = window.columns.is_some() && window.text.chars().count() == 1;
        prop_assert!(window.text.len() as u64 <= max_bytes || is_char, "{} bytes", window.text.len());
        prop_assert_eq!(window.columns.map(|columns| columns.start), next.1);
        back.push_str(&window.text);
        let Some(offset) = window.next_offset() else { return Ok((back, reads)) };
        let after = (offset, window.next_column());
        prop_assert!(after > next || after.0 > next.0, "no progress from {:?} to {:?}", next, after);
        if offset > window.end_line {
            back.push('\n');
        }
        next = after;
    }
}

#[test]
fn reading_on_by_the_hints_gives_the_whole_decode() {
    let (read, in_parts, tree) = (Cell::new(0), Cell::new(0), Tree::new(&[]));
    let case = prop_oneof![14 => small(), 1 => large()];
    holds(600, &(case, 1_u64..60, any::<bool>(), any::<bool>()), |(case, bytes, no_total, waits)| {
        tree.replace("f", &case.bytes);
        if waits && case.bytes.len() > 65_536 {
            thread::sleep(SETTLED);
        }
        let Ok(file) = case.naive(u64::MAX) else { return Ok(()) };
        let mark = Encoding::for_bom(&case.bytes).map_or(0, |(_, length)| length);
        let whole = decode(file.encoding, &case.bytes[mark..], true).0;
        // Few reads, since each counts the whole file.
        let max_bytes = bytes.max(whole.len() as u64 / 60);
        let limits = Limits::default().max_bytes(max_bytes).unwrap().max_lines(u64::MAX).unwrap();
        let tool = case.tool(&tree, if no_total { limits.no_total() } else { limits }, LineNumbers::Off);
        let (back, reads) = read_on(&tool, max_bytes)?;
        prop_assert_eq!(back, whole.strip_suffix('\n').unwrap_or(&whole), "{}", case.label);
        read.set(read.get() + 1);
        in_parts.set(in_parts.get() + u32::from(reads > 3));
        Ok(())
    });
    assert!(read.get() > 400 && in_parts.get() > 150, "{} files, {} of them in parts", read.get(), in_parts.get());
}

/// A label, what a buffer is filled with, and what a file may end with.
type Buffers = (&'static str, &'static [u8], &'static [&'static [u8]]);

/// Of text without a place where another decoder could go on, and with what a decoder keeps in mind at the end of a buffer.
#[test]
fn nothing_is_lost_at_the_end_of_a_buffer() {
    let tree = Tree::new(&[]);
    let cases: [Buffers; 5] = [
        ("utf-16le", b"-N", &[b"\x00\xd8a\x00", b"\x00\xd8-N", b"\x00\xd8", b"a", b"\x00\xd8a"]),
        ("utf-16be", b"N-", &[b"\xd8\x00\x00a", b"\xd8\x00"]),
        ("gbk", b"\xc4\xe3", &[b"\xc4", b"\x81\x30", b"\x81\x30\x81\xff", b"\x81\x30\x81\x30"]),
        ("big5", b"\xa7\x41", &[b"\xa7", b"\x88\x62", b"\xff\xff\xa7"]),
        ("iso-2022-jp", b"\x1b$B$\"", &[b"\x1b", b"\x1b(", b"\x1b$B\x1b$B", b"$"]),
    ];
    for (label, filler, ends) in cases {
        for (boundary, end) in
            [2720, 4096, 16_384, 2 * 16_384].into_iter().flat_map(|at| ends.iter().map(move |end| (at, end)))
        {
            for (length, padding) in
                [(0, 0), (1, 0), (2, 0), (3, 0), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (0, 8), (0, 10), (0, 12)]
            {
                let mut bytes = filler.repeat(boundary / filler.len() + 1);
                let unit: &[u8] = match label {
                    "utf-16le" => b"p\0",
                    "utf-16be" => b"\0p",
                    _ => b"p",
                };
                bytes.truncate((boundary + length - end.len()) / unit.len() * unit.len());
                bytes.extend(unit.repeat(padding));
                bytes.extend_from_slice(end);
                let case = Case { label, bytes };
                tree.replace("f", &case.bytes);
                let ask = Ask {
                    from: Start::Line(1),
                    limit: None,
                    column: None,
                    max_lines: 1,
                    max_bytes: 100_000,
                    max_scan_bytes: u64::MAX,
                    counts_rest: true,
                    numbers: LineNumbers::Off,
                };
                let tool = case.tool(&tree, ask.limits(), ask.numbers);
                if let Err(error) = is_as_naive(&tool, &case, &case.naive(ask.max_scan_bytes), ask) {
                    panic!("{error}");
                }
            }
        }
    }
}
