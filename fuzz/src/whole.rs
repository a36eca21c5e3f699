//! A file in any encoding, decoded at once by `encoding_rs`, and a source that gives it in pieces.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use arbitrary::Arbitrary;
use capread::{ReadAt, TextEncoding};
use encoding_rs::{DecoderResult, Encoding};

/// Bytes in which a NUL means that the file is no text.
const SNIFF: usize = 8192;

/// Largest file: several places of an index.
const MAX_BYTES: usize = 300_000;

/// One for each way of decoding.
const LABELS: [&str; 13] = [
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
    "koi8-r",
    "x-user-defined",
];

/// One of the encodings.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub struct Label(u8);

impl Label {
    fn get(self) -> &'static str {
        LABELS[usize::from(self.0) % LABELS.len()]
    }

    /// As the crate is told.
    #[must_use]
    pub fn text_encoding(self) -> TextEncoding {
        TextEncoding::from_label(self.get()).expect("is a label")
    }
}

/// Bytes, the ones at the place `at` so many times more, rarely as many as a buffer has.
#[derive(Clone, Debug, Arbitrary)]
pub struct File<'a> {
    repeated: (u16, u8),
    times: u16,
    is_large: bool,
    bytes: &'a [u8],
}

impl File<'_> {
    /// What the file has.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let (at, count) = (usize::from(self.repeated.0) % (self.bytes.len() + 1), usize::from(self.repeated.1 % 8));
        let (head, tail) = self.bytes.split_at(at);
        let times = if self.is_large { usize::from(self.times) } else { usize::from(self.times % 16) };
        let mut bytes = [head, &tail[..count.min(tail.len())].repeat(times), tail].concat();
        bytes.truncate(MAX_BYTES);
        bytes
    }
}

/// Gives its bytes in pieces: at most so many, in turn.
#[derive(Debug)]
pub struct Source<'a> {
    bytes: &'a [u8],
    pieces: [usize; 2],
    reads: AtomicUsize,
}

impl<'a> Source<'a> {
    /// Pieces of 0 bytes are as large as can be.
    #[must_use]
    pub fn new(bytes: &'a [u8], pieces: [usize; 2]) -> Self {
        Self { bytes, pieces, reads: AtomicUsize::new(0) }
    }
}

impl ReadAt for Source<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.reads.fetch_add(1, Ordering::Relaxed);
        let most = match self.pieces[read % 2] {
            0 => buffer.len(),
            piece => piece.min(buffer.len()),
        };
        self.bytes.read_at(&mut buffer[..most], offset)
    }

    fn known_size(&self) -> Option<u64> {
        self.bytes.known_size()
    }
}

/// One line.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Without its break.
    pub text: String,
    /// The places in it that could not be decoded.
    pub replaced: Vec<usize>,
    /// Whether a line break ends it.
    pub ended: bool,
}

/// All that may be looked at.
#[derive(Debug)]
pub struct Whole {
    /// The encoding's name.
    pub encoding: &'static str,
    /// Whether a mark is there.
    pub bom: bool,
    /// The lines that end there.
    pub lines: Vec<Line>,
    /// One that goes on behind.
    pub open: Option<Line>,
    /// Whether the file does.
    pub goes_on: bool,
}

impl Whole {
    /// `None` where it is no text.
    #[must_use]
    pub fn new(file: &[u8], label: Label, horizon: usize) -> Option<Self> {
        let visible = &file[..file.len().min(horizon)];
        let goes_on = visible.len() < file.len();
        let labelled = Encoding::for_label(label.get().as_bytes()).expect("is a label");
        let (encoding, mark) = Encoding::for_bom(visible).unwrap_or((labelled, 0));
        let is_utf_16 = encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE;
        if !is_utf_16 && visible.iter().take(SNIFF).any(|byte| *byte == 0) {
            return None;
        }
        let mut lines = decoded_lines(encoding, &visible[mark..], !goes_on);
        let open = lines.pop_if(|line| goes_on && !line.ended);
        Some(Self { encoding: encoding.name(), bom: mark > 0, lines, open, goes_on })
    }
}

fn decoded_lines(encoding: &'static Encoding, bytes: &[u8], is_all: bool) -> Vec<Line> {
    let (text, replaced) = decode(encoding, bytes, is_all);
    let mut replaced = replaced.into_iter().peekable();
    let mut start = 0;
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let mut own = Vec::new();
        while let Some(at) = replaced.next_if(|at| *at < end) {
            own.push(at - start);
        }
        let text = line.strip_suffix('\n').unwrap_or(line);
        lines.push(Line { text: text.to_owned(), replaced: own, ended: text.len() < line.len() });
        start = end;
    }
    lines
}

/// The text, and where in it the places are that could not be decoded.
fn decode(encoding: &'static Encoding, mut bytes: &[u8], is_all: bool) -> (String, Vec<usize>) {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(3 * bytes.len() + 64);
    let mut replaced = Vec::new();
    loop {
        let (result, read) = decoder.decode_to_string_without_replacement(bytes, &mut text, is_all);
        bytes = &bytes[read..];
        match result {
            DecoderResult::InputEmpty => return (text, replaced),
            DecoderResult::OutputFull => text.reserve(3 * bytes.len() + 64),
            DecoderResult::Malformed(..) => {
                replaced.push(text.len());
                text.push('\u{fffd}');
            }
        }
    }
}
