//! Prints the result of each fault.

use std::io::Write;
use std::time::Duration;

use bethink_model_server::Fault;

/// The result of a fault in a column.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) column: &'static str,
    /// How it ended, in a few words.
    pub(crate) came: String,
    pub(crate) requests: u64,
    pub(crate) took: Duration,
    /// Errors that must not occur.
    pub(crate) wrong: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) fault: Fault,
    pub(crate) cells: Vec<Cell>,
}

impl Row {
    pub(crate) fn wrong(&self) -> Vec<String> {
        let name = self.fault.name();
        let told = |cell: &Cell| {
            let column = cell.column;
            cell.wrong
                .iter()
                .map(move |what| format!("{name}, {column}: {what}"))
                .collect::<Vec<_>>()
        };
        self.cells.iter().flat_map(told).collect()
    }
}

/// Writes to the real output, because the output of a passing test is captured.
pub(crate) fn print(rows: &[Row]) {
    let mut text = format!("\n{:<22}", "failure");
    for cell in rows.first().map(|row| &row.cells).into_iter().flatten() {
        text += &format!(" {:<28}", cell.column);
    }
    text += "\n";
    for row in rows {
        text += &format!("{:<22}", row.fault.name());
        for cell in &row.cells {
            let mark = if cell.wrong.is_empty() { "" } else { " WRONG" };
            let told =
                format!("{} {}× {}ms{mark}", cell.came, cell.requests, cell.took.as_millis());
            text += &format!(" {told:<28}");
        }
        text += "\n";
    }
    text += &format!(
        "{} failures, {} columns\n",
        rows.len(),
        rows.first().map_or(0, |r| r.cells.len())
    );
    drop(std::io::stdout().write_all(text.as_bytes()));
}
