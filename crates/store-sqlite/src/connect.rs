//! Connections: one writer and a few readers.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bethink_store::StoreError;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, SqliteConnection, SqlitePool};

use crate::error::from_sqlx;
use crate::files;
use crate::opened::OpenError;
use crate::options::{
    CHECKPOINT_PAGES, OLDEST_SQLITE, READER_CACHE_KIB, READERS, STATEMENTS, WAL_KEPT_BYTES,
    WRITER_CACHE_KIB,
};
use crate::sql::sql;

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations");

/// How long to wait for a lock held by another process (a backup, a person with a shell).
const BUSY: Duration = Duration::from_secs(5);

/// Returns the newest schema that this program knows.
pub(crate) fn known_schema() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default()
}

/// Returns whether the applied migrations, each a version and a checksum, are the known ones in the right order.
/// Migrations of a newer program may follow.
pub(crate) fn are_migrations(applied: &[(i64, Vec<u8>)]) -> bool {
    let is_ours = |(version, checksum): &(i64, Vec<u8>)| {
        let known = MIGRATIONS.iter().find(|known| known.version == *version);
        known.is_none_or(|known| *known.checksum == **checksum)
    };
    let all_known = MIGRATIONS.iter().map(|known| known.version);
    let versions = applied.iter().map(|(version, _)| *version);
    // A missing migration shows that the version of another one changed.
    let are_in_order = versions.zip(all_known).all(|(applied, known)| applied == known);
    are_in_order && applied.iter().all(is_ours)
}

/// Migrates the schema to a version.
pub(crate) async fn migrate(
    connection: &mut SqliteConnection,
    version: i64,
) -> Result<(), MigrateError> {
    MIGRATIONS.run_to(version, connection).await
}

/// Opens the writing connection. The file must exist.
async fn writer(path: &Path, max_pages: Option<u32>) -> sqlx::Result<SqliteConnection> {
    let mut options = basics(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES.to_string())
        .pragma("journal_size_limit", WAL_KEPT_BYTES.to_string())
        .pragma("cache_size", format!("-{WRITER_CACHE_KIB}"));
    if let Some(pages) = max_pages {
        options = options.pragma("max_page_count", pages.to_string());
    }
    options.connect().await
}

/// Creates an empty database with this schema, checkpointed.
pub(crate) async fn make_empty(path: &Path, schema: i64) -> Result<SqliteConnection, OpenError> {
    files::create(path)?;
    let mut connection = connect(path, None).await?;
    migrate(&mut connection, schema).await?;
    checkpoint(&mut connection).await?;
    Ok(connection)
}

pub(crate) async fn checkpoint(connection: &mut SqliteConnection) -> Result<(), OpenError> {
    sql("PRAGMA wal_checkpoint(TRUNCATE)").run(connection).await?;
    Ok(())
}

pub(crate) async fn connect(
    path: &Path,
    max_pages: Option<u32>,
) -> Result<SqliteConnection, OpenError> {
    let mut connection = writer(path, max_pages).await.map_err(from_sqlx)?;
    let (version, sound) = engine(&mut connection).await?;
    if !sound {
        return Err(OpenError::Engine(version));
    }
    Ok(connection)
}

/// Creates a pool of readers. They are opened when first needed, so that the start does not wait for them.
pub(crate) fn readers(path: &Path) -> SqlitePool {
    reading_pool(basics(path))
}

/// Creates a pool of readers that change no file, not even the index of the WAL.
pub(crate) fn readers_without_writing(path: &Path, has_wal: bool) -> sqlx::Result<SqlitePool> {
    let options = match has_wal {
        // https://www.sqlite.org/wal.html#read_only_databases
        true => basics(&uri(path, "readonly_shm=1")?).read_only(true),
        // Without a WAL the file is complete. Nobody else writes it, because this daemon has the home's lock.
        false => basics(path).immutable(true).read_only(true),
    };
    Ok(reading_pool(options))
}

/// Returns the file's name as a URI with a parameter for SQLite (https://www.sqlite.org/uri.html).
fn uri(path: &Path, parameter: &str) -> sqlx::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let mut uri = b"file:".to_vec();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.extend(format!("%{byte:02x}").bytes()),
            _ => uri.push(*byte),
        }
    }
    uri.extend(format!("?{parameter}").bytes());
    Ok(OsString::from_vec(uri).into())
}

fn reading_pool(options: SqliteConnectOptions) -> SqlitePool {
    let options =
        options.pragma("query_only", "ON").pragma("cache_size", format!("-{READER_CACHE_KIB}"));
    SqlitePoolOptions::new()
        .max_connections(READERS)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options)
}

/// Opens a connection that does not change the file.
pub(crate) async fn looker(path: &Path) -> sqlx::Result<SqliteConnection> {
    let options = basics(path).read_only(true);
    let mut db = options.connect().await?;
    let is_refused = match sql("SELECT count(*) FROM sqlite_schema").value::<i64>(&mut db).await {
        Err(StoreError::Disk(_)) => files::wal_size(path).is_ok_and(|size| size == 0),
        _ => false,
    };
    match is_refused {
        // On a read-only disk, SQLite cannot create a log. Without one, the file is complete.
        true => options.immutable(true).connect().await,
        false => Ok(db),
    }
}

/// Returns the version of the linked SQLite, and whether it is safe to use.
async fn engine(connection: &mut SqliteConnection) -> Result<(String, bool), StoreError> {
    let version: String = sql("SELECT sqlite_version()").value(connection).await?;
    let sound = parse_version(&version).is_some_and(|version| version >= OLDEST_SQLITE);
    Ok((version, sound))
}

fn parse_version(version: &str) -> Option<(u32, u32, u32)> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next()??))
}

fn basics(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        // The writer keeps references valid; checking them would cost lookups on every append.
        .foreign_keys(false)
        .busy_timeout(BUSY)
        .statement_cache_capacity(STATEMENTS)
        .pragma("temp_store", "MEMORY")
        .disable_statement_logging()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        assert_eq!(parse_version("3.51.3"), Some((3, 51, 3)));
        assert!(parse_version("3.9.0") < Some(OLDEST_SQLITE));
        assert_eq!(parse_version("3.51"), None);
    }

    #[test]
    fn a_uri_names_the_same_file() {
        let named = uri(Path::new("/a b/100%?#/ü"), "x=1").unwrap();
        assert_eq!(named, Path::new("file:/a b/100%25%3f%23/ü?x=1"));
    }

    /// Without this setting, a commit would be answered before it is on disk.
    #[tokio::test]
    async fn every_commit_is_synced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        std::fs::write(&path, []).unwrap();
        let mut connection = writer(&path, None).await.unwrap();
        let synchronous: i64 = sql("PRAGMA synchronous").value(&mut connection).await.unwrap();
        let journal: String = sql("PRAGMA journal_mode").value(&mut connection).await.unwrap();
        let full = 2;
        assert_eq!((synchronous, journal.as_str()), (full, "wal"));
    }

    #[tokio::test]
    async fn the_linked_sqlite_has_the_wal_reset_correction() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        std::fs::write(&path, []).unwrap();
        let mut connection = writer(&path, None).await.unwrap();
        let (version, sound) = engine(&mut connection).await.unwrap();
        assert!(sound, "{version}");
    }
}
