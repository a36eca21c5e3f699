//! What a system answers, and whether that is right.

use crate::Result;
use crate::corpus::excerpt::Excerpt;
use crate::units;

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Lines, and how many the file has, or that it is not known.
    Window { text: String, total: Option<u64> },
    /// Lines as they are printed, capread's hint after them.
    Printed(String),
    /// How many lines the file has.
    Total(u64),
    /// The line is too long for a window.
    TooLong,
    /// All lines, window by window.
    Pages { bytes: u64 },
}

/// What is right.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) window: Excerpt,
    /// Of the file; `None` where nobody is to count them.
    pub(crate) lines: Option<u64>,
    /// Of the file.
    pub(crate) bytes: u64,
}

impl Expected {
    /// Fails on another answer.
    pub(crate) fn check(&self, answer: &Answer) -> Result<()> {
        match answer {
            Answer::Window { text, total } if *total == self.lines => self.check_text(text),
            Answer::Printed(text) => self.check_text(text),
            Answer::Total(lines) if Some(*lines) == self.lines => Ok(()),
            Answer::Pages { bytes } if *bytes == self.bytes => Ok(()),
            Answer::TooLong if self.bytes > self.window.text.len() as u64 => Ok(()),
            Answer::Window { total, .. } => Err(format!("{total:?} lines, not {:?}", self.lines).into()),
            other => Err(format!("{other:?}").into()),
        }
    }

    /// What is printed has a line break behind it, and perhaps a hint after an empty line.
    fn check_text(&self, text: &str) -> Result<()> {
        match text.strip_prefix(&self.window.text) {
            Some("" | "\n") => Ok(()),
            Some(hint) if hint.starts_with("\n\n[") && hint.trim_end().ends_with(']') => Ok(()),
            _ => Err(format!("not lines {}-{}, but {}", self.window.first, self.window.last, describe(text)).into()),
        }
    }
}

fn describe(text: &str) -> String {
    let start: String = text.chars().take(80).collect();
    format!("{}: {start:?}…", units::bytes(text.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: &Answer) -> Result<()> {
        let window = Excerpt { first: 2, last: 3, text: "two\nthree".to_owned() };
        Expected { window, lines: Some(4), bytes: 19 }.check(answer)
    }

    fn window(text: &str, total: Option<u64>) -> Answer {
        Answer::Window { text: text.to_owned(), total }
    }

    #[test]
    fn takes_what_is_right() {
        for printed in
            ["two\nthree", "two\nthree\n", "two\nthree\n\n[1 more lines in file. Use offset=4 to continue.]\n"]
        {
            check(&Answer::Printed(printed.to_owned())).expect(printed);
        }
        for answer in [window("two\nthree", Some(4)), Answer::Total(4), Answer::Pages { bytes: 19 }, Answer::TooLong] {
            check(&answer).expect("the right answer");
        }
    }

    #[test]
    fn refuses_what_is_not() {
        for printed in ["two", "two\nthree\nfour\n", "one\ntwo\nthree"] {
            check(&Answer::Printed(printed.to_owned())).expect_err(printed);
        }
        for answer in
            [window("two\nthree", None), window("two", Some(4)), Answer::Total(3), Answer::Pages { bytes: 18 }]
        {
            check(&answer).expect_err("a wrong answer");
        }
    }
}
