//! What a tool remembers of files: every answer must be that of a tool that remembers nothing.

use std::fmt::Write as _;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use capread::{Error, Limits, Progress, ReadOutput, ReadRequest, ReadTool};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::support::{Shared, Tree};

/// Longer than it takes until a file of half a MiB that was changed counts as settled.
const SETTLED: Duration = Duration::from_millis(30);

/// Something that somebody does to the file.
#[derive(Clone, Debug)]
enum Edit {
    /// Writes lines over what is at this part of the file, in thousandths.
    Overwrite(u16, Vec<u8>),
    Append(Vec<u8>),
    Truncate(u16),
    /// Puts another file in its place.
    Replace(Vec<u8>),
    /// Writes as many bytes as there are, and puts the old time of modification back.
    Disguise(u8),
    /// Lets the file settle.
    Wait,
}

/// Lines of many lengths, as many bytes as wanted.
fn lines(seed: u8, bytes: usize) -> Vec<u8> {
    let mut text = String::new();
    let mut number = usize::from(seed);
    while text.len() < bytes {
        writeln!(text, "{number} {}", "x".repeat(number * 7 % 300)).unwrap();
        number += 1;
    }
    text.truncate(bytes);
    text.into_bytes()
}

impl Edit {
    fn make(&self, tree: &Tree) {
        let path = tree.at("f");
        let size = fs::metadata(&path).unwrap().len();
        let at = |part: &u16| size * u64::from(*part) / 1000;
        let open = || OpenOptions::new().write(true).open(&path).unwrap();
        match self {
            Self::Overwrite(part, bytes) => open().write_all_at(bytes, at(part)).unwrap(),
            Self::Append(bytes) => open().write_all_at(bytes, size).unwrap(),
            Self::Truncate(part) => open().set_len(at(part)).unwrap(),
            Self::Replace(bytes) => {
                fs::write(tree.at("T/new"), bytes).unwrap();
                fs::rename(tree.at("T/new"), &path).unwrap();
            }
            Self::Disguise(seed) => {
                let file = open();
                let before = file.metadata().unwrap().modified().unwrap();
                file.write_all_at(&lines(*seed, usize::try_from(size).unwrap()), 0).unwrap();
                file.set_times(FileTimes::new().set_modified(before)).unwrap();
            }
            Self::Wait => thread::sleep(SETTLED),
        }
    }
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop_oneof![3 => 0_usize..3000, 1 => 60_000_usize..140_000];
    (any::<u8>(), bytes).prop_map(|(seed, bytes)| lines(seed, bytes))
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        3 => (0_u16..1000, text()).prop_map(|(part, bytes)| Edit::Overwrite(part, bytes)),
        3 => text().prop_map(Edit::Append),
        1 => (0_u16..1000).prop_map(Edit::Truncate),
        1 => (any::<u8>(), 100_000_usize..400_000).prop_map(|(seed, bytes)| Edit::Replace(lines(seed, bytes))),
        2 => any::<u8>().prop_map(Edit::Disguise),
        3 => Just(Edit::Wait),
    ]
}

/// A read, in thousandths of the lines that the file had at the start.
fn read() -> impl Strategy<Value = (u16, Option<u64>, bool)> {
    (0_u16..1100, proptest::option::of(1_u64..500), prop::bool::weighted(0.2))
}

fn request((part, limit, is_tail): (u16, Option<u64>, bool), total: u64) -> ReadRequest {
    let line = total * u64::from(part) / 1000 + 1;
    match (ReadRequest::new("f"), limit) {
        (request, _) if is_tail => request.tail(line),
        (request, Some(limit)) => request.offset(line).limit(limit),
        (request, None) => request.offset(line),
    }
}

fn told(result: Result<ReadOutput, Error>) -> Result<ReadOutput, String> {
    result.map_err(|error| error.to_string())
}

#[test]
fn answers_as_a_tool_that_remembers_nothing() {
    let reads = Shared::new(0_u32);
    let steps = proptest::collection::vec((edit(), proptest::collection::vec(read(), 1..4)), 1..8);
    let limits = [Limits::default(), Limits::default().no_total(), Limits::default().max_scan_bytes(150_000).unwrap()];
    let config = ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() };
    let property = |(seed, size, steps): (u8, usize, Vec<(Edit, Vec<_>)>)| {
        let tree = Tree::new(&[]);
        tree.file("f", &lines(seed, size));
        let tools = limits.clone().map(|limits| tree.tool().with_limits(limits));
        for (edit, asks) in steps {
            edit.make(&tree);
            for ask in asks {
                let request = request(ask, u64::try_from(size).unwrap() / 150);
                for (tool, limits) in tools.iter().zip(&limits) {
                    let fresh = tree.tool().with_limits(limits.clone());
                    let answer = told(tool.call(&request, &|| false));
                    prop_assert_eq!(answer, told(fresh.call(&request, &|| false)), "{:?} after {:?}", request, edit);
                    reads.set(reads.get() + 1);
                }
            }
        }
        Ok(())
    };
    let files = (any::<u8>(), 66_000_usize..400_000, steps);
    if let Err(error) = TestRunner::new(config).run(&files, property) {
        panic!("{error}");
    }
    assert!(reads.get() > 1000, "{} reads", reads.get());
}

/// Reading on, by the line after the last one, through all of a file.
fn pages(tool: &ReadTool, mut each: impl FnMut(&ReadOutput)) {
    let mut next = Some(1);
    while let Some(offset) = next {
        let output = tool.call(&ReadRequest::new("f").offset(offset), &|| false).unwrap();
        next = output.window.next_offset();
        each(&output);
    }
}

#[test]
fn reading_on_through_a_large_file_gives_it_back() {
    let tree = Tree::new(&[]);
    let file = lines(1, 3 << 20);
    tree.file("f", &file);
    thread::sleep(4 * SETTLED);
    for limits in [Limits::default(), Limits::default().no_total(), Limits::default().max_lines(17).unwrap()] {
        let mut back = Vec::new();
        pages(&tree.tool().with_limits(limits), |output| {
            back.extend_from_slice(output.window.text.as_bytes());
            if output.window.next_offset().is_some() {
                back.push(b'\n');
            }
        });
        assert!(back == file, "{} of {} bytes", back.len(), file.len());
    }
}

/// A place may be where a line starts, between two line breaks, or within a line.
#[test]
fn finds_lines_at_and_around_every_place_of_an_index() {
    let shapes: [fn(usize) -> bool; 4] =
        [|at| !(3..=65_530).contains(&at), |at| at == 100, |at| at == 0, |at| at == 65_535 || at == 7];
    for is_break in shapes {
        let tree = Tree::new(&[]);
        let file: Vec<u8> =
            (0..5 * 65_536_usize).map(|at| if is_break(at % 65_536) { b'\n' } else { b'x' }).chain(*b"\n").collect();
        tree.file("f", &file);
        thread::sleep(SETTLED);
        let tool = tree.tool().with_limits(Limits::default().max_bytes(70_000).unwrap());
        tool.call(&ReadRequest::new("f"), &|| false).unwrap();
        let all: Vec<_> = file.split(|byte| *byte == b'\n').collect();
        // From the last one, so that no line follows the one that was read before it.
        for (line, text) in (1..).zip(&all[..all.len() - 1]).collect::<Vec<_>>().into_iter().rev() {
            let request = ReadRequest::new("f").offset(line).limit(1);
            assert_eq!(tool.call(&request, &|| false).unwrap().window.text.as_bytes(), *text, "line {line}");
        }
    }
}

#[test]
fn a_read_that_was_stopped_helps_the_next_one() {
    let tree = Tree::new(&[]);
    for size in [4 << 20, 32 << 20] {
        stopped_reads_come_to_the_end(&tree, size);
    }
}

/// Of the chunks of the file each call may read fewer than a sixth, so a single call never comes to the end.
fn stopped_reads_come_to_the_end(tree: &Tree, size: usize) {
    tree.file("f", &lines(1, size));
    thread::sleep(SETTLED + Duration::from_millis(size as u64 >> 16));
    let tool = tree.tool();
    let scanned = |chunks: u64| {
        let (left, furthest) = (Shared::new(chunks), Shared::new(0));
        let stop = || left.replace(left.get().saturating_sub(1)) == 0;
        let progress = |progress: Progress| furthest.set(progress.scanned);
        let result = tool.call_with_progress(&ReadRequest::new("f"), &stop, &progress);
        result.map(|_| furthest.get()).map_err(|error| (error.code(), furthest.get()))
    };
    let (mut calls, mut before) = (0, 0);
    let chunks = size as u64 / 65_536;
    loop {
        calls += 1;
        match scanned(chunks / 6) {
            Ok(end) => break assert_eq!(end, size as u64),
            Err((code, furthest)) => {
                assert_eq!(code, "cancelled");
                assert!(furthest > before, "{furthest} bytes after {before}");
                before = furthest;
            }
        }
    }
    assert!((6..=64).contains(&calls), "{calls} calls");
}

/// The times of a file are those of the moment at which a write begins, however long it takes: this one has to fill a hole.
#[test]
fn a_read_during_a_long_write_leaves_nothing_behind() {
    const BYTES: usize = 256 << 20;
    let tree = Tree::new(&[]);
    tree.file("f", &lines(1, 100_000));
    let file = OpenOptions::new().write(true).open(tree.at("f")).unwrap();
    let new = lines(2, BYTES);
    let read = |tool: &ReadTool, request: &ReadRequest| tool.call(request, &|| false).map(|output| output.window);
    let (mut raced, mut believed) = (0, 0);
    while raced < 3 {
        file.set_len(100_000).unwrap();
        file.set_len(BYTES as u64).unwrap();
        let (tool, is_written) = (tree.tool(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                file.write_all_at(&new, 0).unwrap();
                is_written.store(true, Ordering::SeqCst);
            });
            // Longer than a tick of the clock.
            thread::sleep(Duration::from_millis(22));
            raced += u32::from(!is_written.load(Ordering::SeqCst));
            read(&tool, &ReadRequest::new("f").limit(3)).unwrap();
        });
        let fresh = tree.tool();
        for request in [ReadRequest::new("f").offset(1_000_000).limit(2), ReadRequest::new("f").tail(2)] {
            believed += u32::from(read(&tool, &request).ok() != read(&fresh, &request).ok());
        }
    }
    assert_eq!(believed, 0);
}

#[test]
fn reading_on_to_the_end_without_a_total_leaves_later_reads_quick() {
    let tree = Tree::new(&[]);
    tree.file("f", &lines(1, 4 << 20));
    thread::sleep(4 * SETTLED);
    let tool = tree.tool().with_limits(Limits::default().no_total());
    let mut lines = 0;
    pages(&tool, |output| lines = output.window.end_line);
    for line in [lines / 4 * 3, lines / 2] {
        let scans = Shared::new(0);
        let progress = |_: Progress| scans.set(scans.get() + 1);
        let request = ReadRequest::new("f").offset(line).limit(1);
        tool.call_with_progress(&request, &|| false, &progress).unwrap();
        assert!(scans.get() <= 3, "{} chunks", scans.get());
    }
}

#[test]
fn tells_how_far_a_scan_has_come() {
    let tree = Tree::new(&[]);
    for (size, name) in [(1_u64 << 20, "f"), (40 << 20, "large")] {
        tree.file(name, &lines(1, usize::try_from(size).unwrap()));
        let told = Mutex::new(Vec::new());
        let output = tree
            .tool()
            .call_with_progress(&ReadRequest::new(name), &|| false, &|progress| told.lock().unwrap().push(progress));
        assert_eq!(output.unwrap().file_size, size);
        let told = told.into_inner().unwrap();
        assert!(told.len() > 10 && told.iter().all(|progress| progress.size == Some(size)), "{told:?}");
        assert!(told.is_sorted_by(|a, b| a.scanned < b.scanned), "{told:?}");
        assert_eq!(told.last().unwrap().scanned, size);
    }
}

#[test]
fn a_version_is_of_one_state_of_one_file() {
    let tree = Tree::new(&["f = one\n", "g = one\n"]);
    let tool = tree.tool();
    let version = |name: &str| tool.call(&ReadRequest::new(name), &|| false).unwrap().version.to_string();
    let first = version("f");
    assert_eq!(first, version("f"));
    assert_eq!(first, tree.root().open("f").unwrap().version().to_string());
    assert_ne!(first, version("g"));
    assert!(first.bytes().all(|byte| byte.is_ascii_graphic()), "{first}");
    let wanted = |version: &str| {
        let output = tool.call(&ReadRequest::new("f").if_version(version), &|| false);
        output.map(|output| output.window.text).map_err(|error| (error.code(), error.to_string()))
    };
    assert_eq!(wanted(&first), Ok("one".to_owned()));
    let changed = Err(("changed", "File changed since it was last read".to_owned()));
    for other in ["", "1", &version("g"), &format!("{first} "), &first.to_uppercase()[..first.len() - 1]] {
        assert_eq!(wanted(other), changed, "{other}");
    }
    let edits: [fn(&Tree); 4] = [
        |tree| OpenOptions::new().append(true).open(tree.at("f")).unwrap().write_all(b"two\n").unwrap(),
        |tree| Edit::Disguise(7).make(tree),
        |tree| fs::rename(tree.at("g"), tree.at("f")).unwrap(),
        |tree| {
            File::open(tree.at("f")).unwrap().set_times(FileTimes::new().set_modified(std::time::UNIX_EPOCH)).unwrap();
        },
    ];
    let mut before = first;
    for edit in edits {
        thread::sleep(SETTLED);
        edit(&tree);
        assert_eq!(wanted(&before), changed);
        let now = version("f");
        assert_ne!(now, before);
        wanted(&now).unwrap();
        before = now;
    }
    // What is no file at all is told first.
    let request = ReadRequest::new("nope").if_version("x");
    assert_eq!(tool.call(&request, &|| false).unwrap_err().code(), "not_found");
    // And what is no text after.
    tree.file("binary", b"\0");
    let request = ReadRequest::new("binary").if_version("x");
    assert_eq!(tool.call(&request, &|| false).unwrap_err().code(), "changed");
}

/// The caller's flag is asked between two steps of a read, so there the file can be changed.
#[test]
fn a_change_during_a_read_is_told_whenever_it_happens() {
    let asked = Shared::new(0_u32);
    let count = || {
        asked.set(asked.get() + 1);
        false
    };
    let edits = [
        Edit::Overwrite(500, b"changed\n".to_vec()),
        Edit::Append(b"more\n".to_vec()),
        Edit::Truncate(300),
        Edit::Disguise(9),
    ];
    for size in [5000, 300_000] {
        for edit in &edits {
            let tree = Tree::new(&[]);
            tree.file("f", &lines(1, size));
            thread::sleep(SETTLED);
            // Once with nothing known of the file, and once with all.
            for tool in [tree.tool(), {
                let tool = tree.tool();
                tool.call(&ReadRequest::new("f"), &count).unwrap();
                tool
            }] {
                asked.set(0);
                let root = tree.root();
                let opened = root.open("f").unwrap();
                drop(opened);
                tool.call(&ReadRequest::new("f").limit(3), &count).unwrap();
                let steps = asked.get();
                let (mut told, mut late) = (0, 0);
                for step in 1..=steps {
                    thread::sleep(SETTLED);
                    asked.set(0);
                    let change = || {
                        count();
                        if asked.get() == step {
                            edit.make(&tree);
                        }
                        false
                    };
                    let output = tool.call(&ReadRequest::new("f").limit(3), &change).unwrap();
                    // A change before the file was opened is none during the read: then the version is the new one.
                    let is_new = output.version == tree.root().open("f").unwrap().version();
                    assert_eq!(output.window.changed_during_read, !is_new, "{edit:?} in step {step} of {steps}");
                    told += u32::from(output.window.changed_during_read);
                    late += u32::from(is_new);
                }
                assert!(told > 0 && late > 0, "{edit:?}: told {told}, not told {late}");
            }
        }
    }
}
