//! Advisory locks: on what has no row that could be locked. PostgreSQL ends them with the transaction or the connection.

use bethink_store::StoreResult;
use sqlx::{Executor, PgConnection, Postgres};
use uuid::Uuid;

use crate::opened::PostgresOpenError;
use crate::sql::{Row, sql};

/// These locks are about the rows of one schema. Locks of another schema have other keys, although PostgreSQL has one set of
/// advisory locks for all schemas of a database.
const LOCK: &str = "
    SELECT pg_advisory_xact_lock(key # hashtextextended(current_schema(), 0))
    FROM (SELECT key FROM unnest($1) AS asked (key) ORDER BY key) AS sorted";

const TRY_LOCK: &str = "
    SELECT pg_try_advisory_xact_lock($1 # hashtextextended(current_schema(), 0))";

const TRY_LOCK_SHARED: &str = "SELECT pg_try_advisory_xact_lock_shared($1)";

const LOCK_FOR_CONNECTION: &str = "SELECT pg_advisory_lock($1)";
const TRY_LOCK_FOR_CONNECTION: &str = "SELECT pg_try_advisory_lock($1)";
const TRY_LOCK_SHARED_FOR_CONNECTION: &str = "SELECT pg_try_advisory_lock_shared($1)";
const UNLOCK_FOR_CONNECTION: &str = "SELECT pg_advisory_unlock($1)";

/// Finds another database user who holds the lock: the process id of the connection, and the user's name.
const OTHER_USER_WITH_LOCK: &str = "
    SELECT pid::BIGINT, usename::TEXT
    FROM pg_locks
    JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory'
      AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND objsubid = 1
      AND (classid::BIGINT << 32) | objid::BIGINT = $1
      AND usename <> session_user
    LIMIT 1";

#[derive(Clone, Copy, Debug)]
pub(crate) enum Lock<'a> {
    /// The schema is checked and migrated.
    Schema,
    /// Daemons use the tables of this schema, or one changes them.
    Daemons(&'a str),
    /// A daemon of this home uses the tables of this schema.
    Home(&'a str, Uuid),
    /// The daemon with this number runs.
    Number(i64),
    /// Segments of the index are merged.
    Merge,
    /// Segments of the index are marked or replaced.
    Segments,
    /// A receipt is looked up and stored.
    Receipt(&'a str),
    /// The files of a memory directory get new versions.
    Versions(&'a str),
    /// Candidates of a project are added or decided.
    Candidates(&'a str),
    /// The bases of a project's team files are replaced.
    TeamBases(&'a str),
    /// The files of a synced memory directory are changed.
    SyncedDirectory(&'a str),
}

impl Lock<'_> {
    /// Returns the key under which PostgreSQL knows the lock. If two locks had the same key, transactions would only wait
    /// longer.
    pub(crate) fn key(self) -> i64 {
        let of_home;
        let (kind, name) = match self {
            Self::Number(number) => return number,
            Self::Schema => ("schema", ""),
            Self::Daemons(schema) => ("daemon", schema),
            Self::Home(schema, home) => {
                of_home = format!("{home} {schema}");
                ("home", of_home.as_str())
            }
            Self::Merge => ("merge", ""),
            Self::Segments => ("segments", ""),
            Self::Receipt(key) => ("receipt", key),
            Self::Versions(directory) => ("versions", directory),
            Self::Candidates(project) => ("candidates", project),
            Self::TeamBases(project) => ("team bases", project),
            Self::SyncedDirectory(directory) => ("synced directory", directory),
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"bethink ").update(kind.as_bytes()).update(&[0]).update(name.as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        i64::from_le_bytes(first)
    }
}

/// Takes locks until the end of the transaction. Sorts them, so that two transactions never wait for each other.
pub(crate) async fn lock(
    db: &mut PgConnection,
    locks: impl IntoIterator<Item = Lock<'_>>,
) -> StoreResult<()> {
    let mut keys: Vec<i64> = locks.into_iter().map(Lock::key).collect();
    if keys.is_empty() {
        return Ok(());
    }
    keys.sort_unstable();
    keys.dedup();
    sql(LOCK).bind_list(keys).run(db).await.map(drop)
}

/// Takes a lock until the end of the transaction, unless another transaction has it.
pub(crate) async fn try_lock(db: &mut PgConnection, lock: Lock<'_>) -> StoreResult<bool> {
    sql(TRY_LOCK).bind(lock.key()).value(db).await
}

/// Takes a lock together with others, unless a transaction or connection has it alone.
pub(crate) async fn try_lock_shared(db: &mut PgConnection, lock: Lock<'_>) -> StoreResult<bool> {
    sql(TRY_LOCK_SHARED).bind(lock.key()).value(db).await
}

/// Takes a lock and holds it until it is released or the connection ends.
pub(crate) async fn lock_for_connection(db: &mut PgConnection, lock: Lock<'_>) -> StoreResult<()> {
    sql(LOCK_FOR_CONNECTION).bind(lock.key()).run_slowly(db).await.map(drop)
}

/// Does the same, unless another connection has the lock.
pub(crate) async fn try_lock_for_connection(
    db: impl Executor<'_, Database = Postgres>,
    lock: Lock<'_>,
) -> StoreResult<bool> {
    sql(TRY_LOCK_FOR_CONNECTION).bind(lock.key()).value(db).await
}

/// Does the same together with others.
pub(crate) async fn try_lock_shared_for_connection(
    db: impl Executor<'_, Database = Postgres>,
    lock: Lock<'_>,
) -> StoreResult<bool> {
    sql(TRY_LOCK_SHARED_FOR_CONNECTION).bind(lock.key()).value(db).await
}

pub(crate) async fn unlock_for_connection(
    db: impl Executor<'_, Database = Postgres>,
    lock: Lock<'_>,
) -> StoreResult<()> {
    sql(UNLOCK_FOR_CONNECTION).bind(lock.key()).run(db).await.map(drop)
}

/// Says that another database user holds the lock; `usual` if none does. Anyone who can connect to a database can take any advisory
/// lock in it.
pub(crate) async fn refusal(
    db: impl Executor<'_, Database = Postgres>,
    lock: Lock<'_>,
    usual: PostgresOpenError,
) -> PostgresOpenError {
    let read = |row: &Row| Ok((row.get(0)?, row.get(1)?));
    let found = sql(OTHER_USER_WITH_LOCK).bind(lock.key()).optional(db, read).await;
    match found {
        Ok(Some((process, user))) => PostgresOpenError::Locked { user, process },
        _ => usual,
    }
}
