//! Checksums of rows, so that an altered row is never served. SQLite itself does not notice a changed byte.
//!
//! The column `seal` contains the checksum of its row. A statement that writes such rows ends in `RETURNING *`, and
//! [`Statement::seal`] stores their checksums. Each row with this column is verified where rows are read, in
//! [`Statement::all`] and [`Statement::optional`]. A statement that changes only some columns must read the row first,
//! because the new checksum also covers the other columns.
//!
//! A row without a checksum was written by an earlier version, and counts as intact. Messages, and lines of imported
//! files, have checksums of their own.

use bethink_store::{StoreError, StoreResult};
use serde_json::json;
use sqlx::{AssertSqlSafe, Column as _, Row as _, SqliteConnection, TypeInfo, ValueRef};

use crate::error::from_sqlx;
use crate::sql::{Row, Statement, sql};

const SEAL: &str = "seal";
/// The key of a row, which is not known before it is written.
const KEY: &str = "number";
/// Columns whose numbers are multiplied by a weight and added to the checksum, so that a statement can change a number
/// and the checksum together. Every append changes these columns. The statements contain the weights.
const WEIGHTS: [(&str, i64); 3] =
    [("last_seq", 1_000_003), ("indexed_seq", 1_048_573), ("updated_at", 1)];
/// Number of bits of the hash that are not used, so that no sum exceeds SQLite's integers. For larger numbers, SQLite
/// would calculate in floating point.
const SPARE_BITS: u32 = 3;

/// A value of a column.
#[derive(Debug)]
pub(crate) enum SealedValue {
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

/// Returns the checksum of these columns, in the order of the table.
pub(crate) fn seal_of(columns: Vec<(&str, SealedValue)>) -> i64 {
    let mut hasher = blake3::Hasher::new();
    let mut sum = 0_i64;
    for (name, value) in columns {
        let (kind, bytes) = match value {
            SealedValue::Integer(number) => match WEIGHTS.iter().find(|(of, _)| *of == name) {
                Some((_, weight)) => {
                    sum = sum.wrapping_add(number.wrapping_mul(*weight));
                    continue;
                }
                None => (b'i', number.to_le_bytes().to_vec()),
            },
            SealedValue::Real(number) => (b'r', number.to_le_bytes().to_vec()),
            SealedValue::Text(bytes) => (b't', bytes),
            SealedValue::Blob(bytes) => (b'b', bytes),
        };
        hasher.update(name.as_bytes());
        hasher.update(&[0, kind]);
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(&bytes);
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    (u64::from_le_bytes(first) >> SPARE_BITS).cast_signed().wrapping_add(sum)
}

impl Statement {
    /// Runs a statement that returns whole rows of `table`, and stores their checksums.
    pub(crate) async fn seal(
        self,
        db: &mut SqliteConnection,
        table: &'static str,
    ) -> StoreResult<Vec<Row>> {
        let rows = self.rows(&mut *db).await?;
        if rows.is_empty() {
            return Ok(rows);
        }
        let seals: StoreResult<Vec<(i64, i64)>> =
            rows.iter().map(|row| Ok((row.get(KEY)?, row.seal()?))).collect();
        let store = format!(
            "UPDATE {table} SET seal = one.value ->> 1\nFROM json_each(?) AS one\n\
             WHERE {table}.number = one.value ->> 0"
        );
        sql(AssertSqlSafe(store)).bind(json!(seals?).to_string()).run(db).await?;
        Ok(rows)
    }
}

impl Row {
    /// Returns an error if the row has a wrong checksum.
    pub(crate) fn verify(&self) -> StoreResult<()> {
        let Ok(stored) = self.0.try_get_raw(SEAL) else { return Ok(()) };
        let is_whole = stored.is_null()
            || (stored.type_info().name() == "INTEGER" && self.get::<i64>(SEAL)? == self.seal()?);
        if is_whole { Ok(()) } else { Err(self.corrupted()) }
    }

    fn seal(&self) -> StoreResult<i64> {
        let mut columns = Vec::new();
        for column in self.0.columns() {
            if ![KEY, SEAL].contains(&column.name())
                && let Some(value) = self.value(column.ordinal())?
            {
                columns.push((column.name(), value));
            }
        }
        Ok(seal_of(columns))
    }

    /// Returns `None` for NULL.
    fn value(&self, column: usize) -> StoreResult<Option<SealedValue>> {
        let Ok(raw) = self.0.try_get_raw(column) else { return Ok(None) };
        if raw.is_null() {
            return Ok(None);
        }
        Ok(Some(match raw.type_info().name() {
            "INTEGER" => SealedValue::Integer(self.get(column)?),
            "REAL" => SealedValue::Real(self.get(column)?),
            "TEXT" => SealedValue::Text(self.get(column)?),
            _ => SealedValue::Blob(self.get(column)?),
        }))
    }

    /// Returns the value of a column, or `None` for NULL.
    pub(crate) fn named(&self, column: &str) -> StoreResult<Option<SealedValue>> {
        let found = self.0.try_column(column).map_err(from_sqlx)?;
        self.value(found.ordinal())
    }

    /// Returns an error that names the row.
    fn corrupted(&self) -> StoreError {
        use sqlx::ColumnOrigin;
        let table = self.0.columns().iter().find_map(|column| match column.origin() {
            ColumnOrigin::Table(origin) => Some(origin.table.to_string()),
            _ => None,
        });
        let number = self.get::<i64>(KEY).unwrap_or_default();
        let table = table.unwrap_or_else(|| "a table".to_owned());
        StoreError::Damaged(format!("row {number} of {table} is corrupted"))
    }
}
