//! All rows of a database that belong to one home or to all of them, for copying them from or to another store.
//!
//! One connection does everything, and holds the lock that keeps daemons away. A table in the database marks a copy that is
//! not complete, and no daemon starts on it.

use std::collections::{BTreeMap, BTreeSet};

use bethink_store::{StoreError, StoreFuture, StoreResult};
use bethink_store_format::{
    ColumnKind, ColumnValue, CopiedColumn, CopiedRow, CopiedTable, RowStatements, RowStore,
};
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Postgres};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::address::PostgresAddress;
use crate::connect::{self, lasting};
use crate::error::from_sqlx;
use crate::locks::{self, Lock};
use crate::open::check_encoding;
use crate::opened::PostgresOpenError;
use crate::options::{PREPARE, TAKE_PAUSE, TAKE_TRIES};
use crate::row_values::{bind, copied, notes_files, tags, words_hashes};
use crate::schema::{self, UNFINISHED_COPY};
use crate::sql::{Row, Statement, sql};

/// The hashes of the notes that each home wrote into its files. They follow from the notes, whose row says which home wrote it.
const NOTES_FILES: &str = "notes_files";
/// Tables of this database alone: those of daemons, the index, which is made from history again, synced memory, which each home
/// has in its files, and what is shared with the team of this database.
const OWN_TABLES: [&str; 13] = [
    "_sqlx_migrations",
    UNFINISHED_COPY,
    "daemons",
    "database_state",
    "index_pages",
    "index_segments",
    "index_sessions",
    NOTES_FILES,
    "session_sharing",
    "shared_projects",
    "synced_directories",
    "synced_files",
    "synced_projects",
];
/// Columns that other stores do not have, because they follow from others, belong to daemons, or say what the index contains.
const OWN_COLUMNS: [(&str, &str); 5] = [
    ("notes", HOME),
    ("refused_statements", "words_hash"),
    ("sessions", "holder"),
    ("sessions", "indexed_seq"),
    ("sessions", "tag_keys"),
];
const KEY: &str = "number";
const HOME: &str = "home";
/// The end of the name of a table whose rows belong to homes.
const OF_HOMES: &str = "_of_homes";

const COLUMNS: &str = "
    SELECT relname::TEXT, attname::TEXT, format_type(atttypid, NULL), NOT attnotnull
    FROM pg_class
    JOIN pg_attribute
      ON attrelid = pg_class.oid
    WHERE relnamespace = current_schema()::regnamespace
      AND relkind IN ('r', 'p')
      AND attnum > 0
      AND NOT attisdropped
    ORDER BY relname COLLATE \"C\", attname COLLATE \"C\"";

/// Names of the daemons that run.
const RUNNING: &str = "
    SELECT coalesce(string_agg(name, ', ' ORDER BY name), 'an unknown process')
    FROM daemons
    WHERE NOT pg_try_advisory_xact_lock_shared(number)";

/// Without the server's own limit, because the sizes of tables have none. This process does not wait for ever.
const NO_LIMIT: &str = "SET statement_timeout = 0";

/// On a standby server, locks do not keep daemons from writing to the primary one.
const IS_STANDBY: &str = "SELECT pg_is_in_recovery()";

/// What is only read cannot be changed, not even by mistake.
const READ_ONLY: &str = "SET default_transaction_read_only = on";

const NAMES: &str = "
    SELECT coalesce(string_agg(DISTINCT name, ', ' ORDER BY name), '')
    FROM daemons
    WHERE home = $1";

const COPIED_FROM: &str = "SELECT source FROM unfinished_copy";

const SET_HOME: &str = "SELECT set_config('bethink.home', $1, FALSE)";

/// The notes as the daemon of a home sees them (see `notes`).
const NOTES: &str = "(
    SELECT notes.number,
           notes.session,
           text,
           CASE WHEN notes.home = own_home() THEN replaced ELSE coalesce(hash, '') END AS replaced,
           written,
           through_seq,
           tokens,
           strategy,
           updated_at
    FROM notes
    LEFT JOIN notes_files
      ON notes_files.session = notes.session
     AND notes_files.home = own_home()
)";

const ADD_NOTES_FILES: &str = "
    INSERT INTO notes_files (session, hash)
    SELECT session, hash
    FROM unnest($1, $2) AS new (session, hash)
    ON CONFLICT (home, session) DO UPDATE
    SET hash = excluded.hash";

const TAG_KEYS: &str = "
    UPDATE sessions
    SET tag_keys = $2
    WHERE number = $1";

/// The rows of one database.
#[derive(Debug)]
pub struct PostgresRows {
    db: PoolConnection<Postgres>,
    /// The type of each column, by table and column, except those that other stores do not have.
    types: BTreeMap<(String, String), String>,
    /// Tables whose rows belong to homes.
    of_homes: Vec<String>,
    tables: Vec<CopiedTable>,
    home: Uuid,
}

/// What a database is to a copy to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostgresTarget {
    /// It has no rows.
    Empty,
    /// It has a part of the rows of this source.
    Unfinished(String),
    /// This table has rows.
    Filled(String),
}

/// A home that has rows in a database, and the daemons of it that are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeOfRows {
    pub home: Uuid,
    pub daemons: String,
}

impl PostgresRows {
    /// Opens a database to read it. No daemon may use it.
    pub async fn open(address: &PostgresAddress) -> Result<Self, PostgresOpenError> {
        let mut db = connect(address).await?;
        if sql(IS_STANDBY).value(&mut *db).await? {
            return Err(PostgresOpenError::Standby);
        }
        sql(READ_ONLY).run(&mut *db).await?;
        schema::must_be_complete(&mut db).await?;
        lock_out_daemons(&mut db).await?;
        Ok(Self::of(db).await?)
    }

    /// Opens a database to write a copy of `source` to it. If it has no rows, marks it as an unfinished copy, and creates its
    /// tables. No daemon may use it.
    pub async fn open_target(
        address: &PostgresAddress,
        source: &str,
    ) -> Result<(Self, PostgresTarget), PostgresOpenError> {
        let mut db = connect(address).await?;
        let found = schema::look(&mut db).await?;
        check_encoding(&mut db).await?;
        lock_out_daemons(&mut db).await?;
        let mut rows = Self::of(db).await?;
        let state = rows.state().await?;
        match &state {
            // Before the tables are created: without the mark, a daemon could use them after an interruption.
            PostgresTarget::Empty => rows.begin(source).await?,
            PostgresTarget::Filled(_) if found != Some(schema::known()) => {
                return Err(PostgresOpenError::Older);
            }
            // A newer version of bethink continues a copy: rows that differ are copied again.
            PostgresTarget::Unfinished(_) | PostgresTarget::Filled(_) => {}
        }
        let prepared = timeout(PREPARE, schema::prepare(&mut rows.db, None)).await;
        prepared.map_err(|_| {
            PostgresOpenError::Migrate("the server did not answer in time".to_owned())
        })??;
        Ok((Self::of(rows.db).await?, state))
    }

    async fn of(mut db: PoolConnection<Postgres>) -> StoreResult<Self> {
        let read = |row: &Row| {
            let place: (String, String) = (row.get(0)?, row.get(1)?);
            Ok((place, row.get::<String>(2)?, row.get::<bool>(3)?))
        };
        let columns = sql(COLUMNS).all(&mut *db, read).await?;
        let (mut types, mut of_homes) = (BTreeMap::new(), Vec::new());
        let mut tables: BTreeMap<String, Vec<CopiedColumn>> = BTreeMap::new();
        for ((table, column), kind, is_nullable) in columns {
            if OWN_TABLES.contains(&table.as_str()) {
                continue;
            }
            let name = match table.strip_suffix(OF_HOMES) {
                Some(name) => name.to_owned(),
                None => table.clone(),
            };
            let columns = tables.entry(name.clone()).or_default();
            if column == HOME && table != name {
                of_homes.push(name);
                continue;
            }
            if column == KEY || OWN_COLUMNS.contains(&(name.as_str(), column.as_str())) {
                continue;
            }
            let copied_as = match kind.as_str() {
                "bigint" | "boolean" => ColumnKind::Integer,
                "double precision" => ColumnKind::Real,
                "text" => ColumnKind::Text,
                "bytea" | "uuid" => ColumnKind::Blob,
                _ => {
                    let why = format!("column {column} of {table} has the unknown type {kind}");
                    return Err(StoreError::Failed(why));
                }
            };
            columns.push(CopiedColumn { name: column.clone(), kind: copied_as, is_nullable });
            types.insert((name, column), kind);
        }
        // As on SQLite, by bytes.
        let tables = tables.into_iter().map(|(name, mut columns)| {
            columns.sort_by(|one, other| one.name.cmp(&other.name));
            CopiedTable { name, columns }
        });
        let tables = tables.collect();
        Ok(Self { db, types, of_homes, tables, home: Uuid::nil() })
    }

    /// Reads and writes the rows of this home, and those of all homes.
    pub async fn choose_home(&mut self, home: Uuid) -> StoreResult<()> {
        self.home = home;
        // Rows that are added get it.
        sql(SET_HOME).bind(home.to_string()).run(&mut *self.db).await.map(drop)
    }

    /// Returns the homes that have rows.
    pub async fn homes(&mut self) -> StoreResult<Vec<HomeOfRows>> {
        let mut found = BTreeSet::new();
        let tables = self.of_homes.iter().map(|table| format!("{table}{OF_HOMES}"));
        for table in tables.chain(["notes".to_owned()]) {
            let homes = AssertSqlSafe(format!("SELECT DISTINCT home FROM {table}"));
            found.extend(sql(homes).all(&mut *self.db, |row| row.get::<Uuid>(0)).await?);
        }
        let mut homes = Vec::new();
        for home in found {
            let daemons = sql(NAMES).bind(home).value(&mut *self.db).await?;
            homes.push(HomeOfRows { home, daemons });
        }
        Ok(homes)
    }

    /// Returns whether there are rows, of any home, or those of an unfinished copy.
    async fn state(&mut self) -> StoreResult<PostgresTarget> {
        if schema::has_unfinished_copy(&mut self.db).await? {
            let source = sql(COPIED_FROM).value(&mut *self.db).await?;
            return Ok(PostgresTarget::Unfinished(source));
        }
        for table in &self.tables {
            let name = self.name(table);
            let any = AssertSqlSafe(format!("SELECT EXISTS (SELECT FROM {name})"));
            if sql(any).value(&mut *self.db).await? {
                return Ok(PostgresTarget::Filled(table.name.clone()));
            }
        }
        Ok(PostgresTarget::Empty)
    }

    /// Marks the database as one with a part of the rows of this source, so that no daemon starts on it.
    async fn begin(&mut self, source: &str) -> StoreResult<()> {
        let begin = format!("CREATE TABLE {UNFINISHED_COPY} AS SELECT $1::TEXT AS source");
        // A utility statement takes no parameters, so the value is a part of the text.
        let quoted = format!("'{}'", source.replace('\'', "''"));
        sql(AssertSqlSafe(begin.replace("$1", &quoted))).run(&mut *self.db).await.map(drop)
    }

    /// Makes the database usable: new rows get numbers after those of the copied rows, and the mark is removed.
    pub async fn finish(mut self) -> StoreResult<()> {
        sql("BEGIN").run(&mut *self.db).await?;
        for table in &self.tables {
            let name = self.name(table);
            let set = format!(
                "SELECT setval(sequence, greatest((SELECT max(number) FROM {name}), 1), \
                 EXISTS (SELECT FROM {name}))\n\
                 FROM (SELECT pg_get_serial_sequence('{name}', 'number') AS sequence) AS found\n\
                 WHERE sequence IS NOT NULL"
            );
            sql(AssertSqlSafe(set)).run(&mut *self.db).await?;
        }
        sql(AssertSqlSafe(format!("DROP TABLE {UNFINISHED_COPY}"))).run(&mut *self.db).await?;
        sql("COMMIT").run(&mut *self.db).await?;
        // Planning without statistics would make the first searches slow. The copy is complete without them.
        drop(sql("ANALYZE").run_slowly(&mut *self.db).await);
        self.close().await
    }

    /// Ends the connection, and with it the lock.
    pub async fn close(self) -> StoreResult<()> {
        self.db.close().await.map_err(from_sqlx)
    }

    /// Returns the name of a table in this database.
    fn name(&self, table: &CopiedTable) -> String {
        match self.is_of_homes(table) {
            true => format!("{}{OF_HOMES}", table.name),
            false => table.name.clone(),
        }
    }

    fn is_of_homes(&self, table: &CopiedTable) -> bool {
        self.of_homes.contains(&table.name)
    }

    /// Returns the condition for the rows of the home.
    fn condition(&self, table: &CopiedTable) -> String {
        match self.is_of_homes(table) {
            true => format!("home = '{}'", self.home),
            false => "TRUE".to_owned(),
        }
    }

    fn statement(
        &self,
        table: &CopiedTable,
        text: impl FnOnce(RowStatements<'_>) -> String,
    ) -> Statement {
        let (mut name, condition) = (self.name(table), self.condition(table));
        if table.name == "notes" {
            name = NOTES.to_owned();
        }
        let statements = RowStatements { table, name: &name, condition: &condition };
        sql(AssertSqlSafe(text(statements)))
    }

    fn column_type(&self, table: &CopiedTable, column: &CopiedColumn) -> &str {
        let key = (table.name.clone(), column.name.clone());
        self.types.get(&key).map_or("text", String::as_str)
    }

    async fn insert_rows(&mut self, table: &CopiedTable, rows: Vec<CopiedRow>) -> StoreResult<()> {
        let mut columns = vec![KEY.to_owned()];
        let mut arrays = vec!["$1::bigint[]".to_owned()];
        for column in &table.columns {
            columns.push(format!("\"{}\"", column.name));
            let kind = self.column_type(table, column);
            arrays.push(format!("${}::{kind}[]", arrays.len() + 1));
        }
        let is_hashed = table.name == "refused_statements";
        if is_hashed {
            columns.push("words_hash".to_owned());
            arrays.push(format!("${}::bytea[]", arrays.len() + 1));
        }
        let mut home = String::new();
        if self.is_of_homes(table) {
            columns.push(HOME.to_owned());
            home = format!(", '{}'::UUID", self.home);
        }
        let text = format!(
            "INSERT INTO {} ({})\nOVERRIDING SYSTEM VALUE\nSELECT *{home}\nFROM unnest({})",
            self.name(table),
            columns.join(", "),
            arrays.join(", ")
        );
        let tags = tags(table, &rows)?;
        let files = notes_files(table, &rows)?;
        let hashes = is_hashed.then(|| words_hashes(table, &rows));
        let mut statement = sql(AssertSqlSafe(text)).bind_list(rows.iter().map(|row| row.number));
        let numbers: Vec<i64> = rows.iter().map(|row| row.number).collect();
        let mut values: Vec<_> = rows.into_iter().map(|row| row.values.into_iter()).collect();
        for column in &table.columns {
            let next = values.iter_mut().map(|row| row.next().unwrap_or(ColumnValue::Null));
            let next = numbers.iter().zip(next);
            statement = bind(statement, table, self.column_type(table, column), next)?;
        }
        if let Some(hashes) = hashes {
            statement = statement.bind_list(hashes);
        }
        sql("BEGIN").run(&mut *self.db).await?;
        statement.run(&mut *self.db).await?;
        for (number, tags) in tags {
            sql(TAG_KEYS).bind(number).bind_list(tags).run(&mut *self.db).await?;
        }
        if !files.is_empty() {
            let (sessions, hashes): (Vec<_>, Vec<_>) = files.into_iter().unzip();
            let add = sql(ADD_NOTES_FILES).bind_list(sessions).bind_list(hashes);
            add.run(&mut *self.db).await?;
        }
        sql("COMMIT").run(&mut *self.db).await.map(drop)
    }
}

impl RowStore for PostgresRows {
    fn tables(&mut self) -> StoreFuture<'_, Vec<CopiedTable>> {
        Box::pin(async { Ok(self.tables.clone()) })
    }

    fn last_number<'a>(&'a mut self, table: &'a CopiedTable) -> StoreFuture<'a, i64> {
        let last = self.statement(table, |statements| statements.last_number());
        Box::pin(async { Ok(last.value::<Option<i64>>(&mut *self.db).await?.unwrap_or_default()) })
    }

    fn sizes<'a>(
        &'a mut self,
        table: &'a CopiedTable,
        after: i64,
    ) -> StoreFuture<'a, Vec<(i64, u64)>> {
        let has_size =
            |column: &&CopiedColumn| ["text", "bytea"].contains(&self.column_type(table, column));
        let columns = table.columns.iter().filter(has_size).map(|column| column.name.as_str());
        let sizes = self.statement(table, |statements| statements.sizes(columns)).bind(after);
        Box::pin(sizes.all(&mut *self.db, |row| Ok((row.get(0)?, row.get(1)?))))
    }

    fn rows<'a>(
        &'a mut self,
        table: &'a CopiedTable,
        after: i64,
        through: i64,
    ) -> StoreFuture<'a, Vec<CopiedRow>> {
        Box::pin(async move {
            let columns = table.columns.iter().map(|column| column.name.as_str());
            let statement = self.statement(table, |statements| statements.rows(columns));
            let types: Vec<&str> =
                table.columns.iter().map(|column| self.column_type(table, column)).collect();
            let types: Vec<String> = types.into_iter().map(str::to_owned).collect();
            let read = |row: &Row| copied(table, &types, row);
            statement.bind(after).bind(through).all(&mut *self.db, read).await
        })
    }

    fn insert<'a>(
        &'a mut self,
        table: &'a CopiedTable,
        rows: Vec<CopiedRow>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let inserted = self.insert_rows(table, rows).await;
            if inserted.is_err() {
                // The server does it itself if the connection was lost.
                drop(sql("ROLLBACK").run(&mut *self.db).await);
            }
            inserted
        })
    }

    fn clear<'a>(&'a mut self, table: &'a CopiedTable) -> StoreFuture<'a, ()> {
        let mut tables = self.name(table);
        if table.name == "notes" {
            tables.push_str(&format!(", {NOTES_FILES}"));
        }
        let clear = sql(AssertSqlSafe(format!("TRUNCATE {tables}")));
        Box::pin(async { clear.run(&mut *self.db).await.map(drop) })
    }
}

/// Opens a connection that is kept until the copy ends.
pub(crate) async fn connect(
    address: &PostgresAddress,
) -> Result<PoolConnection<Postgres>, PostgresOpenError> {
    // A pool tries again as long as a server refuses connections, and then does not say why.
    drop(connect::connect(address).await?.close().await);
    let mut db = lasting(address).acquire().await.map_err(from_sqlx)?;
    address.note_schema(&schema::name(&mut *db).await?);
    sql(NO_LIMIT).run(&mut *db).await?;
    Ok(db)
}

/// Takes the lock that each daemon shares, until the connection ends.
async fn lock_out_daemons(db: &mut PgConnection) -> Result<(), PostgresOpenError> {
    let schema = schema::name(&mut *db).await?;
    let daemons = Lock::Daemons(&schema);
    for _ in 0..TAKE_TRIES {
        if locks::try_lock_for_connection(&mut *db, daemons).await? {
            return Ok(());
        }
        sleep(TAKE_PAUSE).await;
    }
    // The table of names may not exist yet.
    let running = sql(RUNNING).value(&mut *db).await;
    let running = running.unwrap_or_else(|_| "an unknown process".to_owned());
    Err(locks::refusal(db, daemons, PostgresOpenError::Daemons(running)).await)
}
