//! Why a store could not be copied or checked.

use std::io;
use std::path::PathBuf;

use bethink_store::StoreError;
use bethink_store_postgres::{HomeOfRows, PostgresOpenError};
use bethink_store_sqlite::OpenError;

/// The reason. Contains no password.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("could not use the URL: {0}")]
    Url(PostgresOpenError),
    #[error(
        "FROM and TO are both PostgreSQL databases; use `pg_dump` and `pg_restore`, which copy the rows of all homes"
    )]
    TwoDatabases,
    #[error(
        "--home is only for copies to or from a PostgreSQL database, but FROM and TO are both homes; remove --home"
    )]
    NoDatabase,
    #[error("FROM and TO are the same home")]
    SameHome,
    #[error("{0} contains no database of bethink (no file bethink.db)")]
    NoHome(PathBuf),
    #[error("could not use the home {home}")]
    Home { home: PathBuf, source: io::Error },
    #[error(
        "a daemon or a copy is using {home} ({holder}); stop the daemon of this home, or wait for the copy"
    )]
    HomeInUse { home: PathBuf, holder: String },
    #[error("could not open the database in {home}")]
    File { home: PathBuf, source: OpenError },
    #[error("could not open the {database}")]
    Database { database: String, source: PostgresOpenError },
    #[error("{0} has no file database-id, so it has no rows in a database")]
    NoId(PathBuf),
    #[error(
        "the database has rows of several homes; choose one with --home DIR, a home whose file database-id contains one of these ids: {}", list(.0)
    )]
    SeveralHomes(Vec<HomeOfRows>),
    #[error(
        "could not copy: {from} has the table {table}{}, but {to} does not; start and stop the daemons of both with this version of bethink, which updates them",
        column.as_ref().map(|it| format!(" with the column {it}")).unwrap_or_default()
    )]
    Schemas { from: String, to: String, table: String, column: Option<String> },
    #[error("{place} is not empty, and is not a copy of FROM: its table {table} has rows")]
    NotEmpty { place: String, table: String },
    #[error("{place} contains an unfinished copy of {found}")]
    OtherCopy { place: String, found: String },
    #[error("could not read from {place}")]
    Read { place: String, source: StoreError },
    #[error("could not write to {place}")]
    Write { place: String, source: StoreError },
    #[error("the copy differs from FROM in these tables: {tables}; no daemon can use the copy")]
    Differs { tables: String },
}

impl CopyError {
    /// Returns whether other arguments are needed.
    pub fn is_of_the_arguments(&self) -> bool {
        matches!(
            self,
            Self::Url(_)
                | Self::TwoDatabases
                | Self::NoDatabase
                | Self::SameHome
                | Self::NoHome(_)
                | Self::NoId(_)
                | Self::SeveralHomes(_)
        )
    }

    /// Returns what to do.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotEmpty { .. } => Some(
                "name an empty database, or a home without bethink.db; nothing was changed there",
            ),
            Self::OtherCopy { .. } => {
                Some("finish that copy, or create another empty database or schema")
            }
            Self::Differs { .. } => Some("run `bethink store check` on both"),
            Self::Read { source: StoreError::Damaged(_), .. } => Some(
                "the copy is not complete, and no daemon can use it; if the damage is in what you copy from, recover or restore that, \
                 otherwise delete the copy; then run the same command again",
            ),
            Self::File { source: OpenError::Full, .. }
            | Self::Database { source: PostgresOpenError::Full, .. }
            | Self::Write { source: StoreError::Full, .. } => {
                Some("make space, then run the same command again: it continues")
            }
            Self::Read { .. } | Self::Write { .. } => {
                Some("run the same command again: it continues")
            }
            _ => None,
        }
    }
}

fn list(homes: &[HomeOfRows]) -> String {
    let name = |home: &HomeOfRows| match home.daemons.as_str() {
        "" => home.home.to_string(),
        daemons => format!("{} (used by {daemons})", home.home),
    };
    homes.iter().map(name).collect::<Vec<_>>().join(", ")
}
