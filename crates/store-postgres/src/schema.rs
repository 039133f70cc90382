//! The schema: its owner, its version, and its migrations.

use bethink_store::StoreResult;
use sqlx::migrate::Migrator;
use sqlx::{Executor, PgConnection, Postgres};

use crate::locks::{self, Lock};
use crate::opened::PostgresOpenError;
use crate::options::MIGRATION_LOCK;
use crate::presence::DaemonClaim;
use crate::sql::{Row, sql};

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/postgres");

const LOCK_TIMEOUT: &str = "SELECT set_config('lock_timeout', $1, FALSE)";

const SCHEMA: &str = "SELECT current_schema()::TEXT";

/// Returns whether the schema has the migrations table, and whether it has any tables of another program. Tables of extensions do
/// not count.
const TABLES: &str = "
    SELECT coalesce(bool_or(relname = '_sqlx_migrations'), FALSE),
           coalesce(bool_or(relname NOT IN ('_sqlx_migrations', 'unfinished_copy')), FALSE)
    FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace
      AND relkind IN ('r', 'p', 'v', 'm', 'f')
      AND NOT EXISTS (
          SELECT
          FROM pg_depend
          WHERE classid = 'pg_class'::regclass
            AND objid = pg_class.oid
            AND deptype = 'e'
      )";

const APPLIED: &str = "
    SELECT version, checksum
    FROM _sqlx_migrations
    ORDER BY version";

/// The table that marks a database as one that has only a part of the rows of another one.
pub(crate) const UNFINISHED_COPY: &str = "unfinished_copy";

const HAS_UNFINISHED_COPY: &str = "
    SELECT EXISTS (
        SELECT
        FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace
          AND relname = $1
    )";

/// Another schema with tables of bethink that belong to this user, if the URL does not say which schema to use.
const OTHER_SCHEMA: &str = "
    SELECT current_schema()::TEXT, nspname::TEXT
    FROM pg_class
    JOIN pg_namespace
      ON pg_namespace.oid = relnamespace
    JOIN pg_roles
      ON pg_roles.oid = relowner
    WHERE relname = 'database_state'
      AND rolname = current_user
      AND nspname <> current_schema()
      AND EXISTS (
          SELECT
          FROM pg_class AS other
          WHERE other.relnamespace = pg_namespace.oid
            AND other.relname = '_sqlx_migrations'
      )
      AND NOT EXISTS (
          SELECT
          FROM pg_settings
          WHERE name = 'search_path'
            AND source = 'client'
      )
    ORDER BY nspname
    LIMIT 1";

/// Returns the schema of the tables.
pub(crate) async fn name(
    db: impl Executor<'_, Database = Postgres>,
) -> Result<String, PostgresOpenError> {
    let found: Option<String> = sql(SCHEMA).value(db).await?;
    found.ok_or(PostgresOpenError::NoSchema)
}

/// Returns whether the database has only a part of the rows of another one.
pub(crate) async fn has_unfinished_copy(db: &mut PgConnection) -> StoreResult<bool> {
    sql(HAS_UNFINISHED_COPY).bind(UNFINISHED_COPY.to_owned()).value(db).await
}

/// Checks that the tables are of this version, and are not an unfinished copy.
pub(crate) async fn must_be_complete(db: &mut PgConnection) -> Result<(), PostgresOpenError> {
    name(&mut *db).await?;
    let found = look(db).await?;
    // First, because a copy that was interrupted while it created the tables has none or older ones.
    if has_unfinished_copy(db).await? {
        return Err(PostgresOpenError::Unfinished);
    }
    match found {
        None => {
            refuse_other_schema(db).await?;
            Err(PostgresOpenError::Empty)
        }
        Some(found) if found != known() => Err(PostgresOpenError::Older),
        Some(_) => Ok(()),
    }
}

/// Brings the schema up to date, while no other daemon uses it. Returns whether the database was empty.
pub(crate) async fn prepare(
    db: &mut PgConnection,
    mut claim: Option<&mut DaemonClaim>,
) -> Result<bool, PostgresOpenError> {
    name(&mut *db).await?;
    sql(LOCK_TIMEOUT).bind(MIGRATION_LOCK.to_owned()).run(&mut *db).await?;
    locks::lock_for_connection(&mut *db, Lock::Schema).await?;
    let found = look(db).await?;
    if found.is_none() && claim.is_some() {
        refuse_other_schema(db).await?;
    }
    let is_old = found != Some(known());
    if let Some(claim) = claim.as_mut().filter(|_| is_old) {
        claim.lock_tables_exclusively().await?;
        // Rows that are already there become this home's.
        claim.settings().set(&mut *db).await?;
    }
    MIGRATIONS.run_direct(None, &mut *db, false).await?;
    if let Some(claim) = claim {
        claim.lock_tables_shared(is_old).await?;
    }
    locks::unlock_for_connection(db, Lock::Schema).await?;
    Ok(found.is_none())
}

/// A daemon must not begin an empty history beside the one that it had. A copy may have any target.
async fn refuse_other_schema(db: &mut PgConnection) -> Result<(), PostgresOpenError> {
    let read = |row: &Row| Ok((row.get(0)?, row.get(1)?));
    match sql(OTHER_SCHEMA).optional(db, read).await? {
        Some((own, other)) => Err(PostgresOpenError::OtherSchema { own, other }),
        None => Ok(()),
    }
}

/// Checks whose database it is, without changing it. Returns its schema, or `None` if it is empty.
pub(crate) async fn look(db: &mut PgConnection) -> Result<Option<i64>, PostgresOpenError> {
    let read = |row: &Row| Ok((row.get(0)?, row.get(1)?));
    let (migrated, others) = sql(TABLES).optional(&mut *db, read).await?.unwrap_or_default();
    let applied: Vec<(i64, Vec<u8>)> = match migrated {
        true => sql(APPLIED).all(db, |row| Ok((row.get(0)?, row.get(1)?))).await?,
        false => Vec::new(),
    };
    let Some((first, last)) = applied.first().zip(applied.last()) else {
        // A start that was interrupted may have left an empty table of migrations.
        return if others { Err(PostgresOpenError::Foreign) } else { Ok(None) };
    };
    let is_ours = MIGRATIONS
        .iter()
        .next()
        .is_some_and(|migration| migration.version == first.0 && *migration.checksum == *first.1);
    if !is_ours {
        return Err(PostgresOpenError::Foreign);
    }
    let (found, known) = (last.0, known());
    if found > known {
        return Err(PostgresOpenError::Newer { found, known });
    }
    Ok(Some(found))
}

/// Returns the schema of a database that was opened before.
pub(crate) async fn found(db: impl Executor<'_, Database = Postgres>) -> StoreResult<i64> {
    sql("SELECT max(version) FROM _sqlx_migrations").value(db).await
}

/// Returns the newest schema that this program knows.
pub(crate) fn known() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default()
}
