//! All rows of a file, for copying them from or to another store.
//!
//! A file that is being filled has another name until all of its rows are there, so no daemon ever uses a part of a copy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bethink_store::{Store as _, StoreError, StoreFuture, StoreResult};
use bethink_store_format::{
    ColumnKind, ColumnValue, CopiedColumn, CopiedRow, CopiedTable, RowStatements, RowStore,
    corrupted_row, record_checksum,
};
use bethink_transcript::UnixMicros;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use crate::checksum::message;
use crate::connect::{self, checkpoint, known_schema, migrate};
use crate::error::from_sqlx;
use crate::files;
use crate::opened::OpenError;
use crate::options::Options;
use crate::probe::{self, INDEX_TABLES, ProbeVerdict, full_check};
use crate::seal::{SealedValue, seal_of};
use crate::sql::{Row, sql};
use crate::store::SqliteStore;
use crate::writer::roll_back;

/// Rows that no version could read, which are kept for a person. Nothing uses them, and other stores do not have them.
const UNREAD_TABLE: &str = "unreadable_kept";
/// Columns that other stores do not have, or that say what the search index contains.
const OWN_COLUMNS: [(&str, &str); 1] = [("sessions", "indexed_seq")];
const SEAL: &str = "seal";
const KEY: &str = "number";

const COLUMNS: &str = "
    SELECT tables.name, columns.name, columns.type, columns.\"notnull\"
    FROM sqlite_schema AS tables
    JOIN pragma_table_info(tables.name) AS columns
    WHERE tables.type = 'table'
      AND tables.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
      AND tables.name <> '_sqlx_migrations'
    ORDER BY tables.name, columns.cid";

const SCHEMA: &str = "SELECT max(version) FROM _sqlx_migrations";

/// The rows of one SQLite file.
#[derive(Debug)]
pub struct SqliteRows {
    db: SqliteConnection,
    /// The columns of each table in the order of the file, without the key.
    layout: BTreeMap<String, Vec<String>>,
    tables: Vec<CopiedTable>,
}

/// A file that can be filled with rows.
#[derive(Debug)]
pub enum SqliteTarget {
    /// It has no rows, or those of a copy that was interrupted.
    Unfinished { rows: SqliteRows, file: UnfinishedFile, is_resumed: bool },
    /// There is a database that has rows already.
    Filled(SqliteRows),
}

/// The name of a file that is being filled. Its rows are not used until [`UnfinishedFile::finish`].
#[derive(Debug)]
pub struct UnfinishedFile {
    path: PathBuf,
}

impl SqliteRows {
    /// Opens a database to read it. Its schema is brought up to date first. Nobody else may write to it.
    pub async fn open(path: &Path, now: UnixMicros) -> Result<Self, OpenError> {
        files::swap_in_recovered(path)?;
        if files::size(path)?.is_none() {
            return Err(OpenError::Missing(path.to_owned()));
        }
        if let ProbeVerdict::Damaged(why) = probe::look(path).await? {
            return Err(OpenError::Damaged(why));
        }
        let db = connect::looker(path).await.map_err(from_sqlx)?;
        let mut rows = Self::of(db).await?;
        if sql(SCHEMA).value::<i64>(&mut rows.db).await? < known_schema() {
            rows.db.close().await.map_err(from_sqlx)?;
            let (store, _) = SqliteStore::open(path, Options::new(now)).await?;
            store.close().await?;
            rows = Self::of(connect::looker(path).await.map_err(from_sqlx)?).await?;
        }
        // Damage of the file's structure can hide rows, which no checksum of a row shows.
        if let Some(why) = full_check(&mut rows.db).await? {
            return Err(OpenError::Damaged(why));
        }
        Ok(rows)
    }

    async fn of(mut db: SqliteConnection) -> StoreResult<Self> {
        let read = |row: &Row| {
            let place: (String, String) = (row.get(0)?, row.get(1)?);
            Ok((place, row.get::<String>(2)?, row.get::<bool>(3)?))
        };
        let (mut layout, mut tables) = (BTreeMap::<String, Vec<String>>::new(), BTreeMap::new());
        for ((table, column), kind, is_required) in sql(COLUMNS).all(&mut db, read).await? {
            if table == UNREAD_TABLE || INDEX_TABLES.contains(&table.as_str()) {
                continue;
            }
            let columns: &mut Vec<CopiedColumn> = tables.entry(table.clone()).or_default();
            if column == KEY {
                continue;
            }
            layout.entry(table.clone()).or_default().push(column.clone());
            if column == SEAL || OWN_COLUMNS.contains(&(table.as_str(), column.as_str())) {
                continue;
            }
            let kind = match kind.as_str() {
                "INTEGER" => ColumnKind::Integer,
                "REAL" => ColumnKind::Real,
                "TEXT" => ColumnKind::Text,
                _ => ColumnKind::Blob,
            };
            columns.push(CopiedColumn { name: column, kind, is_nullable: !is_required });
        }
        let tables = tables.into_iter().map(|(name, mut columns)| {
            columns.sort_by(|one, other| one.name.cmp(&other.name));
            CopiedTable { name, columns }
        });
        Ok(Self { db, layout, tables: tables.collect() })
    }

    /// Returns the number of rows that no version could read, and that other stores do not have.
    pub async fn unread_rows(&mut self) -> StoreResult<u64> {
        let count = AssertSqlSafe(format!("SELECT count(*) FROM {UNREAD_TABLE}"));
        sql(count).value(&mut self.db).await
    }

    /// Returns the first table that has rows.
    pub async fn first_filled(&mut self) -> StoreResult<Option<String>> {
        for table in self.tables.clone() {
            if self.last_number(&table).await? != 0 {
                return Ok(Some(table.name));
            }
        }
        Ok(None)
    }

    pub async fn close(self) -> StoreResult<()> {
        self.db.close().await.map_err(from_sqlx)
    }

    fn layout(&self, table: &CopiedTable) -> &[String] {
        self.layout.get(&table.name).map(Vec::as_slice).unwrap_or_default()
    }

    fn statements<'a>(table: &'a CopiedTable) -> RowStatements<'a> {
        RowStatements { table, name: &table.name, condition: "TRUE" }
    }

    async fn insert_rows(&mut self, table: &CopiedTable, rows: &[CopiedRow]) -> StoreResult<()> {
        let is_sealed = self.layout(table).iter().any(|column| column == SEAL);
        // The position of each column's value, in the order of the file, in which the checksum covers them.
        let place = |name: &String| table.columns.iter().position(|column| column.name == *name);
        let order: Vec<usize> = self.layout(table).iter().filter_map(place).collect();
        let mut columns = vec![KEY.to_owned()];
        columns.extend(order.iter().map(|at| format!("\"{}\"", table.columns[*at].name)));
        columns.extend(is_sealed.then(|| SEAL.to_owned()));
        let marks = vec!["?"; columns.len()].join(", ");
        let name = &table.name;
        let insert = format!("INSERT INTO {name} ({})\nVALUES ({marks})", columns.join(", "));
        sql("BEGIN IMMEDIATE").run(&mut self.db).await?;
        for row in rows {
            let mut statement = sql(AssertSqlSafe(insert.clone())).bind(row.number);
            let mut sealed = Vec::new();
            for (name, value) in
                order.iter().filter_map(|at| Some((&table.columns[*at].name, row.values.get(*at)?)))
            {
                statement = match value.clone() {
                    ColumnValue::Null => statement.bind(None::<i64>),
                    ColumnValue::Integer(integer) => statement.bind(integer),
                    ColumnValue::Real(real) => statement.bind(real),
                    ColumnValue::Text(text) => statement.bind(text),
                    ColumnValue::Blob(blob) => statement.bind(blob),
                };
                let value = match value {
                    _ if !is_sealed => continue,
                    ColumnValue::Null => continue,
                    ColumnValue::Integer(integer) => SealedValue::Integer(*integer),
                    ColumnValue::Real(real) => SealedValue::Real(*real),
                    ColumnValue::Text(text) => SealedValue::Text(text.clone().into_bytes()),
                    ColumnValue::Blob(blob) => SealedValue::Blob(blob.clone()),
                };
                sealed.push((name.as_str(), value));
            }
            if is_sealed {
                statement = statement.bind(seal_of(sealed));
            }
            statement.run(&mut self.db).await?;
        }
        sql("COMMIT").run(&mut self.db).await.map(drop)
    }
}

impl RowStore for SqliteRows {
    fn tables(&mut self) -> StoreFuture<'_, Vec<CopiedTable>> {
        Box::pin(async { Ok(self.tables.clone()) })
    }

    fn last_number<'a>(&'a mut self, table: &'a CopiedTable) -> StoreFuture<'a, i64> {
        Box::pin(async {
            let last = sql(AssertSqlSafe(Self::statements(table).last_number()));
            Ok(last.value::<Option<i64>>(&mut self.db).await?.unwrap_or_default())
        })
    }

    fn sizes<'a>(
        &'a mut self,
        table: &'a CopiedTable,
        after: i64,
    ) -> StoreFuture<'a, Vec<(i64, u64)>> {
        let has_size =
            |column: &&CopiedColumn| matches!(column.kind, ColumnKind::Text | ColumnKind::Blob);
        let columns = table.columns.iter().filter(has_size).map(|column| column.name.as_str());
        let sizes = sql(AssertSqlSafe(Self::statements(table).sizes(columns))).bind(after);
        Box::pin(sizes.all(&mut self.db, |row| Ok((row.get(0)?, row.get(1)?))))
    }

    fn rows<'a>(
        &'a mut self,
        table: &'a CopiedTable,
        after: i64,
        through: i64,
    ) -> StoreFuture<'a, Vec<CopiedRow>> {
        Box::pin(async move {
            let columns = self.layout(table).iter().map(String::as_str);
            let text = Self::statements(table).rows(columns);
            let rows =
                sql(AssertSqlSafe(text)).bind(after).bind(through).rows(&mut self.db).await?;
            rows.iter().map(|row| copied(table, row)).collect()
        })
    }

    fn insert<'a>(
        &'a mut self,
        table: &'a CopiedTable,
        rows: Vec<CopiedRow>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let inserted = self.insert_rows(table, &rows).await;
            if let Err(error) = &inserted {
                roll_back(&mut self.db, error).await;
            }
            inserted
        })
    }

    fn clear<'a>(&'a mut self, table: &'a CopiedTable) -> StoreFuture<'a, ()> {
        let clear = sql(AssertSqlSafe(format!("DELETE FROM {}", table.name)));
        Box::pin(async { clear.run(&mut self.db).await.map(drop) })
    }
}

/// Reads a row, and verifies its checksum and the types of its values.
fn copied(table: &CopiedTable, row: &Row) -> StoreResult<CopiedRow> {
    let number: i64 = row.get(KEY)?;
    let corrupted = || corrupted_row(&table.name, number);
    let is_whole = match table.name.as_str() {
        // Its error says which message it is.
        "messages" => message(row).map(|_| true)?,
        "records" => line_is_whole(row)?,
        _ => row.verify().is_ok(),
    };
    if !is_whole {
        return Err(corrupted());
    }
    let read = |column: &CopiedColumn| -> StoreResult<ColumnValue> {
        let value = match (row.named(&column.name)?, column.kind) {
            (None, _) if column.is_nullable => ColumnValue::Null,
            (Some(SealedValue::Integer(integer)), ColumnKind::Integer) => {
                ColumnValue::Integer(integer)
            }
            (Some(SealedValue::Real(real)), ColumnKind::Real) => ColumnValue::Real(real),
            (Some(SealedValue::Blob(blob)), ColumnKind::Blob) => ColumnValue::Blob(blob),
            (Some(SealedValue::Text(text)), ColumnKind::Text) => {
                ColumnValue::Text(String::from_utf8(text).map_err(|_| corrupted())?)
            }
            _ => return Err(corrupted()),
        };
        Ok(value)
    };
    let values = table.columns.iter().map(read).collect::<StoreResult<_>>()?;
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

impl SqliteTarget {
    /// Opens the database in `path` if it has rows, or else a file next to it that is to be filled from `source`. Nobody
    /// else may use them.
    pub async fn open(path: &Path, source: &str) -> Result<Self, OpenError> {
        files::make_home(path)?;
        files::swap_in_recovered(path)?;
        if files::size(path)?.is_some() || files::wal_size(path)? > 0 {
            if let ProbeVerdict::Damaged(why) = probe::look(path).await? {
                return Err(OpenError::Damaged(why));
            }
            let mut rows = SqliteRows::of(connect::looker(path).await.map_err(from_sqlx)?).await?;
            if rows.first_filled().await?.is_some() {
                return Ok(Self::Filled(rows));
            }
            rows.close().await?;
        }
        let file = UnfinishedFile { path: path.to_owned() };
        let is_resumed = file.begin(source)?;
        let mut db = connect::connect(&file.unfinished(), None).await?;
        migrate(&mut db, known_schema()).await?;
        let rows = SqliteRows::of(db).await?;
        Ok(Self::Unfinished { rows, file, is_resumed })
    }
}

impl UnfinishedFile {
    fn unfinished(&self) -> PathBuf {
        files::beside(&self.path, ".copying")
    }

    /// Returns the file that says what is being copied.
    fn note(&self) -> PathBuf {
        files::beside(&self.path, ".copying-from")
    }

    /// Returns whether a copy of this source was begun already.
    fn begin(&self, source: &str) -> Result<bool, OpenError> {
        let unfinished = self.unfinished();
        if unfinished.exists() {
            let found = std::fs::read_to_string(self.note())?;
            return match found == source {
                true => Ok(true),
                false => Err(OpenError::OtherCopy { found, file: unfinished }),
            };
        }
        files::remove_database(&unfinished)?;
        files::write_note(&self.note(), source)?;
        files::create(&unfinished)?;
        Ok(false)
    }

    /// Gives the file its final name. Can be repeated after a crash at any point.
    pub async fn finish(self, mut rows: SqliteRows) -> Result<(), OpenError> {
        checkpoint(&mut rows.db).await?;
        // The log is removed below, so it must not contain anything.
        if files::wal_size(&self.unfinished())? > 0 {
            let why = "another process is reading the copy";
            return Err(StoreError::Disk(why.to_owned()).into());
        }
        rows.close().await?;
        files::rename_finished(&self.unfinished(), &files::beside(&self.path, ".recovered"))?;
        files::swap_in_recovered(&self.path)?;
        files::remove(&self.note())?;
        Ok(())
    }
}
