//! Tables with aligned columns; the last column gets the remaining width.

use crate::text::StyledText;

const GAP: usize = 2;

#[derive(Debug)]
pub struct TextTable {
    columns: Vec<&'static str>,
    /// The first row contains the column headings.
    rows: Vec<Vec<StyledText>>,
}

impl TextTable {
    /// Creates a table with these column headings. `>` before a heading aligns its column to the right, as in a format
    /// string.
    pub fn new(columns: &[&'static str]) -> Self {
        let head = columns.iter().map(|name| StyledText::new().dim(name.trim_start_matches('>')));
        Self { columns: columns.to_vec(), rows: vec![head.collect()] }
    }

    pub fn row(&mut self, cells: Vec<StyledText>) {
        self.rows.push(cells);
    }

    pub fn lines(&self, width: usize) -> Vec<StyledText> {
        let widest = |i| self.rows.iter().filter_map(|row| row.get(i)).map(StyledText::width).max();
        let widths: Vec<usize> = (0..self.columns.len()).filter_map(widest).collect();
        self.rows.iter().map(|row| self.line(row, &widths).fitted(width)).collect()
    }

    fn line(&self, row: &[StyledText], widths: &[usize]) -> StyledText {
        let last = row.len().saturating_sub(1);
        let mut line = StyledText::new();
        for (i, ((cell, width), name)) in row.iter().zip(widths).zip(&self.columns).enumerate() {
            let cell = match name.starts_with('>') {
                true => StyledText::from(" ".repeat(width - cell.width())).then(cell.clone()),
                false if i == last => cell.clone(),
                false => cell.clone().padded(*width),
            };
            if i < last || !cell.is_empty() {
                line = line.plain(" ".repeat(if i == 0 { 0 } else { GAP })).then(cell);
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escape::LineMode;

    #[test]
    fn columns_line_up_and_the_last_is_cut() {
        let mut table = TextTable::new(&["id", ">n", "title"]);
        table.row(vec!["a".into(), "7".into(), "a long title".into()]);
        table.row(vec!["bcd".into(), "1,234".into(), "x\x1by".into()]);
        let lines: Vec<String> =
            table.lines(20).iter().map(|line| line.render(LineMode::One, false)).collect();
        assert_eq!(lines, ["id       n  title", "a        7  a long …", "bcd  1,234  x␛y"]);
    }
}
