//! Statements with the port's types for parameters, columns and errors.

use bethink_store::{StoreError, StoreResult};
use bethink_store_format::read_json;
pub(crate) use bethink_store_format::{not_found, unreadable};
use serde::de::DeserializeOwned;
use sqlx::postgres::{PgArguments, PgHasArrayType, PgRow};
use sqlx::query::Query;
use sqlx::{ColumnIndex, Decode, Encode, Executor, Postgres, Row as _, SqlSafeStr, Type};
use uuid::Uuid;

use crate::connect::in_time;
use crate::error::{from_sqlx, is_unique_violation};
use crate::options::ANSWER;
use crate::record::Record;

pub(crate) struct Statement(Query<'static, Postgres, PgArguments>);

pub(crate) fn sql(text: impl SqlSafeStr) -> Statement {
    Statement(sqlx::query(text))
}

impl Statement {
    pub(crate) fn bind(self, value: impl Column) -> Self {
        Self(self.0.bind(value.store()))
    }

    /// Binds an array.
    pub(crate) fn bind_list<T: Column>(self, values: impl IntoIterator<Item = T>) -> Self {
        let values: Vec<T::Stored> = values.into_iter().map(T::store).collect();
        Self(self.0.bind(values))
    }

    /// Binds an array, or NULL.
    pub(crate) fn bind_optional_list<T: Column>(self, values: Option<Vec<T>>) -> Self {
        let values: Option<Vec<T::Stored>> =
            values.map(|values| values.into_iter().map(T::store).collect());
        Self(self.0.bind(values))
    }

    /// Binds the fields of a record.
    pub(crate) fn bind_all(self, record: impl Record) -> Self {
        record.bind(self)
    }

    /// Returns the number of changed rows.
    pub(crate) async fn run(self, db: impl Executor<'_, Database = Postgres>) -> StoreResult<u64> {
        Ok(in_time(ANSWER, self.0.execute(db)).await.map_err(from_sqlx)?.rows_affected())
    }

    /// Does the same, however long the server takes to answer.
    pub(crate) async fn run_slowly(
        self,
        db: impl Executor<'_, Database = Postgres>,
    ) -> StoreResult<u64> {
        Ok(self.0.execute(db).await.map_err(from_sqlx)?.rows_affected())
    }

    /// Inserts a row; if the key exists, returns a `Conflict` with this message.
    pub(crate) async fn insert(
        self,
        db: impl Executor<'_, Database = Postgres>,
        conflict: impl FnOnce() -> String,
    ) -> StoreResult<()> {
        match in_time(ANSWER, self.0.execute(db)).await {
            Ok(_) => Ok(()),
            Err(error) if is_unique_violation(&error) => Err(StoreError::Conflict(conflict())),
            Err(error) => Err(from_sqlx(error)),
        }
    }

    /// Returns the number of inserted rows; `None` if one of the keys exists, and then nothing was inserted.
    pub(crate) async fn run_unless_stored(
        self,
        db: impl Executor<'_, Database = Postgres>,
    ) -> StoreResult<Option<u64>> {
        match in_time(ANSWER, self.0.execute(db)).await {
            Ok(done) => Ok(Some(done.rows_affected())),
            Err(error) if is_unique_violation(&error) => Ok(None),
            Err(error) => Err(from_sqlx(error)),
        }
    }

    pub(crate) async fn all<T>(
        self,
        db: impl Executor<'_, Database = Postgres>,
        read: impl Fn(&Row) -> StoreResult<T>,
    ) -> StoreResult<Vec<T>> {
        let rows = in_time(ANSWER, self.0.fetch_all(db)).await.map_err(from_sqlx)?;
        rows.into_iter().map(|row| read(&Row(row))).collect()
    }

    pub(crate) async fn optional<T>(
        self,
        db: impl Executor<'_, Database = Postgres>,
        read: impl FnOnce(&Row) -> StoreResult<T>,
    ) -> StoreResult<Option<T>> {
        let row = in_time(ANSWER, self.0.fetch_optional(db)).await.map_err(from_sqlx)?.map(Row);
        row.map(|row| read(&row)).transpose()
    }

    /// Returns the first column of the only row.
    pub(crate) async fn value<T: Column>(
        self,
        db: impl Executor<'_, Database = Postgres>,
    ) -> StoreResult<T> {
        Row(in_time(ANSWER, self.0.fetch_one(db)).await.map_err(from_sqlx)?).get(0)
    }
}

pub(crate) struct Row(PgRow);

impl Row {
    pub(crate) fn get<T: Column>(&self, column: impl ColumnIndex<PgRow>) -> StoreResult<T> {
        T::read(self.0.try_get(column).map_err(from_sqlx)?)
    }

    /// Reads a JSON column; `what` names it in the error if it is invalid.
    pub(crate) fn json<T: DeserializeOwned>(
        &self,
        column: impl ColumnIndex<PgRow>,
        what: &str,
    ) -> StoreResult<T> {
        read_json(&self.get::<String>(column)?, what)
    }
}

/// A type of the port, and the PostgreSQL type it is stored as.
pub(crate) trait Column: Sized {
    type Stored: Type<Postgres>
        + for<'q> Encode<'q, Postgres>
        + for<'r> Decode<'r, Postgres>
        + PgHasArrayType
        + Send
        + 'static;

    fn store(self) -> Self::Stored;
    fn read(stored: Self::Stored) -> StoreResult<Self>;
}

bethink_store_format::columns!();

impl Column for Uuid {
    type Stored = Self;

    fn store(self) -> Self {
        self
    }

    fn read(stored: Self) -> StoreResult<Self> {
        Ok(stored)
    }
}

impl Column for String {
    type Stored = Self;

    fn store(self) -> Self {
        if self.contains(['\0', ESCAPE]) { escape(&self) } else { self }
    }

    fn read(stored: Self) -> StoreResult<Self> {
        Ok(if stored.contains(ESCAPE) { unescape(&stored) } else { stored })
    }
}

/// PostgreSQL's text cannot contain a zero byte, so that byte is stored as this character and a digit.
const ESCAPE: char = '\u{1a}';

fn escape(text: &str) -> String {
    text.replace(ESCAPE, "\u{1a}1").replace('\0', "\u{1a}0")
}

fn unescape(text: &str) -> String {
    text.replace("\u{1a}0", "\0").replace("\u{1a}1", "\u{1a}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_comes_back() {
        for text in
            ["", "plain", "\0", "\u{1a}", "a\0b\u{1a}0", "\u{1a}\0\u{1a}1", "0\u{1a}\u{1a}0"]
        {
            let stored = text.to_owned().store();
            assert!(!stored.contains('\0'), "{stored:?}");
            assert_eq!(String::read(stored).unwrap(), text);
        }
    }
}
