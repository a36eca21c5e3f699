//! Lines that differ from call to call in their id alone.

use crate::Result;

/// What stands before and behind the id.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    before: String,
    after: String,
}

impl Line {
    /// Of the one that has this id.
    pub(crate) fn new(line: &str, id: u64) -> Result<Self> {
        // Text in a string cannot look like this: its quotes are escaped.
        let key = "\"id\":";
        let (before, after) = line.split_once(&format!("{key}{id}")).ok_or_else(|| format!("no id {id}: {line}"))?;
        Ok(Self { before: format!("{before}{key}"), after: after.to_owned() })
    }

    pub(crate) fn with(&self, id: u64) -> String {
        format!("{}{id}{}", self.before, self.after)
    }

    /// `None` where anything else differs.
    pub(crate) fn id(&self, line: &str) -> Option<u64> {
        line.strip_prefix(&self.before)?.strip_suffix(&self.after)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "{\"text\":\"\\\"id\\\":7\",\"id\":7,\"isError\":false}\n";

    #[test]
    fn finds_the_id_of_a_line_that_is_the_same() {
        let line = Line::new(LINE, 7).expect("a line");
        assert_eq!(line.with(7), LINE);
        for id in [0, 7, 1234] {
            assert_eq!(line.id(&line.with(id)), Some(id));
        }
    }

    #[test]
    fn finds_none_where_anything_else_differs() {
        let line = Line::new(LINE, 7).expect("a line");
        for other in ["", "{}\n", &LINE.replace("false", "true"), &LINE.replace("text", "test"), LINE.trim_end()] {
            assert_eq!(line.id(other), None, "{other}");
        }
    }

    #[test]
    fn needs_the_id() {
        Line::new(LINE, 8).expect_err("no id");
    }
}
