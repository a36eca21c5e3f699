//! The bytes and the calls of reads, counted by the kernel: `proc_pid_io(5)`. Of no other system is it known how to count them.
//!
//! One test, since the counts are those of the process, its second thread included.

#![allow(clippy::disallowed_methods, reason = "the files that the tests read are built by their names")]
#![allow(clippy::print_stdout, reason = "the numbers are worth to be seen")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use capread::{Limits, ReadRequest, ReadTool, Root, Window};

const MIB: u64 = 1 << 20;

/// Bytes of the file that is read on through.
const LARGE: u64 = 100 * MIB;

/// Longer than it takes until the largest of the files counts as settled.
const SETTLED: Duration = Duration::from_millis(1800);

/// Bytes and calls of read(2) and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reads {
    bytes: u64,
    calls: u64,
}

struct Counter {
    io: File,
}

impl Counter {
    fn new() -> Self {
        Self { io: File::open("/proc/self/io").unwrap() }
    }

    /// What was read before this look, and with it: the look itself is counted when it is done.
    fn look(&self) -> (Reads, Reads) {
        let mut text = [0; 512];
        let length = self.io.read_at(&mut text, 0).unwrap();
        let text = std::str::from_utf8(&text[..length]).unwrap();
        let value = |name: &str| -> u64 {
            text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().parse().unwrap()
        };
        let before = Reads { bytes: value("rchar:"), calls: value("syscr:") };
        (before, Reads { bytes: before.bytes + length as u64, calls: before.calls + 1 })
    }

    /// What `read` reads.
    fn count<T>(&self, read: impl FnOnce() -> T) -> (T, Reads) {
        let (_, before) = self.look();
        let result = read();
        let (after, _) = self.look();
        (result, Reads { bytes: after.bytes - before.bytes, calls: after.calls - before.calls })
    }
}

fn write_files(directory: &Path) {
    let mut log = File::create(directory.join("log")).unwrap();
    let block = (0..4096).fold(String::new(), |mut block, number| {
        writeln!(block, "{number:08} 一行 of a log that is as long as they are, more or less").unwrap();
        block
    });
    let mut written = 0;
    while written < LARGE {
        let part = block.len().min(usize::try_from(LARGE - written).unwrap());
        log.write_all(&block.as_bytes()[..part]).unwrap();
        written += part as u64;
    }
    fs::write(directory.join("one line"), vec![b'x'; usize::try_from(50 * MIB).unwrap()]).unwrap();
    fs::write(directory.join("small"), "a line\n".repeat(1000)).unwrap();
    thread::sleep(SETTLED);
}

fn read(tool: &ReadTool, request: &ReadRequest) -> Window {
    tool.call(request, &|| false).unwrap().window
}

#[test]
fn reads_no_more_than_it_must() {
    let temp = tempfile::tempdir().unwrap();
    write_files(temp.path());
    let root = Root::open_ambient(temp.path()).unwrap();
    let tool = ReadTool::new(root.clone());
    let counter = Counter::new();

    // A file that fits into the buffer, and the start of one line that is too long: one read each.
    let (_, small) = counter.count(|| read(&tool, &ReadRequest::new("small")));
    assert_eq!((small.bytes, small.calls), (7000, 1));
    let (error, refused) = counter.count(|| tool.call(&ReadRequest::new("one line"), &|| false).unwrap_err());
    assert_eq!((error.code(), refused.calls), ("line_too_long", 1));
    assert!(refused.bytes <= 64 << 10, "{refused:?}");

    // Without a total: the window and nothing else.
    let no_total = ReadTool::new(root.clone()).with_limits(Limits::default().no_total());
    let (_, window) = counter.count(|| read(&no_total, &ReadRequest::new("log")));
    assert!(window.calls == 1 && window.bytes <= 64 << 10, "{window:?}");

    // All pages by the hints. The first counts the file.
    let (mut pages, mut next) = (0, Some(1));
    let ((), all) = counter.count(|| {
        while let Some(offset) = next {
            next = read(&tool, &ReadRequest::new("log").offset(offset)).next_offset();
            pages += 1;
        }
    });

    assert!(pages > 2000, "{pages} pages");
    assert!(all.bytes * 10 <= LARGE * 22, "{all:?}");
    let first = LARGE.div_ceil(64 << 10) + 2;
    assert!((all.calls - first) * 10 <= pages * 11, "{} reads for {pages} pages", all.calls - first);

    // Anywhere, once the file is known: from the place before it.
    let total = read(&tool, &ReadRequest::new("log").tail(1)).end_line;
    for request in [
        ReadRequest::new("log").offset(total / 2),
        ReadRequest::new("log").offset(total - 10),
        ReadRequest::new("log").tail(10),
        ReadRequest::new("log").tail(2000),
    ] {
        let (_, warm) = counter.count(|| read(&tool, &request));
        assert!(warm.bytes <= 192 << 10 && warm.calls <= 4, "{request:?}: {warm:?}");
    }
    let (error, beyond) =
        counter.count(|| tool.call(&ReadRequest::new("log").offset(total + 1), &|| false).unwrap_err());
    assert_eq!((error.code(), beyond.calls), ("offset_beyond_end", 0));
    reads_parts_of_long_lines(&root, temp.path(), &counter);
}

/// A JSON document of so many bytes at least, without a line break.
fn json_line(bytes: u64) -> String {
    let mut text = String::from("[");
    let mut number = 0;
    while (text.len() as u64) < bytes {
        write!(text, "{{\"number\": {number}, \"name\": \"一行 of {}\"}}, ", number * 7 % 1000).unwrap();
        number += 1;
    }
    text + "null]"
}

/// Each part of a line costs what the part does, wherever it lies, once the file is known; and by the hints they are the line.
fn reads_parts_of_long_lines(root: &Root, directory: &Path, counter: &Counter) {
    let large = json_line(50 * MIB);
    let small = json_line(4 * MIB);
    fs::write(directory.join("large"), &large).unwrap();
    fs::write(directory.join("small line"), format!("first\n{small}\nlast\n")).unwrap();
    thread::sleep(SETTLED);
    let tool = ReadTool::new(root.clone());
    parts_anywhere(&tool, counter, "large", &large);
    let all = parts_by_the_hints(&tool, counter, "small line", 2, &small);
    assert!(all.bytes <= 12 * small.len() as u64, "{all:?} for {} bytes", small.len());
    let no_total = ReadTool::new(root.clone()).with_limits(Limits::default().no_total());
    let all = parts_by_the_hints(&no_total, counter, "small line", 2, &small);
    assert!(all.bytes <= 12 * small.len() as u64, "{all:?} for {} bytes without a total", small.len());
    #[cfg(feature = "encodings")]
    for label in ["gbk", "utf-16le", "windows-1252", "iso-2022-jp"] {
        let text = if label == "windows-1252" { small.replace("一行", "une année") } else { small.clone() };
        let bytes = match label {
            "utf-16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            _ => encoding_rs::Encoding::for_label(label.as_bytes()).unwrap().encode(&text).0.into_owned(),
        };
        fs::write(directory.join(label), bytes).unwrap();
        thread::sleep(SETTLED / 6);
        let encoding = capread::TextEncoding::from_label(label).unwrap();
        let tool = ReadTool::new(root.clone()).with_encoding(encoding);
        // Without line breaks there is no place in ISO-2022-JP where decoding could start.
        if label != "iso-2022-jp" {
            parts_anywhere(&tool, counter, label, &text);
        }
        parts_by_the_hints(&tool, counter, label, 1, &text);
    }
}

fn parts_anywhere(tool: &ReadTool, counter: &Counter, name: &str, text: &str) {
    let (mut column, mut most) = (1, 0);
    for number in 0..60 {
        let request = ReadRequest::new(name).column(column as u64);
        let (part, reads) = counter.count(|| read(tool, &request));
        let start = (0..column).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        assert_eq!(part.columns.unwrap().start, start as u64 + 1, "{name}");
        assert!(text[start..].starts_with(&part.text) && part.text.len() > 51_190.min(text.len() - start - 1));
        if number > 0 {
            most = most.max(reads.bytes);
        }
        column = (column + text.len() / 100 * 61 + 7919) % text.len() + 1;
    }
    println!("{name}: at most {most} bytes for a part");
    assert!(most <= 256 << 10, "{name}: {most} bytes for a part");
}

fn parts_by_the_hints(tool: &ReadTool, counter: &Counter, name: &str, line: u64, text: &str) -> Reads {
    let mut whole = String::new();
    let mut next = Some(1);
    let ((), all) = counter.count(|| {
        while let Some(column) = next {
            let part = read(tool, &ReadRequest::new(name).offset(line).column(column));
            whole.push_str(&part.text);
            next = part.next_column();
        }
    });
    println!("{name}: {all:?} for all parts of {} bytes", text.len());
    assert!(whole == text, "{name}");
    all
}
