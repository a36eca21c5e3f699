//! Reads that remember, against reads that do not: of a file that is edited now and then, over a file system that has moods.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use arbitrary::Arbitrary;
use capread::fuzzing::Remembering;
use capread::{ErrorKind, Limits, ReadAt, Selection, Window};

/// Largest file: several places of an index.
const MAX_BYTES: usize = 400_000;

/// Most steps of a run, so that none is slow.
const MAX_STEPS: usize = 24;

/// A file, and what is done with it.
#[derive(Debug, Arbitrary)]
pub struct Case {
    file: Vec<Piece>,
    /// Of all reads, as what is remembered is of one limit.
    max_scan_bytes: Option<u32>,
    steps: Vec<Step>,
}

/// Bytes that are written so many times.
#[derive(Clone, Debug, Arbitrary)]
pub struct Piece {
    bytes: [u8; 3],
    /// Whether a line break follows.
    ends: bool,
    times: u16,
}

#[derive(Clone, Debug, Arbitrary)]
enum Step {
    Read(Ask, Moods),
    /// Another state of the file: nothing of it is known.
    Edit {
        at: u32,
        piece: Piece,
    },
    Truncate {
        at: u32,
    },
}

#[derive(Clone, Debug, Arbitrary)]
struct Ask {
    line: Number,
    from: From,
    limit: Option<Number>,
    max_lines: Number,
    max_bytes: Number,
    counts_rest: bool,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum From {
    Line,
    Last,
}

/// Lines and bytes near each other, and near a buffer's length.
#[derive(Clone, Copy, Debug, Arbitrary)]
struct Number(u32);

impl Number {
    fn get(self) -> u64 {
        u64::from(self.0 % 140_000) + 1
    }
}

/// What happens to reads.
#[derive(Clone, Debug, Arbitrary)]
struct Moods {
    /// Most KiB that a read gives; 0 is no bound.
    part: u8,
    /// The read that fails.
    fault: Option<u8>,
    /// Every other read is interrupted.
    interrupts: bool,
}

struct Source<'a> {
    file: &'a [u8],
    moods: &'a Moods,
    reads: AtomicUsize,
    failed: AtomicUsize,
}

impl ReadAt for Source<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.reads.fetch_add(1, Ordering::Relaxed);
        if self.moods.interrupts && read.is_multiple_of(2) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.moods.fault.is_some_and(|fault| read / 2 == usize::from(fault)) {
            self.failed.fetch_add(1, Ordering::Relaxed);
            return Err(io::Error::other("fault"));
        }
        let most = match self.moods.part {
            0 => buffer.len(),
            part => (usize::from(part) * 1024).min(buffer.len()),
        };
        self.file.read_at(&mut buffer[..most], offset)
    }

    fn known_size(&self) -> Option<u64> {
        self.file.known_size()
    }
}

impl Ask {
    fn selection(&self) -> Selection {
        let selection = match self.from {
            From::Line => Selection::from_line(self.line.get()),
            From::Last => Selection::tail(self.line.get()),
        };
        let selection = selection.expect("is positive");
        self.limit.map_or(selection, |limit| selection.limit(limit.get()).expect("is positive"))
    }

    fn limits(&self, max_scan_bytes: Option<u32>) -> Limits {
        let limits =
            Limits::default().max_lines(self.max_lines.get()).and_then(|limits| limits.max_bytes(self.max_bytes.get()));
        let limits = limits.expect("are positive");
        let limits = if self.counts_rest { limits } else { limits.no_total() };
        match max_scan_bytes {
            Some(bytes @ 1..) => limits.max_scan_bytes(bytes.into()).expect("is positive"),
            _ => limits,
        }
    }
}

fn push(file: &mut Vec<u8>, piece: &Piece) {
    let once = &[piece.bytes[0], piece.bytes[1], piece.bytes[2], b'\n'][..if piece.ends { 4 } else { 3 }];
    for _ in 0..piece.times {
        if file.len() >= MAX_BYTES {
            return;
        }
        file.extend_from_slice(once);
    }
}

/// Takes the steps.
pub fn check(case: &Case) {
    let mut file = Vec::new();
    case.file.iter().for_each(|piece| push(&mut file, piece));
    let mut remembering = Remembering::new(file.known_size().expect("is known"));
    for step in case.steps.iter().take(MAX_STEPS) {
        match step {
            Step::Read(ask, moods) => {
                read(&mut remembering, &file, (ask.selection(), &ask.limits(case.max_scan_bytes)), moods);
            }
            Step::Edit { at, piece } => {
                let mut inserted = Vec::new();
                push(&mut inserted, piece);
                let at = place(*at, &file);
                file.splice(at..at, inserted);
                file.truncate(MAX_BYTES);
                remembering = Remembering::new(file.known_size().expect("is known"));
            }
            Step::Truncate { at } => {
                file.truncate(place(*at, &file));
                remembering = Remembering::new(file.known_size().expect("is known"));
            }
        }
    }
}

fn place(at: u32, file: &[u8]) -> usize {
    usize::try_from(at).expect("fits") % (file.len() + 1)
}

fn read(remembering: &mut Remembering, file: &[u8], (selection, limits): (Selection, &Limits), moods: &Moods) {
    let source = Source { file, moods, reads: AtomicUsize::new(0), failed: AtomicUsize::new(0) };
    let found = told(remembering.read(&source, selection, limits));
    if source.failed.load(Ordering::Relaxed) > 0 {
        assert_eq!(found, Err(ErrorKind::Io), "a fault is the answer");
        return;
    }
    assert_eq!(found, told(Window::read(file, selection, limits, &|| false)));
}

fn told(result: capread::Result<Window>) -> Result<Window, ErrorKind> {
    result.map_err(|error| error.kind().clone())
}
