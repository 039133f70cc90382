//! Tests the daemon and its model client against servers with every fault, and prints a table.

// A failed operation ends the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod call;
mod daemon;
mod expect;
mod local_model;
mod prompt;
mod table;

use std::collections::{BTreeMap, VecDeque};
use std::net::TcpListener;
use std::sync::Mutex;

use bethink_model::ErrorClass;
use bethink_model_server::{Deaf, Fault, Split, Wire};

use table::{Cell, Row};

/// Number of cells to run concurrently. More than cores, because they mostly wait.
const AT_ONCE: usize = 16;

/// A test that is run with every fault.
type Column = fn(Fault) -> Cell;
const COLUMNS: [Column; 6] = [
    |fault| call::always(fault, Wire::Anthropic, true),
    |fault| call::always(fault, Wire::OpenAi, true),
    |fault| call::always(fault, Wire::Anthropic, false),
    |fault| call::once(fault, Wire::Anthropic),
    daemon::compaction,
    daemon::notes,
];

/// Runs every fault in every column: each must end in time, as expected, and without errors.
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

/// Splits streams at every position, also inside a character, a line ending or a separator.
#[test]
fn a_stream_cut_anywhere_is_the_same_answer() {
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        for fault in [None, Some(Fault::OddSse), Some(Fault::UnknownEvents)] {
            let whole = call::cut(Split::Whole, fault, wire);
            assert!(whole.contains("go on"), "{wire:?} {fault:?}: {whole:?}");
            for bytes in [1, 2, 3, 5, 64] {
                let again = call::cut(Split::Bytes(bytes), fault, wire);
                assert_eq!(again, whole, "{wire:?} {fault:?} {bytes}");
            }
        }
    }
}

/// Tests a port that refuses connections, and one that never accepts them.
#[test]
fn a_server_that_is_not_there_ends_well() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let closed = format!("http://{closed}");
    let deaf = Deaf::start().unwrap();
    assert_eq!(call::nowhere(&closed), ErrorClass::Unreachable);
    let class = call::nowhere(&deaf.url());
    assert!(matches!(class, ErrorClass::TimedOut | ErrorClass::Unreachable), "{class}");
    daemon::compacts_without(&closed);
    daemon::compacts_without(&deaf.url());
}

fn next<T>(jobs: &Mutex<VecDeque<T>>) -> Option<T> {
    jobs.lock().unwrap().pop_front()
}
