//! Files in many encodings, made by other tools, and the text that those say they have: `tests/golden/make.py`.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fs, thread, time::Duration};

use capread::{ErrorKind, Limits, LineNumbers, ReadRequest, ReadTool, Root, TextEncoding, Window};
use encoding_rs::Encoding;

use crate::support::{Tree, root_at};
use crate::window_properties::decode;

/// Name and label of each.
const FILES: &[(&str, &str)] = &[
    ("utf-8", "utf-8"),
    ("utf-8-mark", "utf-8"),
    ("utf-16le-mark", "utf-8"),
    ("utf-16be-mark", "utf-8"),
    ("utf-16le", "utf-16le"),
    ("utf-16be", "utf-16be"),
    ("gbk", "gbk"),
    ("gb18030", "gb18030"),
    ("big5", "big5"),
    ("shift_jis", "shift_jis"),
    ("euc-jp", "euc-jp"),
    ("iso-2022-jp", "iso-2022-jp"),
    ("euc-kr", "euc-kr"),
    ("windows-1252", "windows-1252"),
    ("windows-1251", "windows-1251"),
    ("koi8-r", "koi8-r"),
    ("koi8-u", "koi8-u"),
    ("iso-8859-2", "iso-8859-2"),
    ("iso-8859-7", "iso-8859-7"),
    ("windows-1254", "windows-1254"),
    ("windows-1255", "windows-1255"),
    ("windows-1256", "windows-1256"),
    ("windows-874", "windows-874"),
    ("macintosh", "macintosh"),
];

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// A golden file's lines, as the other tool says, and each with its number.
struct Text {
    lines: Vec<String>,
    numbers: LineNumbers,
}

impl Text {
    fn new(whole: &str, numbers: LineNumbers) -> Self {
        let lines = whole.strip_suffix('\n').unwrap_or(whole).split('\n').map(str::to_owned);
        Self { lines: lines.collect(), numbers }
    }

    /// These lines, counted from 0.
    fn shown(&self, range: Range<usize>) -> String {
        let lines = range.map(|at| match self.numbers {
            LineNumbers::On => format!("{}\t{}", at + 1, self.lines[at]),
            LineNumbers::Off => self.lines[at].clone(),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[track_caller]
    fn has(&self, window: &Window) {
        let index = |line: u64| usize::try_from(line).unwrap();
        assert_eq!(window.text, self.shown(index(window.start_line) - 1..index(window.end_line)));
        assert_eq!(window.total_lines, Some(self.lines.len() as u64));
        assert_eq!(window.replacements, 0);
    }

    fn longest(&self) -> u64 {
        (0..self.lines.len()).map(|at| self.shown(at..at + 1).len()).max().unwrap() as u64
    }
}

/// One tool for all reads, or one for each.
struct Reader<'a> {
    tool: ReadTool,
    remade: Option<&'a dyn Fn() -> ReadTool>,
}

impl Reader<'_> {
    #[track_caller]
    fn read(&self, request: &ReadRequest) -> Result<Window, ErrorKind> {
        let tool = self.remade.map_or_else(|| self.tool.clone(), |make| make());
        tool.call(request, &|| false).map(|output| output.window).map_err(|error| error.kind().clone())
    }
}

/// From the first line to the last, by the hints.
#[track_caller]
fn read_forward(reader: &Reader<'_>, text: &Text, name: &str) {
    let mut next = 1;
    loop {
        let window = reader.read(&ReadRequest::new(name).offset(next)).unwrap();
        assert_eq!(window.start_line, next, "{name}");
        text.has(&window);
        let Some(offset) = window.next_offset() else {
            assert_eq!(window.end_line, text.lines.len() as u64, "{name}");
            return;
        };
        assert_eq!(offset, window.end_line + 1, "{name}");
        next = offset;
    }
}

/// From the last line to the first: the last ones, and then a page before the one before.
#[track_caller]
fn read_backward(reader: &Reader<'_>, text: &Text, name: &str) {
    for count in [1, 3, 1000] {
        let window = reader.read(&ReadRequest::new(name).tail(count)).unwrap();
        assert_eq!(window.end_line, text.lines.len() as u64, "{name}");
        text.has(&window);
    }
    let mut before = text.lines.len() as u64;
    while before > 0 {
        let limit = before.min(3);
        let window = reader.read(&ReadRequest::new(name).offset(before - limit + 1).limit(limit)).unwrap();
        assert_eq!(window.start_line, before - limit + 1, "{name}");
        text.has(&window);
        before -= limit;
    }
}

/// Every line in parts, by the hints, from its start and from the middle of a character on.
#[track_caller]
fn read_parts(reader: &Reader<'_>, text: &Text, name: &str, max_bytes: usize) {
    for (line, number) in text.lines.iter().zip(1_u64..).step_by(3) {
        let request = ReadRequest::new(name).offset(number);
        let (mut read, mut column) = (String::new(), 1);
        loop {
            let part = reader.read(&request.clone().column(column)).unwrap();
            let columns = part.columns.unwrap();
            assert_eq!((columns.start, columns.length), (column, Some(line.len() as u64)), "{name}, line {number}");
            assert!(part.text.len() <= max_bytes.max(4) && part.replacements == 0);
            read.push_str(&part.text);
            assert_eq!(columns.end, read.len() as u64);
            match part.next_column() {
                Some(next) => column = next,
                None => break,
            }
        }
        assert_eq!(read, *line, "{name}, line {number}");
        for column in [2, 3, 5, 101, 102, 103].into_iter().filter(|column| column - 1 < line.len()) {
            let part = reader.read(&request.clone().column(column as u64)).unwrap();
            let start = (0..column).rev().find(|at| line.is_char_boundary(*at)).unwrap();
            assert_eq!(part.columns.unwrap().start, start as u64 + 1, "{name}, line {number}");
            assert!(line[start..].starts_with(&part.text), "{name}, line {number}");
        }
        let beyond = reader.read(&request.column(line.len() as u64 + 2)).unwrap_err();
        assert!(matches!(beyond, ErrorKind::ColumnBeyondEnd { .. }), "{name}: {beyond:?}");
    }
}

/// Reads a file of a root in all ways.
fn read_in_all_ways(root: &Root, name: &str, label: &str, whole: &str) {
    for numbers in [LineNumbers::Off, LineNumbers::On] {
        let text = Text::new(whole, numbers);
        for max_bytes in [text.longest(), 2 * text.longest() + 7] {
            let limits = Limits::default().max_bytes(max_bytes).unwrap();
            let make = || {
                let tool = ReadTool::new(root.clone()).with_encoding(TextEncoding::from_label(label).unwrap());
                tool.with_line_numbers(numbers).with_limits(limits.clone())
            };
            for remade in [None, Some(&make as &dyn Fn() -> ReadTool)] {
                let reader = Reader { tool: make(), remade };
                read_forward(&reader, &text, name);
                read_backward(&reader, &text, name);
            }
        }
        for (max_bytes, remade) in [(1, false), (50, false), (50, true), (333, true)] {
            let make = || {
                let limits = Limits::default().max_bytes(max_bytes).unwrap();
                let tool = ReadTool::new(root.clone()).with_encoding(TextEncoding::from_label(label).unwrap());
                tool.with_line_numbers(numbers).with_limits(limits)
            };
            let reader = Reader { tool: make(), remade: remade.then_some(&make as &dyn Fn() -> ReadTool) };
            read_parts(&reader, &text, name, usize::try_from(max_bytes).unwrap());
        }
    }
}

fn golden_file(name: &str) -> (Vec<u8>, String) {
    let read = |extension| fs::read(golden().join(format!("{name}.{extension}"))).unwrap();
    (read("bin"), String::from_utf8(read("utf8")).unwrap())
}

#[test]
fn golden_files_are_the_text_that_other_tools_say() {
    let root = root_at(golden());
    for (name, label) in FILES {
        read_in_all_ways(&root, &format!("{name}.bin"), label, &golden_file(name).1);
    }
}

/// So large that places are remembered of them: the same text many times. Only one page here and there.
#[test]
fn golden_files_many_times_are_their_text_many_times() {
    let tree = Tree::new(&[]);
    let times = 60;
    let large: Vec<_> = FILES.iter().map(|(name, label)| (name, label, golden_file(name))).collect();
    for (name, _, (bytes, _)) in &large {
        let mark = Encoding::for_bom(bytes).map_or(0, |(_, length)| length);
        tree.file(name, &[&bytes[..mark], &bytes[mark..].repeat(times)].concat());
    }
    thread::sleep(Duration::from_millis(100));
    for (name, label, (_, whole)) in &large {
        let text = Text::new(&whole.repeat(times), LineNumbers::Off);
        let tool = tree.tool().with_encoding(TextEncoding::from_label(label).unwrap());
        let tool = tool.with_limits(Limits::default().max_bytes(20_000).unwrap());
        let total = text.lines.len() as u64;
        for part in [9, 2, 7, 1, 5, 8, 3] {
            let offset = total * part / 10;
            let window = tool.call(&ReadRequest::new(name).offset(offset).limit(part), &|| false).unwrap().window;
            assert_eq!(window.start_line, offset, "{name}");
            text.has(&window);
        }
        read_forward(&Reader { tool: tool.clone(), remade: None }, &text, name);
        text.has(&tool.call(&ReadRequest::new(name).tail(40), &|| false).unwrap().window);
        // One line.
        let joined = text.lines.join(" ");
        let encoding = Encoding::for_label(label.as_bytes()).unwrap();
        if encoding.output_encoding() == encoding {
            let one = format!("T/one {name}");
            tree.file(&one, &encoding.encode(&joined).0);
            let one_tool =
                ReadTool::new(root_at(tree.at("T/"))).with_encoding(TextEncoding::from_label(label).unwrap());
            thread::sleep(Duration::from_millis(25));
            let (mut read, mut column) = (String::new(), Some(1));
            while let Some(at) = column {
                let request = ReadRequest::new(format!("one {name}")).column(at);
                let part = one_tool.call(&request, &|| false).unwrap().window;
                read.push_str(&part.text);
                column = part.next_column();
            }
            assert!(read == joined, "{name} as one line");
        }
    }
}

/// What is broken is replaced, and counted, as in a decode of the whole.
#[test]
fn broken_golden_files_have_the_replacements_of_a_whole_decode() {
    let tree = Tree::new(&[]);
    let mut total = 0;
    for (name, label) in FILES {
        let (mut bytes, _) = golden_file(name);
        let (encoding, mark) = Encoding::for_bom(&bytes).unwrap_or((Encoding::for_label(label.as_bytes()).unwrap(), 0));
        let broken: &[u8] = &[0xff, 0x1b, 0xd8, 0x80, 0xa0, 0x8f, 0xfd];
        for (at, byte) in (mark + 40..bytes.len()).step_by(97).zip(broken.iter().cycle()) {
            bytes[at] = *byte;
        }
        bytes.truncate(bytes.len() - 1);
        tree.file(name, &bytes);
        let (whole, replaced) = decode(encoding, &bytes[mark..], true);
        total += replaced.len();
        for (max_lines, numbers) in [(2000, LineNumbers::Off), (1, LineNumbers::Off), (2, LineNumbers::On)] {
            let limits = Limits::default().max_lines(max_lines).unwrap();
            let tool = tree.tool().with_limits(limits).with_line_numbers(numbers);
            let tool = tool.with_encoding(TextEncoding::from_label(label).unwrap());
            let text = Text::new(&whole, numbers);
            let (mut found, mut next) = (0, Some(1));
            while let Some(offset) = next {
                let window = tool.call(&ReadRequest::new(name).offset(offset), &|| false).unwrap().window;
                let index = |line: u64| usize::try_from(line).unwrap();
                assert_eq!(window.text, text.shown(index(window.start_line) - 1..index(window.end_line)), "{name}");
                found += window.replacements;
                next = window.next_offset();
            }
            assert_eq!(found, replaced.len() as u64, "{name}, {max_lines} lines at once");
        }
    }
    assert!(total > 300, "{total} replacements");
}

/// Languages, and the encodings that their files are found in.
const PROSE: &[(&str, &[&str])] = &[
    ("fr", &["windows-1252"]),
    ("de", &["windows-1252"]),
    ("es", &["windows-1252"]),
    ("sv", &["windows-1252"]),
    ("pl", &["iso-8859-2", "windows-1250"]),
    ("cs", &["iso-8859-2", "windows-1250"]),
    ("hu", &["iso-8859-2", "windows-1250"]),
    ("ru", &["windows-1251", "koi8-r", "iso-8859-5", "ibm866"]),
    ("uk", &["windows-1251", "koi8-u"]),
    ("el", &["windows-1253", "iso-8859-7"]),
    ("tr", &["windows-1254"]),
    ("he", &["windows-1255"]),
    ("ar", &["windows-1256", "iso-8859-6"]),
    ("th", &["windows-874"]),
    ("zh-hans", &["gbk", "gb18030"]),
    ("zh-hant", &["big5"]),
    ("ja", &["shift_jis", "euc-jp", "iso-2022-jp"]),
    ("ko", &["euc-kr"]),
];

/// In every language.
const UNICODE: [&str; 3] = ["utf-8", "utf-16le", "utf-16be"];

/// `None` where the encoding lacks a character.
fn encode(label: &str, text: &str) -> Option<Vec<u8>> {
    match label {
        "utf-16le" => Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        "utf-16be" => Some(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
        _ => {
            let (bytes, _, lacking) = Encoding::for_label(label.as_bytes()).unwrap().encode(text);
            (!lacking).then(|| bytes.into_owned())
        }
    }
}

/// Samples of one language: each sentence, every five of them, and all of them so often that only the start of the file is looked at.
fn samples(language: &str) -> [Vec<String>; 3] {
    let prose = fs::read_to_string(golden().join("prose").join(format!("{language}.txt"))).unwrap();
    let sentences: Vec<&str> = prose.lines().collect();
    let short = sentences.iter().map(|sentence| format!("{sentence}\n")).collect();
    let medium = sentences.windows(5).map(|five| five.join("\n")).collect();
    // The end of the part that is looked at falls into other places of a character.
    let times = 70_000 / prose.chars().count() + 1;
    let long = (0..2).map(|pad| format!("{}{}", "-".repeat(pad), prose.repeat(times))).collect();
    [short, medium, long]
}

/// Samples that came back as they were, and all, in each length.
type Rates = [(usize, usize); 3];

fn detect_all() -> Vec<(&'static str, &'static str, Rates)> {
    let tree = Tree::new(&[]);
    let limits = Limits::default().max_bytes(1 << 21).unwrap().max_lines(u64::MAX).unwrap();
    let tool = tree.tool().with_limits(limits).with_encoding(TextEncoding::detect());
    let is_found = |text: &str, bytes: &[u8]| {
        tree.replace("f", bytes);
        let window = tool.call(&ReadRequest::new("f"), &|| false).map(|output| output.window);
        window.is_ok_and(|window| window.text == text.strip_suffix('\n').unwrap_or(text) && window.replacements == 0)
    };
    let mut rows = Vec::new();
    for (language, labels) in PROSE {
        let samples = samples(language);
        for label in labels.iter().chain(&UNICODE) {
            let rates = samples.each_ref().map(|samples| {
                let encoded = samples.iter().filter_map(|text| Some((text, encode(label, text)?)));
                let found: Vec<bool> = encoded.map(|(text, bytes)| is_found(text, &bytes)).collect();
                (found.iter().filter(|found| **found).count(), found.len())
            });
            rows.push((*language, *label, rates));
        }
    }
    rows
}

fn sum<'a>(rates: impl Iterator<Item = &'a Rates>) -> Rates {
    rates.fold(Rates::default(), |sum, rates| {
        std::array::from_fn(|at| (sum[at].0 + rates[at].0, sum[at].1 + rates[at].1))
    })
}

/// One NUL must not make another text of a file: two ASCII bytes are a character of UTF-16, too.
#[test]
fn does_not_take_ascii_with_a_nul_for_utf_16() {
    let tree = Tree::new(&[]);
    let files = [
        [b"2026-11-30 INFO some message here, all fine\n".repeat(400), b"\0\n".to_vec()].concat(),
        [b"int main(){}\n".repeat(1000), b"\0\n\0\n".to_vec()].concat(),
        [b"a\n".repeat(4000), b"\0\n".to_vec()].concat(),
        b"hello\0world\n".to_vec(),
        b"./a\0./b\0./c\0".to_vec(),
        b"PATH=/bin\0HOME=/root\0".to_vec(),
    ];
    let tool = tree.tool().with_encoding(TextEncoding::detect());
    for file in files {
        tree.file("f", &file);
        let encoding = tool.call(&ReadRequest::new("f"), &|| false).map(|output| output.window.encoding);
        // A NUL behind the first 8 KiB is text.
        let expected = if file[..file.len().min(8192)].contains(&0) { Err("binary") } else { Ok("UTF-8") };
        assert_eq!(encoding.map_err(|error| error.code()), expected, "{}", String::from_utf8_lossy(&file[..10]));
    }
}

#[test]
fn a_broken_place_makes_no_other_encoding_of_utf_8() {
    let tree = Tree::new(&[]);
    tree.file("f", &["é漢字\n".repeat(50).as_bytes(), b"\xff\n"].concat());
    let window =
        tree.tool().with_encoding(TextEncoding::detect()).call(&ReadRequest::new("f"), &|| false).unwrap().window;
    assert_eq!((window.encoding, window.replacements), ("UTF-8", 1));
}

#[test]
fn detects_what_most_files_are_in() {
    let rows = detect_all();
    let of =
        |is_wanted: &dyn Fn(&str) -> bool| sum(rows.iter().filter(|(_, label, _)| is_wanted(label)).map(|row| &row.2));
    let percent = |(found, all): (usize, usize)| found * 100 / all;
    let legacy = of(&|label| !UNICODE.contains(&label));
    let utf_16 = of(&|label| label.starts_with("utf-16"));
    let utf_8 = of(&|label| label == "utf-8");
    println!("legacy {legacy:?}, UTF-16 {utf_16:?}, UTF-8 {utf_8:?}");
    assert!(utf_8.iter().all(|rate| rate.0 == rate.1), "UTF-8: {utf_8:?}");
    for (rates, floor) in [(legacy, [95, 92, 92]), (utf_16, [99, 100, 100])] {
        assert!(rates.iter().zip(floor).all(|(rate, floor)| percent(*rate) >= floor), "{rates:?} of {floor:?}");
    }
}

/// What is no text, however it begins, is none in UTF-16 either.
#[test]
fn does_not_take_what_is_no_text_for_utf_16() {
    let tree = Tree::new(&[]);
    let tool = tree.tool().with_encoding(TextEncoding::detect());
    let mut random = 1_u64;
    let mut bytes = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33).to_le_bytes()[0]
    };
    let noise: Vec<u8> = (0..4000).map(|_| bytes()).collect();
    let words: Vec<u8> = (0..2000_u16).flat_map(|number| (number % 900).to_le_bytes()).collect();
    let rare: Vec<u8> = noise.iter().map(|byte| byte | 1).chain([b'a', 0]).collect();
    for binary in [noise, words, rare, b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0".to_vec()] {
        tree.replace("f", &binary);
        let error = tool.call(&ReadRequest::new("f"), &|| false).unwrap_err();
        assert_eq!(error.code(), "binary", "{:?}", &binary[..20]);
    }
}

/// Prints the table of `docs/assurance.md`.
#[test]
#[ignore = "prints a table"]
fn detection_table() {
    let rows = detect_all();
    let cell = |(found, all): (usize, usize)| if all == 0 { "-".to_owned() } else { format!("{found}/{all}") };
    println!("| language | encoding | a sentence | five | over 64 KiB |\n|---|---|---|---|---|");
    for (language, label, rates) in rows.iter().filter(|row| !UNICODE.contains(&row.1)) {
        println!("| {language} | {label} | {} | {} | {} |", cell(rates[0]), cell(rates[1]), cell(rates[2]));
    }
    for label in UNICODE {
        let rates = sum(rows.iter().filter(|row| row.1 == label).map(|row| &row.2));
        println!("| all of them | {label}, no mark | {} | {} | {} |", cell(rates[0]), cell(rates[1]), cell(rates[2]));
        for (language, _, rates) in rows.iter().filter(|row| row.1 == label && row.2.iter().any(|rate| rate.0 < rate.1))
        {
            println!(
                "| {language} | {label}, no mark | {} | {} | {} |",
                cell(rates[0]),
                cell(rates[1]),
                cell(rates[2])
            );
        }
    }
    let legacy = sum(rows.iter().filter(|row| !UNICODE.contains(&row.1)).map(|row| &row.2));
    println!("| all of them | all but UTF | {} | {} | {} |", cell(legacy[0]), cell(legacy[1]), cell(legacy[2]));
}
