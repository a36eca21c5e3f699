//! The memory of a read, counted: one buffer and the window, whatever the size and shape of the file.
//!
//! One test, since the count is that of the process.

#![allow(clippy::disallowed_methods, reason = "the files that the tests read are built by their names")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::fs;
use std::path::Path;

use capread::{Limits, ReadRequest, ReadTool, Root};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const MIB: usize = 1 << 20;

/// The one buffer of a read.
const BUFFER: usize = 64 << 10;

/// Names and handles of the walk, and what an error or a result has beside its text.
const SLACK: usize = 1 << 10;

/// The window as the bytes that were read and, where those are no UTF-8, as the text that they decode to.
const fn window(max_bytes: usize) -> usize {
    BUFFER + 2 * max_bytes + (16 << 10)
}

/// What is remembered of a file of `bytes`: a place and a count for every 64 KiB, and a second thread that counts them.
const fn index(bytes: usize) -> usize {
    24 * bytes.div_ceil(64 << 10) + (4 << 10)
}

/// The default of `max_bytes`.
const BUDGET: usize = 50 << 10;

/// Most bytes that were allocated at once while `read` ran, beside those of before.
fn peak<T>(read: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let result = read();
    (result, ALLOCATED.peak_usage() - before)
}

fn write_files(directory: &Path) {
    let write = |name: &str, bytes: Vec<u8>| fs::write(directory.join(name), bytes).unwrap();
    write("lines", b"a line of thirty-two bytes, all\n".repeat(MIB));
    write("one line", vec![b'x'; 32 * MIB]);
    write("empty lines", vec![b'\n'; 10_000_000]);
    write("very long line", vec![b'x'; 50 * MIB]);
    write("text, then NUL", [b"eight b\n".repeat(1024), vec![0; 32 * MIB]].concat());
    write("broken lines", b"\xff\xff\xff\xff\xff\xff\xff\n".repeat(4 * MIB));
    write("broken line", [vec![0xff; BUDGET], vec![b'\n'; 32 * MIB]].concat());
    write("small", b"one line\n".to_vec());
}

/// What one read must give, and the most that it may allocate.
struct Row {
    file: &'static str,
    offset: u64,
    limits: Limits,
    /// The text's length, or the error's code.
    gives: Result<usize, &'static str>,
    at_most: usize,
}

#[test]
fn a_read_allocates_one_buffer_and_the_window() {
    let temp = tempfile::tempdir().unwrap();
    write_files(temp.path());
    let row = |file, offset, gives, at_most| Row { file, offset, limits: Limits::default(), gives, at_most };
    let limits = Limits::default().max_bytes(MIB as u64).unwrap().max_lines(u64::MAX).unwrap();
    let wide = |file, offset, gives| Row { limits: limits.clone(), ..row(file, offset, gives, window(MIB)) };
    let few_lines = BUFFER + 3 * 2000 + SLACK + index(10_000_000);
    let rows = [
        row("lines", 1, Ok(51199), window(BUDGET)),
        row("lines", 500_000, Ok(51199), window(BUDGET)),
        // Most of the window comes from one buffer, and the rest from the next.
        row("lines", 455, Ok(51199), window(BUDGET)),
        row("lines", 1 << 40, Err("offset_beyond_end"), BUFFER + SLACK + index(32 * MIB)),
        row("one line", 1, Err("line_too_long"), window(BUDGET)),
        row("very long line", 1, Err("line_too_long"), window(BUDGET)),
        row("very long line", 2, Err("offset_beyond_end"), BUFFER + SLACK + index(50 * MIB)),
        row("empty lines", 1, Ok(1999), few_lines),
        row("empty lines", 4_000_000, Ok(1999), few_lines),
        row("text, then NUL", 1, Ok(8191), window(BUDGET)),
        row("text, then NUL", 1025, Err("line_too_long"), window(BUDGET)),
        row("broken lines", 2_000_000, Ok(43999), window(BUDGET)),
        row("broken line", 1, Err("line_too_long"), window(BUDGET)),
        row("small", 1, Ok(8), SLACK),
        wide("lines", 1, Ok(MIB - 1)),
        wide("lines", 500_000, Ok(MIB - 1)),
        wide("one line", 1, Err("line_too_long")),
        wide("broken lines", 1, Ok(1_048_563)),
    ];
    let root = Root::open_ambient(temp.path()).unwrap();
    let mut wrong = Vec::new();
    for row in rows {
        let request = ReadRequest::new(row.file).offset(row.offset);
        let tool = ReadTool::new(root.clone()).with_limits(row.limits);
        let (result, used) = peak(|| tool.call(&request, &|| false));
        let given = result.as_ref().map(|output| output.window.text.len()).map_err(capread::Error::code);
        assert_eq!(given, row.gives, "{} from line {}", row.file, row.offset);
        if used > row.at_most {
            wrong.push(format!("{} from line {}: {used} bytes, allowed are {}", row.file, row.offset, row.at_most));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    reads_parts_and_decodes_in_as_much(&root, temp.path());
    reads_the_last_lines_in_as_much(&root);
    remembers_many_files_in_bounds(&root, temp.path());
}

/// What a read of text that must be decoded has beside: a segment, what was decoded too early, and the places where decoding can start,
/// whose room is doubled while the old one is there.
const fn decoding(bytes: usize) -> usize {
    (16 << 10) + 3 * (4 << 10) + 48 * bytes.div_ceil(64 << 10)
}

/// Parts of long lines, and files in other encodings.
fn reads_parts_and_decodes_in_as_much(root: &Root, directory: &Path) {
    let write = |name: &str, bytes: Vec<u8>| fs::write(directory.join(name), bytes).unwrap();
    write("utf-16 lines", [b"\xff\xfe".to_vec(), b"a\0 \0l\0i\0n\0e\0\x2d\x4e\n\0".repeat(2 * MIB)].concat());
    write("utf-16 line", [b"\xff\xfe".to_vec(), b"a\0\x2d\x4e".repeat(8 * MIB)].concat());
    write("gbk lines", b"\xc4\xe3\xba\xc3, a line in GBK\n".repeat(MIB));
    write("gbk line", b"\xc4\xe3\xba\xc3, ".repeat(5 * MIB));
    write("broken utf-8 line", vec![0xff; 8 * MIB]);
    // Until they count as settled.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let rows = [
        ("very long line", "utf-8", [(None, Some(1)), (None, Some(30 << 20)), (None, Some(50 << 20))]),
        ("broken utf-8 line", "utf-8", [(None, Some(1)), (None, Some(20 << 20)), (None, Some(8 << 20))]),
        ("utf-16 lines", "utf-8", [(None, None), (Some(1 << 20), None), (Some((1 << 20) - 3), None)]),
        ("utf-16 line", "utf-8", [(None, Some(1)), (None, Some(20 << 20)), (None, Some(30 << 20))]),
        #[cfg(feature = "encodings")]
        ("gbk lines", "gbk", [(None, None), (Some(500_000), None), (Some(1 << 20), None)]),
        #[cfg(feature = "encodings")]
        ("gbk line", "gbk", [(None, Some(1)), (None, Some(20 << 20)), (None, Some(30 << 20))]),
    ];
    for (file, label, requests) in rows {
        let tool = ReadTool::new(root.clone());
        #[cfg(feature = "encodings")]
        let tool = tool.with_encoding(capread::TextEncoding::from_label(label).unwrap());
        #[cfg(not(feature = "encodings"))]
        assert_eq!(label, "utf-8");
        let size = usize::try_from(fs::metadata(directory.join(file)).unwrap().len()).unwrap();
        for (offset, column) in requests {
            let mut request = ReadRequest::new(file);
            (request.offset, request.column) = (offset, column);
            let (result, used) = peak(|| tool.call(&request, &|| false));
            let text = result.unwrap_or_else(|error| panic!("{file}: {error}")).window.text;
            assert!(!text.is_empty());
            let most = window(BUDGET) + index(size) + decoding(size);
            assert!(used <= most, "{file}, {offset:?} {column:?}: {used} bytes, allowed are {most}");
        }
    }
}

fn reads_the_last_lines_in_as_much(root: &Root) {
    for (file, lines, bytes) in [("lines", 1, 31), ("lines", 5000, 51199), ("empty lines", 5000, 1999)] {
        let tool = ReadTool::new(root.clone());
        let request = ReadRequest::new(file).tail(lines);
        // Once with nothing known of the file, and once with all.
        for _ in 0..2 {
            let (result, used) = peak(|| tool.call(&request, &|| false).unwrap());
            assert_eq!(result.window.text.len(), bytes);
            let most = window(BUDGET) + index(32 * MIB);
            assert!(used <= most, "{file}, {lines} lines: {used} bytes, allowed are {most}");
        }
    }
}

/// However many files are read.
fn remembers_many_files_in_bounds(root: &Root, directory: &Path) {
    let tool = ReadTool::new(root.clone());
    let before = ALLOCATED.current_usage();
    for number in 0..300 {
        fs::write(directory.join(number.to_string()), vec![b'x'; 70_000]).unwrap();
    }
    // Until they count as settled, or nothing is remembered.
    std::thread::sleep(std::time::Duration::from_millis(25));
    for number in 0..300 {
        tool.call(&ReadRequest::new(number.to_string()).offset(2), &|| false).unwrap_err();
    }
    let used = ALLOCATED.current_usage() - before;
    assert!((10 << 10..64 << 10).contains(&used), "{used} bytes for 128 files");
}
