//! What a system answers, and whether that is right.

use crate::Result;
use crate::corpus::excerpt::Excerpt;
use crate::units;

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Lines, and how many the file has where that is told.
    Window { text: String, total: Option<u64> },
    /// Lines as they are printed, capread's hint after them.
    Printed(String),
    /// How many lines the file has.
    Total(u64),
    /// All lines, window by window.
    Pages { bytes: u64 },
}

/// What is right.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) window: Excerpt,
    /// Of the file.
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

impl Expected {
    /// Fails on another answer.
    pub(crate) fn check(&self, answer: &Answer) -> Result<()> {
        match answer {
            Answer::Window { text, total } if total.is_none_or(|total| total == self.lines) => self.check_text(text),
            Answer::Printed(text) => self.check_text(text),
            Answer::Total(lines) if *lines == self.lines => Ok(()),
            Answer::Pages { bytes } if *bytes == self.bytes => Ok(()),
            Answer::Window { total: Some(lines), .. } | Answer::Total(lines) => Err(format!("{lines} lines").into()),
            Answer::Window { .. } => Err("no total".into()),
            Answer::Pages { bytes } => Err(format!("{bytes} of {} bytes", self.bytes).into()),
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
        Expected { window, lines: 4, bytes: 19 }.check(answer)
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
        for answer in
            [window("two\nthree", Some(4)), window("two\nthree", None), Answer::Total(4), Answer::Pages { bytes: 19 }]
        {
            check(&answer).expect("the right answer");
        }
    }

    #[test]
    fn refuses_what_is_not() {
        for printed in ["two", "two\nthree\nfour\n", "one\ntwo\nthree"] {
            check(&Answer::Printed(printed.to_owned())).expect_err(printed);
        }
        for answer in
            [window("two\nthree", Some(5)), window("two", Some(4)), Answer::Total(3), Answer::Pages { bytes: 18 }]
        {
            check(&answer).expect_err("a wrong answer");
        }
    }
}
