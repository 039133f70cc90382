//! Columns that line up; the last one takes what room is left.

use super::text::{Text, Tone};

const GAP: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<Text>>,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<Text>) {
        self.rows.push(cells);
    }

    pub(crate) fn lines(&self, width: usize) -> Vec<Text> {
        let head: Vec<Text> =
            self.columns.iter().map(|(name, _)| Text::new().put(Tone::Dim, *name)).collect();
        let widths = self.widths(&head);
        let rows = std::iter::once(&head).chain(&self.rows);
        rows.map(|row| self.line(row, &widths).fitted(width)).collect()
    }

    fn widths(&self, head: &[Text]) -> Vec<usize> {
        let widest = |i: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(i)).chain(head.get(i));
            cells.map(Text::width).max().unwrap_or(0)
        };
        (0..self.columns.len()).map(widest).collect()
    }

    fn line(&self, row: &[Text], widths: &[usize]) -> Text {
        let last = row.len().saturating_sub(1);
        let mut line = Text::new();
        for (i, cell) in row.iter().enumerate() {
            let width = widths.get(i).copied().unwrap_or(0);
            let gap = " ".repeat(if i == 0 { 0 } else { GAP });
            let align = self.columns.get(i).map_or(Align::Left, |(_, align)| *align);
            let cell = match align {
                Align::Right => {
                    Text::from(" ".repeat(width.saturating_sub(cell.width()))).then(cell.clone())
                }
                Align::Left if i == last => cell.clone(),
                Align::Left => cell.clone().padded(width),
            };
            if i < last || !cell.is_empty() {
                line = line.plain(gap).then(cell);
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::super::escape::Lines;
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_is_cut() {
        let mut table =
            Table::new(&[("id", Align::Left), ("n", Align::Right), ("title", Align::Left)]);
        table.row(vec!["a".into(), "7".into(), "a long title".into()]);
        table.row(vec!["bcd".into(), "1,234".into(), "x\x1by".into()]);
        let lines: Vec<String> =
            table.lines(20).iter().map(|line| line.render(Lines::One, false)).collect();
        assert_eq!(lines, ["id       n  title", "a        7  a long …", "bcd  1,234  x␛y"]);
    }
}
