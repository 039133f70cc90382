//! The values of rows that are copied, and the types of PostgreSQL.

use bethink_store::StoreResult;
use bethink_store_format::{
    ColumnValue, CopiedColumn, CopiedRow, CopiedTable, corrupted_row, read_json, record_checksum,
};
use uuid::Uuid;

use crate::messages::message;
use crate::sql::{Row, Statement};

/// Reads a row. Verifies its checksum if it has one.
pub(crate) fn copied(table: &CopiedTable, types: &[String], row: &Row) -> StoreResult<CopiedRow> {
    let number: i64 = row.get("number")?;
    match table.name.as_str() {
        "messages" => drop(message(row)?),
        "records" if !line_is_whole(row)? => return Err(corrupted_row(&table.name, number)),
        _ => {}
    }
    let read = |(kind, column): (&String, &CopiedColumn)| -> StoreResult<ColumnValue> {
        let name = column.name.as_str();
        let value = match kind.as_str() {
            "bigint" => row.get::<Option<i64>>(name)?.map(ColumnValue::Integer),
            "boolean" => row.get::<Option<bool>>(name)?.map(|it| ColumnValue::Integer(it.into())),
            "double precision" => row.get::<Option<f64>>(name)?.map(ColumnValue::Real),
            "uuid" => {
                row.get::<Option<Uuid>>(name)?.map(|id| ColumnValue::Blob(id.into_bytes().into()))
            }
            "bytea" => row.get::<Option<Vec<u8>>>(name)?.map(ColumnValue::Blob),
            _ => row.get::<Option<String>>(name)?.map(ColumnValue::Text),
        };
        Ok(value.unwrap_or(ColumnValue::Null))
    };
    let values = types.iter().zip(&table.columns).map(read).collect::<StoreResult<_>>()?;
    Ok(CopiedRow { number, values })
}

fn line_is_whole(row: &Row) -> StoreResult<bool> {
    let raw: Option<Vec<u8>> = match row.get("message_raw")? {
        None => row.get("raw")?,
        of_message => of_message,
    };
    let (head, tail): (Vec<u8>, Vec<u8>) = (row.get("head")?, row.get("tail")?);
    let parts: [&[u8]; 3] = [&head, &raw.unwrap_or_default(), &tail];
    let expected = record_checksum(row.get("session")?, row.get("line")?, parts);
    Ok(row.get::<i64>("checksum")? == expected)
}

/// Binds the values of one column.
pub(crate) fn bind<'a>(
    statement: Statement,
    table: &CopiedTable,
    kind: &str,
    values: impl Iterator<Item = (&'a i64, ColumnValue)>,
) -> StoreResult<Statement> {
    /// Converts each value, except NULL. Fails with the name of the first row whose value has another type.
    fn list<'a, T>(
        table: &CopiedTable,
        values: impl Iterator<Item = (&'a i64, ColumnValue)>,
        convert: impl Fn(ColumnValue) -> Option<T>,
    ) -> StoreResult<Vec<Option<T>>> {
        let one = |(number, value): (&i64, ColumnValue)| match value {
            ColumnValue::Null => Ok(None),
            value => match convert(value) {
                Some(converted) => Ok(Some(converted)),
                None => Err(corrupted_row(&table.name, *number)),
            },
        };
        values.map(one).collect()
    }
    use ColumnValue::{Blob, Integer, Real, Text};
    Ok(match kind {
        "bigint" => statement.bind_list(list(table, values, |value| match value {
            Integer(integer) => Some(integer),
            _ => None,
        })?),
        "boolean" => statement.bind_list(list(table, values, |value| match value {
            Integer(flag @ 0..=1) => Some(flag == 1),
            _ => None,
        })?),
        "double precision" => statement.bind_list(list(table, values, |value| match value {
            Real(real) => Some(real),
            _ => None,
        })?),
        "uuid" => statement.bind_list(list(table, values, |value| match value {
            Blob(bytes) => Uuid::from_slice(&bytes).ok(),
            _ => None,
        })?),
        "bytea" => statement.bind_list(list(table, values, |value| match value {
            Blob(bytes) => Some(bytes),
            _ => None,
        })?),
        _ => statement.bind_list(list(table, values, |value| match value {
            Text(text) => Some(text),
            _ => None,
        })?),
    })
}

fn text_of<'a>(table: &CopiedTable, row: &'a CopiedRow, column: &str) -> &'a str {
    let place = table.columns.iter().position(|it| it.name == column);
    match place.and_then(|place| row.values.get(place)) {
        Some(ColumnValue::Text(text)) => text,
        _ => "",
    }
}

/// Returns the tags of sessions that have any.
pub(crate) fn tags(
    table: &CopiedTable,
    rows: &[CopiedRow],
) -> StoreResult<Vec<(i64, Vec<String>)>> {
    if table.name != "sessions" {
        return Ok(Vec::new());
    }
    let read = |row: &CopiedRow| -> StoreResult<(i64, Vec<String>)> {
        let tags = read_json(text_of(table, row, "tags"), "tags of a session");
        Ok((row.number, tags.map_err(|_| corrupted_row(&table.name, row.number))?))
    };
    let all: Vec<_> = rows.iter().map(read).collect::<StoreResult<_>>()?;
    Ok(all.into_iter().filter(|(_, tags)| !tags.is_empty()).collect())
}

/// Returns the sessions of notes, and the hashes of what the home's daemon wrote into their files.
pub(crate) fn notes_files(
    table: &CopiedTable,
    rows: &[CopiedRow],
) -> StoreResult<Vec<(Uuid, String)>> {
    if table.name != "notes" {
        return Ok(Vec::new());
    }
    let place = table.columns.iter().position(|it| it.name == "session");
    let read = |row: &CopiedRow| match place.and_then(|place| row.values.get(place)) {
        Some(ColumnValue::Blob(bytes)) if let Ok(session) = Uuid::from_slice(bytes) => {
            Ok((session, blake3::hash(text_of(table, row, "text").as_bytes()).to_string()))
        }
        _ => Err(corrupted_row(&table.name, row.number)),
    };
    rows.iter().map(read).collect()
}

pub(crate) fn words_hashes(table: &CopiedTable, rows: &[CopiedRow]) -> Vec<Vec<u8>> {
    rows.iter().map(|row| words_hash(text_of(table, row, "words"))).collect()
}

/// Returns the hash of the words of a refused statement, which may be too long for an index.
pub(crate) fn words_hash(words: &str) -> Vec<u8> {
    blake3::hash(words.as_bytes()).as_bytes().to_vec()
}
