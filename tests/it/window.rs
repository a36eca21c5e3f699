//! Windows at the boundaries of the contract.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use capread::{Cut, Error, ErrorKind, Limits, LineEnds, ReadAt, ReadRequest, Result, Selection, Window};
use rstest::rstest;

use crate::support::{Shared, Tree, assert_fails};

const EIO: i32 = 5;
const EAGAIN: i32 = 11;

/// Bytes that are read in parts, with faults, and with a count of the reads.
#[derive(Default)]
struct Source {
    bytes: Vec<u8>,
    size: Option<u64>,
    /// Most bytes that one read gives; 0 is no bound.
    part: usize,
    /// Reads from this byte on fail, with this error.
    fault: Mutex<Option<(u64, i32)>>,
    /// Set by this read, counted from 1.
    cancel_at: Option<(usize, AtomicBool)>,
    reads: AtomicUsize,
    served: AtomicUsize,
}

impl Source {
    fn new(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), ..Self::default() }
    }

    fn sized(bytes: &[u8]) -> Self {
        Self { size: Some(bytes.len() as u64), ..Self::new(bytes) }
    }

    fn part(self, part: usize) -> Self {
        Self { part, ..self }
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    fn fail(&self, fault: Option<(u64, i32)>) {
        *self.fault.lock().unwrap() = fault;
    }
}

impl ReadAt for Source {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let reads = self.reads.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some((at, flag)) = &self.cancel_at {
            flag.fetch_or(reads >= *at, Ordering::Relaxed);
        }
        let part = if self.part == 0 { buffer.len() } else { self.part.min(buffer.len()) };
        let mut count = self.bytes.as_slice().read_at(&mut buffer[..part], offset)?;
        if let Some((at, errno)) = *self.fault.lock().unwrap() {
            if offset >= at {
                return Err(io::Error::from_raw_os_error(errno));
            }
            count = count.min(usize::try_from(at - offset).unwrap());
        }
        self.served.fetch_add(count, Ordering::Relaxed);
        Ok(count)
    }

    fn known_size(&self) -> Option<u64> {
        self.size
    }
}

/// What is asked for, and within which limits.
#[derive(Clone, Copy, Debug)]
struct Ask {
    offset: u64,
    limit: Option<u64>,
    max_lines: u64,
    max_bytes: u64,
}

const ALL: Ask = Ask { offset: 1, limit: None, max_lines: 2000, max_bytes: 51200 };

impl Ask {
    const fn from(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    const fn limit(self, limit: u64) -> Self {
        Self { limit: Some(limit), ..self }
    }

    const fn max_lines(self, max_lines: u64) -> Self {
        Self { max_lines, ..self }
    }

    const fn max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    fn selection(self) -> Selection {
        let selection = Selection::from_line(self.offset).unwrap();
        self.limit.map_or(selection, |limit| selection.limit(limit).unwrap())
    }

    fn limits(self) -> Limits {
        Limits::default().max_lines(self.max_lines).unwrap().max_bytes(self.max_bytes).unwrap()
    }

    fn of(self, source: &dyn ReadAt) -> Result<Window> {
        Window::read(source, self.selection(), &self.limits(), &|| false)
    }
}

/// The window of `bytes`, which must be the same from a slice, in parts of any size, and whether the size is known or not.
#[track_caller]
fn window(bytes: &[u8], ask: Ask) -> Result<Window> {
    let window = ask.of(&bytes);
    let compared = |window: &Result<Window>| match window {
        Ok(window) => Ok(window.clone()),
        Err(error) => Err((error.code(), error.kind().clone())),
    };
    for part in [0, 1, 2, 3, 8191] {
        let same = ask.of(&Source::sized(bytes).part(part));
        assert_eq!(compared(&same), compared(&window), "in parts of {part} bytes");
        let mut unsized_window = compared(&ask.of(&Source::new(bytes).part(part)));
        if let Err((_, ErrorKind::Binary { size, .. })) = &mut unsized_window {
            assert_eq!(size.replace(bytes.len() as u64), None);
        }
        assert_eq!(unsized_window, compared(&window), "in parts of {part} bytes, of unknown size");
    }
    window
}

/// Asserts the text with its hint.
#[track_caller]
fn gives(bytes: impl AsRef<[u8]>, ask: Ask, expected: &str) {
    let window = window(bytes.as_ref(), ask);
    assert_eq!(
        window.as_ref().map(ToString::to_string).map_err(ToString::to_string),
        Ok(expected.to_owned()),
        "{ask:?}"
    );
}

#[track_caller]
fn fails(bytes: impl AsRef<[u8]>, ask: Ask, code: &str, message: &str) {
    assert_fails(window(bytes.as_ref(), ask), code, message);
}

#[track_caller]
fn is_too_long(bytes: impl AsRef<[u8]>, ask: Ask, line: u64, limit: &str) {
    let error = window(bytes.as_ref(), ask).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::LineTooLong { line, max_bytes: ask.max_bytes });
    assert_eq!(error.code(), "line_too_long");
    let message = format!("A single line exceeds the read byte limit (line {line} is over {limit}).");
    assert!(error.to_string().starts_with(&message), "{error}");
}

fn numbers(last: u64) -> String {
    (1..=last).fold(String::new(), |mut text, number| {
        writeln!(text, "{number}").unwrap();
        text
    })
}

#[rstest]
#[case::empty("", "", 0)]
#[case::no_final_newline("one", "one", 1)]
#[case::final_newline("one\n", "one", 1)]
#[case::only_a_newline("\n", "", 1)]
#[case::only_newlines("\n\n\n", "\n\n", 3)]
#[case::inner_empty_lines("one\n\n\nfour\n", "one\n\n\nfour", 4)]
#[case::empty_lines_at_the_ends("\n\none\n\n", "\n\none\n", 4)]
#[case::carriage_return_and_newline("one\r\ntwo\r\n", "one\r\ntwo\r", 2)]
#[case::lone_carriage_return("one\rtwo\r\rthree\r", "one\rtwo\r\rthree\r", 1)]
#[case::separators_of_unicode("a\u{2028}b\u{2029}c\u{85}d", "a\u{2028}b\u{2029}c\u{85}d", 1)]
#[case::form_feed_and_others("a\x0cb\x0bc\x1cd\x1ee\n", "a\x0cb\x0bc\x1cd\x1ee", 1)]
#[case::mark("\u{feff}one\ntwo\n", "one\ntwo", 2)]
#[case::mark_only("\u{feff}", "", 0)]
#[case::mark_and_newline("\u{feff}\n", "", 1)]
#[case::second_mark("\u{feff}\u{feff}one", "\u{feff}one", 1)]
#[case::mark_in_the_middle("one\n\u{feff}two", "one\n\u{feff}two", 2)]
fn a_line_ends_at_a_newline_and_nowhere_else(#[case] file: &str, #[case] text: &str, #[case] total: u64) {
    let window = window(file.as_bytes(), ALL).unwrap();
    assert_eq!((window.text.as_str(), window.total_lines), (text, Some(total)));
    assert_eq!((window.start_line, window.end_line, window.cut), (1, total, None));
    assert_eq!((window.bom, window.final_newline), (file.starts_with('\u{feff}'), Some(file.ends_with('\n'))));
    assert_eq!((window.to_string().as_str(), window.continuation(), window.next_offset()), (text, None, None));
    assert_eq!(window.replacements, 0);
}

#[test]
fn refuses_an_offset_past_the_last_line() {
    for (file, offset, total) in [
        ("", 2, 0),
        ("\u{feff}", 2, 0),
        ("", u64::MAX, 0),
        ("one", 2, 1),
        ("one\n", 2, 1),
        ("\n", 2, 1),
        ("1\n2\n3\n4\n", 5, 4),
        ("1\n2\n3\n4\n", 9, 4),
        ("1\n2\n3\n4", 5, 4),
        ("1\n2\n3\n4", u64::MAX, 4),
    ] {
        let message = format!("Offset {offset} is beyond end of file ({total} lines total)");
        fails(file, ALL.from(offset), "offset_beyond_end", &message);
        fails(file, ALL.from(offset).limit(u64::MAX), "offset_beyond_end", &message);
    }
    gives("", ALL.limit(1), "");
    gives("1\n2\n3\n4\n", ALL.from(4), "4");
    gives("1\n2\n3\n4", ALL.from(4), "4");
    gives("1\n\n", ALL.from(2), "");
}

#[test]
fn refuses_zeros() {
    assert_fails(Selection::from_line(0), "invalid_argument", "offset must be a positive integer");
    assert_fails(Selection::default().limit(0), "invalid_argument", "limit must be a positive integer");
    assert_fails(Limits::default().max_lines(0), "invalid_argument", "max_lines must be a positive integer");
    assert_fails(Limits::default().max_bytes(0), "invalid_argument", "max_bytes must be a positive integer");
}

#[test]
fn takes_as_many_lines_as_the_call_wants() {
    let four = "1\n2\n3\n4\n";
    gives(four, ALL.from(2).limit(2), "2\n3\n\n[1 more lines in file. Use offset=4 to continue.]");
    gives(four, ALL.limit(1), "1\n\n[3 more lines in file. Use offset=2 to continue.]");
    gives(four, ALL.limit(4), "1\n2\n3\n4");
    gives(four.trim_end(), ALL.from(3).limit(2), "3\n4");
    gives(four.trim_end(), ALL.from(3).limit(1), "3\n\n[1 more lines in file. Use offset=4 to continue.]");
    gives(four, ALL.from(4).limit(1), "4");
    gives(four, ALL.limit(u64::MAX), "1\n2\n3\n4");
    gives("\n\n\n", ALL.limit(2), "\n\n\n[1 more lines in file. Use offset=3 to continue.]");
    gives("\n\n\n", ALL.from(2).limit(1), "\n\n[1 more lines in file. Use offset=3 to continue.]");
}

#[test]
fn takes_as_many_lines_as_the_limits_allow() {
    let file = numbers(9000);
    let first = numbers(2000) + "\n[Showing lines 1-2000 of 9000. Use offset=2001 to continue.]";
    gives(&file, ALL, &first);
    gives(&file, ALL.limit(2001), &first);
    gives(&file, ALL.limit(u64::MAX), &first);
    // What the call wanted it got, so nothing was cut by the limits.
    gives(&file, ALL.limit(2000), &(numbers(2000) + "\n[7000 more lines in file. Use offset=2001 to continue.]"));
    gives(numbers(2000), ALL, numbers(2000).trim_end());
    gives(&file, ALL.from(9000).max_lines(1), "9000");
    gives(
        &file,
        ALL.from(8998).max_lines(2),
        "8998\n8999\n\n[Showing lines 8998-8999 of 9000. Use offset=9000 to continue.]",
    );
    gives("1\n2", ALL.max_lines(1).limit(1), "1\n\n[1 more lines in file. Use offset=2 to continue.]");
    gives("1\n2", ALL.max_lines(1).limit(2), "1\n\n[Showing lines 1-1 of 2. Use offset=2 to continue.]");
}

#[test]
fn takes_whole_lines_within_the_byte_budget() {
    let chinese = ["中".repeat(20), "中".repeat(20), "中".repeat(20)].join("\n");
    let two = ["中".repeat(20), "中".repeat(20)].join("\n");
    let hint =
        |limit: u64| format!("{two}\n\n[Showing lines 1-2 of 3 ({limit} bytes limit). Use offset=3 to continue.]");
    gives(&chinese, ALL.max_bytes(125), &hint(125));
    gives(&chinese, ALL.max_bytes(121), &hint(121));
    gives(&chinese, ALL.max_bytes(181), &hint(181));
    gives(&chinese, ALL.max_bytes(182), &chinese);
    gives(chinese.clone() + "\n", ALL.max_bytes(182), &chinese);
    let one = format!("{}\n\n[Showing lines 1-1 of 3 (120 bytes limit). Use offset=2 to continue.]", "中".repeat(20));
    gives(&chinese, ALL.max_bytes(120), &one);
    is_too_long(&chinese, ALL.max_bytes(59), 1, "59 bytes");
    gives("ab\ncd\n", ALL.from(2).max_bytes(2), "cd");
    gives("ab\ncd", ALL.from(2).max_bytes(2), "cd");
    gives("ab\n\ncd", ALL.max_bytes(2), "ab\n\n[Showing lines 1-1 of 3 (2 bytes limit). Use offset=2 to continue.]");
    gives("ab\n\ncd", ALL.max_bytes(3), "ab\n\n\n[Showing lines 1-2 of 3 (3 bytes limit). Use offset=3 to continue.]");
    gives("\n\n\n", ALL.max_bytes(1), "\n\n\n[Showing lines 1-2 of 3 (1 bytes limit). Use offset=3 to continue.]");
    // The mark is no part of the text.
    gives("\u{feff}ab\ncd", ALL.max_bytes(5), "ab\ncd");
}

#[test]
fn names_the_cause_that_is_looked_at_first() {
    let file = "ab\ncd\nef\n";
    gives(file, ALL.max_lines(2).max_bytes(5), "ab\ncd\n\n[Showing lines 1-2 of 3. Use offset=3 to continue.]");
    gives(file, ALL.limit(2).max_bytes(5), "ab\ncd\n\n[1 more lines in file. Use offset=3 to continue.]");
    gives(file, ALL.limit(2).max_bytes(4), "ab\n\n[Showing lines 1-1 of 3 (4 bytes limit). Use offset=2 to continue.]");
    gives(
        file,
        ALL.max_lines(2).max_bytes(4),
        "ab\n\n[Showing lines 1-1 of 3 (4 bytes limit). Use offset=2 to continue.]",
    );
    gives(
        file,
        ALL.limit(3).max_lines(2).max_bytes(5),
        "ab\ncd\n\n[Showing lines 1-2 of 3. Use offset=3 to continue.]",
    );
    let cuts = [ALL.limit(2), ALL.max_lines(2), ALL.max_bytes(5)].map(|ask| window(file.as_bytes(), ask).unwrap().cut);
    assert_eq!(cuts, [Some(Cut::Limit), Some(Cut::Lines), Some(Cut::Bytes { max_bytes: 5 })]);
}

#[rstest]
#[case(1, "1 bytes")]
#[case(1023, "1023 bytes")]
#[case(1024, "1 KiB")]
#[case(1025, "1025 bytes")]
#[case(51200, "50 KiB")]
#[case(51201, "51201 bytes")]
#[case(1_048_576, "1024 KiB")]
fn writes_a_multiple_of_1024_bytes_as_kib(#[case] max_bytes: u64, #[case] shown: &str) {
    let line = "x".repeat(usize::try_from(max_bytes).unwrap());
    let ask = ALL.max_bytes(max_bytes);
    gives(
        format!("{line}\ny\n"),
        ask,
        &format!("{line}\n\n[Showing lines 1-1 of 2 ({shown} limit). Use offset=2 to continue.]"),
    );
    is_too_long(format!("{line}x\ny\n"), ask, 1, shown);
}

#[test]
fn never_cuts_a_line() {
    let long = "x".repeat(51201);
    is_too_long(&long, ALL, 1, "50 KiB");
    is_too_long(format!("{long}\n"), ALL.limit(1), 1, "50 KiB");
    gives(&long[1..], ALL, &long[1..]);
    gives(format!("{}\n", &long[1..]), ALL, &long[1..]);
    let middle = format!("one\ntwo\n{long}\nfour\n");
    gives(&middle, ALL, "one\ntwo\n\n[Showing lines 1-2 of 4 (50 KiB limit). Use offset=3 to continue.]");
    is_too_long(&middle, ALL.from(3), 3, "50 KiB");
    gives(&middle, ALL.from(4), "four");
    // The limits come after the selection: a line that is not wanted is not too long.
    gives(&middle, ALL.limit(2), "one\ntwo\n\n[2 more lines in file. Use offset=3 to continue.]");
    gives(format!("one\n{long}"), ALL.limit(1), "one\n\n[1 more lines in file. Use offset=2 to continue.]");
    is_too_long("\u{feff}abc", ALL.max_bytes(2), 1, "2 bytes");
}

#[test]
fn decides_that_a_line_is_too_long_without_reading_it_to_its_end() {
    for max_bytes in [1, 51200, 200_000] {
        for source in [Source::sized(&vec![b'x'; 4 << 20]), Source::new(&vec![b'x'; 4 << 20])] {
            let error = ALL.max_bytes(max_bytes).of(&source).unwrap_err();
            assert_eq!(error.kind(), &ErrorKind::LineTooLong { line: 1, max_bytes });
            let enough = usize::try_from(max_bytes).unwrap() + 64 * 1024;
            assert!(
                source.served.load(Ordering::Relaxed) <= enough,
                "{} bytes for a budget of {max_bytes}",
                source.served.load(Ordering::Relaxed)
            );
        }
    }
}

#[rstest]
#[case::none("é 中 😀 \u{fffd}".as_bytes(), "é 中 😀 \u{fffd}", 0)]
#[case::no_start(b"a\xffb\xfec", "a\u{fffd}b\u{fffd}c", 2)]
#[case::cut_short(b"\xe4\xb8", "\u{fffd}", 1)]
#[case::cut_short_by_a_newline(b"\xf0\x9f\x98\nx", "\u{fffd}\nx", 1)]
#[case::cut_short_by_another(b"\xe4\xb8\xe4\xb8", "\u{fffd}\u{fffd}", 2)]
#[case::cut_short_before_a_good_one(b"\xe4\xb8\xe4\xb8\xad", "\u{fffd}中", 1)]
#[case::too_long_a_form(b"\xc0\x80\xe0\x80\x80", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}", 5)]
#[case::surrogate(b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}", 3)]
#[case::beyond_unicode(b"\xf4\x90\x80\x80", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}", 4)]
#[case::lone_continuation(b"\x80\xbf", "\u{fffd}\u{fffd}", 2)]
#[case::half_a_mark(b"\xef\xbb", "\u{fffd}", 1)]
#[case::half_a_mark_of_utf_16(b"\xfex", "\u{fffd}x", 1)]
fn replaces_what_is_no_utf_8_and_counts_it(#[case] file: &[u8], #[case] text: &str, #[case] replacements: u64) {
    let read = window(file, ALL).unwrap();
    assert_eq!((read.text.as_str(), read.replacements), (text, replacements));
    // Only the window counts.
    let around = [b"\xff\xff\n", file, b"\n\xff\n"].concat();
    let lines = text.lines().count() as u64;
    let inner = window(&around, ALL.from(2).limit(lines)).unwrap();
    assert_eq!((inner.text.as_str(), inner.replacements), (text, replacements));
}

#[test]
fn the_budget_counts_decoded_bytes() {
    let file = b"\xff\xff\xff\xff";
    gives(file, ALL.max_bytes(12), &"\u{fffd}".repeat(4));
    is_too_long(file, ALL.max_bytes(11), 1, "11 bytes");
    is_too_long(file, ALL.max_bytes(4), 1, "4 bytes");
    let file = b"a\n\xff\xff\xff\xff\nb\n";
    gives(file, ALL.max_bytes(13), "a\n\n[Showing lines 1-1 of 3 (13 bytes limit). Use offset=2 to continue.]");
    let two =
        format!("a\n{}\n\n[Showing lines 1-2 of 3 (15 bytes limit). Use offset=3 to continue.]", "\u{fffd}".repeat(4));
    gives(file, ALL.max_bytes(15), &two);
    // The replaced places of a line that does not fit are not in the window.
    assert_eq!(window(file, ALL.max_bytes(13)).unwrap().replacements, 0);
    assert_eq!(window(file, ALL.max_bytes(15)).unwrap().replacements, 4);
    let limited = window(file, ALL.limit(2).max_bytes(13)).unwrap();
    assert_eq!((limited.cut, limited.line_ends), (Some(Cut::Bytes { max_bytes: 13 }), Some(LineEnds::Lf)));
}

#[track_caller]
fn is_binary(bytes: &[u8], ask: Ask) {
    let error = window(bytes, ask).unwrap_err();
    assert_eq!(error.code(), "binary");
    let message = error.to_string();
    assert!(message.starts_with("Binary files are not supported by read ("), "{message}");
    assert!(message.ends_with(&format!("{} bytes)", bytes.len())), "{message}");
}

#[test]
fn a_nul_in_the_first_8192_bytes_is_no_text() {
    let with_nul_at = |at: usize| {
        let mut file = vec![b'x'; 9000];
        (file[at], file[100]) = (0, b'\n');
        file
    };
    is_binary(b"\0", ALL);
    is_binary(&with_nul_at(0), ALL);
    is_binary(&with_nul_at(8191), ALL);
    // Wherever the window would be.
    is_binary(&with_nul_at(8191), ALL.limit(1));
    is_binary(&with_nul_at(8191), ALL.from(9));
    is_binary(&with_nul_at(8191), ALL.max_bytes(1));
    let text = window(&with_nul_at(8192), ALL).unwrap();
    assert_eq!((text.text.len(), text.total_lines, text.controls, text.replacements), (9000, Some(2), 1, 0));
    // The mark is a part of the file's first bytes.
    let marked = |at: usize| [b"\xef\xbb\xbf", &with_nul_at(at)[..]].concat();
    is_binary(&marked(8188), ALL);
    assert_eq!(window(&marked(8189), ALL).unwrap().controls, 1);
}

#[rstest]
#[case::none("one", None, 0)]
#[case::empty("", None, 0)]
#[case::newline("one\ntwo", Some(LineEnds::Lf), 0)]
#[case::both("one\r\ntwo", Some(LineEnds::CrLf), 0)]
#[case::both_everywhere("one\r\n\r\n", Some(LineEnds::CrLf), 0)]
#[case::mixed("one\r\ntwo\n", Some(LineEnds::Mixed), 0)]
#[case::mixed_at_the_end("one\ntwo\r\n", Some(LineEnds::Mixed), 0)]
#[case::lone_return("one\rtwo\n", Some(LineEnds::Lf), 1)]
#[case::return_without_newline("one\r", None, 1)]
#[case::return_at_the_end("one\r\ntwo\r", Some(LineEnds::CrLf), 1)]
#[case::two_returns("one\r\r\n", Some(LineEnds::CrLf), 1)]
#[case::only_both("\r\n", Some(LineEnds::CrLf), 0)]
#[case::only_newline("\n", Some(LineEnds::Lf), 0)]
#[case::terminal("\u{1b}[31m\u{7f}\u{9b}\x08\x0c", None, 5)]
#[case::bidirectional("\u{202a}\u{202e}\u{2066}\u{2069}", None, 4)]
#[case::harmless("\t\u{200b}\u{2028}\u{feff}\u{a0}", None, 0)]
fn tells_line_ends_and_controls(#[case] file: &str, #[case] line_ends: Option<LineEnds>, #[case] controls: u64) {
    let read = window(file.as_bytes(), ALL).unwrap();
    assert_eq!(
        (read.line_ends, read.controls, read.text.as_str()),
        (line_ends, controls, file.strip_suffix('\n').unwrap_or(file))
    );
}

#[test]
fn line_ends_and_controls_are_those_of_the_window() {
    let file = b"a\r\nb\n\x1bc\r\nd";
    for (line, text, line_ends, controls) in [
        (1, "a\r", Some(LineEnds::CrLf), 0),
        (2, "b", Some(LineEnds::Lf), 0),
        (3, "\u{1b}c\r", Some(LineEnds::CrLf), 1),
        (4, "d", None, 0),
    ] {
        let read = window(file, ALL.from(line).limit(1)).unwrap();
        assert_eq!((read.text.as_str(), read.line_ends, read.controls), (text, line_ends, controls), "line {line}");
        assert_eq!(read.final_newline, Some(false));
    }
    // Cut by bytes: the last line has a break all the same.
    let cut = window(file, ALL.max_bytes(2)).unwrap();
    assert_eq!((cut.text.as_str(), cut.line_ends, cut.controls), ("a\r", Some(LineEnds::CrLf), 0));
    // Whether the file ends with a break is known wherever the window is.
    assert_eq!(window(b"a\nb\n", ALL.limit(1)).unwrap().final_newline, Some(true));
    assert_eq!(window(b"a\nb", ALL.limit(1)).unwrap().final_newline, Some(false));
}

#[test]
fn reads_a_small_file_of_known_size_at_once() {
    for length in [1, 100, 8192, 65536] {
        let source = Source::sized(&vec![b'x'; length]);
        ALL.max_bytes(1 << 20).of(&source).unwrap();
        assert_eq!(source.reads(), 1, "{length} bytes");
    }
    let empty = Source::sized(b"");
    assert_eq!(ALL.of(&empty).unwrap().total_lines, Some(0));
    assert_eq!(empty.reads(), 0);
}

#[test]
fn takes_the_size_for_a_bound_and_not_for_a_promise() {
    let shorter = Source { size: Some(1000), ..Source::new(b"a\nb\nc") };
    assert_eq!(ALL.of(&shorter).unwrap().to_string(), "a\nb\nc");
    let longer = Source { size: Some(4), ..Source::new(b"a\nb\nc\nd") };
    let read = ALL.of(&longer).unwrap();
    assert_eq!((read.text.as_str(), read.total_lines, read.final_newline), ("a\nb", Some(2), Some(true)));
}

#[test]
fn reads_a_file_as_it_was_when_it_was_opened() {
    let tree = Tree::new(&["f = IN: one\ntwo\n", "g = IN: one\ntwo\nthree\n"]);
    let (grown, shrunk) = (tree.root().open("f").unwrap(), tree.root().open("g").unwrap());
    OpenOptions::new().append(true).open(tree.at("f")).unwrap().write_all(b"three\n").unwrap();
    OpenOptions::new().write(true).open(tree.at("g")).unwrap().set_len(8).unwrap();
    fs::rename(tree.at("f"), tree.at("moved")).unwrap();
    fs::remove_file(tree.at("g")).unwrap();
    for (file, text, total) in [(&grown, "IN: one\ntwo", 2), (&shrunk, "IN: one", 1)] {
        let read = file.window(Selection::default(), &Limits::default(), &|| false).unwrap();
        assert_eq!((read.text.as_str(), read.total_lines), (text, Some(total)));
        assert!(read.changed_during_read);
    }
    assert_eq!((grown.size(), grown.links(), shrunk.size()), (12, 1, 18));
}

#[test]
fn makes_no_read_when_it_is_cancelled_before() {
    let source = Source::new(b"one\n");
    let flag = AtomicBool::new(true);
    assert_fails(
        Window::read(&source, Selection::default(), &Limits::default(), &flag),
        "cancelled",
        "Operation aborted",
    );
    assert_eq!(source.reads(), 0);
    let tree = Tree::new(&["f"]);
    let file = tree.root().open("f").unwrap();
    assert_fails(file.window(Selection::default(), &Limits::default(), &flag), "cancelled", "Operation aborted");
}

/// Whatever it does at the moment: look at the head, find the offset, take lines, or count the rest.
#[test]
fn ends_within_one_more_read_when_it_is_cancelled() {
    let lines = b"line\n".repeat(400_000);
    for (ask, part) in
        [(ALL, 1000), (ALL.from(399_000), 0), (ALL, 0), (ALL.from(9_999_999), 0), (ALL.max_bytes(1 << 30), 0)]
    {
        for at in [1, 2, 5, 9] {
            let source = Source { cancel_at: Some((at, AtomicBool::new(false))), ..Source::new(&lines).part(part) };
            let flag = &source.cancel_at.as_ref().unwrap().1;
            let read = Window::read(&source, ask.selection(), &ask.limits(), flag);
            assert_fails(read, "cancelled", "Operation aborted");
            assert!(source.reads() <= at + 1, "{} reads, cancelled in read {at}: {ask:?}", source.reads());
        }
    }
}

#[test]
fn asks_whether_to_stop_for_every_64_kib_of_a_long_line() {
    for source in [Source::new(&vec![b'x'; 1 << 20]), Source::sized(&vec![b'x'; 1 << 20])] {
        let asked = Shared::new(0);
        let cancel = || {
            asked.set(asked.get() + 1);
            false
        };
        let limits = ALL.max_bytes(1 << 30).limits();
        assert_eq!(Window::read(&source, Selection::default(), &limits, &cancel).unwrap().text.len(), 1 << 20);
        assert!(
            asked.get() >= 16 && asked.get() >= source.reads(),
            "{} times for {} reads",
            asked.get(),
            source.reads()
        );
    }
}

#[test]
fn a_deadline_of_zero_has_passed() {
    let source = Source::new(b"one\n");
    let limits = Limits::default().deadline(Duration::ZERO);
    let read = Window::read(&source, Selection::default(), &limits, &|| false);
    assert_fails(read, "deadline", "Read took longer than 0 s");
    assert_eq!(source.reads(), 0);
    // A cancelled read is a cancelled read, however late it is.
    let read = Window::read(&source, Selection::default(), &limits, &|| true);
    assert_fails(read, "cancelled", "Operation aborted");
    let tree = Tree::new(&["f"]);
    let tool = tree.tool().with_limits(limits);
    assert_fails(tool.call(&ReadRequest::new("f"), &|| false), "deadline", "Read took longer than 0 s");
    let far = Limits::default().deadline(Duration::MAX);
    assert_eq!(tree.tool().with_limits(far).call(&ReadRequest::new("f"), &|| false).unwrap().window.text, "IN: f");
}

#[rstest]
#[case(ErrorKind::Deadline { allowed: Duration::from_secs(10) }, "deadline", "Read took longer than 10 s")]
#[case(ErrorKind::Deadline { allowed: Duration::from_millis(1500) }, "deadline", "Read took longer than 1.5 s")]
#[case(
    ErrorKind::Binary { format: Some("PNG image"), size: Some(18432) },
    "binary",
    "Binary files are not supported by read (PNG image, 18432 bytes)"
)]
#[case(ErrorKind::ResourceLimit(capread::Resource::FileHandles), "resource_limit", "Out of file handles")]
#[case(ErrorKind::Cancelled, "cancelled", "Operation aborted")]
fn says_what_the_contract_says(#[case] kind: ErrorKind, #[case] code: &str, #[case] message: &str) {
    assert_fails(Err::<(), _>(Error::from(kind)), code, message);
}

#[test]
fn reports_a_fault_wherever_it_is_and_reads_again_after_it() {
    let lines = numbers(50_000);
    let size = lines.len() as u64;
    for at in [0, 1, 8191, 8192, 65535, 65536, 100_000, size - 1] {
        for ask in [ALL, ALL.from(30_000), ALL.from(60_000)] {
            let source = Source::new(lines.as_bytes());
            source.fail(Some((at, EIO)));
            let error = ask.of(&source).unwrap_err();
            assert_eq!((error.code(), error.raw_os_error()), ("io", Some(EIO)), "at byte {at}");
            assert_eq!(error.to_string(), "Cannot read file: Input/output error");
            assert!(std::error::Error::source(&error).is_some());
            source.fail(None);
            assert_eq!(
                ask.of(&source).map_err(|error| error.code()),
                ask.of(&lines.as_bytes()).map_err(|error| error.code())
            );
        }
    }
    // A fault behind what is known to be the end is none.
    let source = Source::sized(b"one\n");
    source.fail(Some((4, EIO)));
    assert_eq!(ALL.of(&source).unwrap().text, "one");
}

#[test]
fn a_read_that_would_block_is_busy() {
    let source = Source::new(b"one\ntwo\n");
    source.fail(Some((4, EAGAIN)));
    let error = ALL.of(&source).unwrap_err();
    assert_eq!((error.code(), error.raw_os_error()), ("busy", Some(EAGAIN)));
    assert_eq!(error.to_string(), "File is busy: file");
    source.fail(None);
    assert_eq!(ALL.of(&source).unwrap().text, "one\ntwo");
}
