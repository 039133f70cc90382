//! The daemon and its model client against servers that misbehave: every failure, one table.

// What is broken ends the test where it stands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod call;
mod expect;
mod prompt;
mod table;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use bethink_model_server::{Fault, Wire};

use table::{Cell, Row};

/// Cells mostly wait, so more of them than cores run at once.
const AT_ONCE: usize = 12;

/// One way to look at a failure.
type Column = fn(Fault) -> Cell;
const COLUMNS: [Column; 4] = [
    |fault| call::always(fault, Wire::Anthropic, true),
    |fault| call::always(fault, Wire::OpenAi, true),
    |fault| call::always(fault, Wire::Anthropic, false),
    |fault| call::once(fault, Wire::Anthropic),
];

/// Every fault, in every column: ended in time, as it should, with nothing broken on the way.
#[test]
fn every_failure_ends_well() {
    let jobs = Fault::ALL.iter().flat_map(|fault| (0..COLUMNS.len()).map(|at| (*fault, at)));
    let jobs: Mutex<VecDeque<(Fault, usize)>> = Mutex::new(jobs.collect());
    let done = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((fault, column)) = next(&jobs) {
                    let cell = COLUMNS[column](fault);
                    done.lock().unwrap().insert((fault, column), cell);
                }
            });
        }
    });
    let mut cells = done.into_inner().unwrap();
    let row = |fault: &Fault| {
        let cells = (0..COLUMNS.len()).filter_map(|column| cells.remove(&(*fault, column)));
        Row { fault: *fault, cells: cells.collect() }
    };
    let rows: Vec<Row> = Fault::ALL.iter().map(row).collect();
    table::print(&rows);
    assert!(rows.iter().all(|row| row.cells.len() == COLUMNS.len()), "a cell is missing");
    let wrong: Vec<String> = rows.iter().flat_map(Row::wrong).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn next<T>(jobs: &Mutex<VecDeque<T>>) -> Option<T> {
    jobs.lock().unwrap().pop_front()
}
