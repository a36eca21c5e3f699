//! Files that change while they are read: whatever comes back, it is whole lines.
//!
//! Line n of a file always says the same, so a torn line, or one from another place or file, is none. Files shrink and grow by what was
//! written at once, in whole pages: there the kernel neither zeroes nor overwrites what a read may be copying.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use capread::{Limits, ReadRequest, ReadTool};

use super::attack::{Attack, Attackers, Change};
use super::victim::Answers;
use super::{Cell, alone, reads};
use crate::support::Tree;

/// Bytes of a line, and of a part that is written at once: a power of two, and pages.
const LINE: usize = 64;
const PART: usize = 8 * 4096;

/// Bytes of the longest file: more than one of capread's buffers.
const FILE: usize = 3 * PART;

/// Bytes that a control reads at once.
const BUFFER: usize = 4096;

/// These reads take so many times longer than those of a small file.
const COST: u64 = 20;

/// All lines of the file that is called so.
fn lines(file: char) -> String {
    (0..FILE / LINE).fold(String::new(), |mut lines, number| {
        writeln!(lines, "{file} {number:0width$}", width = LINE - 3).unwrap();
        lines
    })
}

/// What a text is, of a file that may be either of these.
fn judge(text: &str, files: &[String]) -> &'static str {
    match files.iter().position(|lines| lines.starts_with(text)) {
        _ if text.is_empty() => "no lines",
        Some(_) if text.len() == FILE => "all lines",
        Some(0) if text.len() % LINE == 0 => "whole lines",
        Some(_) if text.len() % LINE == 0 => "whole lines of the other",
        _ => "torn lines",
    }
}

/// What capread returns, with the line break that ends its last line.
fn text(tool: &ReadTool) -> Result<String, String> {
    let output = tool.call(&ReadRequest::new("f"), &|| false).map_err(|error| format!("{error:?}"))?;
    let window = output.window;
    let bytes = window.text.len() + usize::from(window.final_newline == Some(true));
    // Of a file that was empty when it was opened the size is not believed: procfs says so of files that have content.
    if bytes > usize::try_from(output.file_size).unwrap() && output.file_size > 0 || window.cut.is_some() {
        return Err(format!("{bytes} bytes of {}, {:?}", output.file_size, window.cut));
    }
    Ok(if window.final_newline == Some(true) { window.text + "\n" } else { window.text })
}

/// A change to `f`, what a read may get meanwhile, and a reader with a bug that gets something else.
struct Scenario {
    name: &'static str,
    change: fn(&Tree) -> Vec<Change>,
    answers: &'static [&'static str],
    control: fn(&Path) -> io::Result<String>,
    bug: &'static str,
}

#[track_caller]
fn race(scenario: &Scenario) {
    let _alone = alone();
    let files = ['A', 'B'].map(lines);
    let tree = Tree::new(&[]);
    tree.file("f", files[0].as_bytes());
    tree.file("T/other", &files[1].as_bytes()[..FILE / 2]);
    let limits = Limits::default().max_bytes(1 << 20).unwrap().max_lines(1 << 20).unwrap();
    let (tool, path) = (tree.tool().with_limits(limits), tree.at("f"));
    let attackers = Attackers::start((scenario.change)(&tree));
    let answers = |times, read: &dyn Fn() -> Result<String, String>| {
        let mut answers = Answers::new();
        for _ in 0..times {
            let answer = read().map_or_else(|failed| failed, |text| judge(&text, &files).to_owned());
            *answers.entry(answer).or_default() += 1;
        }
        answers
    };
    let reads = reads() / COST;
    let is_a_race = |cell: &Cell| cell.is_a_race(scenario.answers);
    let cell = Cell::fill(reads, &attackers, |times| answers(times, &|| text(&tool)), is_a_race);
    cell.report(scenario.name, "fast", 0);
    cell.check(scenario.answers);
    let torn = |cell: &Cell| cell.answers.get("torn lines").copied().unwrap_or_default();
    let control = || (scenario.control)(&path).map_err(|error| error.to_string());
    let cell = Cell::fill(reads, &attackers, |times| answers(times, &control), |cell| torn(cell) > 0);
    cell.report(scenario.name, scenario.bug, torn(&cell));
    assert!(torn(&cell) > 0, "the control never tore a line");
}

#[test]
fn a_file_that_is_replaced_is_one_or_the_other() {
    race(&Scenario {
        name: "file replaced while it is read",
        change: |tree| Attack::Exchange("f", "T/other").changes(tree),
        answers: &["all lines", "whole lines of the other"],
        control: |path| {
            let mut text = Vec::new();
            loop {
                // A page each time, by the name.
                let mut buffer = [0; BUFFER];
                match File::open(path)?.read_at(&mut buffer, text.len() as u64)? {
                    0 => return String::from_utf8(text).map_err(io::Error::other),
                    read => text.extend(&buffer[..read]),
                }
            }
        },
        bug: "control: opens for each page",
    });
}

#[test]
fn a_file_that_shrinks_and_grows_has_whole_lines() {
    race(&Scenario {
        name: "file truncated and appended to while it is read",
        change: |tree| vec![writing(tree.at("f"))],
        answers: &["whole lines", "all lines"],
        control: |path| {
            let file = File::open(path)?;
            // As many bytes as there were, whatever is left of them.
            let mut text = vec![0; usize::try_from(file.metadata()?.len()).unwrap()];
            let mut from = 0;
            while let read @ 1.. = file.read_at(&mut text[from..], from as u64)? {
                from += read;
            }
            String::from_utf8(text).map_err(io::Error::other)
        },
        bug: "control: trusts the size",
    });
}

/// Truncates the file to its first part, or writes the next one.
fn writing(path: PathBuf) -> Change {
    let lines = lines('A');
    let file = OpenOptions::new().write(true).truncate(true).open(path).unwrap();
    let write_part =
        move |file: &File, from: usize| file.write_all_at(&lines.as_bytes()[from..from + PART], from as u64).unwrap();
    (0..FILE).step_by(PART).for_each(|from| write_part(&file, from));
    let mut written = FILE;
    Box::new(move || {
        if written == FILE {
            file.set_len(PART as u64).unwrap();
            written = PART;
        } else {
            write_part(&file, written);
            written += PART;
        }
    })
}
