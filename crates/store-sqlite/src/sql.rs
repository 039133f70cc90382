//! Statements with the port's types for parameters, columns and errors.

use bethink_store::{StoreError, StoreResult};
use bethink_store_format::read_json;
pub(crate) use bethink_store_format::{not_found, unreadable, unsigned};
use bethink_transcript::SessionId;
use serde::de::DeserializeOwned;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{ColumnIndex, Decode, Encode, Executor, Row as _, SqlSafeStr, Sqlite, Type};
use uuid::Uuid;

use crate::error::{from_sqlx, is_unique_violation};
use crate::record::Record;

pub(crate) struct Statement(Query<'static, Sqlite, SqliteArguments>);

pub(crate) fn sql(text: impl SqlSafeStr) -> Statement {
    Statement(sqlx::query(text))
}

impl Statement {
    pub(crate) fn bind(self, value: impl Column) -> Self {
        Self(self.0.bind(value.store()))
    }

    /// Binds the fields of a record.
    pub(crate) fn bind_all(self, record: impl Record) -> Self {
        record.bind(self)
    }

    /// Returns the number of changed rows.
    pub(crate) async fn run(self, db: impl Executor<'_, Database = Sqlite>) -> StoreResult<u64> {
        Ok(self.0.execute(db).await.map_err(from_sqlx)?.rows_affected())
    }

    /// Inserts a row; if the key exists, returns a `Conflict` with this message.
    pub(crate) async fn insert(
        self,
        db: impl Executor<'_, Database = Sqlite>,
        conflict: impl FnOnce() -> String,
    ) -> StoreResult<()> {
        match self.0.execute(db).await {
            Ok(_) => Ok(()),
            Err(error) if is_unique_violation(&error) => Err(StoreError::Conflict(conflict())),
            Err(error) => Err(from_sqlx(error)),
        }
    }

    pub(crate) async fn all<T>(
        self,
        db: impl Executor<'_, Database = Sqlite>,
        read: impl Fn(&Row) -> StoreResult<T>,
    ) -> StoreResult<Vec<T>> {
        let rows = self.rows(db).await?;
        rows.iter().map(|row| row.verify().and_then(|()| read(row))).collect()
    }

    /// Returns rows that may be corrupted.
    pub(crate) async fn rows(
        self,
        db: impl Executor<'_, Database = Sqlite>,
    ) -> StoreResult<Vec<Row>> {
        let rows = self.0.fetch_all(db).await.map_err(from_sqlx)?;
        Ok(rows.into_iter().map(Row).collect())
    }

    pub(crate) async fn optional<T>(
        self,
        db: impl Executor<'_, Database = Sqlite>,
        read: impl FnOnce(&Row) -> StoreResult<T>,
    ) -> StoreResult<Option<T>> {
        let row = self.0.fetch_optional(db).await.map_err(from_sqlx)?.map(Row);
        row.map(|row| row.verify().and_then(|()| read(&row))).transpose()
    }

    /// Returns the first column of the only row.
    pub(crate) async fn value<T: Column>(
        self,
        db: impl Executor<'_, Database = Sqlite>,
    ) -> StoreResult<T> {
        Row(self.0.fetch_one(db).await.map_err(from_sqlx)?).get(0)
    }
}

pub(crate) struct Row(pub(crate) SqliteRow);

impl Row {
    pub(crate) fn get<T: Column>(&self, column: impl ColumnIndex<SqliteRow>) -> StoreResult<T> {
        T::read(self.0.try_get(column).map_err(from_sqlx)?)
    }

    /// Reads a JSON column; `what` names it in the error if it is invalid.
    pub(crate) fn json<T: DeserializeOwned>(
        &self,
        column: impl ColumnIndex<SqliteRow>,
        what: &str,
    ) -> StoreResult<T> {
        read_json(&self.get::<String>(column)?, what)
    }
}

/// A type of the port, and the SQLite type it is stored as.
pub(crate) trait Column: Sized {
    type Stored: Type<Sqlite>
        + for<'q> Encode<'q, Sqlite>
        + for<'r> Decode<'r, Sqlite>
        + Send
        + 'static;

    fn store(self) -> Self::Stored;
    fn read(stored: Self::Stored) -> StoreResult<Self>;
}

bethink_store_format::columns!();

impl Column for String {
    type Stored = Self;

    fn store(self) -> Self {
        self
    }

    fn read(stored: Self) -> StoreResult<Self> {
        Ok(stored)
    }
}

impl Column for Uuid {
    type Stored = Vec<u8>;

    fn store(self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }

    fn read(stored: Vec<u8>) -> StoreResult<Self> {
        read_uuid(&stored)
    }
}

fn read_uuid(bytes: &[u8]) -> StoreResult<Uuid> {
    Uuid::from_slice(bytes).map_err(|error| unreadable(format!("invalid id: {error}")))
}

/// Converts an id to hexadecimal, for SQLite's `unhex`.
pub(crate) fn hex(id: SessionId) -> String {
    id.0.simple().to_string()
}
