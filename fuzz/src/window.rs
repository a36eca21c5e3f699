//! The window, against one that has the whole file in memory.

use std::io;
use std::sync::Mutex;

use arbitrary::Arbitrary;
use capread::{Cut, Error, ErrorKind, Limits, LineEnds, ReadAt, Selection, Window};

/// Bytes in which a NUL means that the file is no text.
const SNIFF: usize = 8192;

/// The fixed buffer of one read: no call may ask for more.
const BUFFER: usize = 64 * 1024;

/// Largest file that is read on to its end, in at most so many windows, so that no run is slow.
const MAX_READ_ON: usize = 2 * SNIFF;
const MAX_WINDOWS: usize = 32;

/// One file, one call, and the moods of the file system.
#[derive(Debug, Arbitrary)]
pub struct Case<'a> {
    offset: Number,
    limit: Option<Number>,
    max_lines: Number,
    max_bytes: Number,
    /// Most bytes that the reads give, in turn.
    reads: [u8; 4],
    /// The size that is known, less the true one.
    known: Option<i8>,
    /// The read that fails.
    fault: Option<u8>,
    filler: Filler,
    data: &'a [u8],
}

/// Small numbers, and the largest there are.
#[derive(Clone, Copy, Debug, Arbitrary)]
struct Number(u16);

/// Bytes in the middle of the data that bring it to a boundary.
#[derive(Debug, Arbitrary)]
struct Filler {
    /// Now and then the sniffed head's, rarely the buffer's (a slow one), mostly none.
    boundary: u8,
    more: u8,
    at: u16,
    byte: u8,
}

impl Number {
    fn get(self) -> u64 {
        let turn = u16::MAX - 255;
        if self.0 < turn { u64::from(self.0) + 1 } else { u64::MAX - u64::from(self.0 - turn) }
    }
}

impl Case<'_> {
    fn file(&self) -> Vec<u8> {
        let near = |boundary: usize| boundary - 128 + usize::from(self.filler.more);
        let count = match self.filler.boundary {
            0xff => near(BUFFER),
            0xf0.. => near(SNIFF),
            _ => 0,
        };
        let (head, tail) = self.data.split_at(self.data.len().min(self.filler.at.into()));
        [head, &vec![self.filler.byte; count], tail].concat()
    }

    fn selection(&self) -> Result<Selection, Error> {
        let selection = Selection::from_line(self.offset.get())?;
        self.limit.map_or(Ok(selection), |limit| selection.limit(limit.get()))
    }

    fn limits(&self) -> Result<Limits, Error> {
        Limits::default().max_lines(self.max_lines.get())?.max_bytes(self.max_bytes.get())
    }
}

/// A file that gives its bytes in pieces, and at one read none.
struct Source<'a> {
    file: &'a [u8],
    known_size: Option<u64>,
    most: &'a [u8; 4],
    fault: Option<u8>,
    state: Mutex<State>,
}

/// What has been read.
#[derive(Default)]
struct State {
    reads: usize,
    /// Where the reads have come to.
    end: u64,
    failed: bool,
}

impl<'a> Source<'a> {
    fn new(case: &'a Case<'_>, file: &'a [u8], fault: Option<u8>) -> Self {
        let known_size = case.known.map(|delta| len(file).saturating_add_signed(delta.into()));
        Self { file, known_size, most: &case.reads, fault, state: Mutex::default() }
    }

    /// What there is to see of the file.
    fn visible(&self) -> &'a [u8] {
        let known = self.known_size.and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX);
        &self.file[..self.file.len().min(known)]
    }
}

impl ReadAt for Source<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        assert!(!buffer.is_empty() && buffer.len() <= BUFFER, "a read of {} bytes", buffer.len());
        let mut state = self.state.lock().expect("no other thread");
        assert_eq!(offset, state.end, "the file is read once, from the start to the end");
        let read = state.reads;
        state.reads += 1;
        if self.fault.is_some_and(|fault| usize::from(fault) == read) {
            state.failed = true;
            return Err(io::Error::other("fault"));
        }
        // Up to 128 bytes one by one, then KiB.
        let most = usize::from(self.most[read % self.most.len()]);
        let most = if most < 128 { most + 1 } else { (most - 127) * 1024 };
        let most = most.min(buffer.len());
        let count = self.file.read_at(&mut buffer[..most], offset)?;
        state.end = offset + u64::try_from(count).expect("fits");
        Ok(count)
    }

    fn known_size(&self) -> Option<u64> {
        self.known_size
    }
}

/// Takes one window, and then all of the file's by reading on.
pub fn check(case: &Case<'_>) {
    let file = case.file();
    if is_utf_16(&file) {
        // That is for the target `decode`.
        return;
    }
    let (selection, limits) = (case.selection().expect("is positive"), case.limits().expect("is positive"));
    let source = Source::new(case, &file, case.fault);
    let window = Window::read(&source, selection, &limits, &|| false);
    if source.state.lock().expect("no other thread").failed {
        assert_eq!(window.expect_err("a read failed").code(), "io");
        return;
    }
    match (window, naive_window(case, &source)) {
        (Ok(window), Ok(naive)) => naive.check(&window),
        (Err(error), Err(kind)) => assert_eq!(without_format(error.kind()), kind),
        (window, naive) => panic!("{window:?} instead of {naive:?}"),
    }
    if file.len() <= MAX_READ_ON {
        read_on(case, &file, &limits);
    }
}

fn is_utf_16(file: &[u8]) -> bool {
    file.starts_with(b"\xff\xfe") || file.starts_with(b"\xfe\xff")
}

/// The name of a binary format is a courtesy.
fn without_format(kind: &ErrorKind) -> ErrorKind {
    match kind {
        ErrorKind::Binary { size, .. } => ErrorKind::Binary { format: None, size: *size },
        kind => kind.clone(),
    }
}

/// A file as its lines, each with whether a line break ends it.
struct Whole<'a> {
    bom: bool,
    lines: Vec<(&'a [u8], bool)>,
}

impl<'a> Whole<'a> {
    /// `None` where the file is no text.
    fn new(file: &'a [u8]) -> Option<Self> {
        if file.iter().take(SNIFF).any(|byte| *byte == 0) {
            return None;
        }
        let text = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let lines = lines.map(|line| line.strip_suffix(b"\n").map_or((line, false), |line| (line, true))).collect();
        Some(Self { bom: text.len() < file.len(), lines })
    }
}

/// The window as it must be.
#[derive(Debug)]
struct Naive {
    text: String,
    start_line: u64,
    end_line: u64,
    total_lines: u64,
    cut: Option<Cut>,
    bom: bool,
    replacements: u64,
    controls: u64,
    line_ends: Option<LineEnds>,
    final_newline: bool,
}

fn naive_window(case: &Case<'_>, source: &Source<'_>) -> Result<Naive, ErrorKind> {
    let whole = Whole::new(source.visible()).ok_or(ErrorKind::Binary { format: None, size: source.known_size })?;
    let (offset, total) = (case.offset.get(), len(&whole.lines));
    if offset > total.max(1) {
        return Err(ErrorKind::OffsetBeyondEnd { offset, total });
    }
    let start = usize::try_from(offset - 1).expect("is within the file");
    let limit = case.limit.map_or(u64::MAX, Number::get);
    let (max_lines, max_bytes) = (case.max_lines.get(), case.max_bytes.get());

    let selected: Vec<_> = whole.lines[start..].iter().take(usize::try_from(limit).unwrap_or(usize::MAX)).collect();
    let mut text = String::new();
    let mut taken = Vec::new();
    let mut cut = (offset - 1 + len(&selected) < total).then_some(Cut::Limit);
    for (line, ended) in selected {
        let decoded = String::from_utf8_lossy(line);
        let line_break = if taken.is_empty() { "" } else { "\n" };
        if len(&taken) == max_lines {
            cut = Some(Cut::Lines);
            break;
        }
        if len(text.as_bytes()) + len(line_break.as_bytes()) + len(decoded.as_bytes()) > max_bytes {
            cut = Some(Cut::Bytes { max_bytes });
            break;
        }
        text += line_break;
        text += &decoded;
        taken.push((*line, decoded, *ended));
    }
    if taken.is_empty() && total > 0 {
        return Err(ErrorKind::LineTooLong { line: offset, max_bytes });
    }
    Ok(Naive {
        text,
        start_line: offset,
        end_line: offset - 1 + len(&taken),
        total_lines: total,
        cut,
        bom: whole.bom,
        replacements: taken.iter().map(|(line, decoded, _)| replaced(line, decoded)).sum(),
        controls: taken.iter().map(|(_, line, ended)| controls(line, *ended)).sum(),
        line_ends: line_ends(taken.iter().filter(|(_, _, ended)| *ended).map(|(_, line, _)| line.ends_with('\r'))),
        final_newline: whole.lines.last().is_some_and(|(_, ended)| *ended),
    })
}

/// Characters U+FFFD that the file does not have itself.
fn replaced(line: &[u8], decoded: &str) -> u64 {
    let own = line.windows(3).filter(|bytes| bytes == b"\xef\xbf\xbd").count();
    u64::try_from(decoded.matches('\u{fffd}').count() - own).expect("fits")
}

/// Category Cc without the tab, embeddings, overrides and isolates; not the `\r` of a line break.
fn controls(line: &str, ended: bool) -> u64 {
    let line = if ended { line.strip_suffix('\r').unwrap_or(line) } else { line };
    let counted =
        |c: &char| matches!(u32::from(*c), 0..=8 | 0xa..=0x1f | 0x7f..=0x9f | 0x202a..=0x202e | 0x2066..=0x2069);
    u64::try_from(line.chars().filter(counted).count()).expect("fits")
}

fn line_ends(with_cr: impl Iterator<Item = bool>) -> Option<LineEnds> {
    let (crlf, lf): (Vec<bool>, Vec<bool>) = with_cr.partition(|with_cr| *with_cr);
    match (crlf.len(), lf.len()) {
        (0, 0) => None,
        (0, _) => Some(LineEnds::Lf),
        (_, 0) => Some(LineEnds::CrLf),
        _ => Some(LineEnds::Mixed),
    }
}

impl Naive {
    fn check(&self, window: &Window) {
        assert_eq!(window.text, self.text);
        assert_eq!(window.start_line, self.start_line);
        assert_eq!(window.end_line, self.end_line);
        assert_eq!((window.total_lines, window.known_lines), (Some(self.total_lines), self.total_lines));
        assert_eq!(window.cut, self.cut);
        assert_eq!(window.bom, self.bom);
        assert_eq!(window.replacements, self.replacements);
        assert_eq!(window.controls, self.controls);
        assert_eq!(window.line_ends, self.line_ends);
        assert_eq!(window.final_newline, Some(self.final_newline));
        assert_eq!(window.next_offset(), self.cut.map(|_| self.end_line + 1));
    }
}

/// Reading on by the next offset from line 1 gives the file back, every line once.
fn read_on(case: &Case<'_>, file: &[u8], limits: &Limits) {
    let visible = Source::new(case, file, None).visible();
    let Some(whole) = Whole::new(visible) else { return };
    let lines: Vec<_> = whole.lines.iter().map(|(line, _)| String::from_utf8_lossy(line)).collect();
    let mut parts = Vec::new();
    let mut next = Some(1);
    while let Some(offset) = next
        && parts.len() < MAX_WINDOWS
    {
        let selection = Selection::from_line(offset).expect("is positive");
        let selection = case.limit.map_or(Ok(selection), |limit| selection.limit(limit.get())).expect("is positive");
        let Ok(window) = Window::read(&Source::new(case, file, None), selection, limits, &|| false) else { break };
        next = window.next_offset();
        parts.push(window.text);
    }
    let (text, read) = (lines.join("\n"), parts.join("\n"));
    match next {
        None => assert_eq!(read, text),
        Some(offset) => {
            let read_lines = usize::try_from(offset - 1).expect("is within the file");
            assert_eq!(read, lines[..read_lines].join("\n"));
        }
    }
}

fn len<T>(items: &[T]) -> u64 {
    u64::try_from(items.len()).expect("fits")
}
