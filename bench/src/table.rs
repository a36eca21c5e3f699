//! A table, for the terminal or as Markdown.

use std::fmt;

/// Rows of cells: the first column to the left, the others to the right.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// As Markdown; the first row is the head.
    pub(crate) fn markdown(&self) -> String {
        let mut lines: Vec<_> = self.rows.iter().map(|cells| format!("| {} |\n", cells.join(" | "))).collect();
        if let Some(head) = self.rows.first() {
            lines.insert(1, format!("|{}\n", "---|".repeat(head.len())));
        }
        lines.concat()
    }

    fn width(&self, column: usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                let width = self.width(column);
                if column == 0 { write!(f, "{cell:<width$}")? } else { write!(f, "  {cell:>width$}")? }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::default();
        table.row(["system", "time"].map(str::to_owned));
        table.row(["one", "12 µs"].map(str::to_owned));
        table
    }

    #[test]
    fn aligns_columns() {
        assert_eq!(table().to_string(), "system   time\none     12 µs\n");
    }

    #[test]
    fn writes_markdown() {
        assert_eq!(table().markdown(), "| system | time |\n|---|---|\n| one | 12 µs |\n");
        assert_eq!(Table::default().markdown(), "");
    }
}
