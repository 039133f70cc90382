//! Homes whose tables all have rows, with values that are hard to copy.

use std::path::Path;

use bethink_store_format::{
    ColumnKind, ColumnValue, CopiedColumn, CopiedRow, CopiedTable, RowStore, TableDigest, TableSum,
    checksum, facts, next_rows, record_checksum,
};
use bethink_store_sqlite::{SqliteRows, SqliteTarget};
use bethink_transcript::{SessionId, UnixMicros};
use uuid::Uuid;

/// Columns that are 0 or 1.
const FLAGS: [&str; 6] = ["background", "elsewhere", "negative", "proposed", "recorded", "titled"];

pub(crate) const NOW: UnixMicros = UnixMicros(1_700_000_000_000_000);
pub(crate) const MESSAGES: i64 = 1300;
const ROWS: i64 = 30;
/// Message with more bytes than a batch may have.
const LARGE: i64 = 700;
/// Every row number is a multiple of this, as if others had been deleted.
const STRIDE: i64 = 3;

/// Fills a new home: `seed` makes its rows different from those of others.
pub(crate) async fn fill_home(home: &Path, seed: u64) {
    let opened = SqliteTarget::open(&home.join("bethink.db"), "random rows").await.unwrap();
    let SqliteTarget::Unfinished { mut rows, file, .. } = opened else { panic!("it has rows") };
    for table in rows.tables().await.unwrap() {
        let count = match table.name.as_str() {
            "messages" => MESSAGES,
            "lock_names" => 1,
            _ => ROWS,
        };
        let stride = if table.name == "lock_names" { 1 } else { STRIDE };
        for batch in (1..=count).collect::<Vec<_>>().chunks(100) {
            let batch = batch.iter().map(|n| row(&table, n * stride, seed)).collect();
            rows.insert(&table, batch).await.unwrap();
        }
    }
    file.finish(rows).await.unwrap();
}

fn session_of(number: i64, seed: u64) -> Uuid {
    Uuid::from_u64_pair(seed + 1, (number % (7 * STRIDE)).unsigned_abs())
}

fn row(table: &CopiedTable, number: i64, seed: u64) -> CopiedRow {
    let mut row = CopiedRow { number, values: Vec::new() };
    for column in &table.columns {
        row.values.push(value(table, column, number, seed));
    }
    match table.name.as_str() {
        "messages" => seal_message(table, &mut row),
        "records" => seal_line(table, &mut row, seed),
        _ => {}
    }
    row
}

fn value(table: &CopiedTable, column: &CopiedColumn, number: i64, seed: u64) -> ColumnValue {
    let name = column.name.as_str();
    if column.is_nullable && number % 2 == 0 {
        return ColumnValue::Null;
    }
    match (column.kind, name) {
        (ColumnKind::Integer, "role") => ColumnValue::Integer(number % 2),
        (ColumnKind::Integer, "seq" | "line") => ColumnValue::Integer(number),
        (ColumnKind::Integer, _) if FLAGS.contains(&name) => ColumnValue::Integer(number % 2),
        // As large as numbers get, and also negative.
        (ColumnKind::Integer, "created_at") => ColumnValue::Integer(i64::MIN + number),
        (ColumnKind::Integer, _) => ColumnValue::Integer(number << 32),
        (ColumnKind::Real, _) => ColumnValue::Real(number as f64 / 7.0),
        (ColumnKind::Text, "tags") => ColumnValue::Text(format!("[\"a\",\"tag {}\"]", number % 5)),
        (ColumnKind::Text, "message_id") => ColumnValue::Text(format!("m{number}")),
        (ColumnKind::Text, _) => {
            ColumnValue::Text(format!("{name} {seed} {number} \0 \u{1a}0 \u{1a}\0 ü😀'\"\\ \r\n"))
        }
        (ColumnKind::Blob, "session") => {
            let is_own = matches!(table.name.as_str(), "messages" | "records");
            let number = if is_own { number } else { number * 1000 };
            let session = if is_own { session_of(number, seed) } else { id(number, seed) };
            ColumnValue::Blob(session.into_bytes().to_vec())
        }
        (ColumnKind::Blob, "id" | "parent") => {
            ColumnValue::Blob(id(number, seed).into_bytes().to_vec())
        }
        (ColumnKind::Blob, "mark") => ColumnValue::Blob(vec![0xff; 16]),
        // Not UTF-8.
        (ColumnKind::Blob, _) => {
            let length = if number == LARGE * STRIDE { 6 << 20 } else { number % 200 };
            ColumnValue::Blob((0..length).map(|at| (at * 31 + number) as u8).collect())
        }
    }
}

fn id(number: i64, seed: u64) -> Uuid {
    Uuid::from_u64_pair(seed + 1, number.unsigned_abs())
}

fn place(table: &CopiedTable, column: &str) -> usize {
    table.columns.iter().position(|it| it.name == column).unwrap()
}

fn blob(table: &CopiedTable, row: &CopiedRow, column: &str) -> Vec<u8> {
    match &row.values[place(table, column)] {
        ColumnValue::Blob(blob) => blob.clone(),
        _ => Vec::new(),
    }
}

fn integer(table: &CopiedTable, row: &CopiedRow, column: &str) -> i64 {
    match &row.values[place(table, column)] {
        ColumnValue::Integer(integer) => *integer,
        other => panic!("{other:?}"),
    }
}

fn session(table: &CopiedTable, row: &CopiedRow) -> SessionId {
    SessionId(Uuid::from_slice(&blob(table, row, "session")).unwrap())
}

fn seal_message(table: &CopiedTable, row: &mut CopiedRow) {
    let number = |column| integer(table, row, column);
    let facts = facts(number("role"), number("recorded"), number("created_at"));
    let id = format!("m{}", row.number);
    let seq = number("seq").unsigned_abs();
    let sum = checksum(session(table, row), seq, &id, &[&blob(table, row, "raw"), &facts]);
    row.values[place(table, "checksum")] = ColumnValue::Integer(sum);
}

/// Half of the lines have their bytes in a message.
fn seal_line(table: &CopiedTable, row: &mut CopiedRow, seed: u64) {
    let mut raw = blob(table, row, "raw");
    row.values[place(table, "message")] = ColumnValue::Null;
    if row.number % 2 == 1 {
        let (message, column) = (row.number, |name: &str| CopiedColumn {
            name: name.to_owned(),
            kind: ColumnKind::Blob,
            is_nullable: false,
        });
        let messages = CopiedTable { name: "messages".to_owned(), columns: vec![column("raw")] };
        let ColumnValue::Blob(bytes) = value(&messages, &column("raw"), message, seed) else {
            panic!("not bytes")
        };
        raw = bytes;
        row.values[place(table, "raw")] = ColumnValue::Null;
        row.values[place(table, "message")] = ColumnValue::Integer(message);
    }
    let parts: [&[u8]; 3] = [&blob(table, row, "head"), &raw, &blob(table, row, "tail")];
    let line = integer(table, row, "line").unsigned_abs();
    let sum = record_checksum(session(table, row), line, parts);
    row.values[place(table, "checksum")] = ColumnValue::Integer(sum);
}

/// Returns the sums of all tables.
pub(crate) async fn sums(rows: &mut dyn RowStore) -> Vec<(String, TableSum)> {
    let mut sums = Vec::new();
    for table in rows.tables().await.unwrap() {
        let mut digest = TableDigest::new(&table);
        let mut after = 0;
        loop {
            let batch = next_rows(&mut *rows, &table, after).await.unwrap();
            let Some(last) = batch.last() else { break };
            after = last.number;
            batch.iter().for_each(|row| digest.add(row));
        }
        sums.push((table.name, digest.sum()));
    }
    sums
}

/// Returns the sums of all tables of a home.
pub(crate) async fn sums_of_home(home: &Path) -> Vec<(String, TableSum)> {
    let mut rows = SqliteRows::open(&home.join("bethink.db"), NOW).await.unwrap();
    let sums = sums(&mut rows).await;
    rows.close().await.unwrap();
    sums
}
