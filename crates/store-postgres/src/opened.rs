//! The result of opening a store: what was found, or why it failed.

use bethink_store::StoreError;
use sqlx::migrate::MigrateError;

use crate::error::from_sqlx;

/// The state in which a database was found when it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostgresOpenReport {
    /// The database was empty.
    pub new: bool,
    /// The server is set to lose commits in a power failure: `fsync` or `full_page_writes` is off.
    pub unsafe_settings: bool,
}

/// Why a store could not be opened. The database was not changed.
#[derive(Debug, thiserror::Error)]
pub enum PostgresOpenError {
    #[error("the database's address is not valid: use the form postgres://USER@HOST/DATABASE")]
    Address,
    #[error(
        "the database was written by a newer version of bethink (its schema is {found}; this version supports up to {known}); \
         use the newer version, or another database"
    )]
    Newer { found: i64, known: i64 },
    #[error("the database contains tables of another program; use an empty database")]
    Foreign,
    #[error("the database has the encoding {0}; create it with the encoding UTF8")]
    Encoding(String),
    #[error("the database is not writable: {0}")]
    ReadOnly(String),
    #[error("the server's disk is full")]
    Full,
    #[error("could not connect to the database server: {0}")]
    Unreachable(String),
    #[error("could not migrate the database: {0}")]
    Migrate(String),
    #[error("could not open the database: {0}")]
    Failed(String),
}

impl From<MigrateError> for PostgresOpenError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) => {
                match from_sqlx(cause) {
                    fault if fault.is_of_the_disk() => fault.into(),
                    other => Self::Migrate(other.to_string()),
                }
            }
            other => Self::Migrate(other.to_string()),
        }
    }
}

impl From<StoreError> for PostgresOpenError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => Self::Full,
            StoreError::ReadOnly(why) => Self::ReadOnly(why),
            StoreError::Disk(why) => Self::Unreachable(why),
            StoreError::Newer { found, known } => Self::Newer { found, known },
            other => Self::Failed(other.to_string()),
        }
    }
}
